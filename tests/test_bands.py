"""What lanes, tins and classes of service have: counts, figure and table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sluicegate as sg
from sluicegate.cli import main
from sluicegate.scenario import NetworkScenario
from sluicegate.worlds.network.band_figure import band_rows, bands_figure, in_time
from sluicegate.worlds.network.record import NetworkRecord

_CLASSES = [{"dscp": [46], "aqm": "drop_tail"}, {"quantum_bytes": 1500}]
_ETS = {"aqm": "codel", "scheduler": {"kind": "ets"}, "classes": _CLASSES}


def _flows(label: str, **own: Any) -> dict[str, Any]:
    datagrams = {"kind": "datagrams", "gaps": "exponential", "packet_bytes": 500}
    return {**datagrams, "label": label, "rate_bps": 1.2e6, "count": 1, **own}


@pytest.fixture(scope="module")
def records() -> list[NetworkRecord]:
    """DualPI2, CAKE, ETS and CoDel before a link that is offered more than it takes."""
    scenario = NetworkScenario.parse(
        {
            "topology": {"kind": "dumbbell", "rate_bps": 2e6, "client_delays_s": [0.01]},
            "flows": [_flows("a", dscp=46, ecn=True, ect1=True), _flows("b")],
            "queue": {"limit": 100, "ecn": True},
            "duration_s": 6,
            "warm_up_s": 1,
            "replications": 3,
            "disciplines": [
                {"aqm": "dualpi2"},
                {"aqm": "cake", "params": {"diffserv": "diffserv4"}},
                _ETS,
                {"aqm": "codel"},
            ],
        }
    )
    return list(sg.compare(scenario).records)  # type: ignore[arg-type]


# which part of each discipline has the packets of the classes a and b, and those without any
_PARTS = [
    (("lane L", "lane C"), ()),
    (("tin voice", "tin best effort"), ("tin bulk", "tin video")),
    (("class 1", "class 2"), ()),
]


@pytest.mark.parametrize("place", range(3))
def test_a_part_with_the_packets_of_one_class_has_its_measures(
    records: list[NetworkRecord], place: int
) -> None:
    record, (parts, empty) = records[place], _PARTS[place]
    assert set(record.ports[0].bands) == {*parts, *empty}
    for own, part in zip("ab", parts, strict=True):
        for name in ("sojourn_mean", "sojourn_p99", "queue_mean", "loss_ratio", "mark_ratio"):
            assert record[f"{part}.{name}"] == record[f"{own}.{name}"], (part, name)
            assert record[f"{part}.{name}"] == record.ports[0].measures[f"{part}.{name}"]
    whole = sum(record[f"{part}.throughput_bps"].value for part in (*parts, *empty))
    assert whole == pytest.approx(record["throughput_bps"].value)


def test_delays_in_time_are_those_of_the_whole_run(records: list[NetworkRecord]) -> None:
    port = records[0].ports[0]
    for part in port.bands:
        times_s, delays_s = in_time(port, part)
        assert np.all(np.diff(times_s) > 0)
        assert times_s[-1] <= 6
        mean_s = np.nanmean(delays_s[times_s > 1])
        assert mean_s == pytest.approx(records[0][f"{part}.sojourn_mean"].value, rel=0.3)
    l4s, classic = (in_time(port, part)[1] for part in ("lane L", "lane C"))
    assert np.nanmedian(l4s) < np.nanmedian(classic)


def test_the_figure_has_a_row_for_each_discipline_with_parts(records: list[NetworkRecord]) -> None:
    figure = bands_figure(records)
    assert figure is not None
    assert len(figure.axes) == 6
    legend = figure.axes[1].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["lane C", "lane L"]
    assert bands_figure(records[3:]) is None
    header, rows = band_rows(records)
    assert header[:2] == ["discipline", "part"]
    assert [row[1] for row in rows[:2]] == ["lane C", "lane L"]
    assert all(len(row) == len(header) for row in rows)
    assert {row[0] for row in rows} == {record.discipline for record in records[:3]}


@pytest.mark.filterwarnings("error")
def test_the_figure_shows_packets_that_did_not_wait(tmp_path: Path) -> None:
    """No packet waits where a link takes 1000 times what is offered at constant distances."""
    scenario = NetworkScenario.parse(
        {
            "topology": {"kind": "dumbbell", "rate_bps": 1e9, "client_delays_s": [0.01]},
            "flows": [_flows("a", gaps="constant")],
            "duration_s": 2,
            "disciplines": [_ETS],
        }
    )
    records: list[NetworkRecord] = list(sg.compare(scenario).records)  # type: ignore[arg-type]
    figure = bands_figure(records)
    assert figure is not None
    figure.savefig(tmp_path / "bands.png")
    (line,) = figure.axes[0].lines
    assert np.nanmax(line.get_ydata()) == figure.axes[0].get_ylim()[0] > 0


def test_a_kept_record_keeps_them(records: list[NetworkRecord], tmp_path: Path) -> None:
    record, path = records[1], tmp_path / "kept"
    record.write(path)
    port, kept = record.ports[0], NetworkRecord.read(path).ports[0]
    assert kept.bands == port.bands
    assert kept.band_series.equals(port.band_series)
    assert kept.band_distributions.equals(port.band_distributions)


@pytest.mark.slow
def test_a_sweep_has_them_as_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The tins of CAKE are others at each point."""
    scenario = NetworkScenario.parse(
        {
            "topology": {"kind": "dumbbell", "rate_bps": 2e6, "client_delays_s": [0.01]},
            "flows": [_flows("a", dscp=46), _flows("b", ecn=True, ect1=True)],
            "queue": {"limit": 100, "ecn": True},
            "duration_s": 1,
            "replications": 1,
            "disciplines": [{"aqm": "dualpi2"}, {"aqm": "cake", "victim": "front"}],
        }
    )
    kinds = ["besteffort", "diffserv3", "diffserv4"]
    out = tmp_path / "out"
    found = sg.sweep(scenario, {"cake.diffserv": kinds}, out, workers=1, report=False)
    frame = found.frame()
    for kind, parts in zip(kinds, ([], ["bulk"], ["bulk", "video"]), strict=True):
        own = frame.filter(pl.col("discipline").str.starts_with("cake"))
        (row,) = own.filter(pl.col("cake.diffserv") == kind).iter_rows(named=True)
        for tin in ("bulk", "video"):
            assert (row[f"tin {tin}.queue_mean"] is not None) == (tin in parts), (kind, tin)
        assert row["lane L.sojourn_p99"] is None
    alone = sg.network.simulate(scenario.replace(disciplines=scenario.disciplines[:1]))
    lanes = frame.filter(discipline="dualpi2")
    for name in ("lane L.sojourn_p99", "lane C.loss_ratio", "lane C.mark_ratio"):
        assert set(lanes[name]) == {alone[name].value}
    capsys.readouterr()
    assert main(["results", str(out), "--measures", "lane L.sojourn_p99,tin voice.loss_ratio"]) == 0
    told = capsys.readouterr().out
    assert "lane L" in told
    assert "tin voice" in told
