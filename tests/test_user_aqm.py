"""A user's own AQM: a C header in the scenario's folder, a Python class."""

from pathlib import Path

import numpy as np
import pytest

import sluicegate as sg
from sluicegate.cli import main

pytestmark = pytest.mark.slow

LOAD = {
    "slots": 2e4,
    "replications": 2,
    "arrivals": {"kind": "geometric", "rate": 0.5},
    "service": {"kind": "geometric", "mu": 0.5},
    "queue": {"limit": 30},
}

HEADER = (Path(__file__).parent / "shorter.h").read_text()


def run(aqm, **changes):
    params = changes.pop("params", {})
    discipline = sg.Discipline(aqm=aqm, params=params)
    return sg.simulate(sg.Scenario(**(LOAD | changes), disciplines=[discipline]))


def test_a_header_named_in_a_scenario_is_compiled_and_run(tmp_path):
    (tmp_path / "shorter.h").write_text(HEADER)
    path = tmp_path / "scenario.toml"
    path.write_text(
        "slots = 2e4\nreplications = 2\n"
        'arrivals = { kind = "geometric", rate = 0.5 }\n'
        'service = { kind = "geometric", mu = 0.5 }\n'
        "queue = { limit = 30 }\n"
        'disciplines = [{ aqm = "shorter.h", params = { most = 4 } }]\n'
    )
    own = sg.simulate(sg.Scenario.load(path))
    buffer_of_four = run("drop_tail", queue={"limit": 4})
    assert own.discipline == "shorter most=4"
    np.testing.assert_array_equal(own.queue_distribution, buffer_of_four.queue_distribution)
    assert own["forced_loss_ratio"] == buffer_of_four["overflow_loss_ratio"]


def test_a_changed_header_is_another_run(tmp_path):
    path = tmp_path / "shorter.h"
    path.write_text(HEADER)
    first = run(str(path))
    path.write_text(HEADER.replace("most, COUNT, 10", "most, COUNT, 2"))
    second = run(str(path))
    assert second.identity != first.identity
    assert second["loss_ratio"].low > first["loss_ratio"].high


def test_a_header_is_the_same_run_until_what_it_includes_changes(tmp_path):
    path, included = tmp_path / "shorter.h", tmp_path / "most.h"
    path.write_text(f'#include "{included}"\n' + HEADER.replace("COUNT, 10", "COUNT, MOST"))
    identities = []
    text = path.read_text()
    for place, most in enumerate((10, 10, 2)):
        included.write_text(f"#define MOST {most}\n")
        # a different text, because the same text would not be compiled again
        path.write_text(f"{text}/* {place} */\n")
        identities.append(run(str(path)).identity)
    assert identities[0] == identities[1] != identities[2]


def test_a_header_that_is_named_unlike_its_aqm_is_refused_before_it_is_compiled(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    Path("other.h").write_text(HEADER)
    told = (
        "other.h: the file's name must be the AQM's: it has AQM_CLASS(shorter, ...), so call it "
        "shorter.h, or write other throughout\n"
    )
    assert main(["simulate", "mine.toml", "--aqm", "other.h"]) == 1
    assert capsys.readouterr().err == f"error: --aqm: {told}"
    assert main(["aqm", "other.h"]) == 1
    assert capsys.readouterr().err == f"error: {told}"


def test_the_parameters_of_a_header_are_checked(tmp_path):
    path = tmp_path / "shorter.h"
    path.write_text(HEADER)
    with pytest.raises(sg.SluiceError) as refusal:
        run(str(path), params={"most": 1001})
    assert str(refusal.value) == "shorter.most = 1001 must lie between 0 and 1000"


class Red:
    """The drop function of `red` with w = 0.07 and independent drops, in floating point."""

    def __init__(self):
        self.average = 0.0

    def arrive(self, view):
        self.average += 0.07 * (view.queue_packets - self.average)
        if self.average >= 12:
            return sg.DROP_FORCED
        probability = max(0.0, 0.2 * (self.average - 4) / (12 - 4))
        chance = (view.random >> 32) / 2**32
        return sg.DROP_EARLY if chance < probability else sg.ADMIT


def test_a_python_class_with_the_drop_function_of_red_is_red():
    params = {"w": 0.07, "min_th": 4, "max_th": 12, "max_p": 0.2}
    compiled = run("red", params=params | {"spacing": "independent", "idle_decay": False})
    assert compiled["early_loss_ratio"].value > 0.01
    python = run(Red)
    assert python.measures == compiled.measures
    np.testing.assert_array_equal(python.delay_distribution, compiled.delay_distribution)


class Sojourn:
    """Drops packets at departure that have waited more than `most_ns`; counts ticks."""

    tick_interval_ns = 1_000_000_000
    most_ns = 10_000_000
    ticks = 0

    def arrive(self, view):
        return sg.ADMIT

    def depart(self, view):
        return sg.DROP_FORCED if view.sojourn_ns > self.most_ns else sg.ADMIT

    def tick(self, view):
        Sojourn.ticks += 1


def test_a_python_class_may_watch_departures_and_time():
    Sojourn.ticks = 0
    record = run(Sojourn, service={"kind": "deterministic", "slots": 3})
    # a slot is a millisecond: a packet is served if it has waited 10 slots at most
    longest = (np.flatnonzero(record.delay_distribution)[-1]) * record.time_bin
    assert longest == 13
    assert record["forced_loss_ratio"].value > 0.1
    assert Sojourn.ticks == 2 * 19


class Broken:
    def arrive(self, view):
        return view.no_such_field


class Talkative:
    def arrive(self, view):
        return "admit"


def test_what_a_python_class_raises_reaches_the_user():
    with pytest.raises(AttributeError, match="no_such_field"):
        run(Broken)
    words = "arrive returned 'admit'; it must return ADMIT, DROP_EARLY or DROP_FORCED"
    with pytest.raises(ValueError, match=words):
        run(Talkative)


class Stubborn:
    calls = 0

    def arrive(self, view):
        Stubborn.calls += 1
        raise RuntimeError("no more")


class Timeless:
    tick_interval_ns = 0

    def arrive(self, view):
        return sg.ADMIT

    def tick(self, view):
        pass


def test_a_python_class_that_failed_is_not_called_again():
    with pytest.raises(RuntimeError, match="no more"):
        run(Stubborn, replications=1)
    assert Stubborn.calls == 1


def test_a_python_class_cannot_tick_all_the_time():
    with pytest.raises(ValueError, match=r"^tick_interval_ns = 0 must be at least 1 \(ns\)$"):
        run(Timeless)


def test_a_class_without_arrive_is_refused():
    with pytest.raises(sg.SluiceError, match=r"must be a class with a method arrive\(view\)$"):
        run(int)
