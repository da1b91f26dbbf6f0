"""What runs show, one value per seed, so that disciplines can be compared seed by seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sluicegate.estimate import student
from sluicegate.papers.claims import Check, Claim, against, judge, less, more
from sluicegate.papers.comparison import Row
from sluicegate.papers.lred.scenarios import COME_S, GO_S, LIMIT, Q_REF
from sluicegate.worlds.network import NetworkRecord, NetworkScenario, PortRecord

FloatArray = NDArray[np.float64]
# what is varied, and the discipline's name
Case: TypeAlias = tuple[float | str, str]
Scenarios: TypeAlias = Mapping[Case, NetworkScenario]
Records: TypeAlias = Mapping[Case, NetworkRecord]

RIVALS = ("PI*", "PI", "REM")
ALL = ("LRED", *RIVALS)
# the paper's four performance measures (section 6)
MEASURES = ("goodput", "queue_mean", "queue_deviation", "loss_ratio")
# the same where one discipline is to be better than another
JUDGED = ("goodput", "queue_error", "queue_deviation", "loss_ratio")
WORDS = {
    "goodput": "goodput (packets/s)",
    "queue_mean": "mean queue (packets)",
    "queue_error": "distance of the mean queue from q0 (packets)",
    "queue_deviation": "queue deviation (packets)",
    "loss_ratio": "loss ratio",
}
_ALL_BUT = 0.05


def cases(records: Records, name: str = "LRED") -> list[float]:
    """All values, as far as they are numbers, of what is varied for a discipline."""
    return [case for case, other in records if other == name and isinstance(case, float | int)]


def measure(record: NetworkRecord, name: str) -> FloatArray:
    """A measure of the whole run, one value per seed.

    Args:
        record: The runs.
        name: As in records, but goodput is that of TCP and of datagrams together (packets/s);
            `queue_error` is the distance of the mean queue from q0 = 100 (packets).
    """
    rows = record.replications
    if name == "goodput":
        return (rows["goodput"] + rows["datagram_goodput"]).to_numpy()
    if name == "queue_error":
        return np.asarray(np.abs(rows["queue_mean"].to_numpy() - Q_REF))
    return rows[name].to_numpy()


def mean_over(
    records: Records, over: Sequence[float | str], name: str, measured: str
) -> FloatArray:
    """The mean of a measure over several cases of one discipline, one value per seed."""
    rows = [measure(records[case, name], measured) for case in over]
    return np.asarray(np.mean(rows, axis=0))


def means(
    records: Records, over: Sequence[float | str], measured: str
) -> Callable[[str], FloatArray]:
    """`mean_over` as a function of the discipline's name."""
    return lambda name: mean_over(records, over, name, measured)


def at(
    records: Records, case: float | str, judged: Callable[[PortRecord], FloatArray]
) -> Callable[[str], FloatArray]:
    """A function of the discipline's name: the judged figure of its port, one value per seed."""
    return lambda name: judged(records[case, name].ports[0])


def better(
    records: Records,
    over: Sequence[float | str],
    one: str,
    others: Sequence[str],
    measured: Sequence[str] = JUDGED,
) -> list[Check]:
    """Whether one discipline is better than others, by each measure, on average over cases."""
    return [
        check
        for name in measured
        for check in against(
            more if name == "goodput" else less,
            WORDS[name],
            means(records, over, name),
            one,
            others,
        )
    ]


def lred_ahead(
    records: Records,
    over: Sequence[float | str],
    text: str,
    where: str,
    note: str = "",
    rivals: Sequence[str] = RIVALS,
) -> Iterator[Claim]:
    """That LRED outperforms its rivals: a claim for each of the four measures.

    Args:
        records: By case and discipline.
        over: Cases over which the measures are averaged.
        text: What the paper says, up to the measure.
        where: As in `judge`.
        note: Likewise.
        rivals: With which LRED is compared.
    """
    for name in JUDGED:
        checks = better(records, over, "LRED", rivals, [name])
        yield judge(f"{text}: {WORDS[name]}.", where, checks, note)


