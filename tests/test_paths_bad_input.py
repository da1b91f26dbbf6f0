"""Paths that cannot be, or that carry nothing: clear errors, or right results."""

import os
import subprocess

import pytest
from gate_run import SLUICED

import sluicegate as sg
from sluicegate import network
from sluicegate.worlds import world

BOTTLENECK = "left -> right"


def scenario(own, *flows, **fields):
    """A link of 1 Mb/s that has something of its own."""
    table = {
        "duration_s": 5,
        "replications": 1,
        "topology": {"kind": "dumbbell", "rate_bps": 1e6, "client_delays_s": [0.01]},
        "flows": list(flows) or [{"kind": "tcp"}],
        "disciplines": [{"aqm": "codel"}],
        "links": {BOTTLENECK: own} if own else {},
    }
    return network.NetworkScenario.parse(table | fields)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "it is empty"),
        ("\n \n", "it is empty"),
        ("time_s,rate_bps\n", "there must be at least one rate"),
        ("5\n3\n9\n", "times must not fall, and 0.003 s comes after 0.005 s"),
        ("time_s,rate_bps\n5,1e6\n3,1e6\n", "times must rise, and 3 s does not come after 5 s"),
        ("0\n0\n0\n", "the last opportunity must be after 0: there the trace repeats"),
        ("time_s,rate_bps\n0,0\n1,0\n", "the last rate, from 1 s on, must be above 0"),
    ],
)
def test_traces_that_cannot_be_are_refused_by_their_name(tmp_path, gateway, text, told):
    path = tmp_path / "phone.trace"
    path.write_text(text)
    with pytest.raises(sg.SluiceError, match=f"phone.trace: {told}"):
        network.simulate(scenario({"rate": {"kind": "file", "path": str(path)}}))
    # the daemon, before it does anything
    replay = [SLUICED, "replay", gateway, "--aqm", "codel", "--rate-file", path]
    done = subprocess.run(replay, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"--rate-file {path}: {told}" in done.stderr


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_is_refused_at_once(tmp_path, gateway, make):
    path = tmp_path / "rates"
    make(path)
    told = f"{path}: it must be a file, not a folder, a pipe or a device"
    with pytest.raises(sg.SluiceError, match=told):
        network.simulate(scenario({"rate": {"kind": "file", "path": str(path)}}))
    replay = [SLUICED, "replay", gateway, "--aqm", "codel", "--rate-file", path]
    # a pipe without a writer would be waited for
    done = subprocess.run(replay, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert f"--rate-file {told}" in done.stderr


@pytest.mark.parametrize("kind", ["steps", "ramp"])
def test_a_rate_of_0_for_ever_is_refused(kind):
    points = [{"time_s": 0, "rate_bps": 1e6}, {"time_s": 1, "rate_bps": 0}]
    rate = {"kind": kind, "steps" if kind == "steps" else "points": points}
    with pytest.raises(sg.SluiceError, match="the last rate, from 1 s on, must be above 0"):
        scenario({"rate": rate})
    with pytest.raises(sg.SluiceError, match=r"topology.rate_bps = 0 must be at least 1"):
        scenario({}, topology={"kind": "dumbbell", "rate_bps": 0})


def test_an_outage_longer_than_the_run_carries_nothing():
    rows = [{"time_s": 0, "rate_bps": 0}, {"time_s": 1000, "rate_bps": 1e6}]
    record = network.simulate(scenario({"rate": {"kind": "steps", "steps": rows}}))
    assert record["throughput_bps"].value == 0
    assert record["goodput"].value == 0


@pytest.mark.parametrize(
    "loss",
    [
        {"kind": "bernoulli", "probability": 1},
        {"kind": "gilbert-elliott", "enter": 1, "leave": 1, "loss_in_good": 1},
        # no packet is as small as the burst
        {"kind": "policer", "rate_bps": 1000, "burst_bytes": 1},
    ],
)
def test_a_wire_that_loses_all_delivers_nothing(loss):
    own = {"wire": {"loss": loss}}
    for flow in ({"kind": "tcp"}, {"kind": "datagrams", "rate_bps": 5e5}):
        record = network.simulate(scenario(own, flow))
        assert record["wire_loss_ratio"].value == 1
        assert record.flows["packets"].sum() == 0
        # the queue did not lose them
        assert record["loss_ratio"].value == 0
        # a goodput of 0 is one of TCP, too
        assert "goodput" in world("network")().key_measures([record])


@pytest.mark.slow
def test_a_million_users_of_the_web_run_and_ten_millions_are_refused():
    web = {
        "kind": "web",
        "count": 10**6,
        "objects": {"kind": "pareto", "mean_packets": 8, "shape": 1.2},
        "think": {"kind": "exponential", "mean_s": 1000},
        "spread_s": 2,
    }
    path = {"kind": "dumbbell", "rate_bps": 1e8, "client_delays_s": [0.01]}
    record = network.simulate(scenario({}, web, topology=path, duration_s=2))
    # 10^6 first objects in 2 s are far more than the link carries
    assert record["throughput_bps"].value == pytest.approx(1e8, rel=1e-3)
    with pytest.raises(
        sg.SluiceError, match="have 10000000 flows together and must have at most 5000000"
    ):
        network.simulate(scenario({}, web | {"count": 10**7}))
