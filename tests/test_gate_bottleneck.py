"""Where the queue builds, as `sluiced check --watch` sees it, with real packets."""

import re

import pytest
from test_gate import sluiced
from test_gate_daemon import measured

pytestmark = pytest.mark.slow


def test_before_a_link_that_is_slower_than_the_load_it_builds_here():
    found = measured("where_here")
    assert found["exit"] == 0
    assert found["said"].startswith("ok       forward: the queue builds here: ")
    (packets,) = re.findall(r"here: ([\d.]+) packets in our queue", found["said"])
    assert 50 < float(packets) <= 500


def test_before_an_interface_that_is_slower_than_the_rate_it_builds_there():
    found = measured("where_behind")
    if "tc qdisc add" in found["refused"]:
        pytest.skip(found["refused"])
    assert found["exit"] == 1
    assert found["said"].startswith("note     forward: the queue builds behind the gate: ")
    # the interface has 1 Mbit/s, and the gate was told 20
    (rate,) = re.findall(r"near sends ([\d.]+) Mbit/s: set --rate a little below", found["said"])
    assert 0.9 < float(rate) < 1.1


def test_a_link_that_has_time_is_not_the_bottleneck():
    found = measured("where_elsewhere")
    assert found["exit"] == 1
    assert found["said"].startswith("note     forward: no queue builds on this machine: ")
    assert "the bottleneck is elsewhere: set --rate a little below" in found["said"]


def test_without_traffic_nothing_is_said_of_it():
    found = measured("where_unknown")
    assert found["exit"] == 1, found["refused"]
    assert found["said"].startswith("note     forward: hardly any packet came: ")


def test_without_a_daemon_it_says_what_to_do(tmp_path):
    path = f"unix:{tmp_path}/metrics"
    done = sluiced("check", "--interface", "lo", "--watch", "1", "--metrics", path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"sluiced: no daemon tells how it stands at {path}: No such file")
    assert sluiced("check", "--watch", "1").returncode == 2
