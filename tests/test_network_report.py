"""Plots and pages of networks: they show what the records hold."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex
from matplotlib.text import Text
from pages import without_links

import sluicegate as sg
from sluicegate import network
from sluicegate.cli import main
from sluicegate.cli.screen import write_json
from sluicegate.record import methods
from sluicegate.report import plots
from sluicegate.report.comparison import comparison_page
from sluicegate.report.folder import write_report
from sluicegate.report.page import Page, _Figure
from sluicegate.report.tables import comparison_rows
from sluicegate.worlds.network.figures import port_rows
from sluicegate.worlds.network.goodput import goodput_figure
from sluicegate.worlds.network.series import (
    average_series_figure,
    probability_series_figure,
    queue_series_figure,
    reading,
    window_series_figure,
)

pytestmark = pytest.mark.slow

DISCIPLINES = [
    sg.Discipline(aqm="drop_tail"),
    sg.Discipline(aqm="pi", params={"q_ref": 20}),
    sg.Discipline(aqm="red", params={"min_th": 5, "max_th": 40, "w": 0.02}, label="$RED$"),
]
FLOWS = [network.TcpFlows(count=8, spread_s=0.5)]


def scenario(**changes):
    fields = {
        "topology": network.Dumbbell(rate_bps=1e6, client_delays_s=[0.01, 0.05], two_way=True),
        "flows": FLOWS,
        "queue": sg.Queue(limit=50),
        "disciplines": DISCIPLINES,
        "duration_s": 10.0,
        "replications": 3,
    }
    return network.NetworkScenario(**(fields | changes))


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLUICE_RUNS", str(tmp_path_factory.mktemp("runs")))
        return sg.compare(scenario())


# --- the queue against time


def test_strips_of_similar_range_have_the_same_axes(comparison):
    figure = queue_series_figure(comparison.records, changes_s=[3.0])
    assert [ax.get_title("left") for ax in figure.axes] == ["drop_tail", "pi q_ref=20", r"\$RED\$"]
    assert len({ax.get_xlim() for ax in figure.axes}) == 1
    assert len({ax.get_ylim() for ax in figure.axes}) == 1
    assert len({ax.lines[0].get_color() for ax in figure.axes}) == 3


def test_strips_have_separate_scales_if_one_would_be_flat():
    both = [DISCIPLINES[0], sg.Discipline(aqm="codel", victim="front")]
    long = scenario(disciplines=both, queue=sg.Queue(limit=500), replications=1)
    figure = queue_series_figure(sg.compare(long).records)
    assert figure.get_supylabel() == "waiting packets, each on its scale"
    for ax in figure.axes:
        times_s, queue = ax.lines[0].get_data()
        # the second half is measured; an arrow marks a warm-up that reaches above the axes
        x, y = ax.collections[0].get_paths()[0].vertices.T
        target = max((line.get_ydata()[0] for line in ax.lines[1:]), default=0)
        highest = max(y[x >= 5].max(), target)
        assert highest < ax.get_ylim()[1] < 1.2 * highest
        assert bool(ax.texts) == (queue[times_s < 5].max() > ax.get_ylim()[1])
    (arrow,) = figure.axes[1].texts
    assert float(arrow.get_text().removeprefix("▲ ")) > figure.axes[1].get_ylim()[1]
    assert figure.axes[0].get_ylim()[1] > 3 * figure.axes[1].get_ylim()[1]


def test_a_strip_shows_the_first_replication_within_all(comparison):
    record = comparison.records[1]
    ax = queue_series_figure([record]).axes[0]
    line, target = ax.lines
    samples = record.ports[0].samples
    # 1000 samples, two to a point
    np.testing.assert_allclose(line.get_ydata(), samples[0].reshape(500, 2).mean(axis=1))
    np.testing.assert_allclose(line.get_xdata()[:2], [0.005, 0.025])
    assert list(target.get_ydata()) == [20, 20]
    (band,) = ax.collections
    corners = band.get_paths()[0].vertices
    at = corners[np.isclose(corners[:, 0], 0.005 + 0.02 * 100)][:, 1]
    wanted = np.quantile(samples[:, 200:202], [0.05, 0.95])
    np.testing.assert_allclose([at.min(), at.max()], wanted)
    assert "in means over 0.02 s" in reading(record)


def test_targets_are_the_aqms_own_or_the_one_given(comparison):
    own = queue_series_figure(comparison.records)
    assert [len(ax.lines) for ax in own.axes] == [1, 2, 1]
    given = queue_series_figure(comparison.records, target=7.0, port=1)
    assert [ax.lines[1].get_ydata()[0] for ax in given.axes] == [7, 7, 7]


def test_probabilities_and_averages_are_drawn_if_there_are_any(comparison):
    probabilities = probability_series_figure(comparison.records)
    averages = average_series_figure(comparison.records)
    assert [ax.get_title("left") for ax in probabilities.axes] == ["pi q_ref=20", r"\$RED\$"]
    assert [ax.get_title("left") for ax in averages.axes] == [r"\$RED\$"]
    for figure, column in ((probabilities, "probability"), (averages, "average")):
        line = figure.axes[-1].lines[0].get_ydata()
        samples = comparison.records[2].ports[0].rows(column)[0]
        np.testing.assert_allclose(line, samples.reshape(500, 2).mean(axis=1))
    # per cent, as drop functions have it
    assert probabilities.axes[-1].yaxis.get_major_formatter()(0.05) == "5 %"
    assert averages.axes[-1].yaxis.get_major_formatter()(1500.0) == "1500"
    assert probability_series_figure(comparison.records[:1]) is None
    assert average_series_figure(comparison.records[:2]) is None


def test_a_discipline_keeps_its_colour_in_all_figures(comparison):
    queues = queue_series_figure(comparison.records)
    averages = average_series_figure(comparison.records)
    assert averages.axes[0].lines[0].get_color() == queues.axes[2].lines[0].get_color()


@pytest.mark.usefixtures("undrawn")
def test_windows_are_drawn_if_the_scenario_asks_for_them(comparison):
    assert window_series_figure(comparison.records) is None
    late = [network.TcpFlows(count=2, start_s=1.0)]
    asked = scenario(flows=late, disciplines=DISCIPLINES[:1], duration_s=2.0, windows=True)
    record = network.simulate(asked)
    (ax,) = window_series_figure([record]).axes
    line = ax.lines[0].get_ydata()
    assert np.isnan(line[:99]).all()
    np.testing.assert_array_equal(line[101:], record.rows("window")[0, 101:])
    assert "The congestion window in time" in comparison_page(sg.compare(asked)).html()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "changes",
    [
        {"sample_s": 20.0},  # a single sample
        {"flows": [network.TcpFlows(tcp=network.Tcp(receiver_window=1))]},  # nothing waits
        {"flows": [network.TcpFlows(start_s=20.0)]},  # nothing arrives
    ],
)
def test_a_page_of_almost_nothing_can_be_drawn(changes):
    few = scenario(disciplines=DISCIPLINES[:1], replications=1, **changes)
    assert "The queue in time" in comparison_page(sg.compare(few)).html()


@pytest.mark.usefixtures("undrawn")
def test_a_dotted_line_is_explained_only_if_there_is_one(comparison):
    assert "Dotted:" in comparison_page(comparison).html()
    without = scenario(disciplines=DISCIPLINES[:1], duration_s=1.0)
    assert "Dotted:" not in comparison_page(sg.compare(without)).html()


# --- goodputs


def test_goodputs_are_those_of_all_long_lived_flows(comparison):
    (ax,) = goodput_figure(comparison.records).axes
    for line, record in zip(ax.lines, comparison.records, strict=True):
        mbps = record.flows["goodput"].sort() * 500 * 8 / 1e6
        np.testing.assert_allclose(line.get_xdata()[1:], mbps)
        assert line.get_ydata()[-1] == 1


def test_only_some_hundred_of_very_many_flows_are_drawn(comparison):
    goodput = np.random.default_rng(1).exponential(size=100_000)
    flows = pl.DataFrame({"group": np.zeros(goodput.size, np.uint32), "goodput_bps": 1e6 * goodput})
    (ax,) = goodput_figure([dataclasses.replace(comparison.records[0], flows=flows)]).axes
    at, share = ax.lines[0].get_data()
    assert len(at) == 601
    np.testing.assert_allclose(share, 1 - np.exp(-at), atol=0.01)


def test_flows_that_end_have_no_goodput_to_be_drawn():
    short = network.ShortTcpFlows(
        gaps=network.Exponential(mean_s=0.2), duration=network.Constant(mean_s=0.1)
    )
    ending = [
        short,
        network.TcpFlows(count=2, packets=100),
        network.TcpFlows(count=2, stop_s=1.0),
        network.DatagramFlows(count=2, rate_bps=1e5, stop_s=1.0),
    ]
    only = DISCIPLINES[:1]
    alone = network.simulate(scenario(flows=ending, disciplines=only, duration_s=2.0))
    assert goodput_figure([alone]) is None
    assert np.isnan(alone["fairness"].value)
    mixed = network.simulate(scenario(flows=[*ending, *FLOWS], disciplines=only, duration_s=2.0))
    (ax,) = goodput_figure([mixed]).axes
    assert len(ax.lines[0].get_xdata()) == 1 + 3 * 8
    assert set(mixed.lasting_flows["group"]) == {len(ending)}
    jain = [
        each.sum() ** 2 / len(each) / (each**2).sum()
        for each in mixed.lasting_flows["goodput"].to_numpy().reshape(3, 8)
    ]
    assert mixed["fairness"].value == pytest.approx(np.mean(jain))


# --- the table and the page


def test_the_table_has_what_matters_under_tcp(comparison):
    header, rows = comparison_rows(comparison)
    words = [cell.split("\n")[0] for cell in header]
    assert words[-3:] == ["goodput", "max-min fairness", "link busy"]
    assert {"mean sojourn", "mean queue", "deviation", "lost"} <= set(words)
    assert "marked" not in words
    assert [row[0] for row in rows] == [each.name for each in DISCIPLINES]


def test_marks_have_a_column_if_there_are_any():
    flows = [network.TcpFlows(count=8, tcp=network.Tcp(ecn=True))]
    marking = [DISCIPLINES[2].replace(ecn=True)]
    header, _ = comparison_rows(sg.compare(scenario(flows=flows, disciplines=marking)))
    assert "marked\n(%)" in header


def test_completion_times_have_a_column_if_flows_end():
    flows = [network.TcpFlows(count=4, packets=20)]
    header, rows = comparison_rows(
        sg.compare(scenario(flows=flows, disciplines=DISCIPLINES[:1], warm_up_s=0.0))
    )
    time_s = float(rows[0][header.index("completion\n(s)")].split()[0])
    # twenty packets take more than two round trips of at least 20 ms
    assert 0.04 < time_s < 2


@pytest.mark.usefixtures("undrawn")
def test_methods_of_intervals_are_named_with_their_disciplines():
    """Drop-tail uses no random number: with flows that start at once all its runs are equal."""
    found = sg.compare(scenario(flows=[network.TcpFlows(count=2)], duration_s=4.0))
    alike, drawn = methods(found.records)
    assert alike.startswith("drop_tail: all 3 replications are equal")
    assert drawn.startswith("the others: 95 % intervals from 3 replications")
    assert f"interval ({alike}. {drawn})" in comparison_page(found).html()
    assert methods(found.records[1:]) == [found.records[1].method]


@pytest.mark.usefixtures("undrawn")
def test_the_page_says_what_was_run(comparison):
    html = comparison_page(comparison).html()
    for wanted in (
        "3 disciplines, each simulated in 3 runs of 10 s, seed 1",
        "The queue in time: left -&gt; right",
        "The queue in time: right -&gt; left",
        "The average queue in time",
        "The drop probability in time",
        "Queue by queue",
        "How evenly flows are served",
        "kind = dumbbell, rate_bps = 1e6",
        "client_delays_s = [0.01, 0.05]",
        "tcp = { congestion_control = reno, like = rfc",
        "the first 5 s of each left out",
    ):
        assert wanted in without_links(html), wanted
    assert "slots" not in html


def test_the_page_says_what_has_no_effect_and_which_queue_is_meant(comparison):
    first = "Sojourn times, queue and losses are of the queue left -> right."
    gains = (
        "pi q_ref=20: a and b (default) were designed for 3750 packets/s, not 250 packets/s: "
        "coefficients = designed follows the link."
    )
    # in 5 s after as long a warm-up the flows got more than was sent
    assert comparison.notes()[:2] == [first, gains]
    marking = DISCIPLINES[2].replace(ecn=True)
    without_marks = scenario(disciplines=[*DISCIPLINES[:2], marking])
    found = dataclasses.replace(comparison, scenario=without_marks)
    useless = "Nothing can be marked ($RED$): no flow has tcp = { ecn = true }."
    assert found.notes()[:3] == [first, useless, gains]
    hears = [*FLOWS, network.TcpFlows(tcp=network.Tcp(ecn=True))]
    assert scenario(disciplines=[marking], flows=hears).notes() == []


@pytest.mark.usefixtures("undrawn")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_an_error_of_the_system_and_nothing_half_written_stays(comparison, tmp_path):
    def told(name, write):
        full = tmp_path / name
        full.symlink_to("/dev/full")
        with pytest.raises(OSError, match="No space left") as caught:
            write()
        full.unlink(missing_ok=True)
        return Path(caught.value.filename).name

    for name in ("series.parquet", "report.html"):
        assert told(name, lambda: write_report(comparison, tmp_path)) == name
    run = tmp_path / "run.zip"
    assert told("run.zip", lambda: comparison.records[0].write(run)) == "run.zip"
    assert not list(tmp_path.glob("run.*"))
    assert (
        told("x.json", lambda: write_json(tmp_path / "x.json", "record", {"x": 9999 * [0]}))
        == "x.json"
    )


@pytest.mark.usefixtures("undrawn")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_the_table_is_shown_if_the_report_cannot_be_written(root, tmp_path, capsys):
    (tmp_path / "report.html").symlink_to("/dev/full")
    given = root / "scenarios" / "network" / "dumbbell.toml"
    short = ["--duration", "1", "--replications", "2", "--out", str(tmp_path)]
    assert main(["compare", str(given), *short]) == 1
    printed = capsys.readouterr()
    assert "drop-tail" in printed.out
    assert printed.err == f"error: {tmp_path / 'report.html'}: No space left on device\n"


def without_ids(html):
    """Return a page without the ids in its figures, which differ from figure to figure."""
    return re.sub(r"\b[mp][0-9a-f]{10}\b", "", html)


def test_if_the_first_queue_is_empty_another_one_is_reported():
    one_way = {"route": "reverse", "rate_bps": 2e6}
    given = scenario(flows=[network.DatagramFlows(**one_way)], duration_s=2.0)
    found = sg.compare(given)
    record = found.records[0]
    assert record.queue_name == "right -> left"
    assert record["loss_ratio"].value == record.ports[1].measures["loss_ratio"].value > 0.4
    np.testing.assert_array_equal(record.delay_distribution, record.ports[1].delay_distribution)
    assert "n/a" not in {cell for row in comparison_rows(found)[1] for cell in row}
    html = without_links(comparison_page(found).html())
    assert "Sojourn times, queue and losses are of the queue right -&gt; left." in html
    assert "the other figures are of right -&gt; left." in html
    shown = Page("")
    shown.figure(average_series_figure(found.records, port=1), "one")
    svg = re.findall(r"<svg.*?</svg>", shown.html(), re.DOTALL)[0]
    assert without_ids(svg) in without_ids(html)


@pytest.mark.usefixtures("undrawn")
def test_the_commands_name_the_queue_that_they_report(root, tmp_path, capsys):
    given = str(root / "scenarios" / "network" / "lred-6.toml")
    short = ["--duration", "1", "--replications", "2", "--aqm", "drop_tail"]
    for command in (["compare", given, "--out", str(tmp_path)], ["simulate", given]):
        assert main([*command, *short]) == 0
        assert "are of the queue left -> right." in capsys.readouterr().err


def test_the_table_of_queues_has_each_queue_with_all_disciplines(comparison):
    header, rows = port_rows(comparison.records)
    assert header[:2] == ["queue", "discipline"]
    assert [row[0] for row in rows] == 3 * ["left -> right"] + 3 * ["right -> left"]
    assert [row[1] for row in rows] == 2 * [each.name for each in DISCIPLINES]


@pytest.mark.usefixtures("undrawn")
def test_series_and_flows_are_written_beside_the_page(comparison, tmp_path):
    write_report(comparison, tmp_path)
    series = pl.read_parquet(tmp_path / "series.parquet")
    # disciplines, queues, replications, samples
    assert series.height == 3 * 2 * 3 * 1000
    assert series.columns[:5] == ["discipline", "queue_name", "replication", "time_s", "queue"]
    flows = pl.read_parquet(tmp_path / "flows.parquet")
    assert flows.height == 3 * 3 * 8
    assert flows.columns[:5] == ["discipline", "replication", "group", "source", "sink"]


# --- extreme cases


@pytest.mark.parametrize(
    "changes",
    [
        {"flows": [network.TcpFlows(start_s=20.0)]},  # nothing is ever sent
        {"flows": [network.DatagramFlows(rate_bps=1e5)]},
        {"flows": [network.TcpFlows(packets=3)], "warm_up_s": 5.0},  # nothing after the warm-up
        {"sample_s": 20.0},  # a single sample
        {"replications": 1, "flows": [network.TcpFlows()]},
        {"queue": sg.Queue(limit=1)},
        {"disciplines": DISCIPLINES[:1], "topology": network.ParkingLot(hops=6)},
    ],
)
def test_a_page_can_be_made_of_whatever_ran(changes, tmp_path):
    found = sg.compare(scenario(**({"duration_s": 8.0} | changes)))
    html = write_report(found, tmp_path).read_text()
    assert "nan" not in html.lower().replace("nanos", "")
    assert comparison_rows(found)[1]


def test_long_queues_are_drawn_in_wider_bars():
    """A bar for each of thousands of lengths would make a page of many megabytes."""
    link = {"rate_bps": 1e8, "client_delays_s": [0.01], "access_rate_bps": 1e9}
    full = scenario(
        topology=network.Dumbbell(**link),
        flows=[network.DatagramFlows(rate_bps=2e8)],
        queue=sg.Queue(limit=5000),
        disciplines=DISCIPLINES[:1],
        duration_s=1.0,
        warm_up_s=0.0,
    )
    record = network.simulate(full)
    (ax,) = plots.queue_figure([record]).axes
    shares, edges, _ = ax.patches[0].get_data()
    assert 300 < len(shares) <= 600
    assert set(np.diff(edges)) == {9}
    assert shares.sum() == pytest.approx(1)
    np.testing.assert_allclose(shares[3], record.queue_distribution[27:36].sum())


def test_curves_of_a_buffer_that_is_always_full_reach_rare_values():
    full = scenario(flows=[network.DatagramFlows(rate_bps=5e6)], disciplines=DISCIPLINES[:1])
    record = network.simulate(full)
    assert record.delay_distribution[-1] > 0.01
    (ax,) = plots.sojourn_tail_figure([record]).axes
    assert ax.get_ylim()[0] < 1e-3


def test_coloured_text_is_outside_of_axes_and_ids_are_unique(comparison):
    page = comparison_page(comparison)
    ids = re.findall(r' id="([^"]+)"', page.html())
    assert len(ids) == len(set(ids))
    figures = [part.drawn for part in page._parts if isinstance(part, _Figure)]
    assert len(figures) > 5
    coloured = 0
    for drawn in figures:
        areas = [ax.get_window_extent() for ax in drawn.axes]
        for text in drawn.findobj(Text):
            if text.get_text() and text.get_visible() and to_hex(text.get_color()) != "#000000":
                box = text.get_window_extent().padded(-1)
                assert not any(box.overlaps(area) for area in areas), text
                coloured += 1
    assert coloured > 10
