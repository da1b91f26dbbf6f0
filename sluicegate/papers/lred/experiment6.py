"""Experiment 6: congestion in both directions, persistent flows in one, short ones in the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import polars as pl

from sluicegate.papers.claims import Check, Claim, against, judge, less, more, near_one, within
from sluicegate.papers.comparison import Plot, Row
from sluicegate.papers.lred.experiment5 import short_flows
from sluicegate.papers.lred.measured import (
    ALL,
    RIVALS,
    FloatArray,
    Records,
    Scenarios,
    away,
    deviation,
    full_s,
    overshoot_s,
    response_s,
    row,
    stretch,
    undershoot_s,
)
from sluicegate.papers.lred.queues import queue_plot
from sluicegate.papers.lred.scenarios import Q_REF, Reading, dumbbell, long_lived, red, regulating
from sluicegate.scenario import Flows
from sluicegate.worlds.network import PortRecord

READINGS: tuple[Reading, ...] = ()
LIMITS = (200, 400)
DURATION_S = 100.0
_PERSISTENT, _SHORT_RATE = 300, 200
_N_MIN, _R_MAX = 200, 0.6
_WHERE = "sec. 6.3, experiment 6"
# the paper's forward direction leads from the servers to the clients
_PORT = {"reverse": 0, "forward": 1}
_TRAFFIC = {"reverse": "short flows", "forward": "persistent flows"}


def scenarios(reading: Reading) -> Scenarios:
    """By the buffer, packets."""
    flows: list[Flows] = [
        long_lived(_PERSISTENT, reading, route="reverse"),
        short_flows(_SHORT_RATE, reading, start_s=0.0, stop_s=DURATION_S, route="forward"),
    ]
    return {
        (limit, discipline.name): dumbbell(
            flows, discipline, reading, limit=limit, duration_s=DURATION_S, two_way=True
        )
        for limit in LIMITS
        for discipline in [*regulating(reading, _N_MIN, _R_MAX), red()]
    }


def _port(records: Records, limit: int, direction: str, name: str) -> PortRecord:
    return records[limit, name].ports[_PORT[direction]]


def _loss(port: PortRecord) -> FloatArray:
    """Share of packets lost over the whole run, one value per seed."""
    return port.rows("losses")[:, -1] / port.rows("arrivals")[:, -1]


def claims(records: Records) -> list[Claim]:
    """What section 6.3 says of the queues."""
    return [*_small_buffer(records), *_large_buffer(records)]


def _small_buffer(records: Records) -> Iterator[Claim]:
    def of(direction: str, name: str) -> PortRecord:
        return _port(records, LIMITS[0], direction, name)

    yield judge(
        "Congestion occurs in both directions of the link.",
        _WHERE,
        [within(f"loss ratio of LRED, {way}", _loss(of(way, "LRED")), low=0.01) for way in _PORT],
        "'Congestion' means a loss of 1 %.",
    )
    short = records[LIMITS[0], "LRED"].flows.filter(pl.col("group") == 1)
    counts = short.group_by("replication").len()["len"].to_numpy().astype(np.float64)
    yield judge(
        "100 seconds enable 20000 short flows.",
        _WHERE,
        [within("short flows", counts, 19_800, 20_200)],
        "Within 1 %.",
    )
    yield judge(
        "With Q = 200 all AQMs have noticeable overshoots.",
        _WHERE,
        [
            within(
                f"greatest queue of {name}, {way}", of(way, name).samples.max(axis=1), 1.5 * Q_REF
            )
            for way in _PORT
            for name in ALL
        ],
        "'Noticeable' means half of q0.",
    )
    yield judge(
        "With Q = 200 LRED controls the queue better than the others.",
        f"{_WHERE}; sec. 7",
        _both_ways(records, LIMITS[0], "mean distance from q0", _away, RIVALS),
    )
    yield judge(
        "The persistent flows are influenced more noticeably than the short ones.",
        _WHERE,
        [
            more(
                f"queue deviation of {name}, forward against reverse",
                deviation(of("forward", name).samples),
                deviation(of("reverse", name).samples),
            )
            for name in ALL
        ],
    )
    yield judge(
        "With Q = 200 the buffer of the forward direction overflows.",
        _WHERE,
        [within(f"{name} full (s)", full_s(of("forward", name)), low=1.0) for name in ALL],
        "'Overflow' means a second at least within 5 % of the buffer.",
    )


def _away(port: PortRecord) -> FloatArray:
    return away(port.samples)


def _both_ways(
    records: Records,
    limit: int,
    words: str,
    judged: Callable[[PortRecord], FloatArray],
    others: Sequence[str],
    one: str = "LRED",
) -> list[Check]:
    """Whether one discipline has less of something than others, in either direction."""

    def of(way: str) -> Callable[[str], FloatArray]:
        return lambda name: judged(_port(records, limit, way, name))

    return [
        check for way in _PORT for check in against(less, f"{words}, {way}", of(way), one, others)
    ]


def _large_buffer(records: Records) -> Iterator[Claim]:
    limit = LIMITS[1]
    slow = ("PI", "PI*")
    yield judge(
        "With Q = 400 both PI and PI* still show slower response than LRED.",
        _WHERE,
        _both_ways(records, limit, "response (s)", response_s, slow),
    )
    yield judge(
        "With Q = 400 both PI and PI* still show bigger overshoot than LRED.",
        _WHERE,
        _both_ways(records, limit, "time above 1.5 q0 (s)", overshoot_s, slow),
    )
    yield judge(
        "With Q = 400 REM responds more quickly than PI and PI*.",
        _WHERE,
        _both_ways(records, limit, "response (s)", response_s, slow, one="REM"),
    )
    yield judge(
        "With Q = 400 REM's queue is often below the expected value.",
        _WHERE,
        [
            *(
                within(
                    f"share of time below q0 in the second half, REM, {way}",
                    _below(_port(records, limit, way, "REM")),
                    low=0.5,
                )
                for way in _PORT
            ),
            *_both_ways(
                records, limit, "share of time below q0 in the second half", _below, ["REM"]
            ),
        ],
        "'Often' means half of the time, and more than LRED's.",
    )
    goodput = {
        name: records[limit, name].replications["goodput"].to_numpy() for name in ("LRED", "REM")
    }
    yield judge(
        "That leads to a lower goodput of REM than of LRED.",
        _WHERE,
        against(
            less, "goodput of both directions (packets/s)", goodput.__getitem__, "REM", ["LRED"]
        ),
    )
    yield judge(
        "With Q = 400 LRED still regulates the queue around the expected value.",
        _WHERE,
        [
            near_one(
                f"mean queue of LRED over q0, {way}",
                _port(records, limit, way, "LRED").samples.mean(axis=1) / Q_REF,
            )
            for way in _PORT
        ],
        "'Around' means within a tenth over the whole run.",
    )
    yield judge(
        "With Q = 400 LRED achieves better control than the other schemes.",
        f"{_WHERE}; sec. 7",
        _both_ways(records, limit, "mean distance from q0", _away, RIVALS),
    )


def _below(port: PortRecord) -> FloatArray:
    """Share of the second half in which the queue is below q0, one value per seed."""
    return np.asarray((stretch(port, DURATION_S / 2) < Q_REF).mean(axis=1))


def rows(records: Records) -> Iterator[Row]:
    """Queue, deviation, response, over- and undershoot of each direction."""
    for (limit, name), record in records.items():
        for way, place in _PORT.items():
            label, port = f"experiment 6, Q = {limit}, {way}, {name}", record.ports[place]
            yield row(label, "queue_mean", port.samples.mean(axis=1))
            yield row(label, "queue_deviation", deviation(port.samples))
            yield row(label, "overshoot_s", overshoot_s(port))
            yield row(label, "undershoot_s", undershoot_s(port))
            if name in ALL:
                yield row(label, "response_time_s", response_s(port))


def plots(records: Records) -> Iterator[Plot]:
    """Figures 15 and 16."""
    told = {
        200: "By the text all have noticeable overshoots, LRED controls the queue best.",
        400: "By the text PI and PI* respond slowly and overshoot, REM is often below q0, LRED "
        "stays around it.",
    }
    for number, (limit, caption) in zip((15, 16), told.items(), strict=True):
        for panel, (way, place) in zip("ab", _PORT.items(), strict=True):
            yield queue_plot(
                records,
                limit,
                f"Figure {number} ({panel}): the queue, {way}, {_TRAFFIC[way]}, Q = {limit}",
                caption,
                port=place,
            )
