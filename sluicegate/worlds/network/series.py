"""Plots against time, many AQMs in one picture: a strip for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from sluicegate.record import FloatArray
from sluicegate.report.figure import Figure
from sluicegate.report.plots import GREY, WIDTH, colours, label, without_ticks_above
from sluicegate.worlds.network.record import NetworkRecord, PortRecord

# as many as the eye tells apart over the width of a page
_BINS = 400
_BAND = (0.05, 0.95)
# a strip that reaches less than this share of the highest would be flat on its scale
_FLAT = 1 / 3


@dataclass(frozen=True)
class _Strip:
    """What one strip shows: samples of every replication, shape (R, T), at `times_s`, (T,).

    They were taken before `duration_s`.
    """

    name: str
    colour: str
    duration_s: float
    warm_up_s: float
    times_s: FloatArray
    samples: FloatArray
    target: float | None


def queue_series_figure(
    records: Sequence[NetworkRecord],
    *,
    port: int = 0,
    target: float | None = None,
    changes_s: Sequence[float] = (),
) -> Figure:
    """Draw the queue against time, a strip per record; `reading` says in words what it shows.

    All strips have one scale, or, where the highest would make another flat, each its own, which
    the label of the axis says. Where the link's rate varies, a last strip shows it.

    Args:
        records: One or more; the strips bear the names of their disciplines.
        port: Place of the port in the records.
        target: Queue to be held, packets, dotted; None: each AQM's own `q_ref`, if it has one.
        changes_s: Times to be marked in all strips.
    """
    targets = [own_target(record) if target is None else target for record in records]
    strips = _strips(records, _columns(records, port, "queue"), targets)
    return _figure(strips, "waiting packets", changes_s, rate_of=records[0].ports[port])


def probability_series_figure(
    records: Sequence[NetworkRecord], *, port: int = 0, changes_s: Sequence[float] = ()
) -> Figure | None:
    """Draw the AQMs' drop probability against time likewise; None where no AQM has one."""
    strips = _strips(records, _columns(records, port, "probability"), [None] * len(records))
    return _figure(strips, "drop probability", changes_s, _percent) if strips else None


def average_series_figure(
    records: Sequence[NetworkRecord], *, port: int = 0, changes_s: Sequence[float] = ()
) -> Figure | None:
    """Draw the AQMs' average queue against time likewise; None where no AQM has one."""
    strips = _strips(records, _columns(records, port, "average"), [None] * len(records))
    return _figure(strips, "average queue (packets)", changes_s) if strips else None


def window_series_figure(records: Sequence[NetworkRecord]) -> Figure | None:
    """Draw the mean congestion window against time likewise; None where no scenario asked for it.

    A curve has a gap where no TCP flow is under way.
    """
    windows = [record.rows("window") for record in records]
    strips = _strips(records, windows, [None] * len(records))
    return _figure(strips, "congestion window (packets)", ()) if strips else None


def reading(record: NetworkRecord) -> str:
    """What the line and the band of a strip are, for a caption."""
    port = record.ports[0]
    bin_s = _bin_samples(len(port.times_s)) * port.sample_s
    shaded = (
        " Shaded: the warm-up, which is not measured; ▲: its greatest value, if beyond the scale."
    )
    return (
        f"The line is the first replication, in means over {bin_s:.2g} s; the band holds 90 % of "
        f"the samples of all replications.{shaded if _warm_up_s(record) else ''}"
    )


def own_target(record: NetworkRecord) -> float | None:
    """The queue that a record's AQM is to hold, packets; None if it knows none."""
    value = record.run["aqm"]["params"].get("q_ref")
    return None if value is None else float(value)


def _warm_up_s(record: NetworkRecord) -> float:
    """What is left out of the measures: what the scenario says, or half of the duration."""
    given = record.run["warm_up_s"]
    return float(record.run["duration_s"]) / 2 if given is None else float(given)


def _columns(records: Sequence[NetworkRecord], port: int, name: str) -> list[FloatArray]:
    return [record.ports[port].rows(name) for record in records]


def _strips(
    records: Sequence[NetworkRecord],
    columns: Sequence[FloatArray],
    targets: Sequence[float | None],
) -> list[_Strip]:
    """A strip for each record whose column holds anything."""
    colour = colours([record.discipline for record in records])
    strips = []
    for record, samples, target in zip(records, columns, targets, strict=True):
        if not np.isnan(samples).all():
            times_s = record.ports[0].times_s
            name = record.discipline
            ends_s = float(record.run["duration_s"]), _warm_up_s(record)
            strips.append(_Strip(name, colour[name], *ends_s, times_s, samples, target))
    return strips


