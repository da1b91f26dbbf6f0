"""Comparisons in the chain and in several worlds: records, reports, store, progress, Ctrl-C."""

import json
import os
import signal
import threading

import numpy as np
import polars as pl
import pytest
from intervals import assert_covers
from pages import without_links

import sluicegate as sg
from sluicegate import _engine, store
from sluicegate.cli import main
from sluicegate.report import plots
from sluicegate.report.comparison import comparison_page
from sluicegate.report.folder import write_report
from sluicegate.report.tables import comparison_rows, record_rows
from sluicegate.worlds import Chain
from sluicegate.worlds.chain import run

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("undrawn")]

RED = {"min_th": 3, "max_th": 9, "w": 0.2, "spacing": "independent", "idle_decay": False}
BOTH = ("slotted", "chain")


def scenario(*disciplines, **changes):
    table = {
        "slots": 2e4,
        "arrivals": {"kind": "geometric", "rate": 0.5},
        "service": {"kind": "geometric", "mu": 0.5},
        "queue": {"limit": 15},
        "disciplines": list(disciplines) or [{"aqm": "drop_tail"}, {"aqm": "red", "params": RED}],
    }
    return sg.Scenario.parse(table | changes)


def large():
    """Return a chain that takes the direct method a minute or more."""
    params = RED | {"min_th": 100, "max_th": 200, "w": 0.002}
    return scenario({"aqm": "red", "params": params}, queue={"limit": 250})


def no_solve(*_):
    raise AssertionError("solved again")


# --- records and names


def test_the_chain_gives_what_solve_gives():
    given = scenario()
    found = sg.compare(given, world="chain")
    assert [record.world for record in found.records] == ["chain", "chain"]
    for discipline, record in zip(given.disciplines, found.records, strict=True):
        solved = sg.chain.solve(given, discipline).record
        assert record.measures == solved.measures
        np.testing.assert_array_equal(record.delay_distribution, solved.delay_distribution)
    assert not found.interrupted


def test_two_worlds_are_shown_side_by_side():
    found = sg.compare(scenario(), world=BOTH)
    header, rows = comparison_rows(found)
    first, *_ = (row[0] for row in rows)
    assert first == "drop_tail (slotted)"
    assert [row[0].rpartition(" ")[2] for row in rows] == 2 * ["(slotted)", "(chain)"]
    assert header[0] == "discipline"
    frame = found.frame()
    assert frame.columns[:2] == ["discipline", "world"]
    queues = frame.filter(pl.col("measure") == "queue_mean")
    assert queues["world"].to_list() == 2 * list(BOTH)
    exact = queues.filter(pl.col("world") == "chain")
    assert exact["half_width"].null_count() == 2
    assert found.distributions()["world"].unique().sort().to_list() == sorted(BOTH)


def test_the_worlds_agree_within_three_half_widths():
    found = sg.compare(scenario(slots=200_000), world=(Chain(grid=1 / 64), "slotted"))
    for exact, simulated in zip(found.records[::2], found.records[1::2], strict=True):
        for name in ("queue_mean", "sojourn_mean", "delay_mean", "loss_ratio"):
            assert_covers(simulated[name], exact[name].value, within=0.1, times=3)


def test_every_digit_of_an_exact_measure_is_shown_but_not_of_a_simulated_one():
    simulated, exact = sg.compare(scenario({"aqm": "drop_tail"}), world=BOTH).records
    (_, shown), (_, rounded) = (record_rows(record) for record in (exact, simulated))
    assert shown[0][1] == f"{exact['queue_mean'].value:.10g}"
    assert "±" in rounded[0][1]


# --- reports


def test_a_report_of_the_chain_says_nothing_of_slots_and_intervals(tmp_path):
    page = write_report(sg.compare(scenario(), world="chain"), tmp_path)
    html = without_links(page.read_text())
    assert "each solved exactly as a Markov chain" in html
    assert "they have no random error" in html
    assert "confidence" not in html
    assert "seed" not in html


def test_a_report_of_both_says_what_each_figure_is():
    html = without_links(comparison_page(sg.compare(scenario(), world=BOTH)).html())
    assert "95 % confidence interval" in html
    assert "they have no random error" in html
    assert "simulated in 8 runs of 20,000 slots, seed 1 and solved exactly" in html


def test_times_that_are_not_known_are_named():
    (record,) = sg.compare(scenario({"aqm": "red", "params": RED}), world="chain").records
    unknown = scenario({"aqm": "red", "params": RED, "victim": "random"})
    found = sg.compare(unknown, world="chain")
    assert record.delay_distribution.size
    assert "Not known of red" in comparison_page(sg.compare(unknown, world=BOTH)).html()
    assert comparison_rows(found)[1][0][1] == "n/a"


def test_times_under_drop_from_front_are_followed_on_request():
    front = {"aqm": "red", "params": RED, "victim": "front"}
    given = scenario({"aqm": "drop_tail"}, front)
    (_, unknown), (tail, known) = (
        sg.compare(given, world=Chain(grid=1.0, front_times=asked)).records
        for asked in (False, True)
    )
    for times in ("sojourn", "delay"):
        assert not getattr(unknown, f"{times}_distribution").size
        distribution = getattr(known, f"{times}_distribution")
        assert distribution.sum() == pytest.approx(1, abs=1e-12)
        mean = distribution @ getattr(known, f"{times}_times")
        assert mean == pytest.approx(unknown[f"{times}_mean"].value, rel=1e-9)
        assert known[f"{times}_mean"].value == pytest.approx(mean, rel=1e-9)
        assert getattr(tail, f"{times}_distribution").size


