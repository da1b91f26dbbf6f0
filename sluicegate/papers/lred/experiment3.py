"""Experiment 3: the queue to be held varies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from sluicegate.papers.claims import Check, Claim, against, judge, less, more, near_one
from sluicegate.papers.comparison import Plot, Row
from sluicegate.papers.lred.figures import sweep_figure
from sluicegate.papers.lred.measured import (
    ALL,
    RIVALS,
    WORDS,
    FloatArray,
    Records,
    Scenarios,
    means,
    measure,
    response_s,
    rows_of,
)
from sluicegate.papers.lred.queues import queue_plot
from sluicegate.papers.lred.scenarios import Reading, dumbbell, long_lived, red, regulating

TARGETS = tuple(range(20, 161, 20))
SHOWN = (20, 100, 160)
READINGS: tuple[Reading, ...] = ()
FLOWS, R_MAX = 400, 0.45
_WHERE = "sec. 6.1, experiment 3"
_HOLDING = ("LRED", "PI*", "REM")
# q0 for which the rule for response times is meaningful: half of q0 is more than the queue's own
# noise, and 1.5 q0 is less than the buffer
_FAR_APART = (60, 120)


def scenarios(reading: Reading) -> Scenarios:
    """By q0; AVQ has none."""
    four: Scenarios = {
        (q_ref, discipline.name): dumbbell([long_lived(FLOWS, reading)], discipline, reading)
        for q_ref in TARGETS
        for discipline in regulating(reading, FLOWS, R_MAX, q_ref)
    }
    beside: Scenarios = {
        (q_ref, "RED"): dumbbell([long_lived(FLOWS, reading)], red(q_ref), reading)
        for q_ref in SHOWN
    }
    return {**four, **beside}


def claims(records: Records) -> list[Claim]:
    """What sections 5.2 and 6.1 say of q0 and of the four measures."""
    return [*_of_q_ref(records), *_of_pi(records), *_of_holding(records), *_of_lred(records)]


def _compared(
    records: Records,
    compare: Callable[[str, FloatArray, FloatArray], Check],
    measured: str,
    one: str,
    others: Sequence[str],
    targets: Sequence[int],
) -> list[Check]:
    """One discipline against others, at each q0 by itself."""
    return [
        check
        for q in targets
        for check in against(
            compare, f"{WORDS[measured]}, q0 = {q}", means(records, [q], measured), one, others
        )
    ]


def _of_q_ref(records: Records) -> Iterator[Claim]:
    low, high = _FAR_APART
    yield judge(
        "The response times of PI and REM depend on the expected queue length: the less room above "
        "it, the longer.",
        "sec. 5.2, equations 34 and 40",
        [
            less(
                f"response (s), {name}, q0 = {low} against {high}",
                *(response_s(records[q, name].ports[0], q_ref=q) for q in _FAR_APART),
            )
            for name in ("PI", "REM")
        ],
        "A response that takes longer than the 200 s of a run counts as 200 s.",
    )


def _of_pi(records: Records) -> Iterator[Claim]:
    for text, compare, measured in (
        ("PI achieves higher throughput than the other three.", more, "goodput"),
        ("PI achieves a lower loss ratio than the other three.", less, "loss_ratio"),
        (
            "PI's slow response leads to a longer queue than that of the other three.",
            more,
            "queue_mean",
        ),
    ):
        yield judge(text, _WHERE, _compared(records, compare, measured, "PI", _HOLDING, TARGETS))


def _of_holding(records: Records) -> Iterator[Claim]:
    yield judge(
        "LRED, PI* and REM effectively realise the expected average queue length.",
        _WHERE,
        [
            near_one(
                f"mean queue of {name} over q0 = {q}",
                measure(records[q, name], "queue_mean") / q,
            )
            for q in TARGETS
            for name in _HOLDING
        ],
        "'Effectively' means within a tenth over the whole run.",
    )
    yield judge(
        "They have almost the same loss ratio.",
        _WHERE,
        [
            near_one(
                f"loss ratio, {name} over LRED, q0 = {q}",
                measure(records[q, name], "loss_ratio") / measure(records[q, "LRED"], "loss_ratio"),
                0.05,
            )
            for q in TARGETS
            for name in ("PI*", "REM")
        ],
        "'Almost' means within 5 %.",
    )


def _of_lred(records: Records) -> Iterator[Claim]:
    yield judge(
        "LRED achieves a better tradeoff between the average queue and goodput and loss ratio.",
        f"abstract; sec. 1, 7; {_WHERE}",
        [
            check(
                f"{WORDS[measured]} at the same mean queue, LRED against {name}",
                *_tradeoff(records, name, measured),
            )
            for check, measured in ((more, "goodput"), (less, "loss_ratio"))
            for name in RIVALS
        ],
    )
    yield judge(
        "LRED has a higher goodput than PI* and REM where q0 is smaller than 60.",
        _WHERE,
        _compared(records, more, "goodput", "LRED", ["PI*", "REM"], [q for q in TARGETS if q < 60]),
    )
    yield judge(
        "LRED has the smallest queue deviation.",
        _WHERE,
        _compared(records, less, "queue_deviation", "LRED", RIVALS, TARGETS),
    )


def _tradeoff(records: Records, name: str, measured: str) -> tuple[FloatArray, FloatArray]:
    """A measure of LRED and of another at the same mean queue; means over q0, one per seed.

    The other's measure is interpolated between its runs; mean queues outside them are left out.
    """
    found: list[tuple[float, float]] = []
    queues, values = (
        {
            each: np.array([measure(records[q, each], what) for q in TARGETS])
            for each in ("LRED", name)
        }
        for what in ("queue_mean", measured)
    )
    for seed in range(queues[name].shape[1]):
        order = np.argsort(queues[name][:, seed])
        at, known = queues[name][order, seed], values[name][order, seed]
        wanted = queues["LRED"][:, seed]
        inside = (wanted >= at[0]) & (wanted <= at[-1])
        found.append(
            (
                float(values["LRED"][inside, seed].mean()),
                float(np.interp(wanted[inside], at, known).mean()),
            )
        )
    own, others = np.array(found).T
    return own, others


def rows(records: Records) -> Iterator[Row]:
    """The four measures where q0 is least, usual and greatest."""
    for (q_ref, name), record in records.items():
        if q_ref in SHOWN:
            yield from rows_of(f"experiment 3, q0 = {q_ref}, {name}", record)


def plots(records: Records) -> Iterator[Plot]:
    """Figures 7 and 8."""
    yield Plot(
        sweep_figure(records, ALL, "q0 (packets)"),
        "Figure 7: the four measures over q0",
        "By the text PI has the longest queue, and so the highest goodput and the least losses; "
        "the other three are near q0, LRED with the smallest deviation.",
    )
    for panel, q_ref in zip("ab", (TARGETS[0], TARGETS[-1]), strict=True):
        yield queue_plot(
            records,
            q_ref,
            f"Figure 8 ({panel}): the queue, q0 = {q_ref}",
            "By the text PI's slow response makes its queue longer than those of the others.",
        )
