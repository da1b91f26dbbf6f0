"""Experiment 2: few flows with long round trips, and many with short ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from sluicegate.papers.claims import Claim, against, judge, less, mean_text, near_one, within
from sluicegate.papers.comparison import Plot, Row
from sluicegate.papers.lred.losses import inaccuracy, measured_loss
from sluicegate.papers.lred.measured import (
    ALL,
    FloatArray,
    Records,
    Scenarios,
    at,
    away,
    deviation,
    means,
    measure,
    overshoot_s,
    response_s,
    row,
    rows_of,
    stretch,
)
from sluicegate.papers.lred.queues import queue_plot
from sluicegate.papers.lred.scenarios import (
    DURATION_S,
    MAIN,
    NS2_REM,
    OLD_TIMERS,
    Q_REF,
    SLOW_ACCESS,
    SMALL_WINDOW,
    T_M_S,
    Reading,
    dumbbell,
    long_lived,
    others,
    regulating,
)
from sluicegate.scenario import Discipline
from sluicegate.worlds.network import PortRecord

READINGS: tuple[Reading, ...] = (
    SMALL_WINDOW,
    OLD_TIMERS,
    SLOW_ACCESS,
    NS2_REM,
)
_WHERE = "sec. 6.1, experiment 2"
_ANALYSED = "sec. 5.2"
_SECOND_HALF_S = DURATION_S / 2
# "accurate", as a share
_ACCURATE = 0.05
# by the name of a discipline, a value per seed
Of: TypeAlias = Callable[[str], FloatArray]


class Extreme(NamedTuple):
    """One of the two cases: flows, delays between clients and router 1, PI*'s R+, printed loss."""

    flows: int
    delay_s: float
    r_max_s: float
    loss: float


# with the printed N- = 800 and R+ = 0.1 s flows have no room for two packets, a condition of the
# design rule; 0.7 s is what experiment 1 has for 800 flows
EXTREMES = {
    "light": Extreme(80, 0.25, 0.55, 0.0025),
    "heavy": Extreme(800, 0.01, 0.7, 0.165),
}


def scenarios(reading: Reading) -> Scenarios:
    """By congestion."""
    return {
        (name, discipline.name): dumbbell(
            [long_lived(case.flows, reading)], discipline, reading, delays_s=[case.delay_s] * 5
        )
        for name, case in EXTREMES.items()
        for discipline in _disciplines(case, reading)
    }


def _disciplines(case: Extreme, reading: Reading) -> list[Discipline]:
    four = regulating(reading, case.flows, case.r_max_s)
    return [*four, *others()] if reading == MAIN else four


def claims(records: Records) -> list[Claim]:
    """What sections 5.2, 6.1 and 7 say of the two extremes."""
    response = {case: at(records, case, response_s) for case in EXTREMES}
    return [
        *_against_pi_star(records, response),
        *_heavy(records, response),
        *_light(records),
        *_of_response(response),
        *_of_loss(records),
    ]


def _late(port: PortRecord) -> FloatArray:
    """Queue deviation in the second half, one value per seed, packets."""
    return deviation(stretch(port, _SECOND_HALF_S))


def _against_pi_star(records: Records, response: Mapping[str, Of]) -> Iterator[Claim]:
    yield judge(
        "LRED and PI* have similar response times.",
        _WHERE,
        [
            within(
                f"response (s), LRED's minus PI*'s, {case}",
                response[case]("LRED") - response[case]("PI*"),
                -5.0,
                5.0,
            )
            for case in EXTREMES
        ],
        "'Similar' means at most 5 s apart.",
    )
    yield judge(
        "LRED has less overshoots than PI*.",
        _WHERE,
        [
            check
            for case in EXTREMES
            for check in against(
                less,
                f"time above 1.5 q0 (s), {case}",
                at(records, case, overshoot_s),
                "LRED",
                ["PI*"],
            )
        ],
    )
    yield judge(
        "LRED has smaller queue deviations than PI*.",
        _WHERE,
        [
            check
            for case in EXTREMES
            for check in against(
                less,
                f"queue deviation, {case}",
                means(records, [case], "queue_deviation"),
                "LRED",
                ["PI*"],
            )
        ],
    )


def _heavy(records: Records, response: Mapping[str, Of]) -> Iterator[Claim]:
    yield judge(
        "Under heavy congestion LRED responds faster than PI and REM.",
        f"{_WHERE}; 5.2; 6.4",
        against(less, "response (s)", response["heavy"], "LRED", ["PI", "REM"]),
    )
    yield judge(
        "Under heavy congestion LRED is more stable than PI and REM.",
        _WHERE,
        against(
            less,
            "mean distance from q0",
            at(records, "heavy", lambda port: away(port.samples)),
            "LRED",
            ["PI", "REM"],
        ),
        "A buffer that stays full does not deviate from its mean.",
    )


