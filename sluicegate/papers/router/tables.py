"""Rows of figures of both worlds, and how far the worlds agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from sluicegate.estimate import Measure, student
from sluicegate.papers.comparison import Row
from sluicegate.papers.router.found import Found
from sluicegate.papers.router.measured import MOST_LATE_S
from sluicegate.papers.router.runs import Worlds

K = TypeVar("K")

_NEAR = 0.1


def row(
    here: Mapping[K, Found],
    beside: Mapping[K, Found],
    case: K,
    name: str,
    quantity: str,
    of: str,
    published: float | None,
    *,
    measure: str,
    scale: float = 1.0,
) -> Row:
    """The row of one figure of a case.

    Args:
        here: The cases in the world whose figures stand beside the published ones.
        beside: What another world predicts of them; empty if none does.
        case: Which case.
        name: Name of the case.
        quantity: What is measured.
        of: Of what, as the row says it.
        published: The paper's; None where it prints none.
        measure: Of records.
        scale: Factor from the measure to the row's unit.
    """
    found = student(scale * here[case][measure])
    predicted = student(scale * beside[case][measure]) if beside else None
    return Row(
        name,
        f"{quantity}, {of}",
        published,
        found.value,
        found.half_width,
        predicted,
        measure=quantity,
    )


def agreement(rows: Sequence[Row]) -> Iterator[str]:
    """How well the network world predicts the gate, a sentence for each quantity."""
    found: dict[str, list[tuple[Row, Measure]]] = {}
    for row in rows:
        if row.predicted is not None:
            found.setdefault(row.measure, []).append((row, row.predicted))
    for quantity, pairs in found.items():
        near = sum(abs(row.measured - at.value) <= _NEAR * abs(at.value) for row, at in pairs)
        over = sum(_overlap(row, at) for row, at in pairs)
        worst, at = max(pairs, key=lambda pair: abs(pair[0].measured - pair[1].value))
        yield (
            f"Does the simulator predict the router? {quantity}: {near} of {len(pairs)} figures "
            f"within {100 * _NEAR:g} %, {over} with intervals that overlap. The farthest is "
            f"{worst.quantity} ({worst.row}): predicted {at.value:.4g}, measured "
            f"{worst.measured:.4g}."
        )


def _overlap(row: Row, predicted: Measure) -> bool:
    return abs(row.measured - predicted.value) <= (row.half_width or 0) + (
        predicted.half_width or 0
    )


def remarks(worlds: Worlds[K]) -> Iterator[str]:
    """How the gate was run, or why it was not."""
    if worlds.why_not:
        told = "; ".join(worlds.why_not.splitlines())
        yield f"The gate was not run: {told}. All figures are those of the network world."
    gate = worlds.measured
    if gate is not None:
        yield (
            f"The gate: {gate.runs} runs, {gate.parallel} testbeds at a time; packets left the "
            f"router {1000 * gate.lateness_s:.2f} ms late in the mean."
        )
        if gate.late:
            yield (
                f"{gate.late} of the {gate.runs} runs are not valid: even at the second attempt "
                f"packets left the router, or datagrams their sender, more than "
                f"{1000 * MOST_LATE_S:g} ms late in the mean. Their figures tell of a busy machine "
                "and are in the table until the same command measures them again."
            )
