"""Figures of sections 4 and 5: boundaries of stability, and bounds of response times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sluicegate.papers.lred.measured import FloatArray
from sluicegate.report.figure import Figure
from sluicegate.report.plots import WIDTH, colours, dash
from sluicegate.stability.boundary import greatest_rtt_s
from sluicegate.stability.model import FluidNetwork
from sluicegate.stability.rules import safe_beta


def surfaces_figure(
    flows: FloatArray,
    rtts_s: FloatArray,
    capacity_pps: float,
    betas: Sequence[float],
    example: FluidNetwork,
) -> Figure:
    """Draw R*(N) of LRED for some betas, and theorem 2's beta over R+ for some N-.

    Args:
        flows: N, shape (n,).
        rtts_s: R+, s, shape (r,).
        capacity_pps: C, packets/s.
        betas: 1/packet.
        example: The paper's.
    """
    figure = Figure(figsize=(WIDTH, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    colour = colours([str(beta) for beta in betas])
    for place, beta in enumerate(betas):

        def gain(network: FluidNetwork, beta: float = beta) -> float:
            return beta * float(np.sqrt(network.drop_probability))

        edge = [greatest_rtt_s(float(n), capacity_pps, gain) for n in flows]
        left.loglog(flows, edge, color=colour[str(beta)], ls=dash(place), label=f"beta {beta:g}")
    left.plot([example.flows], [example.rtt_s], color="black", marker="+", ms=12, mew=2, ls="")
    left.set_xlabel("flows N")
    left.set_ylabel("greatest stable R (s)")
    least = (example.flows / 3, example.flows, 3 * example.flows)
    colour = colours([str(n) for n in least])
    for place, n in enumerate(least):
        safe = [safe_beta(FluidNetwork(n, capacity_pps, float(r))).safe for r in rtts_s]
        right.loglog(rtts_s, safe, color=colour[str(n)], ls=dash(place), label=f"N- = {n:g}")
    right.plot(
        [example.rtt_s],
        [safe_beta(example).safe],
        color="black",
        marker="+",
        ms=12,
        mew=2,
        ls="",
    )
    right.set_xlabel("longest round trip R+ (s)")
    right.set_ylabel("largest safe beta (1/packet)")
    for ax in (left, right):
        ax.grid(alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize=9)
    return figure


def bounds_figure(p0: FloatArray, curves: Mapping[str, FloatArray]) -> Figure:
    """Draw bounds of response times (s) over the drop probability, shape (p,) each."""
    figure = Figure(figsize=(WIDTH, 3.6), layout="constrained")
    ax = figure.subplots()
    colour = colours(list(curves))
    for place, (name, values) in enumerate(curves.items()):
        ax.semilogy(p0, values, color=colour[name], ls=dash(place), label=name)
    ax.set_xlabel("drop probability p0")
    ax.set_ylabel("lower bound of the response time (s)")
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False, fontsize=9)
    return figure
