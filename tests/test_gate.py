"""The gate with real packets, in network namespaces; and the command `sluiced`."""

import shutil
import subprocess

import gate_run
import numpy as np
import pytest
from gate_run import ENTER, SLUICED, lacking, nothing_is_forgotten

import sluicegate as sg
from sluicegate.worlds import Network

pytestmark = pytest.mark.slow

PACKET_NS = 1_200_000  # 1500 bytes at 10 Mbit/s


def sluiced(*options):
    return subprocess.run([SLUICED, *options], capture_output=True, text=True, check=False)


def measured(name):
    return gate_run.measured("gate_lab.py", name)


def test_packets_leave_at_the_rate_of_the_link():
    found = measured("shaping")
    nothing_is_forgotten(found)
    times_ns = np.array(found["times_ns"])
    assert len(times_ns) == found["released"] > 4500
    # whoever is late makes nobody else late: the earliest of many is as early at the end as at
    # the start. That is known to the lateness of the earliest, below 0.5 ms in 5 s: 0.01 %
    late_ns = times_ns - PACKET_NS * np.arange(len(times_ns))
    drift_ns = late_ns[-1000:].min() - late_ns[:1000].min()
    assert abs(drift_ns) < 1e-4 * (times_ns[-1] - times_ns[0])


@pytest.mark.parametrize(("overhead", "packet_ns"), [(0, 1_600_000), (100, 2_000_000)])
def test_each_packet_takes_its_overhead_on_the_link(overhead, packet_ns):
    found = measured(f"overhead_{overhead}")
    nothing_is_forgotten(found)
    assert found["overhead_bytes"] == overhead
    late_ns = np.array(found["times_ns"]) - packet_ns * np.arange(found["released"])
    # who is late makes nobody else late: the earliest of many at the start and at the end
    drift_ns = late_ns[-300:].min() - late_ns[:300].min()
    assert abs(drift_ns) < 1e-3 * packet_ns * 1200


def test_a_limit_in_bytes_holds_bytes_and_no_number_of_packets():
    found = measured("limit_bytes")
    nothing_is_forgotten(found)
    assert "4 Mbit/s, 0 ms, limit 60000 bytes, drop_tail" in found["announced"]
    assert found["limits"] == [3000, 60_000]
    packets, bytes_ = np.array(found["held"]).T
    # a packet of 1400 bytes finds no room above this
    assert 60_000 - 1400 < bytes_.max() <= 60_000
    # small ones: 600 of them have room
    assert packets.max() <= found["queue_max"]
    assert 250 < found["queue_max"] <= 600
    assert found["drops"]["overflow"] == found["lost"] > 500


def test_a_second_gate_on_a_queue_is_refused():
    found = measured("second")
    assert found["exit"] == 2
    assert found["got"] == 50
    assert found["said"].startswith("sluiced: queue 0 is taken by another program (netlink port ")


def test_a_reload_loses_nothing_and_wrong_settings_are_refused():
    found = measured("reload")
    nothing_is_forgotten(found)
    assert found["numbers"] == list(range(found["offered"]))
    said = found["said"].splitlines()
    assert len(said) == 5
    assert "memory: at most" in said[1]
    # 8 Mbit/s for 10 ms are 500 packets of 20 bytes
    assert "5502 packets" in said[4]
    assert said[0].endswith("reloaded: forward: 1 Mbit/s, 10 ms, limit 5000 packets, drop_tail")
    assert "the old settings stay in force" in said[2]
    assert "rate_bps = 0.0 must be at least 1 (bits/s)" in said[2]
    assert said[3].endswith("limit 5000 packets, red min_th=4000, max_th=4900")


@pytest.mark.parametrize("name", ["ecn4", "ecn6"])
def test_marks_are_received_as_congestion_experienced(name):
    found = measured(name)
    nothing_is_forgotten(found)
    # a wrong checksum would be dropped by the receiving kernel
    assert found["ce"] == found["marked"] > 100
    assert found["ce_of_others"] == 0


def test_packets_that_end_too_early_pass():
    found = measured("odd")
    nothing_is_forgotten(found)
    assert found["alive"]
    assert found["seen"] == found["offered"] == 300
    assert found["whole"] == 4000


def test_a_datagram_that_lost_a_fragment_does_not_come():
    found = measured("fragments_lost")
    nothing_is_forgotten(found)
    assert found["arrivals"] == 3 * found["offered"]
    # each of 20 bytes for IP, and all data and headers of UDP once
    assert found["arrived_bytes"] == found["offered"] * (3 * 20 + 8 + 3000)
    # the receiver has looked at the bytes of those that came
    missing = found["offered"] - found["whole"]
    assert 0 < found["lost"] / 3 <= missing <= found["lost"]


def test_tcp_with_segmentation_offload_is_queued_packet_by_packet():
    found = measured("tcp")
    nothing_is_forgotten(found)
    assert found["got"] == 4_000_000
    assert found["arrived_bytes"] <= 1500 * found["arrivals"]
    assert found["queue_max"] > 10