def _light(records: Records) -> Iterator[Claim]:
    late = at(records, "light", _late)
    yield judge(
        "Under light congestion REM's queue oscillates drastically, almost out of control.",
        f"{_WHERE}; 6.2",
        [
            within("REM's queue deviation in the second half", late("REM"), low=Q_REF / 2),
            less(
                "queue deviation in the second half, twice LRED's against REM",
                2 * late("LRED"),
                late("REM"),
            ),
        ],
        "'Drastically' means a deviation above q0 / 2, and above twice LRED's.",
    )
    yield judge(
        "Under light congestion LRED and PI still stably regulate the queue.",
        _WHERE,
        [
            within(f"{name}'s queue deviation in the second half", late(name), high=Q_REF / 2)
            for name in ("LRED", "PI")
        ]
        + [
            near_one(
                f"{name}'s mean queue over q0 in the second half",
                stretch(records["light", name].ports[0], _SECOND_HALF_S).mean(axis=1) / Q_REF,
            )
            for name in ("LRED", "PI")
        ],
        "'Stably' means a deviation below q0 / 2 and a mean within a tenth of q0.",
    )
    yield judge(
        "Under light congestion LRED is relatively better than PI.",
        _WHERE,
        against(less, "queue deviation in the second half", late, "LRED", ["PI"]),
    )
    yield judge(
        "LRED remains quite stable when round-trip times vary significantly.",
        "sec. 7; abstract",
        [
            within(
                f"queue deviation in the second half, {case}",
                at(records, case, _late)("LRED"),
                high=Q_REF / 2,
            )
            for case in EXTREMES
        ],
        "'Quite stable' means a deviation below q0 / 2.",
    )


def _of_response(response: Mapping[str, Of]) -> Iterator[Claim]:
    heavy, light = (response[case]("LRED") for case in ("heavy", "light"))
    yield judge(
        "LRED's response time increases slightly under light congestion.",
        f"{_WHERE}; 5.2",
        [
            less("LRED's response (s), heavy against light", heavy, light),
            less("LRED's response (s), light against twice heavy", light, 2 * heavy),
        ],
        "'Slightly' means twice as long at most.",
    )
    for rivals, where in ((("PI", "PI*"), _WHERE), (("PI", "REM"), _ANALYSED)):
        yield judge(
            f"Even so it is comparable to those of {' and '.join(rivals)}.",
            where,
            [
                less(
                    f"response (s) under light congestion, LRED against twice {name}",
                    light,
                    2 * response["light"](name),
                )
                for name in rivals
            ],
            "'Comparable' means twice as long at most.",
        )


def _of_loss(records: Records) -> Iterator[Claim]:
    ports = {case: records[case, "LRED"].ports[0] for case in EXTREMES}
    off = {case: inaccuracy(port) for case, port in ports.items()}
    rounds = {case: _rounds(measured_loss(port, T_M_S)) for case, port in ports.items()}
    yield judge(
        "Under heavy traffic the loss ratio is accurately estimated within a couple of "
        "measurements.",
        _ANALYSED,
        [
            within(
                "standard deviation of l(k) over its mean, second half",
                off["heavy"],
                high=_ACCURATE,
            )
        ],
        "l(k) goes back 4 measurements; 'accurate' means at most 5 % off. Counted from the start "
        "of the run, with TCP's own start in it, it would fail: until l(k) stays within 5 % of its "
        f"late mean it takes {mean_text(rounds['heavy'])} measurements.",
    )
    yield judge(
        "Under light traffic it needs more rounds of measurement.",
        f"{_ANALYSED}; {_WHERE}",
        [
            less(
                "standard deviation of l(k) over its mean, heavy against light",
                off["heavy"],
                off["light"],
            ),
            less(
                "measurements from the start until l(k) stays within 5 % of its late mean, heavy "
                "against light",
                rounds["heavy"],
                rounds["light"],
            ),
        ],
        "More rounds are needed where one is less accurate.",
    )


def _rounds(loss: FloatArray) -> FloatArray:
    """Measurements until l(k) stays within 5 % of its mean in the second half, one per seed."""
    late = loss[:, loss.shape[1] // 2 :].mean(axis=1, keepdims=True)
    off = np.abs(loss / late - 1) > _ACCURATE
    # number of measurements up to the last one that is off
    return np.asarray(np.where(off.any(axis=1), loss.shape[1] - off[:, ::-1].argmax(axis=1), 0.0))


def rows(records: Records) -> Iterator[Row]:
    """Losses beside those printed, response times, deviations, overshoots."""
    for (name, aqm), record in records.items():
        label = f"experiment 2, {name}, {aqm}"
        printed = EXTREMES[str(name)].loss if aqm == "LRED" else None
        yield row(label, "loss_ratio", measure(record, "loss_ratio"), printed)
        if aqm in ALL:
            yield row(label, "response_time_s", response_s(record.ports[0]))
            yield row(label, "overshoot_s", overshoot_s(record.ports[0]))
        yield from rows_of(label, record, ("queue_mean", "queue_deviation"))


def plots(records: Records) -> Iterator[Plot]:
    """Figure 6."""
    told = {
        "light": "By the text REM oscillates drastically, LRED and PI still regulate the queue.",
        "heavy": "By the text LRED and PI* respond alike, LRED faster than PI and REM.",
    }
    for panel, (name, case) in zip("ab", EXTREMES.items(), strict=True):
        yield queue_plot(
            records,
            name,
            f"Figure 6 ({panel}): the queue under {name} congestion, printed p0 = {case.loss:g}",
            told[name],
        )
