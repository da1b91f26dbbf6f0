"""Experiment 6: congestion in both directions, persistent flows in one, short ones in the other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from sluicegate.network import PortRecord
from sluicegate.network.scenario import AnyFlows
from sluicegate.papers.claims import Claim, judge, less, more, within
from sluicegate.papers.comparison import Plot, Row
from sluicegate.papers.lred.experiment5 import short_flows
from sluicegate.papers.lred.measured import (
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
    undershoot_s,
)
from sluicegate.papers.lred.queues import queue_plot
from sluicegate.papers.lred.scenarios import Q_REF, Reading, dumbbell, long_lived, red, regulating

READINGS: tuple[Reading, ...] = ()
LIMITS = (200, 400)
DURATION_S = 100.0
_PERSISTENT, _SHORT_RATE = 300, 200
_N_MIN, _R_MAX = 200, 0.6
_WHERE = "sec. 6.3, experiment 6"
_ALL = ("LRED", *RIVALS)
# the paper's forward direction leads from the servers to the clients
_PORT = {"reverse": 0, "forward": 1}
_TRAFFIC = {"reverse": "short flows", "forward": "persistent flows"}


def scenarios(reading: Reading) -> Scenarios:
    """By the buffer, packets."""
    flows: list[AnyFlows] = [
        long_lived(_PERSISTENT, reading, way="reverse"),
        short_flows(_SHORT_RATE, reading, start_s=0.0, stop_s=DURATION_S, way="forward"),
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
    )
    short = records[LIMITS[0], "LRED"].flows.filter(pl.col("group") == 1)
    counts = short.group_by("replication").len()["len"].to_numpy().astype(np.float64)
    yield judge(
        "100 seconds enable 20000 short flows.",
        _WHERE,
        [within("short flows", counts, 19_800, 20_200)],
    )
    yield judge(
        "With Q = 200 all AQMs have noticeable overshoots.",
        _WHERE,
        [
            within(
                f"greatest queue of {name}, {way}", of(way, name).samples.max(axis=1), 1.5 * Q_REF
            )
            for way in _PORT
            for name in _ALL
        ],
        "Noticeable is taken for half of q0.",
    )
    yield judge(
        "With Q = 200 LRED controls the queue better than the others.",
        _WHERE,
        [
            less(
                f"mean distance from q0, LRED against {name}, {way}",
                away(of(way, "LRED").samples),
                away(of(way, name).samples),
            )
            for way in _PORT
            for name in RIVALS
        ],
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
            for name in _ALL
        ],
    )
    yield judge(
        "With Q = 200 the buffer of the forward direction overflows.",
        _WHERE,
        [within(f"{name} full (s)", full_s(of("forward", name)), low=0.0) for name in RIVALS],
    )


def _large_buffer(records: Records) -> Iterator[Claim]:
    def of(direction: str, name: str) -> PortRecord:
        return _port(records, LIMITS[1], direction, name)

    for text, measured in (
        ("slower response", response_s),
        ("bigger overshoot", overshoot_s),
    ):
        yield judge(
            f"With Q = 400 both PI and PI* still show {text} than LRED.",
            _WHERE,
            [
                less(
                    f"{text.split()[1]} (s), LRED against {name}, {way}",
                    measured(of(way, "LRED")),
                    measured(of(way, name)),
                )
                for way in _PORT
                for name in ("PI", "PI*")
            ],
        )
    yield judge(
        "With Q = 400 REM responds more quickly than PI and PI*.",
        _WHERE,
        [
            less(
                f"response (s), REM against {name}, {way}",
                response_s(of(way, "REM")),
                response_s(of(way, name)),
            )
            for way in _PORT
            for name in ("PI", "PI*")
        ],
    )
    yield judge(
        "With Q = 400 REM's queue is often below the expected value.",
        _WHERE,
        [
            within(
                f"share of time below q0 in the second half, REM, {way}",
                (of(way, "REM").samples[:, _half(of(way, "REM")) :] < Q_REF).mean(axis=1),
                low=0.5,
            )
            for way in _PORT
        ],
        "Often is taken for half of the time.",
    )
    goodput = {
        name: records[LIMITS[1], name].replications["goodput"].to_numpy()
        for name in ("LRED", "REM")
    }
    yield judge(
        "That leads to a lower goodput of REM than of LRED.",
        _WHERE,
        [
            less(
                "goodput of both directions (packets/s), REM against LRED",
                goodput["REM"],
                goodput["LRED"],
            )
        ],
    )
    yield judge(
        "With Q = 400 LRED still regulates the queue around the expected value.",
        _WHERE,
        [
            within(
                f"mean queue of LRED over q0, {way}",
                of(way, "LRED").samples.mean(axis=1) / Q_REF,
                0.9,
                1.1,
            )
            for way in _PORT
        ],
        "Around is taken for within a tenth over the whole run.",
    )
    yield judge(
        "With Q = 400 LRED achieves better control than the other schemes.",
        _WHERE,
        [
            less(
                f"mean distance from q0, LRED against {name}, {way}",
                away(of(way, "LRED").samples),
                away(of(way, name).samples),
            )
            for way in _PORT
            for name in RIVALS
        ],
    )


def _half(port: PortRecord) -> int:
    return len(port.times_s) // 2


def rows(records: Records) -> Iterator[Row]:
    """Queue, deviation, response, over- and undershoot of each direction."""
    for (limit, name), record in records.items():
        for way, place in _PORT.items():
            label, port = f"experiment 6, Q = {limit}, {way}, {name}", record.ports[place]
            yield row(label, "queue_mean", port.samples.mean(axis=1))
            yield row(label, "queue_deviation", deviation(port.samples))
            yield row(label, "overshoot_s", overshoot_s(port))
            yield row(label, "undershoot_s", undershoot_s(port))
            if name in _ALL:
                yield row(label, "response_time_s", response_s(port))


def plots(records: Records) -> Iterator[Plot]:
    """Figures 15 and 16."""
    shown = {
        200: "The paper shows overshoots of all in both directions, LRED's the smallest.",
        400: "The paper shows PI and PI* far above q0 for long, REM often below, LRED around it.",
    }
    for number, (limit, caption) in zip((15, 16), shown.items(), strict=True):
        for panel, (way, place) in zip("ab", _PORT.items(), strict=True):
            yield queue_plot(
                records,
                limit,
                f"Figure {number} ({panel}): the queue, {way}, {_TRAFFIC[way]}, Q = {limit}",
                caption,
                port=place,
            )
