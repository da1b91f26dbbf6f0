"""The bands of a queue side by side: lanes of DualPI2, tins of CAKE, classes of service."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from sluicegate.measures import BETWEEN, TIME
from sluicegate.record import FloatArray
from sluicegate.report.figure import Figure
from sluicegate.report.plots import GREY, WIDTH, colours, label, plain_ticks, power_text
from sluicegate.report.tables import Column
from sluicegate.worlds.network.record import NetworkRecord, PortRecord

# parts of the time axis, height of a discipline's row, inches, and the rarest delay shown
_PARTS, _ROW, _LEAST = 200, 2.1, 1e-4
# what waits less did not really wait
_SHORTEST_MS = 0.01
_COLUMNS = (
    *("queue_mean", "sojourn_mean", "sojourn_p99"),
    *("loss_ratio", "mark_ratio", "throughput_bps"),
)


def shown(records: Sequence[NetworkRecord]) -> list[tuple[NetworkRecord, PortRecord]]:
    """The disciplines whose main port has bands, each with this port."""
    found = [(record, record.ports[record.main_place]) for record in records]
    return [(record, port) for record, port in found if port.bands]


def bands_figure(records: Sequence[NetworkRecord]) -> Figure | None:
    """Draw the queue delay of each band in time, and beside it how often it is exceeded.

    A row for each discipline with bands; None where there is none.
    """
    found = shown(records)
    if not found:
        return None
    figure = Figure(figsize=(WIDTH, 0.5 + _ROW * len(found)), layout="constrained")
    rows = figure.subplots(len(found), 2, squeeze=False, width_ratios=(3, 2))
    for axes, (record, port) in zip(rows, found, strict=True):
        _in_time(axes[0], port)
        _exceeded(axes[1], port)
        axes[0].set_title(label(record.discipline), loc="left", fontsize=10)
        axes[1].legend(frameon=False, fontsize=9)
        for ax in axes:
            ax.spines[["top", "right"]].set_visible(False)
    rows[-1][0].set_xlabel("time (s)")
    rows[-1][1].set_xlabel(f"queue delay ({_unit()})")
    return figure


def _coloured(port: PortRecord) -> list[tuple[str, str]]:
    """Each band that sent anything, with its colour."""
    sent = port.band_distributions.filter(distribution="sojourn")["band"].unique()
    return [(name, colour) for name, colour in colours(port.bands).items() if name in sent]


def _unit() -> str:
    return TIME.shown("s")[1]


def _in_time(ax: Axes, port: PortRecord) -> None:
    """The mean sojourn of the packets that were sent in each part of the first replication.

    Packets that did not wait are at the bottom: a logarithmic axis has no 0.
    """
    scale, unit = TIME.shown("s")
    for name, colour in _coloured(port):
        times_s, delays_s = in_time(port, name)
        ax.plot(times_s, np.maximum(scale * delays_s, _SHORTEST_MS), color=colour, lw=0.9)
    ax.set_yscale("log")
    ax.set_ylim(bottom=_SHORTEST_MS)
    plain_ticks(ax.yaxis, (1,))
    ax.set_ylabel(f"queue delay ({unit})")


def in_time(port: PortRecord, band: str) -> tuple[FloatArray, FloatArray]:
    """The ends of parts of the first replication, s, and the mean sojourn in each, s.

    NaN where nothing of the band was sent.
    """
    samples = port.band_series.filter(band=band, replication=0)
    step = max(1, len(samples) // _PARTS)
    taken = samples.gather_every(step)
    sent = np.diff(taken["sent"].to_numpy().astype(np.float64))
    sojourn_s = np.diff(taken["sojourn_s"].to_numpy())
    means_s = np.divide(sojourn_s, sent, out=np.full(len(sent), np.nan), where=sent > 0)
    return taken["time_s"].to_numpy()[1:], means_s


def _exceeded(ax: Axes, port: PortRecord) -> None:
    """The share of a band's packets that wait longer, on a logarithmic axis."""
    scale = TIME.shown("s")[0]
    for name, colour in _coloured(port):
        bins = port.band_distributions.filter(band=name, distribution="sojourn")
        longer = 1 - np.cumsum(bins["probability"].to_numpy())
        ends_s = (bins["at"] + bins["width"]).to_numpy()
        times = np.concatenate([[_SHORTEST_MS], scale * ends_s])
        shares = np.concatenate([[1.0], longer])
        ax.step(times, shares, where="post", color=colour, lw=1.6, label=label(name))
    ax.set_yscale("log")
    ax.set_ylim(_LEAST, 1.3)
    ax.set_xscale("log")
    ax.set_xlim(left=_SHORTEST_MS)
    plain_ticks(ax.xaxis, (1,))
    ax.yaxis.set_major_formatter(FuncFormatter(power_text))
    ax.set_ylabel("share that waits longer")
    ax.grid(axis="y", alpha=0.25, color=GREY)


def band_rows(records: Sequence[NetworkRecord]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a table: discipline after discipline, each with its bands."""
    found = shown(records)
    rows, header = [], list[str]()
    for record, port in found:
        for band in port.bands:
            columns = [Column(f"{band}{BETWEEN}{name}", "s") for name in _COLUMNS]
            header = header or [each.header.replace(f", {band}", "", 1) for each in columns]
            # the measures of a record are those of its main port
            rows.append([record.discipline, band, *(each.of(record) for each in columns)])
    return ["discipline", "part", *header], rows


def bands_seen(records: Sequence[NetworkRecord]) -> str:
    """What the figure shows, for those who cannot see it."""
    _, rows = band_rows(records)
    unit = _unit()
    return (
        "; ".join(f"{row[0]}, {row[1]}: mean {row[3]} {unit}, p99 {row[4]} {unit}" for row in rows)
        + "."
    )