def _plain(value: float, _place: object = None) -> str:
    """Three digits, without an exponent."""
    return f"{float(f'{value:.3g}'):g}"


def _percent(value: float, _place: object = None) -> str:
    return f"{_plain(100 * value)} %"


def _figure(
    strips: Sequence[_Strip],
    upwards: str,
    changes_s: Sequence[float],
    text: Callable[[float], str] = _plain,
    rate_of: PortRecord | None = None,
) -> Figure:
    varies = rate_of is not None and rate_of.rate_varies
    count = len(strips) + varies
    height = 0.7 + (1.5 if count < 3 else 1.2) * count
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0]
    if rate_of is not None and varies:
        _draw_rate(axes[-1], rate_of)
    tops = []
    for ax, strip in zip(axes, strips, strict=False):
        tops.append(_draw(ax, strip))
        for change_s in changes_s:
            ax.axvline(change_s, color="black", lw=0.8, alpha=0.5)
    axes[-1].set_xlim(0, max(strip.duration_s for strip in strips))
    axes[-1].set_xlabel("time (s)")
    without_ticks_above(list(axes))
    figure.supylabel(
        upwards if _scale(list(axes[: len(strips)]), tops) else f"{upwards}, each on its scale",
        fontsize=10,
    )
    for ax, strip in zip(axes, strips, strict=False):
        ax.yaxis.set_major_formatter(FuncFormatter(text))
        _mark_cut(ax, strip, text)
    return figure


def _draw_rate(ax: Axes, port: PortRecord) -> None:
    """Draw the link's rate, the same in all replications, on its own scale."""
    ax.step(port.times_s, port.rows("rate_bps")[0] / 1e6, where="post", color=GREY, lw=1)
    ax.set_title("the link's rate (Mb/s)", loc="left", fontsize=9, color=GREY, pad=2)
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_locator(MaxNLocator(3))
    ax.grid(axis="y", alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)


def _scale(axes: Sequence[Axes], tops: Sequence[float]) -> bool:
    """Give all strips one scale; each its own, and return False, where that makes one flat.

    What is measured sets it: of what the warm-up has above, a mark tells.
    """
    highest = max(tops)
    # a queue that is always empty is flat on any scale
    alike = all(top >= _FLAT * highest for top in tops if top > 0)
    for ax, top in zip(axes, tops, strict=True):
        ax.set_ylim(0, 1.05 * (highest if alike or not top else top) or 1)
        ax.yaxis.set_major_locator(MaxNLocator(3))
    return alike


def _draw(ax: Axes, strip: _Strip) -> float:
    """Draw a strip; returns the highest value that is measured, after the warm-up."""
    width = _bin_samples(len(strip.times_s))
    bins = len(strip.times_s) // width
    samples = strip.samples[:, : bins * width].reshape(-1, bins, width)
    times_s = strip.times_s[: bins * width].reshape(bins, width).mean(axis=1)
    low, high = np.quantile(samples, _BAND, axis=(0, 2))
    ax.fill_between(times_s, low, high, color=strip.colour, alpha=0.3, lw=0)
    ax.plot(times_s, samples[0].mean(axis=1), color=strip.colour, lw=1)
    if strip.target is not None:
        ax.axhline(strip.target, color="black", lw=0.9, ls=":")
    name = label(strip.name).replace("\n", " ")
    ax.set_title(name, loc="left", fontsize=9, color=strip.colour, pad=2)
    ax.grid(axis="y", alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    if strip.warm_up_s:
        ax.axvspan(0, strip.warm_up_s, color=GREY, alpha=0.12, lw=0, zorder=0)
    measured = times_s >= strip.warm_up_s
    shown = high[measured] if measured.any() else high
    return max(float(np.nanmax(shown, initial=0.0)), strip.target or 0.0)


def _mark_cut(ax: Axes, strip: _Strip, text: Callable[[float], str]) -> None:
    """An arrow where the warm-up reaches beyond the scale, with its greatest value."""
    top = ax.get_ylim()[1]
    early = strip.samples[:, strip.times_s < strip.warm_up_s]
    highest = float(np.nanmax(early, initial=0.0))
    if highest > top:
        place = (strip.warm_up_s, 1.0)
        ax.annotate(
            f"▲ {text(highest)}",
            place,
            xycoords=("data", "axes fraction"),
            xytext=(-3, -1),
            textcoords="offset points",
            ha="right",
            va="top",
            fontsize=8,
        )


def _bin_samples(samples: int) -> int:
    """Samples that one point of a figure stands for."""
    return max(1, samples // _BINS)