def test_a_world_has_a_line_style_and_a_discipline_a_colour():
    labelled = [{"aqm": "drop_tail"}, {"aqm": "red", "params": RED, "label": "long " * 30}]
    found = sg.compare(scenario(*labelled), world=BOTH)
    (ax,) = plots.queue_tail_figure(found.records).axes
    looks = {}
    for line in ax.lines:
        name, _, world = line.get_label().rpartition(" ")
        looks[name.split()[0], world] = (line.get_color(), line.get_linestyle())
    assert set(looks) == {(name, f"({w})") for name in ("drop_tail", "long") for w in BOTH}
    for name in ("drop_tail", "long"):
        assert looks[name, "(slotted)"][0] == looks[name, "(chain)"][0]
    for world in ("(slotted)", "(chain)"):
        assert looks["drop_tail", world][1] == looks["long", world][1]
    assert len(set(looks.values())) == 4


def test_exact_tails_go_on_where_the_simulation_ends():
    light = scenario({"aqm": "drop_tail"}, arrivals={"kind": "geometric", "rate": 0.3})
    found = sg.compare(light, world=BOTH)
    simulated, exact = (
        line.get_ydata() for line in plots.queue_tail_figure(found.records).axes[0].lines
    )
    low, high = sorted((simulated.min(), exact.min()))
    assert high > 1e-6
    assert low == pytest.approx(found.records[1].queue_distribution[15], rel=1e-12)


# --- the store


@pytest.mark.parametrize("world", ["chain", Chain(grid=1.0, limit=True)])
def test_a_repeated_comparison_solves_nothing(world, monkeypatch):
    first = sg.compare(scenario(), world=world)
    monkeypatch.setattr(_engine, "solve_chain", no_solve)
    again = sg.compare(scenario(seed=7, slots=5e4), world=world)
    assert [record.summary() for record in again.records] == [
        record.summary() for record in first.records
    ]
    with pytest.raises(AssertionError):
        sg.compare(scenario(), world=world, fresh=True)


def test_another_grid_or_method_is_another_run():
    kept = [
        sg.compare(scenario(), world=world).records[1].identity
        for world in (Chain(), Chain(grid=0.5), Chain(method="direct"), Chain(limit=True))
    ]
    assert len(set(kept)) == 4


# --- progress and Ctrl-C


def told_by(method, grid):
    told = []
    given = scenario(
        {"aqm": "red", "params": RED | {"min_th": 20, "max_th": 80}}, queue={"limit": 99}
    )
    sg.compare(given, world=Chain(grid=grid, method=method), watch=lambda *seen: told.append(seen))
    return told


def test_progress_is_reported_in_words_and_numbers():
    told = told_by("direct", 0.1)
    assert told[-1] == (told[0][0], 1, 1, "")
    stages = [stage for *_, stage in told[:-1]]
    assert stages
    assert all(stage.endswith("of 101 sizes eliminated") for stage in stages)


def test_ctrl_c_ends_a_solve():
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        sg.chain.solve(large(), method="direct")


def test_ctrl_c_keeps_the_finished_records(monkeypatch, tmp_path, capsys):
    solve, solved = run.solve, []

    def stopped(*given, **more):
        if solved:
            raise KeyboardInterrupt
        solved.append(1)
        return solve(*given, **more)

    monkeypatch.setattr(run, "solve", stopped)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "it.toml").write_text(
        "slots = 1000\n"
        'arrivals = { kind = "geometric", rate = 0.5 }\n'
        'service = { kind = "geometric", mu = 0.5 }\n'
        'disciplines = [{ aqm = "drop_tail" }, { aqm = "drop_tail", ecn = true }]\n'
    )
    assert main(["chain", "it.toml", "--json", "out.json"]) == 130
    assert "Not finished: drop_tail ECN." in capsys.readouterr().err
    assert len(json.loads((tmp_path / "out.json").read_text())["records"]) == 1
    assert len(list(store.folder().glob("*.zip"))) == 1


# --- what is refused


def test_what_a_world_cannot_judge_is_refused_before_any_run(monkeypatch):
    monkeypatch.setattr("sluicegate.worlds.slotted.world.simulate", no_solve)
    with pytest.raises(sg.SluiceError, match=r"red\.spacing must be"):
        sg.compare(scenario({"aqm": "drop_tail"}, {"aqm": "red"}), world=BOTH)


@pytest.mark.parametrize(
    ("world", "message"),
    [
        ("moon", "world = moon must be one of slotted, chain, network, gate, kernel, twin"),
        ((), "world = [] must name one world or more, each once"),
        (("chain", Chain()), "world = ['chain', 'chain'] must name one world or more, each once"),
        (Chain(grid=-1), "grid = -1 must be above 0 and at most the limit of 15 packets"),
        (
            Chain(limit=True, method="direct"),
            "method = direct has no meaning where limit is set",
        ),
        (Chain(method="power"), "method = power must be auto, direct or iterative"),
    ],
)
def test_worlds_that_do_not_exist_are_refused(world, message):
    with pytest.raises(sg.SluiceError) as refusal:
        sg.compare(scenario({"aqm": "red", "params": RED}), world=world)
    assert str(refusal.value) == message
