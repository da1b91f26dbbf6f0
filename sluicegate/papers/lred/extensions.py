"""What section 7 leaves to future work: marks instead of drops, and fGn arrivals of short flows."""

from __future__ import annotations

from collections.abc import Iterator

from sluicegate.papers.claims import Claim, against, judge, less, more, near_one, ours
from sluicegate.papers.comparison import Plot, Row
from sluicegate.papers.lred.experiment5 import FLOWS, R_MAX, RATES
from sluicegate.papers.lred.measured import (
    MEASURES,
    WORDS,
    Records,
    Scenarios,
    lred_ahead,
    means,
    measure,
    responds_faster,
    response_rows,
    response_s,
    row,
    rows_of,
)
from sluicegate.papers.lred.queues import queue_plot
from sluicegate.papers.lred.scenarios import (
    COME_S,
    DELAYS_S,
    GO_S,
    Q_REF,
    Reading,
    dumbbell,
    long_lived,
    lred,
    regulating,
)
from sluicegate.worlds.network import Exponential, Fgn, ShortTcpFlows, Uniform

READINGS: tuple[Reading, ...] = ()
MARKED_FLOWS = (100, 500)
_MARKING, _FGN = "LRED, ECN", "fGn"
_NOISE = Fgn(hurst=0.8, deviation=0.5, frame_s=0.1)
_WHERE = "sec. 7, future work"


def scenarios(reading: Reading) -> Scenarios:
    """Experiment 1 with LRED that drops and that marks; experiment 5's greatest rate with fGn."""
    tcp = reading.tcp.replace(ecn=True)
    persistent = long_lived(FLOWS, reading)
    return {
        **{
            (flows, "LRED"): dumbbell([long_lived(flows, reading)], lred(), reading)
            for flows in MARKED_FLOWS
        },
        **{
            (flows, _MARKING): dumbbell(
                [long_lived(flows, reading).replace(tcp=tcp)],
                lred(label=_MARKING).replace(ecn=True),
                reading,
            )
            for flows in MARKED_FLOWS
        },
        **{
            (_FGN, discipline.name): dumbbell([persistent, _noisy(reading)], discipline, reading)
            for discipline in regulating(reading, FLOWS, R_MAX)
        },
    }


def _noisy(reading: Reading) -> ShortTcpFlows:
    pairs = len(DELAYS_S)
    return ShortTcpFlows(
        count=pairs,
        gaps=Exponential(mean_s=pairs / RATES[-1]),
        fgn=_NOISE,
        duration=Uniform(least_s=1.0, greatest_s=2.0),
        start_s=COME_S,
        stop_s=GO_S,
        tcp=reading.tcp,
    )


def claims(records: Records) -> list[Claim]:
    """Statements of ours, judged like the paper's."""
    return [ours(claim) for claim in (*_of_marks(records), *_of_noise(records))]


def _of_marks(records: Records) -> Iterator[Claim]:
    for text, measured, compare in (
        ("loses fewer packets", "loss_ratio", less),
        ("has more goodput", "goodput", more),
    ):
        yield judge(
            f"with marks instead of drops LRED {text}.",
            _WHERE,
            [
                check
                for flows in MARKED_FLOWS
                for check in against(
                    compare,
                    f"{WORDS[measured]}, {flows} flows",
                    means(records, [flows], measured),
                    _MARKING,
                    ["LRED"],
                )
            ],
        )
    yield judge(
        "with marks, too, LRED holds the queue at q0.",
        _WHERE,
        [
            near_one(
                f"mean queue over q0, {flows} flows",
                measure(records[flows, _MARKING], "queue_mean") / Q_REF,
            )
            for flows in MARKED_FLOWS
        ],
        "Within a tenth over the whole run.",
    )


def _of_noise(records: Records) -> Iterator[Claim]:
    yield judge(
        "with fGn arrivals of short flows LRED still has the faster response.",
        _WHERE,
        responds_faster(records, _FGN),
    )
    yield from lred_ahead(
        records,
        [_FGN],
        "with fGn arrivals of short flows LRED still outperforms PI, PI* and REM",
        _WHERE,
    )


def rows(records: Records) -> Iterator[Row]:
    """The four measures, marks, and response times."""
    for (case, name), record in records.items():
        if case == _FGN:
            label = f"fGn arrivals, {name}"
            yield from rows_of(label, record)
            yield from response_rows(label, record.ports[0])
        else:
            label = f"ECN, {case} flows, {name}"
            yield from rows_of(label, record, (*MEASURES, "mark_ratio"))
            yield row(label, "response_time_s", response_s(record.ports[0]))


def plots(records: Records) -> Iterator[Plot]:
    """Figure 12 (b) again, with fGn arrivals."""
    yield queue_plot(
        records,
        _FGN,
        f"Beyond the paper: the queue, {RATES[-1]} short flows a second, fGn arrivals",
        f"Flows arrive as a Poisson process whose rate follows fractional Gaussian noise, Hurst "
        f"parameter {_NOISE.hurst:g}, deviation {100 * _NOISE.deviation:g} % in frames of "
        f"{_NOISE.frame_s:g} s; to be compared with figures 12 (b) and 14.",
        changes_s=(COME_S, GO_S),
    )
