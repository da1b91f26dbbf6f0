"""The output of `sluice stability` as rows: of loops, of equilibria, and of recommendations."""

from __future__ import annotations

from collections.abc import Sequence
from math import degrees
from typing import Any, NamedTuple

from sluicegate.errors import SluiceError
from sluicegate.report.numbers import number_text
from sluicegate.stability.assessment import LINEARISATIONS, Assessment, assess
from sluicegate.stability.model import FluidNetwork
from sluicegate.stability.plant import Linearisation
from sluicegate.stability.recommended import Recommendation


class LoopRow(NamedTuple):
    """One AQM in one linearisation; what does not exist is None.

    Attributes:
        discipline: Its name.
        linearisation: `reduced` (LRED's equations 7 and 8), `constant` or `full`.
        stable: Whether small disturbances die out.
        growth_hz: Real part of the rightmost root, 1/s: disturbances change as e^(growth t).
        frequency_rad_s: Its imaginary part, at which disturbances oscillate.
        gain_margin: How many times as high the gain may be; below 1 where that would make the loop
            stable.
        phase_margin_rad: At a gain of 1.
        delay_margin_s: How much longer the round trip may become in the exponent alone.
        crossover_rad_s: Where the gain is 1.
        phase_crossover_rad_s: Where the phase is -pi.
        edge_rtt_s: Round trip at which the verdict changes, all else unchanged: the greatest stable
            one.
        edge_flows: Number of flows at which it changes: the least stable one.
    """

    discipline: str
    linearisation: str
    stable: bool
    growth_hz: float
    frequency_rad_s: float
    gain_margin: float | None
    phase_margin_rad: float | None
    delay_margin_s: float | None
    crossover_rad_s: float | None
    phase_crossover_rad_s: float | None
    edge_rtt_s: float | None
    edge_flows: float | None


class EquilibriumRow(NamedTuple):
    """Where one AQM holds the network.

    Attributes:
        discipline: Its name.
        flows: N.
        capacity_pps: C, packets/s.
        rtt_s: R, the wait in the queue included.
        window: Of each flow, packets.
        drop_probability: p0.
        queue: q0, packets.
    """

    discipline: str
    flows: float
    capacity_pps: float
    rtt_s: float
    window: float
    drop_probability: float
    queue: float


class RecommendedRow(NamedTuple):
    """Coefficients by a rule, and what the full model says of them.

    Attributes:
        option: As `--aqm` takes it.
        rule: Where they are from.
        stable: Whether the full model is stable; None: it has no equilibrium.
        gain_margin: In the full model.
        reason: Why there is no equilibrium, or empty.
    """

    option: str
    rule: str
    stable: bool | None
    gain_margin: float | None
    reason: str


LOOP_HEADER = [
    *("discipline", "model", "stable", "growth (1/s)", "rad/s", "gain margin", "phase (deg)"),
    *("max R (s)", "min N"),
]
EQUILIBRIUM_HEADER = [
    *("discipline", "flows N", "C (packets/s)", "R (s)", "window (packets)", "p0"),
    "queue (packets)",
]
RECOMMENDED_HEADER = ["recommended", "by", "stable", "gain margin"]


def loop_row(found: Assessment, linearisation: Linearisation) -> LoopRow:
    """The row of a loop."""
    loop = found.loops[linearisation]
    root, margins = loop.rightmost_root, loop.margins
    return LoopRow(
        found.discipline,
        linearisation,
        loop.is_stable,
        root.real,
        root.imag,
        margins.gain,
        margins.phase_rad,
        margins.delay_s,
        margins.crossover_rad_s,
        margins.phase_crossover_rad_s,
        found.edge_rtt_s(linearisation),
        found.edge_flows(linearisation),
    )


def loop_rows(assessments: Sequence[Assessment]) -> list[LoopRow]:
    """All loops of all AQMs."""
    return [loop_row(found, name) for found in assessments for name in LINEARISATIONS]


def equilibrium_row(found: Assessment) -> EquilibriumRow:
    """The row of an equilibrium."""
    network = found.network
    return EquilibriumRow(
        found.discipline,
        network.flows,
        network.capacity_pps,
        network.rtt_s,
        network.window,
        network.drop_probability,
        found.queue,
    )


def recommended_row(each: Recommendation, network: FluidNetwork) -> RecommendedRow:
    """The row of a recommendation, judged in the network that it is for."""
    try:
        loop = assess(each.discipline(), network).loops["full"]
    except SluiceError as error:
        return RecommendedRow(each.option, each.rule, None, None, str(error))
    return RecommendedRow(each.option, each.rule, loop.is_stable, loop.margins.gain, "")


def loop_cells(row: LoopRow) -> list[str]:
    """A loop as text, in the order of `LOOP_HEADER`."""
    phase = None if row.phase_margin_rad is None else degrees(row.phase_margin_rad)
    return [
        row.discipline,
        row.linearisation,
        yes_or_no(row.stable),
        *(
            _text(value)
            for value in (
                row.growth_hz,
                row.frequency_rad_s,
                row.gain_margin,
                phase,
                row.edge_rtt_s,
                row.edge_flows,
            )
        ),
    ]


def equilibrium_cells(row: EquilibriumRow) -> list[str]:
    """An equilibrium as text, in the order of `EQUILIBRIUM_HEADER`."""
    return [row.discipline, *(_text(value) for value in row[1:])]


def recommended_cells(row: RecommendedRow) -> list[str]:
    """A recommendation as text, in the order of `RECOMMENDED_HEADER`."""
    stable = "n/a" if row.stable is None else yes_or_no(row.stable)
    return [row.option, row.rule, stable, _text(row.gain_margin)]


def verdict(row: RecommendedRow) -> str:
    """What the full model says of a recommendation, in words."""
    if row.stable is None:
        return f"no: {row.reason}"
    said = "stable" if row.stable else "unstable"
    return f"{said}, gain margin {_text(row.gain_margin)}"


def summary(
    loops: Sequence[LoopRow],
    equilibria: Sequence[EquilibriumRow],
    recommendations: Sequence[RecommendedRow],
) -> dict[str, Any]:
    """All rows as types that JSON has."""
    return {
        "equilibria": [row._asdict() for row in equilibria],
        "loops": [row._asdict() for row in loops],
        "recommended": [row._asdict() for row in recommendations],
    }


def yes_or_no(value: bool) -> str:
    """A switch in words."""
    return "yes" if value else "no"


def _text(value: Any) -> str:
    """A number, shown as n/a where there is none."""
    return "n/a" if value is None else number_text(float(value))
