"""Faults of the gate with real packets: nothing hangs or is left behind, every packet is known."""

import subprocess
import time

import gate_run
import numpy as np
import pytest
from gate_run import needs_nft, nothing_is_forgotten

pytestmark = pytest.mark.slow


def measured(name):
    return gate_run.measured("gate_faults_lab.py", name)


def kernel_lost(found):
    return found["id_gaps"] + found["kernel_queue_drops"]


@needs_nft
@pytest.mark.parametrize("fail", ["open", "closed"])
def test_kill_9_loses_what_was_held_and_no_more(fail):
    found = measured(f"killed_{fail}")
    # the link sends in order: what was held are the last ones
    count = len(found["before"])
    assert found["before"] == list(range(count))
    last = found["last"]
    assert last["arrivals"] == 300
    held = 300 - last["released"]
    assert 0 < 300 - count <= held
    assert found["kernel"] == "", "the kernel has given the queue up"
    assert found["without"] == (list(range(300, 400)) if fail == "open" else [])
    # another one takes the queue, and only its own packets
    assert found["after"] == list(range(400, 450))
    nothing_is_forgotten(found)
    assert found["arrivals"] == 50
    assert found["rules"] == ""
    assert found["passed"] == [450]


@pytest.mark.parametrize("fail", ["open", "closed"])
def test_kill_9_as_packets_come_loses_those_that_wait_and_no_more(fail):
    found = measured(f"killed_as_packets_come_{fail}")
    assert len(found["rounds"]) == 5
    for each in found["rounds"]:
        got, killed_at = each["numbers"], each["killed_at"]
        assert len(set(got)) == len(got)
        first = next(n for n in range(1020) if n not in got)
        # 500 a second had left
        assert first < killed_at / 4
        if fail == "closed":
            assert got == list(range(first))
            continue
        behind = got[first]
        assert killed_at <= behind <= each["ended_at"]
        assert got == [*range(first), *range(behind, 1020)]
    assert found["kernel"] == ""


def test_a_thousand_reloads_leave_nothing_behind():
    found = measured("reloads")
    nothing_is_forgotten(found)
    assert found["reloaded"] == 1000
    assert found["numbers"] == list(range(found["offered"]))
    heap_bytes, blocks, threads, files = np.array(found["held"]).T
    assert threads.max() <= threads.min() + 1
    # a scenario is open while it is read
    assert files[-1] <= files.min() + 1
    assert files.max() <= files.min() + 3
    # what a scenario takes while it is read comes and goes; one block kept by each makes 650
    assert blocks[800:].min() - blocks[50:200].min() < 30
    assert heap_bytes[800:].min() - heap_bytes[50:200].min() < 10_000


def test_a_gate_that_stood_still_for_a_second_loses_nothing():
    found = measured("stopped")
    nothing_is_forgotten(found)
    assert found["arrivals"] == found["offered"]
    assert kernel_lost(found) == found["overruns"] == 0
    assert found["numbers"] == list(range(found["offered"]))
    times_ns = np.array(found["times_ns"])
    stopped_ns, continued_ns = found["stopped_ns"]
    assert continued_ns - stopped_ns > 0.9e9
    # those on their way to the socket as it stopped
    assert np.count_nonzero((times_ns > stopped_ns + 0.1e9) & (times_ns < continued_ns)) == 0
    # those that waited for it leave at the link's rate, 0.5 ms each: half a second for 1000
    waited = times_ns[(times_ns > continued_ns)][:900]
    assert waited[-1] - waited[0] >= 0.95 * 899 * 500_000


def test_packets_pass_while_the_rule_is_away_and_are_held_again():
    found = measured("rule_removed")
    # with its rule the kernel may drop what the gate holds; the gate is told as it decides
    gone = found["refused_verdicts"]
    nothing_is_forgotten(found, refused=gone)
    assert kernel_lost(found) == 0
    assert found["arrivals"] == 2000
    assert len(set(found["numbers"])) == len(found["numbers"]) == found["offered"] - gone
    lost = sorted(set(range(found["offered"])) - set(found["numbers"]))
    assert lost == list(range(1000 - gone, 1000))
    # those of the time without a rule came at once, before any that was held
    assert [number for number in found["numbers"] if number >= 1000] == list(range(1000, 3000))
    assert found["exit"] == 0


