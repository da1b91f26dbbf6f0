"""The axes of a sweep's pictures: what varies as no number, derived variables, units, scales."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from test_sweep import SHORT

import sluicegate as sg
from sluicegate.cli import main
from sluicegate.report.narrow import narrow
from sluicegate.scenario import network
from sluicegate.sweeps.page import sweep_page
from sluicegate.sweeps.plan import Plan
from sluicegate.sweeps.words import path_label
from sluicegate.worlds.network import simulate
from sluicegate.worlds.network.world import Network

pytestmark = pytest.mark.slow

FILE = """
duration_s = 0.5
replications = 1
topology = { kind = "dumbbell", rate_bps = "2M", client_delays_s = [0.01, 0.02] }
flows = [{ kind = "tcp", count = 2 }]
queue = { limit = 20 }
disciplines = [{ aqm = "drop_tail" }, { aqm = "codel", label = "CoDel" }]
"""


@pytest.fixture
def scenario(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenario.toml").write_text(FILE)
    return sg.load("scenario.toml")


def run(*words):
    return main(["sweep", "scenario.toml", "--no-report", *words])


def line(figure, place=0):
    (drawn, *_) = figure.axes[0].containers[place]
    return drawn


def ticks(figure):
    return [each.get_text() for each in figure.axes[0].get_xticklabels()]


# --- what varies as no number


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("vary", "labels"),
    [
        ("topology.client_delays_s=[0.02],[0.001]", ["[0.02]", "[0.001]"]),
        ("queue.victim=tail,front,random", ["tail", "front", "random"]),
        ("topology.two_way=true,false", ["true", "false"]),
    ],
)
def test_values_that_are_no_numbers_stand_side_by_side_in_their_order(
    scenario, vary, labels, capsys
):
    words = ["--figure", "a.pdf", "--out", "out", "--report"]
    assert main(["sweep", "scenario.toml", "--vary", vary, *words]) == 0
    assert main(["results", "out", "--figure", "b.svg", "--y", "loss_ratio"]) == 0
    assert "figure: b.svg" in capsys.readouterr().out
    found = sg.Sweep("out")
    figure = found.figure("loss_ratio")
    assert ticks(figure) == labels
    assert list(line(figure).get_xdata()) == list(range(len(labels)))
    losses = found.means({"discipline": "drop_tail"})["loss_ratio"]
    assert list(line(figure).get_ydata()) == [100 * value for value in losses]
    assert main(["results", "out", "--figure", "c.pdf", "--xscale", "log"]) == 1
    assert "has no numbers on its axis: leave out the scale" in capsys.readouterr().err


def test_a_map_over_values_that_are_no_numbers_keeps_their_order(scenario):
    assert run("--vary", "queue.victim=tail,front", "--vary", "rtt=20ms,30ms", "--out", "out") == 0
    figure = sg.Sweep("out").figure("rtt", "queue.victim", colour="loss_ratio")
    ax = figure.axes[0]
    assert ticks(figure) == ["tail", "front"]
    assert [each.get_text() for each in ax.get_yticklabels()] == ["20", "30"]


@pytest.mark.parametrize("count", [3, 5])
def test_a_page_has_maps_of_an_odd_number_of_disciplines(scenario, count):
    """One place beside them is empty, wide or narrow."""
    aqms = ("drop_tail", "red", "codel", "pie", "blue")[:count]
    words = [word for aqm in aqms for word in ("--aqm", aqm)]
    varied = ["--vary", "queue.limit=10,20", "--vary", "rtt=20ms,30ms"]
    assert main(["sweep", "scenario.toml", *words, *varied, "--out", "out", "--report"]) == 0
    figure = sg.Sweep("out").figure("rtt", "queue.limit", colour="loss_ratio")
    for drawn in (figure, narrow(figure)):
        drawn.canvas.draw()
        # and the scale of the colours
        assert len(drawn.axes) == count + 1


# --- what cannot be drawn


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--y", "sojourn_men"], "y: sojourn_men is no measure; did you mean sojourn_mean?"),
        (["--y", "queueing_delay"], "queueing_delay is no measure; did you mean sojourn_mean?"),
        (["--x", "rate"], "x: rate is no measure"),
        (["--x", "RTT"], "x: RTT does not vary; did you mean rtt?"),
        (["--x", "base_rtt"], "x: base_rtt does not vary; did you mean rtt?"),
        (["--vary", "base_rtt=10ms"], "there is no base_rtt; did you mean rtt?"),
        (["--vary", "delay=10ms"], "there is no delay; did you mean rtt?"),
        (["--y", "rtt"], "y = rtt varies in this sweep; y must be a measure"),
        (["--y", "rtt", "--x", "seed", "--colour", "loss"], "colour: loss is no measure"),
        (["--y", "seed", "--colour", "loss_ratio"], "seed does not vary; there are rtt"),
        (["--figure", "picture.jpg"], "picture.jpg must end in .pdf, .svg, .png"),
        (["--measures", "loss"], "loss is no measure"),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_anything_is_run(scenario, words, message, capsys):
    figure = [] if "--figure" in words else ["--figure", "a.pdf"]
    assert run(*figure, *words, "--vary", "rtt=20ms,30ms", "--out", "out") in (1, 2)
    assert message in capsys.readouterr().err
    assert not Path("out").exists()


def test_a_measure_that_no_run_has_leaves_the_results(scenario, capsys):
    words = ["--vary", "rtt=20ms,30ms", "--figure", "a.pdf", "--y", "completion_mean"]
    assert run(*words, "--out", "out") == 1
    printed = capsys.readouterr()
    assert "results: out" in printed.out
    assert "error: completion_mean is known of no run here" in printed.err
    assert sg.Sweep("out").frame().height == 4


# --- derived variables


def test_rtt_sets_the_delays_of_a_dumbbell(scenario):
    assert run("--vary", "rtt=[10ms,0.05]", "--out", "out") == 0
    found = sg.Sweep("out")
    assert found.frame()["rtt"].unique().sort().to_list() == [0.01, 0.05]
    for rtt, delay in ((0.01, 0.0), (0.05, 0.02)):
        same = scenario.replace({"topology.client_delays_s": [delay, delay]})
        expected = simulate(same, same.disciplines[0])
        row = found.selected({"rtt": rtt, "discipline": "drop_tail"})
        assert row["sojourn_mean"].item() == expected["sojourn_mean"].value


def test_values_may_be_those_of_numpy_and_polars(scenario):
    vary = {"rtt": np.linspace(0.02, 0.04, 3), "seed": pl.Series([1, 2])}
    plan = Plan.of(scenario, [Network()], vary | {"queue.limit": [np.int64(9)]}, "grid", None)
    assert plan.points[-1] == {"rtt": 0.04, "seed": 2, "queue.limit": 9}
    assert {type(value) for value in plan.points[0].values()} == {float, int}


def test_rtt_follows_what_else_varies(scenario):
    plan = Plan.of(
        scenario, [Network()], {"rtt": [0.1], "topology.delay_s": [0.01, 0.04]}, "grid", None
    )
    delays = [task.changes["topology.client_delays_s"] for task in plan.tasks()]
    assert delays[::2] == [[0.0375, 0.0375], [0.0075, 0.0075]]


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ({"rtt": ["9ms"]}, "drop_tail at rtt = 0.009: rtt = 9 ms must be at least 10 ms, twice"),
        ({"rtt": ["9M"]}, r"rtt = '9M' must be a number \(s\), or have its unit behind it"),
        ({"rtt": ["x"]}, "rtt = 'x' must be a number"),
        ({"rtt": [10, 20]}, "rtt = 10 must have its unit behind it, as in 10ms or 10s"),
        ({"rtt": "10..200"}, "rtt = 10 must have its unit behind it, as in 10ms or 10s"),
        ({"rtt": "0.01..200:5"}, "rtt = 200 must have its unit behind it, as in 200ms or 200s"),
        ({"rtt": "10..200ms"}, "rtt = 10..200ms must say how many: 10..200ms:5"),
        ({"rtt": [True]}, "rtt = True must be a number"),
        ({"rtt": "10..20M:3"}, "rtt = '20M' must be a number|rtt = '10M'"),
        ({"rtt": "20..10ms:3"}, "empty range: 10ms must exceed 20"),
        (
            {"rtt": [0.1], "topology.client_delays_s.0": [0.1]},
            "rtt sets topology.client_delays_s, which varies, too: vary one of them",
        ),
        ({"codel.target": "1..5M:3"}, "codel.target takes no number with the unit 'M'"),
        ({"queue.limit": "1..5k:3"}, "queue.limit takes no number with the unit 'k'"),
        ({"topology.rate_bps": ["5ms"]}, "rate_bps = '5ms' must be a number"),
    ],
)
def test_bad_values_with_units(scenario, vary, message, tmp_path):
    with pytest.raises(sg.SluiceError, match=message):
        sg.sweep(scenario, vary, tmp_path / "out", workers=1)
    assert not (tmp_path / "out").exists()


def test_rtt_can_be_replaced_as_it_can_be_varied(scenario):
    changed = scenario.replace({"queue.limit": 9}, rtt="50ms")
    assert changed.topology.client_delays_s == (0.02, 0.02)
    assert changed.queue.limit == 9
    # it follows what else is replaced
    slower = scenario.replace({"rtt": 0.05, "topology.delay_s": 0.01})
    assert slower.topology.client_delays_s == (0.0125, 0.0125)
    with pytest.raises(sg.SluiceError, match="rtt = 50 must have its unit behind it"):
        scenario.replace(rtt=50)
    with pytest.raises(sg.SluiceError, match="which is given, too: give one of them"):
        scenario.replace({"topology.client_delays_s": [0.1], "rtt": "50ms"})


def test_rtt_is_for_dumbbells(tmp_path, scenario):
    star = scenario.replace(topology=network.Star())
    for other in (SHORT, star):
        with pytest.raises(sg.SluiceError, match="rtt is for networks with the topology dumbbell"):
            sg.sweep(other, {"rtt": [0.1]}, tmp_path / "out", workers=1)


# --- units, labels, scales, columns


def test_numbers_with_units_are_numbers_in_the_results(scenario):
    vary = {"topology.rate_bps": ["1M", "2M"], "codel.target": ["5ms"], "rtt": "20..40ms:3"}
    found = sg.sweep(scenario, vary, "out", workers=1)
    frame = found.frame()
    assert frame["topology.rate_bps"].unique().sort().to_list() == [1e6, 2e6]
    assert frame["codel.target"].unique().to_list() == [0.005]
    assert frame["rtt"].unique().sort().to_list() == [0.02, 0.03, 0.04]
    assert found.selected({"topology.rate_bps": "2M", "rtt": "30ms"}).height == 2


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("flows.0.count", "flows"),
        ("flows.0.tcp.packet_bytes", "flows tcp packet (bytes)"),
        ("flows.0.tcp.receiver_window", "flows tcp receiver window (packets)"),
        ("topology.rate_bps", "topology rate (bits/s)"),
        ("topology.client_delays_s", "topology client delays (s)"),
        ("topology.client_delays_s.1", "topology client delays s 1 (s)"),
        ("queue.limit", "queue limit (packets)"),
        ("codel.target", "codel.target (s)"),
        ("disciplines.1.params.target", "CoDel target (s)"),
        ("duration_s", "duration (s)"),
        ("rtt", "base RTT (ms)"),
        ("seed", "seed"),
    ],
)
def test_what_varies_is_named_with_the_unit_of_its_field(scenario, path, label):
    values = {
        "topology.client_delays_s": [[0.1]],
        "seed": [1],
        "flows.0.count": [1],
        "rtt": [0.1],
    }
    plan = Plan.of(scenario, [Network()], {path: values.get(path, [100])}, "grid", None)
    assert path_label(path, plan.about()) == label


@pytest.mark.parametrize(
    ("values", "asked", "scale"),
    [
        ("10ms,20ms,50ms,100ms,200ms", [], "linear"),
        ("10ms,100ms,1s", [], "log"),
        ("10ms,500ms,1s", [], "linear"),
        ("10ms,20ms,50ms", ["--xscale", "log"], "log"),
        ("10ms,100ms,1s", ["--xscale", "linear"], "linear"),
    ],
)
def test_an_axis_is_linear_unless_its_values_span_decades(
    scenario, values, asked, scale, monkeypatch
):
    drawn = []
    file = "sluicegate.report.figure_file.save"
    monkeypatch.setattr(file, lambda figure, _: drawn.append(figure))
    words = ["--vary", f"rtt={values}", "--figure", "a.pdf", "--xlabel", "RTT", "--ylabel", "p99"]
    assert run(*words, *asked, "--out", "out", "--duration", "0.1") == 0
    ax = drawn[0].axes[0]
    assert (ax.get_xscale(), ax.get_xlabel(), ax.get_ylabel()) == (scale, "RTT", "p99")
    places = line(drawn[0]).get_xdata()
    assert places[0] == 10.0  # in ms


def test_what_is_drawn_is_in_the_table_and_measures_choose_it(scenario, capsys):
    words = ["--vary", "rtt=20ms,30ms", "--out", "out"]
    assert run(*words, "--figure", "a.pdf", "--y", "timeout_rate") == 0
    head = capsys.readouterr().out.splitlines()[:2]
    assert "mean sojourn" in head[0]
    assert "time-outs" in head[0]
    assert head[1].split()[:2] == ["discipline", "(ms)"]
    for command in (["sweep", "scenario.toml", "--no-report", *words], ["results", "out"]):
        assert main([*command, "--measures", "mark_ratio,queue_mean"]) == 0
        head = capsys.readouterr().out.splitlines()[0]
        assert head.split() == ["base", "RTT", "marked", "mean", "queue"]
    assert main(["results", "out", "--measures", "mark_ratio", "--csv", "means.csv"]) == 0
    columns = Path("means.csv").read_text().splitlines()[0]
    assert columns == "discipline,world,rtt,time_unit,runs,mark_ratio,mark_ratio_half_width"


def test_the_same_name_twice_means_either_value(scenario, capsys):
    words = ["--vary", "rtt=20ms,30ms,40ms", "--out", "out", "--aqm", "drop_tail", "--aqm", "codel"]
    assert run(*words, "--aqm", "red:min_th=1,max_th=4,w=0.5") == 0
    capsys.readouterr()
    two = ["--where", "discipline=codel", "--where", "discipline=drop_tail"]
    assert main(["results", "out", *two, "--where", "rtt=20ms", "--where", "rtt=40ms"]) == 0
    printed = capsys.readouterr().out
    rows = [line.split()[:2] for line in printed.splitlines()[2:-1]]
    assert rows == [[name, rtt] for rtt in ("20", "40") for name in ("drop_tail", "codel")]
    assert "9 runs, all finished; 4 of them are shown" in printed
    found = sg.Sweep("out")
    assert found.selected({"discipline": ["codel", "drop_tail"], "rtt": ("20ms", 0.04)}).height == 4
    assert len(found.figure("loss_ratio", where={"discipline": ["codel", "drop_tail"]}).axes) == 1
    for both in ({"codel", "drop_tail"}, np.array(["codel", "drop_tail"])):
        assert found.selected({"discipline": both}).height == 6
    # a measure is asked for, so that it is not rtt
    with pytest.raises(sg.SluiceError, match=r"^delay is no measure here; did you mean delay_"):
        found.means(measures="delay")
    for where, message in (
        ({"rtt": []}, r"where: rtt = \[\] must have a value"),
        ({"rtt": ["20ms", "50ms"]}, "no finished run has rtt = 50ms; there are 20, 30, 40 ms$"),
        ({"rtt": 20}, "rtt = 20 must have its unit behind it, as in 20ms or 20s"),
    ):
        with pytest.raises(sg.SluiceError, match=message):
            found.selected(where)


def test_a_table_may_have_a_column_for_each_discipline(scenario, capsys):
    words = ["--vary", "rtt=20ms,30ms", "--vary", "seed=1..2", "--out", "out"]
    assert run(*words) == 0
    capsys.readouterr()
    chosen = ["--measures", "sojourn_mean", "--across", "discipline", "--latex", "means.tex"]
    assert main(["results", "out", *chosen]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line.split() for line in shown[:3]] == [
        ["mean", "sojourn", "(ms)"],
        ["base", "RTT", "drop_tail", "CoDel"],
        ["(ms)", "(ms)", "(ms)"],
    ]
    found = sg.Sweep("out")
    cells = [
        found.means({"rtt": 0.03, "discipline": name})["sojourn_mean"][0]
        for name in ("drop_tail", "CoDel")
    ]
    last = [float(cell) for cell in re.sub(r" ± \S+", "", shown[4]).split()[1:]]
    assert last == [pytest.approx(1e3 * cell, rel=0.1) for cell in cells]
    text = Path("means.tex").read_text()
    assert "base RTT & drop\\_tail & CoDel \\\\\n" in text
    assert text == found.latex("sojourn_mean", across="discipline")
    header = found.latex(["sojourn_mean", "loss_ratio"], across="rtt").splitlines()[3]
    assert header.startswith("discipline & base RTT = 20 ms mean sojourn & base RTT = 30 ms mean")
    assert header.endswith("base RTT = 30 ms lost \\\\")
    assert main(["results", "out", "--across", "RTT"]) == 1
    assert "across: RTT must be one of discipline, rtt" in capsys.readouterr().err


def test_the_vertical_axis_is_logarithmic_on_request(scenario, monkeypatch, capsys):
    drawn = []
    file = "sluicegate.report.figure_file.save"
    monkeypatch.setattr(file, lambda figure, _: drawn.append(figure))
    words = ["--vary", "rtt=20ms,30ms", "--out", "out", "--figure", "a.pdf"]
    assert run(*words) == 0
    assert run(*words, "--yscale", "log") == 0
    assert [figure.axes[0].get_yscale() for figure in drawn] == ["linear", "log"]
    drawn[1].draw_without_rendering()
    ticks = [text.get_text() for text in drawn[1].axes[0].get_yticklabels(which="both")]
    assert "20" in ticks
    # numbers, not powers
    assert all(text.replace(".", "").isdigit() for text in ticks if text)
    assert main(["results", "out", *words[-2:], "--y", "mark_ratio", "--yscale", "log"]) == 1
    message = "y = mark_ratio has values that are not above 0: no logarithmic axis has them"
    assert message in capsys.readouterr().err
    with pytest.raises(sg.SluiceError, match="a heat map has no scale: leave out yscale"):
        sg.Sweep("out").figure("rtt", "rtt", colour="loss_ratio", yscale="log")


def test_a_program_chooses_the_measures_of_a_sweep_as_those_of_a_comparison(scenario):
    assert run("--vary", "rtt=20ms,30ms", "--out", "out") == 0
    usual = sg.Sweep("out")
    chosen = usual.showing("mark_ratio", "queue_mean")
    assert "p99 sojourn" in usual._repr_html_()
    html = chosen._repr_html_()
    assert "marked" in html
    assert "p99 sojourn" not in html
    with pytest.raises(sg.SluiceError, match="p99"):
        usual.showing("p99")


@pytest.mark.usefixtures("undrawn")
def test_a_sweep_tells_what_a_comparison_tells(scenario, capsys):
    words = ["--vary", "topology.rate_bps=1M,2M,200M", "--out", "out"]
    told = (
        "1 of 6 runs, such as drop_tail, topology rate = 2 Mbit/s: left -> right is 39 % busy "
        "at most: it is no bottleneck.\n"
    )
    assert run(*words) == 0
    assert capsys.readouterr().err == told
    # what was found before is told again, and of what is shown only
    assert main(["results", "out"]) == 0
    assert capsys.readouterr().err == told
    assert main(["results", "out", "--where", "topology.rate_bps=1M"]) == 0
    assert capsys.readouterr().err == ""
    assert told.rstrip() in sweep_page(sg.Sweep("out"), None).html().replace("&gt;", ">")


def test_an_interval_is_explained_where_there_is_one(scenario, capsys):
    explained = "±: half width of 95 % intervals"
    words = ["--vary", "rtt=20ms,30ms", "--aqm", "red:min_th=1,max_th=4,w=0.5", "--out"]
    assert run(*words, "one") == 0
    assert explained not in capsys.readouterr().out
    assert run("--vary", "seed=1..2", *words, "two") == 0
    assert explained in capsys.readouterr().out


def test_whole_numbers_have_ticks_at_whole_numbers(scenario):
    found = sg.sweep(scenario, {"queue.limit": [10, 11, 12]}, "whole")
    figure = found.figure("loss_ratio", "queue.limit", width=7)
    figure.draw_without_rendering()
    assert set(ticks(figure)) >= {"10", "11", "12"}
    assert not any("." in each for each in ticks(figure))
