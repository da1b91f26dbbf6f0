"""How evenly flows are served: their goodputs in one picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.ticker import FuncFormatter

from sluicegate.report.figure import Figure
from sluicegate.report.plots import POINTS, WIDTH, colours, dash, height_for, label, share_text
from sluicegate.worlds.network.record import NetworkRecord


def goodput_figure(records: Sequence[NetworkRecord]) -> Figure | None:
    """Draw which share of the flows has at most so much goodput, of all replications together.

    Only flows without an end of their own count: the others are there for a part of the run. None
    where there are not two.
    """
    goodputs = {
        record.discipline: record.lasting_flows["goodput_bps"].to_numpy() / 1e6
        for record in records
    }
    if min(map(len, goodputs.values())) < 2:
        return None
    figure = Figure(figsize=(WIDTH, height_for(list(goodputs))), layout="constrained")
    ax = figure.subplots()
    colour = colours(list(goodputs))
    for place, (name, goodput) in enumerate(goodputs.items()):
        flows = len(goodput)
        # all of them, or as many as the eye tells apart
        shown = np.linspace(0, flows, min(flows, POINTS) + 1).round().astype(int)
        at = np.insert(np.sort(goodput), 0, 0.0)[shown]
        ax.step(
            at, shown / flows, where="post", color=colour[name], ls=dash(place), label=label(name)
        )
    ax.set_xlim(left=0)
    ax.set_ylim(0, 1.02)
    ax.yaxis.set_major_formatter(FuncFormatter(share_text))
    ax.set_xlabel("goodput of a flow (Mb/s)")
    ax.set_ylabel("share of flows with at most so much")
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", labelcolor="linecolor", frameon=False)
    return figure