def test_packets_of_an_interface_that_vanished_are_counted_and_the_next_one_is_served():
    found = measured("interface_vanished")
    first = len(found["first"])
    assert 0 < first < 200
    assert found["first"] == list(range(first))
    nothing_is_forgotten(found, refused=200 - first)
    assert found["unsendable"] == 50
    assert found["second"] == list(range(250, 350))
    assert found["arrivals"] == found["offered"] == found["released"]
    assert found["exit"] == 0


def test_what_the_kernel_cannot_hand_over_passes_if_it_fails_open():
    found = measured("overrun_open")
    nothing_is_forgotten(found)
    assert found["id_gaps"] > 0
    assert found["overruns"] > 0
    assert found["arrivals"] < len(found["offered"])
    # nobody drops: each has come by the gate or past it
    assert sorted(found["numbers"]) == found["offered"]


@needs_nft
def test_malformed_packets_are_refused_by_the_kernel_or_pass_and_each_is_counted():
    found = measured("malformed")
    back, there = found["reverse"], found["forward"]
    for link in (back, there):
        nothing_is_forgotten(link)
        assert kernel_lost(link) == 0
    assert there["exit"] == 0
    assert found["kernel_errors"] > 1000
    assert back["arrivals"] > 10_000
    assert back["arrivals"] + found["kernel_errors"] == found["offered"]
    assert back["released"] == found["passed"] + back["lost"] == back["arrivals"]


@needs_nft
@pytest.mark.parametrize("name", ["fragments4", "fragments6"])
def test_fragments_are_put_together_behind_it(name):
    found = measured(name)
    nothing_is_forgotten(found)
    assert found["arrivals"] == found["offered"]
    assert found["lost"] == 0
    assert sorted(found["intact"]) == list(range(200))


def test_super_packets_of_64_kb_are_queued_piece_by_piece():
    found = measured("segments")
    nothing_is_forgotten(found)
    assert found["arrivals"] == found["offered"]
    assert found["arrived_bytes"] == 1472 * found["offered"]
    assert found["numbers"] == list(range(found["offered"]))


@pytest.mark.parametrize("name", ["full_disk_heard", "full_disk_unheard"])
def test_a_full_disk_ends_the_recording_and_nothing_else(name):
    found = measured(name)
    nothing_is_forgotten(found)
    assert found["numbers"] == list(range(found["offered"]))
    assert found["lines"] > 5
    assert found["ends_whole"]
    # the run says that its record is not whole
    assert found["exit"] == 2
    if name == "full_disk_heard":
        assert "No space left on device" in found["said"]
        assert "no more is recorded" in found["said"]
        assert "reloaded" in found["said"]


def test_verdicts_for_which_the_kernel_has_no_memory_are_told_again():
    found = measured("no_buffers")
    nothing_is_forgotten(found)
    assert found["exit"] == 0
    assert found["numbers"] == list(range(found["offered"]))


def test_steps_of_the_clock_move_no_packet():
    found = measured("clock_stepped")
    nothing_is_forgotten(found)
    assert found["exit"] == 0
    assert found["numbers"] == list(range(found["offered"]))
    assert (np.diff(found["clocks_ns"]) > 0).all()
    # 1000 packets in 1.1 s, and what followed; a step is 3600 s
    assert 1 < found["time_s"] < 60
    assert found["sojourn_ms"]["max"] < 60_000
    assert found["lateness_ms"]["max"] < 60_000


def test_the_stepped_clock_would_be_noticed():
    """The same steps in the clock that the gate does use: the test above can fail."""
    found = measured("monotonic_stepped")
    assert found["lateness_ms"]["max"] > 1_000_000


def test_an_experiment_leaves_no_process_behind():
    if why := gate_run.lacking():
        pytest.skip(why)
    marker = f"{time.monotonic_ns() / 1e9:.6f}"
    steps = f"sleep {1000 + float(marker)} & exit 3"
    done = subprocess.run([*gate_run.ENTER, "sh", "-c", steps], check=False)
    assert done.returncode == 3
    listed = subprocess.run(["ps", "ax", "-o", "args"], capture_output=True, text=True, check=True)
    assert f"sleep {1000 + float(marker)}" not in listed.stdout
