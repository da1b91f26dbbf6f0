"""Pictures of a sweep, at the size of a journal's column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import matplotlib
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from sluicegate.errors import SluiceError
from sluicegate.measures import DEFINITIONS, FloatArray, check_classes, check_name
from sluicegate.near import nearest
from sluicegate.report.figure import Figure
from sluicegate.report.figure_file import check_format
from sluicegate.report.plots import colours, dash, plain_ticks
from sluicegate.report.plots import label as name_label
from sluicegate.report.tables import label as measure_label
from sluicegate.report.text import value_text
from sluicegate.sweeps.words import path_factor, path_is, path_label, path_value

if TYPE_CHECKING:
    from sluicegate.sweeps.results import Sweep

Scale: TypeAlias = Literal["linear", "log"]
_MOST_LINES = 12
# more values than this have no room for a tick each
_MOST_TICKS = 10
# sizes that are readable in a column
_STYLE: Any = {
    "font.size": 8,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "axes.linewidth": 0.6,
}


def check(
    path: Path,
    y: str,
    x: str | None,
    colour: str | None,
    paths: Sequence[str],
    classes: Sequence[str] | None = None,
) -> None:
    """Refuse a figure of a sweep that is not made yet, as far as one can know.

    Args:
        path: Where it will be written.
        y: As in `Sweep.figure`.
        x: Likewise.
        colour: Likewise.
        paths: What varies.
        classes: Names of the scenario's classes of flows and bands; None: they are not known.

    Raises:
        SluiceError: If it cannot be drawn.
    """
    check_format(path)
    if classes is not None:
        check_classes([name for name in (x, y, colour) if name], classes, str(path))
    if colour is not None:
        check_name(colour, "colour")
    for name, what in ((x, "x"), (y, "y")):
        if name is None or (name in paths and (what == "x" or colour is not None)):
            continue
        if colour is not None:
            raise SluiceError(f"{name} does not vary; there are {', '.join(paths)}")
        if name in paths:
            raise SluiceError(f"y = {y} varies in this sweep; y must be a measure")
        meant = nearest(name, [*paths, *DEFINITIONS])
        if what == "x" and meant in paths and name not in DEFINITIONS:
            raise SluiceError(f"x: {name} does not vary; did you mean {meant}?")
        check_name(name, what)


def lines(
    sweep: Sweep,
    y: str,
    x: str,
    where: Mapping[str, object] | None,
    width: float,
    *,
    labels: tuple[str | None, str | None] = (None, None),
    scales: tuple[Scale | None, Scale | None] = (None, None),
) -> Figure:
    """Draw a measure against what varies, or against another measure; see `Sweep.figure`."""
    measures = [name for name in (y, x) if name not in sweep.paths]
    if y in sweep.paths:
        raise SluiceError(f"y = {y} varies in this sweep; y must be a measure")
    means = sweep.means(where, measures)
    # one thing changes along a line: x, or, for two measures, the first that varies
    along = x if x in sweep.paths else next(iter(_varying(means, sweep.axes)), None)
    rest = [path for path in _varying(means, sweep.axes) if path != along]
    if means["world"].n_unique() > 1:
        rest = ["world", *rest]
    scattered = sweep.about["method"] == "latin-hypercube"
    curves = _curves(means, sweep.about, [] if scattered else rest)
    if len(curves) > _MOST_LINES:
        raise SluiceError(
            f"{len(curves)} lines are more than {_MOST_LINES}: give values of "
            f"{', '.join(rest)} with --where"
        )
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(width, 0.75 * width + 0.13 * len(curves)), layout="constrained")
        ax = figure.subplots()
        colour = colours(means["discipline"].unique(maintain_order=True).to_list())
        # styles distinguish the lines of one discipline, or else the disciplines
        several = len({other for _, other in curves}) > 1
        styles: dict[str, int] = {}
        for (discipline, other), rows in curves.items():
            place = styles.setdefault(other if several else discipline, len(styles))
            if along is not None and not scattered:
                # the order of the plan where there is no other
                rows = rows.sort(along) if means[along].dtype.is_numeric() else rows
            text = name_label(f"{discipline}, {other}" if other else discipline)
            style = "none" if scattered else dash(place)
            _draw(ax, rows, (x, y), _places(means[x]), colour[discipline], style, text)
        _label(ax, sweep, (x, y), labels)
        _scale(ax, means[x], x, scales[0])
        if scales[1] == "log":
            _check_log("y", y, means[y].drop_nulls().to_numpy())
            ax.set_yscale("log")
            plain_ticks(ax.yaxis, (1.0, 2.0, 5.0))
        ax.spines[["top", "right"]].set_visible(False)
        # long enough for the pattern of a dashed line
        figure.legend(
            loc="outside lower center",
            ncols=_legend_columns(ax, width),
            frameon=False,
            handlelength=3.2,
        )
    return figure


def _legend_columns(ax: Axes, width: float) -> int:
    """One column of the legend, or two if there is room for them (`width` in inches)."""
    lines = [line for text in ax.get_legend_handles_labels()[1] for line in text.split("\n")]
    em = matplotlib.rcParams["font.size"] / 72
    # a letter has half an em; before it stand the handle and some space
    column = em * (0.5 * max(map(len, lines), default=0) + 5)
    return 2 if 2 * column <= width else 1


def _varying(means: pl.DataFrame, axes: Sequence[str]) -> list[str]:
    return [path for path in axes if means[path].n_unique() > 1]


def _curves(
    means: pl.DataFrame, about: Mapping[str, Any], rest: Sequence[str]
) -> dict[tuple[str, str], pl.DataFrame]:
    """The rows of each line, by its discipline and what else tells it from others."""
    parts = means.partition_by(["discipline", *rest], as_dict=True, maintain_order=True)
    return {
        (
            str(key[0]),
            ", ".join(path_is(p, v, about) for p, v in zip(rest, key[1:], strict=True)),
        ): rows
        for key, rows in parts.items()
    }


def _places(column: pl.Series) -> dict[Any, int] | None:
    """The place of each value on an axis of values that are no numbers; None if they are."""
    if column.dtype.is_numeric():
        return None
    return {value: place for place, value in enumerate(column.unique(maintain_order=True))}


def _label(
    ax: Axes, sweep: Sweep, names: tuple[str, str], labels: tuple[str | None, str | None]
) -> None:
    """Label both axes, each with its text or else with what it shows and the unit."""
    unit, about = sweep.frame()["time_unit"][0], sweep.about
    right, up = (
        label or (measure_label(name, unit) if name in DEFINITIONS else path_label(name, about))
        for name, label in zip(names, labels, strict=True)
    )
    ax.set_xlabel(right)
    ax.set_ylabel(up)
    ax.grid(alpha=0.25, lw=0.5)


def _draw(
    ax: Axes,
    rows: pl.DataFrame,
    names: tuple[str, str],
    places: Mapping[Any, int] | None,
    colour: str,
    style: Any,
    text: str,
) -> None:
    """Draw a line with its intervals; see `_places`."""
    x, y = names
    values: dict[str, Any] = {}
    errors: dict[str, Any] = {}
    for name in names:
        factor = _factor(name, rows)
        if name == x and places is not None:
            values[name] = [places[value] for value in rows[name]]
        else:
            values[name] = rows[name].to_numpy() * factor
        errors[name] = None
        if name in DEFINITIONS:
            half_width = rows[f"{name}_half_width"].fill_null(0.0).to_numpy() * factor
            # no further than the measure can be
            errors[name] = np.minimum(half_width, [values[name], _most(name) - values[name]])
    drawn = ax.errorbar(
        values[x],
        values[y],
        xerr=errors[x],
        yerr=errors[y],
        color=colour,
        marker="o",
        elinewidth=0.8,
        capsize=1.5,
        label=text,
    )
    drawn[0].set_linestyle(style)


def _most(name: str) -> float:
    """The greatest possible value of a measure, as it is shown; the least is 0."""
    unit = DEFINITIONS[name].unit
    return 100.0 if unit.percent else 1.0 if unit.text == "" else np.inf


def _factor(name: str, rows: pl.DataFrame) -> float:
    """Factor from what is stored to what is shown."""
    if name not in DEFINITIONS:
        return path_factor(name)
    factor, _ = DEFINITIONS[name].unit.shown(rows["time_unit"][0])
    return factor


def _scale(ax: Axes, column: pl.Series, x: str, scale: Scale | None) -> None:
    """Scale the horizontal axis: as asked, or else logarithmic for ratios over two decades."""
    if (places := _places(column)) is not None:
        if scale is not None:
            raise SluiceError(f"x = {x} has no numbers on its axis: leave out the scale")
        ax.set_xticks(list(places.values()), [value_text(value) for value in places])
        ax.set_xlim(-0.5, len(places) - 0.5)
        return
    values = path_factor(x) * column.unique().sort().to_numpy().astype(float)
    if scale == "log":
        _check_log("x", x, values)
    if scale == "log" or (scale is None and x not in DEFINITIONS and _spans_decades(values)):
        ax.set_xscale("log")
        if x not in DEFINITIONS and len(values) <= _MOST_TICKS:
            ax.set_xticks(values, [f"{value:.3g}" for value in values])
            ax.minorticks_off()
        else:
            plain_ticks(ax.xaxis, (1.0, 2.0, 5.0))
    elif np.equal(np.mod(values, 1), 0).all():
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def _check_log(axis: str, name: str, values: FloatArray) -> None:
    if (values <= 0).any():
        raise SluiceError(
            f"{axis} = {name} has values that are not above 0: no logarithmic axis has them"
        )


def _spans_decades(values: FloatArray) -> bool:
    """Whether values, in order, are spread over two decades by about equal ratios."""
    if len(values) < 3 or values[0] <= 0 or values[-1] < 100 * values[0]:
        return False
    ratios, steps = values[1:] / values[:-1], np.diff(values)
    return bool(ratios.max() / ratios.min() < steps.max() / steps.min())


def heat_map(
    sweep: Sweep,
    x: str,
    y: str,
    colour: str,
    where: Mapping[str, object] | None,
    width: float,
    *,
    labels: tuple[str | None, str | None] = (None, None),
) -> Figure:
    """Draw a measure in colours over two things that vary, a map for each discipline."""
    for name in (x, y):
        if name not in sweep.axes:
            raise SluiceError(f"{name} does not vary; there are {', '.join(sweep.axes)}")
    if x == y:
        raise SluiceError(f"a heat map needs two things that vary, not {x} twice")
    means = sweep.means(where, [colour])
    for path in _varying(means, sweep.axes):
        if path not in (x, y):
            raise SluiceError(f"{path} varies, too: give its value with --where")
    factor = _factor(colour, means)
    parts = means.partition_by(["discipline", "world"], as_dict=True, maintain_order=True)
    columns = min(len(parts), 2)
    rows = -(-len(parts) // columns)
    xs, ys = (_in_order(means[name]) for name in (x, y))
    ends = means[colour].min(), means[colour].max()
    low, high = (factor * float(end) if isinstance(end, int | float) else 0.0 for end in ends)
    with matplotlib.rc_context(_STYLE):
        size = width, 0.3 + 0.8 * width / columns * rows
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        panels = list(grid.flat[: len(parts)])
        for spare in grid.flat[len(parts) :]:
            spare.remove()
        image = None
        for ax, ((discipline, world), part) in zip(panels, parts.items(), strict=True):
            cells = np.full((len(ys), len(xs)), np.nan)
            for row in part.iter_rows(named=True):
                value = row[colour]
                place = ys.index(row[y]), xs.index(row[x])
                cells[place] = np.nan if value is None else factor * value
            image = ax.pcolormesh(cells, vmin=low, vmax=high, cmap="viridis")
            several = means["world"].n_unique() > 1
            ax.set_title(f"{discipline} ({world})" if several else discipline, fontsize=8)
            ax.set_xticks(np.arange(len(xs)) + 0.5, [path_value(x, v) for v in xs], rotation=90)
            ax.set_yticks(np.arange(len(ys)) + 0.5, [path_value(y, v) for v in ys])
        assert image is not None
        figure.colorbar(image, ax=panels, label=measure_label(colour, means["time_unit"][0]))
        across, upwards = labels
        figure.supxlabel(across or path_label(x, sweep.about), fontsize=8)
        figure.supylabel(upwards or path_label(y, sweep.about), fontsize=8)
    return figure


def _in_order(column: pl.Series) -> list[Any]:
    """Each value once: numbers from the least on, others as in the plan."""
    values = column.unique(maintain_order=True)
    return (values.sort() if column.dtype.is_numeric() else values).to_list()