def test_what_the_kernel_lost_is_counted():
    found = measured("overrun")
    nothing_is_forgotten(found)
    assert found["id_gaps"] > 0
    assert found["overruns"] > 0
    not_queued = found["id_gaps"] + found["kernel_queue_drops"]
    assert found["arrivals"] + not_queued == found["offered"] - found["refused"]
    assert found["kernel_buffer_drops"] == found["id_gaps"]
    assert found["released"] == found["got"]


def test_without_the_capability_it_says_so():
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare here")
    # a user without a name has no capabilities
    run = [SLUICED, "run", "--fail", "open", "--aqm", "red", "--rate", "1e6"]
    done = subprocess.run(["unshare", "-U", *run], capture_output=True, text=True, check=False)
    if "unshare failed" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 2
    assert "takes the capability CAP_NET_ADMIN" in done.stderr


REPLAYED = """
duration_s = 80
topology = {{ kind = "graph", links = [
    {{ source = "near", sink = "far", rate_bps = 1.3e6, delay_s = 0.01, queue = true }} ] }}
flows = [{{ kind = "replay", capture = "{capture}", source = "near", sink = "far" }}]
queue = {{ limit = 60 }}
seed = 7
replications = 1
disciplines = [{{ {discipline} }}]
"""


@pytest.mark.parametrize(
    "discipline",
    [
        'aqm = "red", params = { min_th = 5, max_th = 20 }, victim = "random"',
        'aqm = "codel", victim = "front", scheduler = { kind = "fq", queues = 64 }',
    ],
)
def test_a_replay_writes_the_decision_log_of_the_network_world(discipline, gateway, tmp_path):
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(REPLAYED.format(capture=gateway, discipline=discipline))
    log = tmp_path / "replay.csv"
    done = sluiced("replay", gateway, "--scenario", scenario, "--decisions", log)
    assert done.returncode == 0, done.stderr
    sg.compare(sg.load(scenario), world=Network(decisions=tmp_path / "network.csv"))
    replayed = log.read_text().splitlines()
    assert replayed == (tmp_path / "network.csv").read_text().splitlines()
    assert len(replayed) > 12_500


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--aqm", "red"], "without --scenario, --aqm and --rate must be given"),
        (["--aqm", "rde", "--rate", "1e6"], "--aqm rde is not an AQM (did you mean red?)"),
        (["--aqm", "red:max_th=1", "--rate", "1e6"], "red.max_th = 1 must exceed red.min_th = 5"),
        (["--aqm", "red", "--rate", "0"], "--rate = 0 must be at least 1 (bits/s)"),
        (["--aqm", "red", "--rate", "-5"], "--rate = -5 must be at least 1 (bits/s)"),
        (
            ["--aqm", "red", "--rate", "1Mbyte"],
            "--rate = '1Mbyte' must be a number (bits/s), or have a unit as '20M'",
        ),
        (
            ["--aqm", "red", "--rate", "1M", "--delay", "5min"],
            "--delay = '5min' must be a number (s), or have a unit as '20ms'",
        ),
        (["--aqm", "red", "--rate", "1e6", "--limit", "0"], "--limit = 0 must be at least 1"),
        (
            ["--aqm", "red", "--rate", "1e6", "--limit-bytes", "x"],
            "--limit-bytes = 'x' must be a whole",
        ),
        (["--aqm", "red,w=1", "--rate", "1e6"], "; did you mean red:w=1?"),
        (["--aqm", "red", "--rate", "1e6", "--seed", "x"], "--seed = x must be a whole number"),
        (["--aqm", "red", "--rate", "1e6", "--two-way"], "a replay has one direction"),
        (["--aqm", "red", "--rate", "1e6", "--reverse-delay", "1"], "a replay has one direction"),
        (["--scenario", "scenarios/gateway.toml"], "must have a topology"),
        (["--scenario", "scenarios/network/lred-1.toml"], "there are 6 disciplines: choose with"),
    ],
)
def test_what_is_wrong_is_told(options, told, gateway, monkeypatch, root):
    monkeypatch.chdir(root)
    done = sluiced("replay", gateway, *options)
    assert done.returncode == 2
    assert told in done.stderr
    assert done.stdout == ""


def test_rules_that_are_refused_half_way_leave_none(tmp_path):
    """As on a machine whose kernel has no IPv6: those of IPv4 come first."""
    if shutil.which("iptables") is None or lacking():
        pytest.skip(lacking() or "there is no iptables here")
    refusing = tmp_path / "ip6tables"
    refusing.write_text("#!/bin/sh\nexit 3\n")
    refusing.chmod(0o755)
    steps = (
        f"PATH={tmp_path}:$PATH {SLUICED} rules --interface lo --fail closed --tool iptables "
        "--install; echo status $?; iptables -t mangle -S"
    )
    done = subprocess.run(
        [*ENTER, "sh", "-c", steps], capture_output=True, text=True, timeout=60, check=False
    )
    assert "ip6tables: it failed" in done.stderr
    assert "status 2" in done.stdout
    assert "-P POSTROUTING" in done.stdout
    assert "NFQUEUE" not in done.stdout
