"""The page of `sluice stability`: tables, Nyquist and Bode plots, steps in time, maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sluicegate.errors import SluiceError
from sluicegate.report.page import Page
from sluicegate.stability import rows
from sluicegate.stability.assessment import Assessment, stability_map
from sluicegate.stability.model import FluidNetwork
from sluicegate.stability.plots import Spot, bode_figure, map_figure, nyquist_figure, steps_figure
from sluicegate.stability.transient import Transient, transient

FloatArray = NDArray[np.float64]

_MODEL = "a fluid model, linear around its equilibrium"
HOW = (
    "The reduced model is LRED's equations 7 and 8, from which its lemmas and its beta "
    "follow; the constant model is its equations 4 and 5, with nothing left out and a "
    "constant round trip; in the full model the round trip follows the queue, and "
    "simulations agree with it. At max R, or min N, the verdict changes if nothing else "
    "does."
)
# factor by which a map extends to both sides
_AROUND, _POINTS = 10.0, 21
# round trips before a step and after it
_BEFORE, _AFTER = 10, 70
_STEPS = {"N": 1.5, "R": 1.5, "C": 0.67}


def stability_page(
    assessments: Sequence[Assessment],
    loops: Sequence[rows.LoopRow],
    recommendations: Sequence[rows.RecommendedRow],
    spots: Mapping[str, Sequence[Spot]],
) -> Page:
    """Put the page together.

    Args:
        assessments: One for each AQM.
        loops: Their rows.
        recommendations: For the first one's network.
        spots: Simulated networks by the AQM's name.
    """
    page = Page("Stability of TCP behind an AQM", _MODEL)
    page.section("In numbers")
    _add_numbers(page, assessments, loops)
    page.table(
        [*rows.RECOMMENDED_HEADER, "why not"],
        [[*rows.recommended_cells(row), row.reason] for row in recommendations],
        "Coefficients by each paper's rule for this network as the worst case: the fewest flows "
        "and the longest round trip. Verdict and margin are the full model's.",
    )
    page.section("In frequency")
    full = {each.discipline: each.loops["full"] for each in assessments}
    told = "; ".join(_margins(row) for row in loops if row.linearisation == "full")
    page.figure(
        nyquist_figure(full),
        "Nyquist plot",
        "The gain once around the loop, in the full model. A loop of stable parts is stable "
        "if its curve does not go around -1.",
        f"{told}.",
    )
    page.figure(bode_figure(full), "Bode plot", "The same, as gain and phase.", f"{told}.")
    page.section("In time")
    at_s, steps = _steps(assessments)
    if steps:
        page.figure(
            steps_figure(steps, at_s),
            "Steps of the network",
            "The nonlinear model, whose round trip follows the queue, starts in its equilibrium; "
            "at the line the network changes.",
            "; ".join(
                f"{name}: the queue ends at {each.queue[-1]:.3g} packets under {aqm}"
                for name, found in steps.items()
                for aqm, each in found.items()
            )
            + ".",
        )
    page.section("Over flows and round trips")
    for each in assessments:
        _map(page, each, spots.get(each.discipline, ()))
    return page


def in_notebook(found: Assessment) -> Page:
    """What a notebook shows of an assessment."""
    page = Page(f"Stability of TCP behind {found.discipline}", _MODEL)
    _add_numbers(page, [found], rows.loop_rows([found]))
    return page


def _add_numbers(
    page: Page, assessments: Sequence[Assessment], loops: Sequence[rows.LoopRow]
) -> None:
    equilibria = [rows.equilibrium_cells(rows.equilibrium_row(each)) for each in assessments]
    page.table(rows.EQUILIBRIUM_HEADER, equilibria, "Where the AQM holds the network.")
    page.table(rows.LOOP_HEADER, [rows.loop_cells(row) for row in loops], HOW)


def _margins(row: rows.LoopRow) -> str:
    cells = dict(zip(rows.LOOP_HEADER, rows.loop_cells(row), strict=True))
    return ", ".join(
        [row.discipline, *(f"{name} {cells[name]}" for name in ("stable", "gain margin"))]
    )


def _steps(
    assessments: Sequence[Assessment],
) -> tuple[float, dict[str, dict[str, Transient]]]:
    """When the step is, s, and the transients by step and AQM, of the steps that all AQMs take."""
    slowest_s = max(each.network.rtt_s for each in assessments)
    at_s, until_s = _BEFORE * slowest_s, (_BEFORE + _AFTER) * slowest_s
    found: dict[str, dict[str, Transient]] = {}
    for name, factor in _STEPS.items():
        try:
            found[f"{name} times {factor:g}"] = {
                each.discipline: transient(
                    each.model, [(0.0, each.network), (at_s, _changed(each, name, factor))], until_s
                )
                for each in assessments
            }
        except SluiceError:
            # after the step some AQM has no equilibrium
            continue
    return at_s, found


def _changed(found: Assessment, name: str, factor: float) -> FluidNetwork:
    field = {"N": "flows", "R": "rtt_s", "C": "capacity_pps"}[name]
    return found.network.with_(**{field: factor * getattr(found.network, field)})


def map_axes(network: FluidNetwork) -> tuple[FloatArray, FloatArray]:
    """Numbers of flows and round trips (s) of the map around a network, shape (n,) each."""
    around = np.geomspace(1 / _AROUND, _AROUND, _POINTS)
    return network.flows * around, network.rtt_s * around


def _map(page: Page, found: Assessment, spots: Sequence[Spot]) -> None:
    flows, rtts_s = map_axes(found.network)
    full, reduced = (
        stability_map(found.model, flows, rtts_s, found.network, linearisation)
        for linearisation in ("full", "reduced")
    )
    if np.isnan(full).all():
        page.text(f"{found.discipline} has no equilibrium anywhere on the map.")
        return
    right = sum(spot.stable != spot.oscillates for spot in spots)
    caption = (
        "Below the line disturbances die out (full model); dashed: the reduced model's boundary; "
        "hatched: no equilibrium; +: the network that was asked for."
    )
    if spots:
        caption += f" {right} of {len(spots)} simulated networks behave as the full model says."
    page.figure(
        map_figure(flows, rtts_s, full, reduced, found.network, spots),
        f"Map of {found.discipline}",
        caption,
        f"stable at {np.mean(full[~np.isnan(full)] < 0):.0%} of the points with an equilibrium.",
    )