def responds_faster(records: Records, case: float | str, times: float = 1.0) -> list[Check]:
    """Whether LRED responds so many times faster than its rivals when traffic comes and goes.

    Args:
        records: By case and discipline.
        case: In which other traffic comes at 50 s and goes at 150 s.
        times: How many times faster.
    """
    multiple = "" if times == 1 else f"{times:g} times "
    checks = []
    for since_s in (COME_S, GO_S):
        found = {name: response_s(records[case, name].ports[0], since_s) for name in ALL}
        checks += [
            less(
                f"response to the change at {since_s:g} s (s), {multiple}LRED's against {name}'s",
                times * found["LRED"],
                found[name],
            )
            for name in RIVALS
        ]
    return checks


def stretch(port: PortRecord, since_s: float, until_s: float = np.inf) -> FloatArray:
    """The samples of the queue from one time to another, shape (seeds, samples), packets."""
    inside = (port.times_s >= since_s) & (port.times_s < until_s)
    return port.samples[:, inside]


def deviation(samples: FloatArray) -> FloatArray:
    """Mean absolute deviation from the mean, one value per seed, packets."""
    means = samples.mean(axis=1, keepdims=True)
    return np.asarray(np.abs(samples - means).mean(axis=1))


def away(samples: FloatArray) -> FloatArray:
    """Mean distance from q0, one value per seed, packets."""
    return np.asarray(np.abs(samples - Q_REF).mean(axis=1))


def seconds(port: PortRecord, which: NDArray[np.bool_]) -> FloatArray:
    """How long a condition held, one value per seed, s.

    Args:
        port: The port that was sampled.
        which: Whether it held at each sample, shape (seeds, samples).
    """
    return np.asarray(which.sum(axis=1) * port.sample_s)


def overshoot_s(port: PortRecord, since_s: float = 0.0, until_s: float = np.inf) -> FloatArray:
    """How long the queue was above 1.5 q0, one value per seed, s."""
    return seconds(port, stretch(port, since_s, until_s) > 1.5 * Q_REF)


def undershoot_s(port: PortRecord, since_s: float = 0.0, until_s: float = np.inf) -> FloatArray:
    """How long the queue was below 0.5 q0, one value per seed, s."""
    return seconds(port, stretch(port, since_s, until_s) < 0.5 * Q_REF)


def is_full(samples: FloatArray) -> NDArray[np.bool_]:
    """Where the buffer of 200 is almost full.

    Almost: where packets are lost for lack of room, the queue is at the limit or just below.
    """
    return np.asarray(samples >= (1 - _ALL_BUT) * LIMIT)


def full_s(port: PortRecord, since_s: float = 0.0, until_s: float = np.inf) -> FloatArray:
    """How long the buffer of 200 was almost full, one value per seed, s."""
    return seconds(port, is_full(stretch(port, since_s, until_s)))


def empty_s(port: PortRecord, since_s: float = 0.0, until_s: float = np.inf) -> FloatArray:
    """How long the buffer was almost empty, one value per seed, s."""
    return seconds(port, stretch(port, since_s, until_s) <= _ALL_BUT * LIMIT)


def response_s(port: PortRecord, since_s: float = 0.0, q_ref: float = Q_REF) -> FloatArray:
    """Response time to q0 after a change, one value per seed, s.

    Where the queue does not settle, the rest of the time: a lower bound.
    """
    left_s = port.samples.shape[1] * port.sample_s - since_s
    return np.asarray(np.minimum(port.response_times_s(q_ref, since_s), left_s))


def row(case: str, quantity: str, values: FloatArray, published: float | None = None) -> Row:
    """Our mean over the seeds beside a published figure, if there is one."""
    found = student(values)
    return Row(case, quantity, published, found.value, found.half_width)


def rows_of(case: str, record: NetworkRecord, names: Sequence[str] = MEASURES) -> Iterator[Row]:
    """Measures of the whole run; the paper prints none of them."""
    for name in names:
        yield row(case, name, measure(record, name))


def response_rows(case: str, port: PortRecord) -> Iterator[Row]:
    """Response times where other traffic comes and goes."""
    for since_s in (COME_S, GO_S):
        yield row(case, f"response_time_s since {since_s:g} s", response_s(port, since_s))
