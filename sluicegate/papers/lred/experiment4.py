"""Experiment 4: datagrams that do not respond come and go."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sluicegate.papers.claims import Claim, judge, less, more, near_one, within
from sluicegate.papers.comparison import Plot, Row
from sluicegate.papers.lred.figures import sweep_figure
from sluicegate.papers.lred.measured import (
    ALL,
    JUDGED,
    RIVALS,
    WORDS,
    FloatArray,
    Records,
    Scenarios,
    better,
    cases,
    empty_s,
    full_s,
    lred_ahead,
    means,
    measure,
    overshoot_s,
    responds_faster,
    response_rows,
    rows_of,
    undershoot_s,
)
from sluicegate.papers.lred.queues import queue_plot
from sluicegate.papers.lred.scenarios import (
    COME_S,
    GO_S,
    HALF_ON_RATE,
    LINK_BPS,
    MAIN,
    NS2_REM,
    PACKET_BYTES,
    Q_REF,
    SLOW_ACCESS,
    Reading,
    dumbbell,
    long_lived,
    others,
    regulating,
)
from sluicegate.scenario import Discipline
from sluicegate.worlds.network import DatagramFlows, Exponential

DENSITIES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
# in the other readings, and in the table
FEW_DENSITIES = (0.1, 0.5, 0.9)
READINGS: tuple[Reading, ...] = (HALF_ON_RATE, SLOW_ACCESS, NS2_REM)
FLOWS, R_MAX = 100, 0.45
_DATAGRAM_FLOWS = 100
_WHERE = "sec. 6.2, experiment 4"
# what the paper calls a long time, for a buffer that is full or empty
_LONG_S = 5.0


def datagrams(density: float, reading: Reading) -> DatagramFlows:
    """On and off for a second each on average, from 50 s to 150 s."""
    return DatagramFlows(
        count=_DATAGRAM_FLOWS,
        packet_bytes=PACKET_BYTES,
        rate_bps=reading.on_rate * density * LINK_BPS / _DATAGRAM_FLOWS,
        on=Exponential(mean_s=1.0),
        off=Exponential(mean_s=1.0),
        start_s=COME_S,
        stop_s=GO_S,
    )


def scenarios(reading: Reading) -> Scenarios:
    """Scenarios by the density r of the datagrams and the discipline."""
    return {
        (density, discipline.name): dumbbell(
            [long_lived(FLOWS, reading), datagrams(density, reading)], discipline, reading
        )
        for density in (DENSITIES if reading == MAIN else FEW_DENSITIES)
        for discipline in _disciplines(density, reading)
    }


def _disciplines(density: float, reading: Reading) -> list[Discipline]:
    four = regulating(reading, FLOWS, R_MAX)
    return [*four, *others()] if reading == MAIN and density in FEW_DENSITIES else four


def claims(records: Records) -> list[Claim]:
    """What sections 5.2 and 6.2 say of datagrams."""
    return [*_of_measures(records), *_of_queues(records)]


def _of_measures(records: Records) -> Iterator[Claim]:
    densities = cases(records)
    yield from lred_ahead(
        records,
        densities,
        "LRED generally outperforms PI, PI* and REM",
        _WHERE,
        "Means over all densities.",
    )
    yield from _especially(records, densities[0], densities[-1])
    yield judge(
        "REM achieves better performance than PI in this experiment.",
        _WHERE,
        better(records, densities, "REM", ["PI"]),
        "Means over all densities.",
    )
    yield judge(
        "The slow responses of PI, PI* and REM result in low goodput and high loss ratio.",
        f"{_WHERE}; 6.4",
        better(records, densities[-1:], "LRED", RIVALS, ["goodput", "loss_ratio"]),
        f"Against LRED at r = {densities[-1]:g}.",
    )


def _especially(records: Records, sparse: float, dense: float) -> Iterator[Claim]:
    for measured in JUDGED:
        sign = 1 if measured == "goodput" else -1
        lead = {
            (density, name): sign
            * (
                means(records, [density], measured)("LRED")
                - means(records, [density], measured)(name)
            )
            for density in (sparse, dense)
            for name in RIVALS
        }
        yield judge(
            "LRED outperforms them especially when the density of the datagrams is high: "
            f"{WORDS[measured]}.",
            _WHERE,
            [
                *better(records, [dense], "LRED", RIVALS, [measured]),
                *(
                    more(
                        f"LRED's lead over {name}, r = {dense:g} against {sparse:g}",
                        lead[dense, name],
                        lead[sparse, name],
                    )
                    for name in RIVALS
                ),
            ],
            "'Especially' means ahead with the highest density, and by more than with the lowest.",
        )


def _astray_s(records: Records, name: str) -> FloatArray:
    """How long the queue was more than half of q0 away from q0, after the datagrams came, s."""
    ports = [records[density, name].ports[0] for density in cases(records)]
    rows = [overshoot_s(port, COME_S) + undershoot_s(port, COME_S) for port in ports]
    return np.asarray(np.mean(rows, axis=0))


def _of_queues(records: Records) -> Iterator[Claim]:
    yield judge(
        "LRED holds the queue with much smaller under- and overshoots than PI, PI* and REM.",
        _WHERE,
        [
            less(
                f"time outside 0.5 to 1.5 q0 since {COME_S:g} s (s), twice LRED's against {name}",
                2 * _astray_s(records, "LRED"),
                _astray_s(records, name),
            )
            for name in RIVALS
        ],
        "Means over all densities; 'much' means half.",
    )
    yield judge(
        "When r increases, LRED still regulates the queue to the expected value.",
        _WHERE,
        [
            near_one(
                f"mean queue over q0, r = {density:g}",
                measure(records[density, "LRED"], "queue_mean") / Q_REF,
            )
            for density in cases(records)
        ],
        "Within a tenth over the whole run.",
    )
    yield from _of_full_and_empty(records)
    dense = DENSITIES[-1]
    yield judge(
        "LRED has a much shorter response time when conditions change.",
        f"{_WHERE}; 5.2; 6.4",
        responds_faster(records, dense, times=2),
        f"At r = {dense:g}; 'much' means half.",
    )


def _of_full_and_empty(records: Records) -> Iterator[Claim]:
    half, dense = FEW_DENSITIES[-2:]

    def lost_s(density: float, name: str) -> dict[str, FloatArray]:
        port = records[density, name].ports[0]
        return {"full": full_s(port, COME_S, GO_S), "empty": empty_s(port, GO_S)}

    yield judge(
        "With many datagrams the buffers of PI, PI* and REM overflow for a long time when they "
        "come, and are empty for a long time when they go.",
        f"{_WHERE}; abstract; sec. 1",
        [
            within(f"{name} {what} (s)", seconds, low=_LONG_S)
            for name in RIVALS
            for what, seconds in lost_s(dense, name).items()
        ],
        f"At r = {dense:g}; 'long' means {_LONG_S:g} s.",
    )
    yield judge(
        "They do so especially if r is large.",
        _WHERE,
        [
            less(
                f"{name} {what} (s), r = {half:g} against {dense:g}",
                lost_s(half, name)[what],
                lost_s(dense, name)[what],
            )
            for name in RIVALS
            for what in ("full", "empty")
        ],
    )
    yield judge(
        "With LRED there is only a short-term increase or decrease.",
        _WHERE,
        [
            within(f"LRED {what} (s)", seconds, high=_LONG_S)
            for what, seconds in lost_s(dense, "LRED").items()
        ],
        f"At r = {dense:g}; 'short' means {_LONG_S:g} s.",
    )


def rows(records: Records) -> Iterator[Row]:
    """The four measures and the response times at three densities."""
    for (density, name), record in records.items():
        if density not in FEW_DENSITIES:
            continue
        label = f"experiment 4, r = {density:g}, {name}"
        yield from rows_of(label, record)
        if name in ALL:
            yield from response_rows(label, record.ports[0])


def plots(records: Records) -> Iterator[Plot]:
    """Figures 9 and 10."""
    yield Plot(
        sweep_figure(records, ALL, "density r of the datagrams"),
        "Figure 9: the four measures over the density of the datagrams",
        "By the text LRED is ahead in all four, the more so the greater r, and REM before PI.",
    )
    for panel, density in zip("ab", FEW_DENSITIES[-2:], strict=True):
        yield queue_plot(
            records,
            density,
            f"Figure 10 ({panel}): the queue, r = {density:g}",
            "Datagrams from 50 s to 150 s. By the text PI, PI* and REM are full for long after "
            "50 s and empty for long after 150 s, LRED for a short while.",
            changes_s=(COME_S, GO_S),
        )
