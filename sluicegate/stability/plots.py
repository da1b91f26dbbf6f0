"""Pictures of loops: Nyquist, Bode, steps in time, and the map of stability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.patheffects import AbstractPathEffect, withStroke
from numpy.typing import NDArray

from sluicegate.report.figure import Figure
from sluicegate.report.plots import GREY, WIDTH, colours, dash, label
from sluicegate.stability.loop import Loop
from sluicegate.stability.model import FluidNetwork
from sluicegate.stability.transient import Transient

FloatArray = NDArray[np.float64]

# how much of the plane is shown around the point -1
_NYQUIST = 2.5
_LEAST_GAIN = 1e-3
# growth per round trip from which the map's colour changes no more
_FASTEST = 0.5
# black lines and marks are on dark colours, too
_WHITE_EDGE: list[AbstractPathEffect] = [withStroke(linewidth=4, foreground="white")]


def nyquist_figure(loops: Mapping[str, Loop]) -> Figure:
    """Draw L(j omega) e^(-j omega R) in the complex plane, with the point -1."""
    figure = Figure(figsize=(WIDTH, 4.4), layout="constrained")
    ax = figure.subplots()
    colour = colours(list(loops))
    for place, (name, loop) in enumerate(loops.items()):
        response = loop.response(loop.frequencies())
        ax.plot(response.real, response.imag, color=colour[name], ls=dash(place), label=label(name))
    angle = np.linspace(0, 2 * np.pi, 200)
    ax.plot(np.cos(angle), np.sin(angle), color=GREY, lw=0.8, ls=":")
    ax.plot([-1], [0], color="black", marker="+", ms=10, ls="")
    ax.annotate("-1", (-1, 0), (4, 5), textcoords="offset points", fontsize=9)
    ax.set_xlim(-_NYQUIST, 1.2)
    ax.set_ylim(-_NYQUIST, 1.2)
    ax.set_aspect("equal")
    ax.set_xlabel("real part")
    ax.set_ylabel("imaginary part")
    _finish(ax)
    figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    return figure


def bode_figure(loops: Mapping[str, Loop]) -> Figure:
    """Draw gain and phase over the angular frequency."""
    figure = Figure(figsize=(WIDTH, 5.0), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    colour = colours(list(loops))
    for place, (name, loop) in enumerate(loops.items()):
        frequencies = loop.frequencies()
        response = loop.response(frequencies)
        shown = np.abs(response) >= _LEAST_GAIN
        style = {"color": colour[name], "ls": dash(place)}
        above.loglog(frequencies[shown], np.abs(response[shown]), label=label(name), **style)
        phase = np.unwrap(np.angle(response[shown])) * 180 / np.pi
        below.semilogx(frequencies[shown], phase, **style)
    above.axhline(1, color="black", lw=0.9, ls=":")
    below.axhline(-180, color="black", lw=0.9, ls=":")
    above.set_ylabel("gain")
    below.set_ylabel("phase (degrees)")
    below.set_ylim(-540, 0)
    below.set_yticks(range(-540, 1, 90))
    below.set_xlabel("angular frequency (rad/s)")
    for ax in (above, below):
        _finish(ax)
    figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    return figure


def steps_figure(
    steps: Mapping[str, Mapping[str, Transient]], at_s: float, limit: float | None = None
) -> Figure:
    """Draw the queue after steps of the network.

    Args:
        steps: By the step's name, then by the AQM's.
        at_s: When the step is.
        limit: Of the buffer, packets; a line, if given.
    """
    figure = Figure(figsize=(WIDTH, 0.7 + 1.7 * len(steps)), layout="constrained")
    axes = figure.subplots(len(steps), 1, sharex=True, squeeze=False)[:, 0]
    names = list(next(iter(steps.values())))
    colour = colours(names)
    for ax, (title, found) in zip(axes, steps.items(), strict=True):
        for place, (name, each) in enumerate(found.items()):
            shown = label(name) if ax is axes[0] else None
            ax.plot(each.times_s, each.queue, color=colour[name], ls=dash(place), label=shown)
        ax.axvline(at_s, color=GREY, lw=0.8)
        if limit is not None:
            ax.axhline(limit, color=GREY, lw=0.8, ls=":")
        ax.set_title(title, loc="left", fontsize=9)
        ax.set_ylim(bottom=0)
        _finish(ax)
    axes[-1].set_xlabel("time (s)")
    figure.supylabel("waiting packets", fontsize=10)
    figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    return figure


@dataclass(frozen=True)
class Spot:
    """A network on the map that was simulated.

    Attributes:
        flows: N.
        rtt_s: R, s.
        stable: What the full model says.
        oscillates: Whether its queue did so.
    """

    flows: float
    rtt_s: float
    stable: bool
    oscillates: bool


def map_figure(
    flows: FloatArray,
    rtts_s: FloatArray,
    growth: FloatArray,
    papers: FloatArray | None,
    here: FluidNetwork,
    spots: Sequence[Spot] = (),
) -> Figure:
    """Draw where over N and R the loop is stable; hatched: no equilibrium.

    Args:
        flows: N, shape (n,).
        rtts_s: R, s, shape (r,).
        growth: Of disturbances per round trip in the full model, shape (r, n); NaN where it has no
            equilibrium.
        papers: The same in the reduced model; its boundary is a dashed line.
        here: The network that was asked for.
        spots: Simulated networks.
    """
    figure = Figure(figsize=(WIDTH, 4.6), layout="constrained")
    ax = figure.subplots()
    # below the colours; seen where there are none
    ax.add_patch(
        Rectangle((0, 0), 1, 1, transform=ax.transAxes, fc="none", ec=GREY, hatch="///", zorder=0)
    )
    shown = ax.pcolormesh(
        flows, rtts_s, growth, cmap="PuOr_r", vmin=-_FASTEST, vmax=_FASTEST, shading="nearest"
    )
    shown.set_rasterized(True)
    figure.colorbar(shown, ax=ax, label="growth of a disturbance per round trip", extend="both")
    for values, style in ((growth, "-"), (papers, "--")):
        if values is not None and np.nanmin(values) < 0 < np.nanmax(values):
            lines = ax.contour(flows, rtts_s, values, levels=[0], colors="black", linestyles=style)
            lines.set_path_effects(_WHITE_EDGE)
    for oscillates, marker, name in (
        (False, "o", "simulated: calm"),
        (True, "X", "simulated: oscillates"),
    ):
        chosen = [spot for spot in spots if spot.oscillates == oscillates]
        if chosen:
            ax.plot(
                [spot.flows for spot in chosen],
                [spot.rtt_s for spot in chosen],
                ls="",
                marker=marker,
                ms=7,
                mfc="white" if marker == "o" else "black",
                mec="black",
                path_effects=_WHITE_EDGE,
                label=name,
            )
    ax.plot(
        [here.flows],
        [here.rtt_s],
        color="black",
        marker="+",
        ms=16,
        mew=3,
        ls="",
        path_effects=[withStroke(linewidth=7, foreground="white")],
    )
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("flows N")
    ax.set_ylabel("round trip R (s)")
    if spots:
        figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    return figure


def _finish(ax: Axes) -> None:
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
