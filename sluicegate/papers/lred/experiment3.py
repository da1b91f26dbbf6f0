"""Experiment 3: the queue to be held varies."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sluicegate.papers.claims import Claim, judge, less, more, within
from sluicegate.papers.comparison import Plot, Row
from sluicegate.papers.lred.figures import sweep_figure
from sluicegate.papers.lred.measured import RIVALS, FloatArray, Records, Scenarios, measure, row
from sluicegate.papers.lred.queues import queue_plot
from sluicegate.papers.lred.scenarios import Reading, dumbbell, long_lived, red, regulating

TARGETS = tuple(range(20, 161, 20))
SHOWN = (20, 100, 160)
READINGS: tuple[Reading, ...] = ()
FLOWS, R_MAX = 400, 0.45
_WHERE = "sec. 6.1, experiment 3"
_ALL = ("LRED", *RIVALS)
_HOLDING = ("LRED", "PI*", "REM")
_MEASURES = ("goodput", "queue_mean", "queue_deviation", "loss_ratio")


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
    """What section 6.1 says of the four measures."""
    return [*_of_pi(records), *_of_lred(records)]


def _of_pi(records: Records) -> Iterator[Claim]:
    def pairs(name: str, sense: str) -> list[tuple[str, int, str]]:
        return [
            (f"{name}, PI {sense} {other}, q0 = {q}", q, other)
            for q in TARGETS
            for other in _HOLDING
        ]

    yield judge(
        "PI achieves higher throughput than the other three.",
        _WHERE,
        [
            more(text, measure(records[q, "PI"], "goodput"), measure(records[q, other], "goodput"))
            for text, q, other in pairs("goodput (packets/s)", "against")
        ],
    )
    yield judge(
        "PI achieves a lower loss ratio than the other three.",
        _WHERE,
        [
            less(
                text,
                measure(records[q, "PI"], "loss_ratio"),
                measure(records[q, other], "loss_ratio"),
            )
            for text, q, other in pairs("loss ratio", "against")
        ],
    )
    yield judge(
        "PI's slow response leads to a longer queue than that of the other three.",
        _WHERE,
        [
            more(
                text,
                measure(records[q, "PI"], "queue_mean"),
                measure(records[q, other], "queue_mean"),
            )
            for text, q, other in pairs("mean queue", "against")
        ],
    )


def _of_lred(records: Records) -> Iterator[Claim]:
    at_equal = "at the same mean queue, LRED against"
    yield judge(
        "LRED achieves a better tradeoff between the average queue and goodput and loss ratio.",
        f"abstract; sec. 1; {_WHERE}",
        [
            check(f"{text} {at_equal} {name}", *_tradeoff(records, name, measured))
            for check, measured, text in (
                (more, "goodput", "goodput (packets/s)"),
                (less, "loss_ratio", "loss ratio"),
            )
            for name in RIVALS
        ],
    )
    yield judge(
        "LRED, PI* and REM effectively realise the expected average queue length.",
        _WHERE,
        [
            within(
                f"mean queue of {name} over q0 = {q}",
                measure(records[q, name], "queue_mean") / q,
                0.9,
                1.1,
            )
            for q in TARGETS
            for name in _HOLDING
        ],
        "Effectively is taken for within a tenth over the whole run.",
    )
    yield judge(
        "They have almost the same loss ratio.",
        _WHERE,
        [
            within(
                f"loss ratio, {name} over LRED, q0 = {q}",
                measure(records[q, name], "loss_ratio") / measure(records[q, "LRED"], "loss_ratio"),
                0.95,
                1.05,
            )
            for q in TARGETS
            for name in ("PI*", "REM")
        ],
        "Almost is taken for within 5 %.",
    )
    yield judge(
        "LRED has a higher goodput than PI* and REM where q0 is smaller than 60.",
        _WHERE,
        [
            more(
                f"goodput (packets/s), LRED against {other}, q0 = {q}",
                measure(records[q, "LRED"], "goodput"),
                measure(records[q, other], "goodput"),
            )
            for q in TARGETS
            if q < 60
            for other in ("PI*", "REM")
        ],
    )
    yield judge(
        "LRED has the smallest queue deviation.",
        _WHERE,
        [
            less(
                f"queue deviation, LRED against {other}, q0 = {q}",
                measure(records[q, "LRED"], "queue_deviation"),
                measure(records[q, other], "queue_deviation"),
            )
            for q in TARGETS
            for other in RIVALS
        ],
    )


def _tradeoff(records: Records, name: str, measured: str) -> tuple[FloatArray, FloatArray]:
    """A measure of LRED, and of another at the same mean queue; means over q0, one per seed.

    What the other would have is interpolated between its runs, as far as these reach.
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
        for measured in _MEASURES if q_ref in SHOWN else ():
            yield row(f"experiment 3, q0 = {q_ref}, {name}", measured, measure(record, measured))


def plots(records: Records) -> Iterator[Plot]:
    """Figures 7 and 8."""
    yield Plot(
        sweep_figure(records, _ALL, "q0 (packets)"),
        "Figure 7: the four measures over q0",
        "The paper shows PI with the longest queue, and so with the highest goodput and the least "
        "losses; the other three near q0, LRED with the smallest deviation.",
    )
    for panel, q_ref in zip("ab", (TARGETS[0], TARGETS[-1]), strict=True):
        yield queue_plot(
            records,
            q_ref,
            f"Figure 8 ({panel}): the queue, q0 = {q_ref}",
            "The paper shows PI far above q0 for most of the run, the others at q0.",
        )
