"""The measures of wires that lose, delay or reorder packets; a record has them of each, too."""

from __future__ import annotations

from collections.abc import Callable

from sluicegate.counts import FlowCounts, WireCounts
from sluicegate.measures.definition import SHARE, Definition, FloatArray, ratio


def _of_wires(
    name: str, heading: str, formula: str, meaning: str, count: Callable[[WireCounts], FloatArray]
) -> Definition[FlowCounts]:
    """A share of the packets that came to wires."""

    def of(c: FlowCounts) -> FloatArray:
        assert c.wires is not None
        return ratio(count(c.wires), c.wires.entered)

    return Definition(name, heading, SHARE, formula, meaning, of)


WIRES: list[Definition[FlowCounts]] = [
    _of_wires(
        "wire_loss_ratio",
        "lost on wires",
        r"L_\mathrm{wire} / A_\mathrm{wire}",
        "share of the packets that came to wires that were lost there; no queue or AQM lost them, "
        "and no other measure of losses counts them",
        lambda wires: wires.lost,
    ),
    _of_wires(
        "wire_reordered_ratio",
        "reordered",
        r"R_\mathrm{wire} / A_\mathrm{wire}",
        "share of these that came out after a packet that had entered later (RFC 4737)",
        lambda wires: wires.reordered,
    ),
]
