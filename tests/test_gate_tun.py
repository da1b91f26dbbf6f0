"""The gate as a cable between two TUN devices, with real packets."""

import itertools
import re
import subprocess
from pathlib import Path

import gate_run
import pytest
from gate_run import ENTER, SLUICED, it_may_do_no_more, lacking, nothing_is_forgotten

pytestmark = pytest.mark.slow


def no_tun():
    """Why no TUN device can be had here; empty if one can."""
    if why := lacking():
        return why
    add = [*ENTER, "ip", "tuntap", "add", "mode", "tun", "name", "tried"]
    return subprocess.run(add, capture_output=True, text=True, check=False).stderr.strip()


def measured(name):
    if why := no_tun():
        pytest.skip(why)
    return gate_run.measured("gate_tun_lab.py", name)


@pytest.mark.parametrize("name", ["marked4", "marked6"])
def test_each_packet_crosses_is_lost_or_marked(name):
    found = measured(name)
    nothing_is_forgotten(found, left_at_end=found["left_at_end"])
    assert found["arrivals"] == found["offered"]
    assert found["kernel_queue_drops"] == 0
    assert len(found["numbers"]) == found["released"]
    assert all(one < two for one, two in itertools.pairwise(found["numbers"]))
    # a wrong checksum would be dropped by the receiving kernel
    assert found["ce"] > 100
    # some of those that are held at the end, on a busy machine, may be marked
    assert 0 <= found["marked"] - found["ce"] <= found["left_at_end"]
    assert found["ce_of_others"] == 0
    assert found["lost"] > 500


def test_each_fragment_is_a_packet_and_datagrams_come_whole():
    found = measured("fragments")
    nothing_is_forgotten(found)
    assert found["arrivals"] == 3 * found["offered"]
    assert found["lost"] == 0
    assert found["whole"] == found["offered"]


def test_what_is_held_at_the_end_is_counted():
    found = measured("held_at_the_end")
    nothing_is_forgotten(found, left_at_end=found["offered"] - found["got"])
    assert found["arrivals"] == found["offered"]
    assert found["left_at_end"] > 0


@pytest.mark.parametrize(("name", "links", "trip_s"), [("at_once", 1, 0.02), ("held", 2, 0.05)])
def test_the_way_back_is_held_if_that_is_asked_for(name, links, trip_s):
    found = measured(f"back_{name}")
    assert len(found["links"]) == links
    for link in found["links"]:
        nothing_is_forgotten(link)
        assert link["arrivals"] == 50
    # late packets make it longer, nothing makes it shorter
    assert min(found["trips_s"]) >= trip_s
    assert found["link"] == "forward"


def while_waiting(found):
    """Records while packets wait: the link is always busy then, however late this machine is."""
    rows = [row for row in found["rows"] if row["queue_packets"] > 0]
    assert len(rows) > 30
    return rows


def test_packets_leave_at_a_rate_that_varies():
    found = measured("in_steps")
    nothing_is_forgotten(found)
    assert found["released"] == found["offered"]

    def bits(until_s):
        steps = [(0, 1.5, 1e6), (1.5, 2.5, 4e6), (3, 100, 2e6)]
        return sum(rate * (min(end, until_s) - start) for start, end, rate in steps
                   if start < until_s)  # fmt: skip

    first, *others = while_waiting(found)
    for row in others:
        sent = 8 * (row["sent_bytes"] - first["sent_bytes"])
        # of the packets in transmission at the two times a part is sent
        assert abs(sent - bits(row["time_s"]) + bits(first["time_s"])) <= 8 * 1000
    # in the outage nothing leaves, and the record says that it is one
    away = [row for row in others if 2.55 < row["time_s"] < 2.95]
    assert {row["rate_bps"] for row in away} <= {0}
    assert {row["rate_bps"] for row in others} <= {1_000_000, 4_000_000, 0, 2_000_000}


def test_packets_leave_at_the_opportunities_of_a_trace():
    found = measured("at_opportunities")
    nothing_is_forgotten(found)
    assert found["released"] == found["offered"]
    times_ms = found["times_ms"]

    def opportunities(until_s):
        rounds, ms = divmod(1000 * until_s, times_ms[-1])
        return rounds * len(times_ms) + sum(time <= ms for time in times_ms)

    first, *others = while_waiting(found)
    for row in others:
        sent = (row["sent_bytes"] - first["sent_bytes"]) / 1500
        assert abs(sent - opportunities(row["time_s"]) + opportunities(first["time_s"])) <= 1


def test_tcp_crosses_packet_by_packet():
    found = measured("tcp")
    nothing_is_forgotten(found)
    assert found["got"] == 4_000_000
    assert found["arrived_bytes"] <= 1500 * found["arrivals"]
    assert found["queue_max"] > 10


def test_what_the_device_had_no_room_for_is_counted():
    found = measured("overrun")
    nothing_is_forgotten(found, left_at_end=found["left_at_end"])
    assert found["kernel_queue_drops"] > 0
    assert found["arrivals"] >= 2000
    assert found["arrivals"] + found["kernel_queue_drops"] == found["offered"]
    assert len(found["numbers"]) == found["released"]


