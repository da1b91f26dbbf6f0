"""The gate as a daemon: watched, fenced in, asked for its shares, with a known bound of memory."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from test_gate import ENTER, SLUICED, lacking

LAB = Path(__file__).with_name("gate_daemon_lab.py")


def measured(name):
    """What an experiment of the lab gave."""
    if why := lacking():
        pytest.skip(why)
    command = [*ENTER, sys.executable, LAB, SLUICED, name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
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


def test_memory_stays_below_the_bound_that_was_told():
    found = measured("memory")
    (told,) = re.findall(r"memory: at most (\d+) MB here for 10002 packets", found["announced"])
    assert found["queue_max"] == 10_000
    # all of them are kept whole
    assert 15e6 < found["peak_bytes"] < int(told) * 1e6
