"""Experiment 1: how long the AQMs take to a steady state, by the number of flows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from sluicegate.estimate import student
from sluicegate.papers.claims import Claim, against, judge, less, mean_text, near_one, within
from sluicegate.papers.comparison import Plot, Row
from sluicegate.papers.lred import bounds
from sluicegate.papers.lred.analysis import ANALYSED, LITTLE, WHERE, Losses, Responses, of_bounds
from sluicegate.papers.lred.figures import response_figure
from sluicegate.papers.lred.measured import (
    ALL,
    RIVALS,
    FloatArray,
    Records,
    Scenarios,
    away,
    cases,
    deviation,
    is_full,
    lred_ahead,
    measure,
    response_s,
    row,
    rows_of,
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
    pi,
    regulating,
)
from sluicegate.scenario import Discipline
from sluicegate.worlds.network import PortRecord

FLOWS = tuple(range(100, 1001, 100))
# numbers of flows in the other readings, and in the table
FEW_FLOWS = (100, 500, 1000)
READINGS: tuple[Reading, ...] = (SLOW_ACCESS, OLD_TIMERS, NS2_REM)
# PI takes more than the paper's 200 s: its response times are those of a run twice as long
_LONG_PI = "PI, 400 s"
_TIMED = ("LRED", "PI*", _LONG_PI, "REM")
_LATE_S = 50.0


def scenarios(reading: Reading) -> Scenarios:
    """By number of flows."""
    counts = FLOWS if reading == MAIN else FEW_FLOWS
    return {
        **{
            (flows, discipline.name): dumbbell([long_lived(flows, reading)], discipline, reading)
            for flows in counts
            for discipline in _disciplines(flows, reading)
        },
        **{
            (flows, _LONG_PI): dumbbell(
                [long_lived(flows, reading)], pi(), reading, duration_s=2 * DURATION_S
            )
            for flows in counts
        },
    }


def _disciplines(flows: int, reading: Reading) -> list[Discipline]:
    four = regulating(reading, flows, bounds.r_max_s(flows))
    return [*four, *others()] if reading == MAIN and flows in FEW_FLOWS else four


def _port(records: Records, flows: float, name: str) -> PortRecord:
    """The bottleneck in the run that gives the response time."""
    return records[flows, _LONG_PI if name == "PI" else name].ports[0]


def _responses(records: Records) -> Responses:
    return {
        (flows, name): response_s(_port(records, flows, name))
        for flows in cases(records)
        for name in ALL
    }


def _needed_loss(records: Records) -> Losses:
    """p0: the loss ratio that holds the queue at q0, taken from LRED, which does."""
    return {flows: measure(records[flows, "LRED"], "loss_ratio") for flows in cases(records)}


def claims(records: Records) -> list[Claim]:
    """What sections 5.2, 6.1 and 6.4 say of response times."""
    responses, p0 = _responses(records), _needed_loss(records)
    return [
        *_of_losses(responses, p0),
        *_of_length(records, responses),
        *_of_queues(records),
        *of_bounds(responses, p0, _full_meanwhile(records, responses)),
        *_of_lred(responses, p0),
    ]


def _of_losses(responses: Responses, p0: Losses) -> Iterator[Claim]:
    first, *_, last = p0
    yield judge(
        "As the loss ratio increases with the number of flows, so do the response times of PI and "
        "REM.",
        WHERE,
        [
            *(
                less(f"loss ratio, {few} against {many} flows", p0[few], p0[many])
                for few, many in pairwise(p0)
            ),
            *(
                less(
                    f"response (s), {name} with {few} against {many} flows",
                    responses[few, name],
                    responses[many, name],
                )
                for name in ("PI", "REM")
                for few, many in pairwise(p0)
            ),
        ],
        "The analytical results are in proportion to the loss ratio.",
    )
    change = {name: responses[last, name] - responses[first, name] for name in ALL}
    yield judge(
        "LRED's response time is nearly independent of the loss ratio.",
        f"{WHERE}; {ANALYSED}; 6.4",
        [
            *(
                less(
                    f"change of the response from {first} to {last} flows (s), LRED against a "
                    f"tenth of {name}",
                    np.abs(change["LRED"]),
                    np.abs(change[name]) / 10,
                )
                for name in ("PI", "REM")
            ),
            near_one(
                f"LRED's response with {last} over that with {first} flows",
                responses[last, "LRED"] / responses[first, "LRED"],
                LITTLE,
            ),
        ],
        f"The loss ratio goes from {p0[first].mean():.3f} to {p0[last].mean():.3f}. 'Nearly "
        "independent' means a tenth of the others' change, and within a quarter.",
    )


def _of_length(records: Records, responses: Responses) -> Iterator[Claim]:
    first, *_, last = cases(records)
    late = _port(records, last, "PI")
    yield judge(
        "When the number of flows increases, the default PI yields a long response time, though "
        "the system remains stable.",
        ANALYSED,
        [
            less(
                f"response (s), twice PI's with {first} flows against that with {last}",
                2 * responses[first, "PI"],
                responses[last, "PI"],
            ),
            within(
                f"PI's queue deviation in the last {_LATE_S:g} s, {last} flows",
                deviation(stretch(late, late.times_s[-1] - _LATE_S)),
                high=Q_REF / 2,
            ),
        ],
        "'Long' means twice as long, 'stable' a deviation below q0 / 2.",
    )
    yield judge(
        "200 seconds are long enough to observe both transient and steady-state behaviour.",
        "sec. 6",
        [
            within(f"response (s), {name}, {flows} flows", values, high=DURATION_S)
            for (flows, name), values in responses.items()
        ],
        "PI was given 400 s for this.",
    )


def _of_queues(records: Records) -> Iterator[Claim]:
    yield judge(
        "LRED remains quite stable when the number of flows varies significantly.",
        "sec. 7; abstract",
        [
            within(
                f"queue deviation in the second half, {flows} flows",
                deviation(stretch(records[flows, "LRED"].ports[0], DURATION_S / 2)),
                high=Q_REF / 2,
            )
            for flows in cases(records)
        ],
        "'Quite stable' means a deviation below q0 / 2.",
    )
    counts = cases(records)
    off = {
        name: np.mean([away(records[flows, name].ports[0].samples) for flows in counts], axis=0)
        for name in ("LRED", "PI", "REM")
    }
    told = ", ".join(f"{name} {mean_text(values)}" for name, values in off.items())
    yield from lred_ahead(
        records,
        counts,
        "LRED's performance is quite good",
        "sec. 6.4; experiment 1",
        "'Quite good' means better than PI and REM, in the mean over the numbers of flows. A "
        f"full buffer deviates little from its own mean; the mean distance from q0 is: {told}.",
        rivals=("PI", "REM"),
    )


def _full_meanwhile(records: Records, responses: Responses) -> Responses:
    """Share of the response time in which the buffer was almost full."""
    shares = {}
    for (flows, name), response in responses.items():
        port = _port(records, flows, name)
        before = port.times_s < np.maximum(response, port.sample_s)[:, None]
        full = is_full(port.samples) & before
        shares[flows, name] = np.asarray(full.sum(axis=1) / before.sum(axis=1))
    return shares


def _of_lred(responses: Responses, p0: Losses) -> Iterator[Claim]:
    last = max(p0)
    mean = {name: np.mean([responses[flows, name] for flows in p0], axis=0) for name in ALL}
    yield judge(
        "PI*, with the optimal parameters, responds faster than PI with the default ones.",
        WHERE,
        against(
            less, "response (s), mean over the numbers of flows", mean.__getitem__, "PI*", ["PI"]
        ),
    )
    yield judge(
        "LRED's response time is generally lower than that of the other schemes.",
        f"{WHERE}; abstract",
        [
            *against(
                less,
                "response (s), mean over the numbers of flows",
                mean.__getitem__,
                "LRED",
                RIVALS,
            ),
            *(
                within(
                    f"share of the numbers of flows with LRED faster than {name}",
                    _share_faster(responses, list(p0), name),
                    low=0.5,
                )
                for name in RIVALS
            ),
        ],
        "'Generally' means in the mean and with most numbers of flows.",
    )
    yield judge(
        "Under a high loss ratio the gaps between LRED and the others are pretty significant.",
        WHERE,
        [
            less(
                f"response (s) with {last} flows, twice LRED's against {name}",
                2 * responses[last, "LRED"],
                responses[last, name],
            )
            for name in RIVALS
        ],
        "'Pretty significant' means twice as long.",
    )


def _share_faster(responses: Responses, counts: Sequence[float], name: str) -> FloatArray:
    """Share of the numbers of flows with which LRED responds faster, one value per seed."""
    faster = [responses[flows, "LRED"] < responses[flows, name] for flows in counts]
    return np.asarray(np.mean(faster, axis=0))


def rows(records: Records) -> Iterator[Row]:
    """Response times and losses for a few numbers of flows."""
    for (flows, name), record in records.items():
        if flows not in FEW_FLOWS:
            continue
        case = f"experiment 1, {flows} flows, {name}"
        if name in _TIMED:
            yield row(case, "response_time_s", response_s(record.ports[0]))
        if name != _LONG_PI:
            yield from rows_of(case, record, ("loss_ratio", "queue_mean", "queue_deviation"))


def plots(records: Records) -> Iterator[Plot]:
    """Figure 5."""
    responses, p0 = _responses(records), _needed_loss(records)
    across = [float(loss.mean()) for loss in p0.values()]
    simulated = {name: [student(responses[flows, name]) for flows in p0] for name in ALL}
    analytical = {
        name: [float(bounds.bound_s(name, flows, p0[flows]).mean()) for flows in p0]
        for name in RIVALS
    }
    yield Plot(
        response_figure(across, simulated, analytical),
        "Figure 5: response times",
        "From left to right 100 to 1000 flows, by the loss ratio that holds the queue at q0. "
        "Dashed: the lower bounds of equations 34 and 40. By the text LRED is low and nearly "
        "level, PI and REM rise along their bounds, PI* is far off its own.",
    )
