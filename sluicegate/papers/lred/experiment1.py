"""Experiment 1: how long the AQMs take to a steady state, by the number of flows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from sluicegate.estimate import student
from sluicegate.papers.claims import Claim, judge, less, within
from sluicegate.papers.comparison import Plot, Row
from sluicegate.papers.lred import bounds
from sluicegate.papers.lred.figures import response_figure
from sluicegate.papers.lred.measured import (
    RIVALS,
    FloatArray,
    Records,
    Scenarios,
    away,
    cases,
    deviation,
    measure,
    response_s,
    row,
    stretch,
)
from sluicegate.papers.lred.scenarios import (
    DURATION_S,
    MAIN,
    NS2_REM,
    OLD_TIMERS,
    Q_REF,
    SLOW_ACCESS,
    Reading,
    dumbbell,
    long_lived,
    others,
    regulating,
)
from sluicegate.scenario import Discipline

FLOWS = tuple(range(100, 1001, 100))
# in the other readings, and in the table
FEW_FLOWS = (100, 500, 1000)
READINGS: tuple[Reading, ...] = (SLOW_ACCESS, OLD_TIMERS, NS2_REM)
_WHERE = "sec. 6.1, experiment 1"
_ANALYSED = "sec. 5.2"
_LATE_S = 50.0
Responses = Mapping[tuple[float, str], FloatArray]


def r_max(flows: float) -> float:
    """R+ of PI*, s: so long that a flow has room for two packets."""
    return 0.45 if flows <= 500 else flows / 1000 - 0.1


def scenarios(reading: Reading) -> Scenarios:
    """By number of flows; PI, which takes more than 200 s, gets twice as long."""
    return {
        (flows, discipline.name): dumbbell(
            [long_lived(flows, reading)],
            discipline,
            reading,
            duration_s=(2 if discipline.name == "PI" else 1) * DURATION_S,
        )
        for flows in (FLOWS if reading == MAIN else FEW_FLOWS)
        for discipline in _disciplines(flows, reading)
    }


def _disciplines(flows: int, reading: Reading) -> list[Discipline]:
    four = regulating(reading, flows, r_max(flows))
    return [*four, *others()] if reading == MAIN and flows in FEW_FLOWS else four


def _responses(records: Records) -> dict[tuple[float, str], FloatArray]:
    return {
        (flows, name): response_s(records[flows, name].ports[0])
        for flows in cases(records)
        for name in ("LRED", *RIVALS)
    }


def _needed_loss(records: Records) -> dict[float, FloatArray]:
    """p0: the loss ratio that holds the queue at q0, taken from LRED, which does."""
    return {flows: measure(records[flows, "LRED"], "loss_ratio") for flows in cases(records)}


def _bound_s(name: str, flows: float, p0: FloatArray) -> FloatArray:
    if name == "REM":
        return bounds.rem_bound_s(p0)
    if name == "PI":
        return bounds.pi_bound_s(p0)
    return bounds.pi_bound_s(p0, bounds.pi_star_gain(flows, r_max(flows)))


def claims(records: Records) -> list[Claim]:
    """What sections 5.2 and 6.1 say of response times."""
    responses, p0 = _responses(records), _needed_loss(records)
    gaps = {
        (flows, name): values / _bound_s(name, flows, p0[flows]) - 1
        for (flows, name), values in responses.items()
        if name != "LRED"
    }
    return [
        *_of_losses(records, responses, p0),
        *_of_bounds(responses, p0, gaps),
        *_of_lred(responses, p0),
    ]


def _of_losses(
    records: Records, responses: Responses, p0: Mapping[float, FloatArray]
) -> Iterator[Claim]:
    first, *_, last = p0
    change = {
        name: responses[last, name] - responses[first, name] for name in ("LRED", "PI", "REM")
    }
    yield judge(
        "As the loss ratio increases, so do the response times of PI and REM.",
        _WHERE,
        [
            less(
                f"response (s), {name} with {first} against {last} flows",
                responses[first, name],
                responses[last, name],
            )
            for name in ("PI", "REM")
        ],
    )
    yield judge(
        "LRED's response time is nearly independent of the loss ratio.",
        f"{_WHERE}; {_ANALYSED}; 6.4",
        [
            less(
                f"change of the response from {first} to {last} flows (s), LRED against a tenth "
                f"of {name}",
                np.abs(change["LRED"]),
                np.abs(change[name]) / 10,
            )
            for name in ("PI", "REM")
        ],
        f"The loss ratio goes from {p0[first].mean():.3f} to {p0[last].mean():.3f}.",
    )
    for text, of in (("from its mean", deviation), ("from q0", away)):
        mean = {
            name: np.mean([of(records[flows, name].ports[0].samples) for flows in p0], axis=0)
            for name in ("LRED", "PI", "REM")
        }
        yield judge(
            f"LRED's performance is quite good in terms of the queue's deviation {text}.",
            "sec. 6.4; experiment 1",
            [
                less(
                    f"mean over the numbers of flows (packets), LRED against {name}",
                    mean["LRED"],
                    mean[name],
                )
                for name in ("PI", "REM")
            ],
            "A buffer that stays full, as PI's does, deviates little from its own mean.",
        )
    late = records[last, "PI"].ports[0]
    yield judge(
        "With many flows the default PI takes long, but the system remains stable.",
        _ANALYSED,
        [
            within(
                f"PI's queue deviation in the last {_LATE_S:g} s, {last} flows",
                deviation(stretch(late, late.times_s[-1] - _LATE_S)),
                high=Q_REF / 2,
            )
        ],
    )


def _of_bounds(
    responses: Responses, p0: Mapping[float, FloatArray], gaps: Responses
) -> Iterator[Claim]:
    first, *_, last = p0
    yield judge(
        "Equations 34 and 40 are lower bounds of the response times of PI and REM.",
        _ANALYSED,
        [
            less(
                f"response (s), bound of {name} with {flows} flows against the simulated",
                _bound_s(name, flows, p0[flows]),
                responses[flows, name],
            )
            for name in ("PI", "REM")
            for flows in p0
        ],
    )
    size = {name: np.mean([np.abs(gaps[flows, name]) for flows in p0], axis=0) for name in RIVALS}
    yield judge(
        "Simulated and analytical response times of PI and REM differ little.",
        _WHERE,
        [
            within(f"mean relative difference, {name}", size[name], high=0.25)
            for name in ("PI", "REM")
        ],
        "Little is taken for a quarter at most.",
    )
    yield judge(
        "They differ least with high loss ratios.",
        _WHERE,
        [
            less(
                f"relative difference, {name} with {last} against {first} flows",
                np.abs(gaps[last, name]),
                np.abs(gaps[first, name]),
            )
            for name in ("PI", "REM")
        ],
    )
    yield judge(
        "PI* has a big mismatch between its simulated and analytical results.",
        _WHERE,
        [
            less(f"mean relative difference, {name} against PI*", size[name], size["PI*"])
            for name in ("PI", "REM")
        ],
    )


def _of_lred(responses: Responses, p0: Mapping[float, FloatArray]) -> Iterator[Claim]:
    last = max(p0)
    mean = {
        name: np.mean([responses[flows, name] for flows in p0], axis=0)
        for name in ("LRED", *RIVALS)
    }
    yield judge(
        "PI*, with the optimal parameters, responds faster than PI with the default ones.",
        _WHERE,
        [
            less(
                "response (s), mean over the numbers of flows, PI* against PI",
                mean["PI*"],
                mean["PI"],
            )
        ],
    )
    slower = [
        f"{flows} flows, {name}"
        for flows in p0
        for name in RIVALS
        if responses[flows, "LRED"].mean() > responses[flows, name].mean()
    ]
    yield judge(
        "LRED's response time is generally lower than that of the other schemes.",
        _WHERE,
        [
            less(
                f"response (s), mean over the numbers of flows, LRED against {name}",
                mean["LRED"],
                mean[name],
            )
            for name in RIVALS
        ],
        f"LRED is slower at: {'; '.join(slower) or 'none'}.",
    )
    yield judge(
        "Under a high loss ratio the gaps between LRED and the others are pretty significant.",
        _WHERE,
        [
            less(
                f"response (s) with {last} flows, twice LRED's against {name}",
                2 * responses[last, "LRED"],
                responses[last, name],
            )
            for name in RIVALS
        ],
    )


def rows(records: Records) -> Iterator[Row]:
    """Response times and losses for a few numbers of flows."""
    for (flows, name), record in records.items():
        if flows not in FEW_FLOWS:
            continue
        case = f"experiment 1, {flows} flows, {name}"
        if name in ("LRED", *RIVALS):
            yield row(case, "response_time_s", response_s(record.ports[0]))
        for measured in ("loss_ratio", "queue_mean", "queue_deviation"):
            yield row(case, measured, measure(record, measured))


def plots(records: Records) -> Iterator[Plot]:
    """Figure 5."""
    responses, p0 = _responses(records), _needed_loss(records)
    across = [float(loss.mean()) for loss in p0.values()]
    simulated = {
        name: [student(responses[flows, name]) for flows in p0] for name in ("LRED", *RIVALS)
    }
    analytical = {
        name: [float(_bound_s(name, flows, p0[flows]).mean()) for flows in p0] for name in RIVALS
    }
    yield Plot(
        response_figure(across, simulated, analytical),
        "Figure 5: response times",
        "From left to right 100 to 1000 flows, by the loss ratio that holds the queue at q0. "
        "Dashed: the lower bounds of equations 34 and 40. The paper shows LRED low and level, "
        "PI and REM rising along their bounds, PI* far above its own.",
    )
