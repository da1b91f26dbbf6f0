"""Tuning and sweeps over worlds with real routers: one run at a time; refusals with a message."""

import pytest
from kernel_needs import needs_lab, needs_qdiscs

import sluicegate as sg
from sluicegate.scenario import NetworkScenario
from sluicegate.sweeps.run import sweep
from sluicegate.testbed.check import missing, needs
from sluicegate.worlds import Gate, Kernel, Network, Twin
from sluicegate.worlds.gate import refusals
from sluicegate.worlds.gate import world as gate_world
from sluicegate.worlds.network import simulate

pytestmark = pytest.mark.slow

LACKING = missing(needs())
needs_gate = pytest.mark.skipif(bool(LACKING), reason=f"no gate here: {LACKING}")
RED = {"min_th": 5, "max_th": 15, "max_p": 0.1, "w": 0.015625}
MAX_P = {"red.max_p": "0.05..0.5"}


def scenario(**params):
    return NetworkScenario.parse(
        {
            "duration_s": 2.0,
            "warm_up_s": 0.5,
            "replications": 1,
            "seed": 1,
            "topology": {
                "kind": "dumbbell",
                "rate_bps": 2e6,
                "delay_s": 0.008,
                "client_delays_s": [0.001],
                "server_delay_s": 0.001,
            },
            "flows": [{"kind": "tcp", "count": 2, "spread_s": 0.1}],
            "queue": {"limit": 40},
            "disciplines": [{"aqm": "red", "params": {**RED, **params}}],
        }
    )


def test_tuning_over_the_gate_makes_one_run_after_the_other(monkeypatch):
    """Without real packets: the runs are simulated in this process."""
    asked = []

    def measure(chosen, discipline, **_options):
        asked.append((chosen.seed, chosen.replications, discipline.params["max_p"]))
        return simulate(chosen, discipline)

    monkeypatch.setattr(gate_world, "measure", measure)
    # what this machine has does not matter: no packet is sent
    monkeypatch.setattr(refusals, "missing", lambda _needs: "")
    # in one process only: another one would not have the replaced function
    found = sg.tune(
        scenario(),
        MAX_P,
        evaluations=2,
        precision=0.9,
        replications=3,
        world="gate",
        workers=8,
    )
    assert found.trials.height == 2
    assert len(asked) == found.runs + found.fresh_runs
    assert all(replications == 1 for _, replications, _ in asked)
    # common random numbers: the candidates of the search had the same seeds
    first, second = (
        {seed for seed, _, max_p in asked[: found.runs] if max_p == value}
        for value in dict.fromkeys(max_p for *_, max_p in asked[: found.runs])
    )
    assert first == second


def test_runs_in_real_time_do_not_share_the_machine(tmp_path):
    """On this machine's own kernel; in the laboratory, in virtual time, they may."""
    alone = [Gate(), Kernel(here=True), Twin(here=True)]
    assert not any(world.side_by_side for world in alone)
    assert all(world.side_by_side for world in (Network(), Kernel(), Twin()))
    for world in alone:
        message = f"workers = 2 cannot be used with world = {world.name}, which measures in real"
        with pytest.raises(sg.SluiceError, match=message):
            sweep(scenario(), {"seed": [1, 2]}, tmp_path / "swept", world=world, workers=2)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "world",
    [
        pytest.param("twin", marks=needs_lab),
        pytest.param("kernel", marks=needs_qdiscs),
        pytest.param("gate", marks=needs_gate),
    ],
)
def test_what_a_router_cannot_do_is_refused_before_any_run(world, tmp_path):
    if world == "twin":
        refused, message = scenario(w=0.02), "w = 0.02 must be a power of 1/2, as in Linux: 0.0156"
    else:
        refused = scenario().replace(topology=sg.network.Star())
        message = "topology.kind = star must be dumbbell"
    with pytest.raises(sg.SluiceError, match=message):
        sg.tune(refused, MAX_P, world=world, out=tmp_path / "tuned")
    with pytest.raises(sg.SluiceError, match=message):
        sweep(refused, {"seed": [1, 2]}, tmp_path / "swept", world=world)
    assert not list(tmp_path.iterdir())


@needs_gate
def test_a_sweep_over_the_gate_and_its_model(tmp_path):
    frame = sweep(
        scenario(), {"red.max_p": [0.2]}, tmp_path / "out", world=["gate", "network"]
    ).frame()
    assert frame["world"].to_list() == ["gate", "network"]
    assert frame["throughput_bps"].to_list() == pytest.approx([2e6, 2e6], rel=0.2)
