"""Faults around a cable between two TUN devices: its packets cross, and nothing is left behind."""

import json
import re

import gate_run
import pytest
from gate_run import nothing_is_forgotten
from test_gate_tun import no_tun

pytestmark = pytest.mark.slow

NO_SPACE = "cannot write to stdout: No space left on device (os error 28)"


def measured(name):
    if why := no_tun():
        pytest.skip(why)
    return gate_run.measured("gate_tun_faults_lab.py", name)


@pytest.mark.parametrize(
    ("stdout", "exit_", "said"), [("full", 2, f"sluiced: {NO_SPACE}\n"), ("gone", 0, "")]
)
def test_it_routes_whatever_becomes_of_its_stdout(stdout, exit_, said):
    found = measured(f"stdout_{stdout}")
    assert (found["exit"], found["said"]) == (exit_, said)
    assert found["time_s"] > 0


def test_slow_clients_make_neither_packets_nor_other_clients_wait():
    found = measured("slow_clients")
    nothing_is_forgotten(found)
    assert found["numbers"] == list(range(found["offered"]))
    assert found["told"] == "HTTP/1.1 200 OK"
    # the main one, that of all clients, and that of the records
    assert found["threads"] == 3
    assert json.loads(found["records"])["arrivals"] == found["offered"]


def test_more_clients_than_files_make_no_other_client_wait():
    found = measured("few_files")
    assert found["told"] == "HTTP/1.1 200 OK"
    assert (found["exit"], found["said"]) == (0, "")


def test_a_scenario_that_is_no_file_is_refused_and_a_right_one_is_taken_after_it():
    found = measured("odd_scenarios")
    *refused, _ = found["answers"].values()
    regular = "scenario.toml: must be a regular file to be read again"
    huge = "scenario.toml: a scenario must have at most 16777216 bytes"
    for lines, what in zip(refused, (regular, regular, regular, huge), strict=True):
        assert all("the old settings stay in force: " in line for line in lines), lines
        assert any(what in line for line in lines), lines
    said = str(found["answers"]["right"]) + found["said"]
    assert "reloaded: forward: 2 Mbit/s" in said
    assert found["exit"] == 0


def test_records_that_nobody_reads_hold_up_neither_packets_nor_the_end():
    found = measured("unread_records")
    nothing_is_forgotten(found)
    assert found["numbers"] == list(range(found["offered"]))
    assert found["exit"] == 2
    assert "--jsonl: the last records are left out: the file took none for 3 s" in found["said"]


def test_too_little_memory_is_refused_and_just_enough_does_for_a_full_queue():
    found = measured("little_memory")
    assert found["exits"] == [2, 2, 2]
    for told in found["told"]:
        assert re.fullmatch(
            r"sluiced: the limit of the address space \(`ulimit -v`\) is \d+ MB, which must be "
            r"\d+ MB or more for these queues; a smaller --limit needs less\n",
            told,
        )
    assert (found["exit"], found["said"]) == (0, "")
    assert found["arrivals"] == 22_000
    assert found["queue_max"] == 20_000
