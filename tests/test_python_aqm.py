"""A user's own Python class: verdicts that it may return, Ctrl-C, and the network world."""

import os
import re
import signal
import threading
import time

import numpy as np
import pytest

import sluicegate as sg
from sluicegate import network, store
from sluicegate.errors import InterruptError

LINKS = [
    {"source": "a", "sink": "r", "rate_bps": 1e7, "delay_s": 1e-3},
    {"source": "r", "sink": "s", "rate_bps": 1e6, "delay_s": 5e-3, "queue": True},
    {"source": "s", "sink": "b", "rate_bps": 8e5, "delay_s": 5e-3, "queue": True},
]
NETWORK = {
    "duration_s": 10,
    "replications": 2,
    "queue": {"limit": 20},
    "topology": {"kind": "graph", "links": LINKS},
    "flows": [{"kind": "tcp", "source": "a", "sink": "b", "count": 20}],
    "disciplines": [{"aqm": "drop_tail"}],
}
SLOTTED = {
    "slots": 2e4,
    "replications": 2,
    "arrivals": {"kind": "geometric", "rate": 0.5},
    "service": {"kind": "geometric", "mu": 0.5},
    "queue": {"limit": 30},
    "disciplines": [{"aqm": "drop_tail"}],
}
WORLDS = ("slotted", "network")


def run(world, aqm, **changes):
    table, kind = (
        (SLOTTED, sg.Scenario) if world == "slotted" else (NETWORK, sg.network.NetworkScenario)
    )
    scenario = kind.parse(table).replace(disciplines=[sg.Discipline(aqm=aqm)], **changes)
    return sg.compare(scenario).records[0]


def answering(said, method="arrive", **attributes):
    """Return a class whose method returns `said`."""
    methods = {"arrive": lambda self, view: sg.ADMIT} | {method: lambda self, view: said}
    return type("Talkative", (), methods | attributes)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("said", [None, True, False, "admit", -1, 3, 4, 5, 77, 1.0, 2**70])
@pytest.mark.parametrize("method", ["arrive", "depart"])
def test_only_verdicts_are_accepted(world, said, method):
    words = "it must return ADMIT, DROP_EARLY or DROP_FORCED (of sluicegate)"
    with pytest.raises(sg.SluiceError) as told:
        run(world, answering(said, method))
    assert str(told.value) == f"Talkative.{method} returned {said!r}; {words}"


def test_a_candidate_can_be_dropped_only_on_arrivals():
    run("slotted", answering(sg.DROP_BOTH, wants_candidate=True))
    with pytest.raises(
        sg.SluiceError, match=r"DROP_EARLY, DROP_FORCED or DROP_BOTH \(of sluicegate"
    ):
        run("slotted", answering(None, wants_candidate=True))
    with pytest.raises(sg.SluiceError, match=r"^Talkative\.depart returned 5; .*LY or DROP_FORCED"):
        run("slotted", answering(sg.DROP_BOTH, "depart", wants_candidate=True))


def test_the_result_of_a_tick_is_ignored():
    assert run("slotted", answering("done", "tick", tick_interval_ns=10**9)).done == 1


class Endless:
    def arrive(self, view):
        while True:
            pass


class EndlessFromTheStart:
    def __init__(self):
        while True:
            pass

    def arrive(self, view):
        return sg.ADMIT


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("aqm", [Endless, EndlessFromTheStart])
def test_ctrl_c_ends_an_endless_loop(world, aqm):
    start = time.monotonic()
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(InterruptError, match=r"^interrupted before anything was finished$"):
        run(world, aqm)
    assert time.monotonic() - start < 30


class Red:
    """The drop function of `red` with w = 0.07 and independent drops, in floating point."""

    started = 0

    def __init__(self):
        self.average = 0.0
        Red.started += 1

    def arrive(self, view):
        self.average += 0.07 * (view.queue_packets - self.average)
        if self.average >= 12:
            return sg.DROP_FORCED
        probability = max(0.0, 0.2 * (self.average - 4) / (12 - 4))
        return sg.DROP_EARLY if (view.random >> 32) / 2**32 < probability else sg.ADMIT


def test_a_class_with_the_drop_function_of_red_is_red_in_a_network():
    Red.started = 0
    python = run("network", Red)
    assert Red.started == 2 * 2, "one in each queue of each replication"
    params = {"w": 0.07, "min_th": 4, "max_th": 12, "max_p": 0.2}
    params |= {"spacing": "independent", "idle_decay": False}
    scenario = network.NetworkScenario.parse(NETWORK)
    compiled = network.simulate(scenario, sg.Discipline(aqm="red", params=params))
    assert compiled.ports[1].measures["early_loss_ratio"].value > 0.05
    assert python.measures == compiled.measures
    for own, other in zip(python.ports, compiled.ports, strict=True):
        assert own.measures == other.measures
    np.testing.assert_array_equal(python.queue_distribution, compiled.queue_distribution)
    assert not list(store.folder().glob(f"{python.identity}*")), "its code may read anything"


def test_an_exception_ends_a_run_in_a_network():
    class Broken:
        def arrive(self, view):
            return view.no_such_field

    with pytest.raises(AttributeError, match="no_such_field"):
        run("network", Broken)


def test_each_queue_of_a_scheduler_has_an_instance():
    Red.started = 0
    scenario = network.NetworkScenario.parse(NETWORK)
    scheduler = sg.Drr(queues=8)
    network.simulate(scenario, sg.Discipline(aqm=Red, scheduler=scheduler))
    assert Red.started == 2 * 2 * 8


def test_every_field_of_the_view_says_what_it_is():
    fields = [name for name in dir(sg.View) if not name.startswith("_")]
    assert "candidate_flow_hash" in fields
    for name in fields:
        assert re.search(r"[a-z].*\.$", getattr(sg.View, name).__doc__, re.DOTALL), name