def test_a_device_that_vanishes_ends_it_with_its_counts():
    found = measured("device_vanished")
    assert found["exit"] == 2
    assert "no more packets can come: near: " in found["said"]
    nothing_is_forgotten(found, left_at_end=found["left_at_end"])
    assert found["left_at_end"] > 0
    assert found["released"] == len(found["numbers"])


def test_what_a_device_does_not_take_is_counted():
    found = measured("down_and_up")
    refused = found["refused_verdicts"]
    nothing_is_forgotten(found, left_at_end=found["left_at_end"], refused=refused)
    assert found["arrivals"] == found["offered"]
    assert refused > 0
    # what was written is at the receiver, but for what the device held as it went down
    assert found["numbers"][-1] == found["offered"] - 1
    assert len(found["numbers"]) <= found["released"] - refused


def test_devices_that_cannot_be_had_are_refused():
    found = measured("refused")
    taken, other_kind, one = found["refused"]
    assert "the device near is taken by another program" in taken
    assert "cable0 is an interface, but no TUN device" in other_kind
    assert "--tun other other: the devices must be two" in one
    # the one that runs was started with all of them
    assert int(found["capabilities"], 16) == 0


def test_it_keeps_no_capability_and_gets_nothing():
    it_may_do_no_more(measured("tried_over_tun"), 0)


def test_devices_of_ones_own_take_no_capability():
    found = measured("own_devices")
    assert found["numbers"] == list(range(50))
    assert int(found["capabilities"], 16) == 0
    assert "ip link set near txqueuelen 65536; the same for far" in found["announced"]
    assert found["check_exit"] == 0
    assert "ok       far: there" in found["check"]
    assert "sudo ip tuntap add mode tun user $USER name other" in found["none"]


def test_the_root_of_a_namespace_is_told_what_only_the_machines_root_has():
    found = measured("root_of_a_namespace")
    assert "note     real time: --timer realtime and spin are refused; " in found["check"]
    assert "fix: run it outside of this namespace, as the machine's root" in found["check"]
    assert "sluiced: --timer: Operation not permitted: realtime and spin take" in found["run"]
    assert "missing  /dev/net/tun: /dev/net/tun: Permission denied" in found["closed"]
    assert "fix: outside of this namespace: sudo chmod 666 /dev/net/tun" in found["closed"]


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("here", "ok       forward: the queue builds here: "),
        ("behind", "note     forward: the queue builds behind the gate: "),
        ("before", "note     forward: the queue builds before the gate, which does not keep up: "),
        ("elsewhere", "note     forward: no queue builds on this machine: "),
    ],
)
def test_a_watch_says_where_the_queue_builds(where, said):
    # a gate that a busy machine held up for all that time is watched again
    for _ in range(3):
        found = measured(f"where_{where}")
        if "told nothing new" not in found["refused"]:
            break
    if "tc qdisc add" in found["refused"]:
        pytest.skip(found["refused"])
    assert found["said"].startswith(said), found
    assert found["exit"] == (where != "here")
    unread = float(re.findall(r"([\d.]+) before it in the kernel", found["said"])[0])
    # of 4000 packets a second it takes far fewer
    assert (unread > 500) == (where == "before")


def test_a_watch_says_what_it_cannot_see():
    found = measured("where_at_the_end")
    forward, reverse = found["said"].splitlines()
    unnamed = measured("where_unnamed")["said"]
    assert forward.startswith("ok       forward: the queue builds here: ")
    assert "unknown how many behind it, " in forward
    assert "unknown" not in forward.partition("behind it, ")[2]
    assert "0.0 behind it in that of near, unknown how many before it" in unnamed
    assert reverse.startswith(
        "note     reverse: hardly any packet came: see sluiced check --tun near far,"
    )


def test_a_cable_that_cannot_be_watched_is_refused():
    end, misspelt, no_tun, unwatched, other = measured("where_refused")["refused"]
    assert "--interface near is an end of the cable --tun near far: name the interface by" in end
    assert (
        "--tun neat far: there is no neat in this network namespace: say this where it" in misspelt
    )
    assert "--tun lo far: lo is no TUN device: name the two between which the daemon" in no_tun
    assert "or watch a daemon: --tun near far --interface lo --watch 10" in unwatched
    assert "takes packets from a queue of the kernel, not from --tun near far: leave that" in other


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--tun", "a"], "2 values required"),
        (["--tun", "a/b", "c"], "must be the name of an interface"),
        (["--tun", "a", "b", "--fail", "open"], "cannot be used with"),
        (["--tun", "a", "b", "--queue", "3"], "cannot be used with"),
        ([], "--fail <open|closed>"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, told):
    run = [SLUICED, "run", *options, "--aqm", "red", "--rate", "1e6"]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert told in done.stderr


@pytest.mark.skipif(not Path("/sys/class/net/lo").exists(), reason="no /sys/class/net here")
def test_check_tells_an_interface_that_is_no_tun_device():
    done = subprocess.run(
        [SLUICED, "check", "--tun", "lo", "far"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "missing  lo: is an interface, but no TUN device" in done.stdout
