"""The gate as a daemon: watched, fenced in, asked for its shares, with a known bound of memory."""

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from gate_run import CAP_NET_ADMIN, it_may_do_no_more
from test_gate import ENTER, SLUICED, lacking

pytestmark = pytest.mark.slow

LAB = Path(__file__).with_name("gate_daemon_lab.py")


@cache
def measured(name):
    """What an experiment of the lab gave."""
    if why := lacking():
        pytest.skip(why)
    command = [*ENTER, sys.executable, LAB, SLUICED, name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_service_manager_hears_that_it_is_ready_alive_and_ends():
    found = measured("watched")
    assert found["alive"][0] == "READY=1"
    # every 0.2 s for 3 s; a busy machine may make it later, not more often
    assert 5 <= len(found["alive"][1:]) <= 17
    assert set(found["alive"][1:]) == set(found["again"]) == {"WATCHDOG=1"}
    assert found["stopped"] == []
    assert found["end"][-1] == "STOPPING=1"


def test_a_reload_reads_what_stands_beside_the_scenario_and_nothing_else():
    found = measured("fenced")
    if "has no Landlock" in found["announced"]:
        pytest.skip("this kernel has no Landlock")
    beside, elsewhere = found["reloads"]
    assert beside.endswith("limit 5000 packets, shorter")
    assert "the old settings stay in force" in elsewhere
    assert elsewhere.endswith("elsewhere/shorter.h: Permission denied")


def test_an_aqm_that_changes_its_view_is_told_of_once_and_harms_no_packet():
    found = measured("changed_view")
    assert found["first"] == (
        "sluiced: shorter.h: shorter_arrive changes the view, which is not its own; it only reads "
        "it; other worlds refuse such a run\n"
    )
    assert found["exit"] == 0
    assert found["got"] == found["released"] == 49
    # not again, however many packets come
    assert found["said"] == ""


def test_it_keeps_one_capability_and_gets_nothing_else():
    it_may_do_no_more(measured("tried_over_nfqueue"), CAP_NET_ADMIN)


def test_the_heaviest_flows_are_told_to_every_user():
    found = measured("shares")
    heavy, light = found["ports"]
    flows = {
        "bytes": 600_000,
        "error_bytes": 0,
        "heaviest": [
            {"flow": f"10.9.0.1:{heavy} > 10.9.0.2:9000 udp", "bytes": 450_000},
            {"flow": f"10.9.0.1:{light} > 10.9.0.2:9000 udp", "bytes": 150_000},
        ],
    }
    assert found["flows"] == found["record"]["flows"] == flows
    assert found["mode"] == 0o666
    # of the last interval, in which nothing came
    assert "# TYPE sluiced_flow_share gauge" in found["metrics"]
    assert 'rank="1"' not in found["metrics"]


SAMPLE = re.compile(r'(\w+)\{((?:\w+="[^"\\]*",?)+)\} (\S+)')


def parsed(page):
    """A page of Prometheus' text format: what each family is, and its samples; strictly."""
    kinds, samples, family = {}, {}, ""
    for line in page.splitlines():
        if line.startswith("# HELP "):
            family = line.split()[2]
            assert family not in kinds, family
        elif line.startswith("# TYPE "):
            _, _, name, kinds[family] = line.split()
            assert name == family
        else:
            name, labels, value = SAMPLE.fullmatch(line).groups()
            ends = ("_bucket", "_sum", "_count") if kinds[family] == "histogram" else ("",)
            assert name in {family + end for end in ends}, line
            key = (name, *(part.split("=")[1].strip('"') for part in labels.split(",")))
            assert key not in samples, line
            samples[key] = float(value)
    return kinds, samples


def buckets(samples, family):
    """The counts up to each bound, as they grow; the last bound is infinite."""
    found = {float(key[2]): value for key, value in samples.items() if key[0] == f"{family}_bucket"}
    bounds = list(found)
    assert bounds == sorted(bounds)
    assert bounds[-1] == float("inf")
    assert list(found.values()) == sorted(found.values())
    assert found[bounds[-1]] == samples[f"{family}_count", "forward"]
    return found


def test_prometheus_is_told_what_the_records_tell():
    found = measured("shares")
    lines, (kinds, samples) = found["lines"], parsed(found["metrics"])
    record = lines[-1]
    for name in ("arrivals", "arrived_bytes", "sent", "sent_bytes", "marked", "released",
                 "unreadable", "id_gaps", "overruns", "refused_verdicts"):  # fmt: skip
        assert kinds[f"sluiced_{name}_total"] == "counter"
        assert samples[f"sluiced_{name}_total", "forward"] == record[name], name
    for reason, count in record["drops"].items():
        assert samples["sluiced_drops_total", "forward", reason] == count
    for name in ("packets", "bytes"):
        assert samples[f"sluiced_queue_{name}", "forward"] == record[f"queue_{name}"]
    for name in ("sojourn", "delay", "lateness"):
        family = f"sluiced_{name}_seconds"
        assert kinds[family] == "histogram"
        count = record["released" if name == "lateness" else "sent"]
        assert samples[f"{family}_count", "forward"] == count > 900
        mean_s = record[f"{name}_ms"]["mean"] / 1e3
        assert samples[f"{family}_sum", "forward"] == pytest.approx(mean_s * count)
        pairs = [pair for line in lines for pair in line["interval"][f"{name}_distribution_ns"]]
        assert sum(many for _, many in pairs) == count
        for bound, below in buckets(samples, family).items():
            # times are known to two digits
            least, most = (sum(many for ns, many in pairs if ns * off <= bound * 1e9)
                           for off in (1.01, 0.99))  # fmt: skip
            assert least <= below <= most, (name, bound)
    queue = [pair for line in lines for pair in line["interval"]["queue_distribution_ns"]]
    for bound, ns in buckets(samples, "sluiced_queue_length_packets").items():
        assert ns == sum(ns for waiting, ns in queue if waiting <= bound)
    mean = (samples["sluiced_queue_length_packets_sum", "forward"]
            / samples["sluiced_queue_length_packets_count", "forward"])  # fmt: skip
    assert mean > 0
    assert mean == pytest.approx(record["queue_mean"])


def test_lateness_is_told_of_each_interval():
    lines = measured("shares")["lines"]
    # a packet that was sent as an interval ended may leave in the next one
    intervals = [line["interval"] for line in lines]
    busy = [interval for interval in intervals if interval["lateness_distribution_ns"]]
    assert len(busy) > 2
    for interval in busy:
        late = interval["lateness_ms"]
        assert 0 < late["p50"] <= late["p99"] <= late["max"]
    # after the last packet nothing is late, whatever was before
    assert lines[-1]["interval"]["lateness_ms"]["max"] == 0
    assert lines[-1]["lateness_ms"]["max"] == pytest.approx(
        max(interval["lateness_ms"]["max"] for interval in busy), rel=0.01
    )


def test_memory_stays_below_the_bound_that_was_told():
    found = measured("memory")
    (told,) = re.findall(r"memory: at most (\d+) MB here for 10002 packets", found["announced"])
    assert found["queue_max"] == 10_000
    # all of them are kept whole
    assert 15e6 < found["peak_bytes"] < int(told) * 1e6
