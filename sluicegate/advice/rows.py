"""What `sluice advise` tells, as rows."""

from __future__ import annotations

from typing import Any, NamedTuple, get_args

from sluicegate.advice import words
from sluicegate.advice.advice import Advice
from sluicegate.advice.lines import lines
from sluicegate.advice.question import Prefer
from sluicegate.advice.score import COSTS, Ranked, weights
from sluicegate.estimate import Measure
from sluicegate.report.text import measure_text

HEADER = [
    "setting",
    "score",
    "behind",
    "sure",
    "p99 sojourn\n(ms)",
    "flow time\n(ms)",
    "lost\n(%)",
    "link busy\n(%)",
    "fairness",
]
_SHOWN = {
    "sojourn_p99": 1e3,
    "completion_mean": 1e3,
    "loss_ratio": 1e2,
    "utilization": 1e2,
    "fairness": 1.0,
}


class SettingRow(NamedTuple):
    """One setting that was judged; measures are means over all scenarios, times geometric ones.

    Attributes:
        setting: Its name.
        family: Name of the AQM with its scheduler.
        target_s: How long packets may wait, s.
        second: Its second parameter, or 0.
        score: The lowest is the best.
        score_half_width: Half width of its 95 % interval.
        behind: Its score minus that of the best, seed by seed; 0 for the best.
        behind_half_width: Half width of its 95 % interval; null for the best.
        told_apart: Whether it is surely worse than the best.
        is_today: Whether it is the baseline: what the link has today, as far as is known.
        sojourn_p99: p99 sojourn, s.
        completion_mean: Mean time of the flows that come and go, s.
        loss_ratio: Share of the packets that were lost.
        utilization: Share of the time in which the link is busy.
        fairness: Jain's index of the flows that last.
        sluiced: The command of `sluiced`.
        tc: Commands of `tc`, a line each; empty where Linux has no such qdisc.
        why_no_tc: Why Linux has no such qdisc; empty if it has one.
    """

    setting: str
    family: str
    target_s: float
    second: float
    score: float
    score_half_width: float | None
    behind: float
    behind_half_width: float | None
    told_apart: bool
    is_today: bool
    sojourn_p99: float
    completion_mean: float
    loss_ratio: float
    utilization: float
    fairness: float
    sluiced: str
    tc: str
    why_no_tc: str


class CaseRow(NamedTuple):
    """A scenario, and what is best in it.

    Attributes:
        scenario: Its name.
        rtt_s: Mean round trip of the empty path.
        flows: TCP flows that last, on the simulated link.
        control: Their congestion control.
        best: The setting with the least score there.
        choice_behind: Score of the choice there minus that of the best, seed by seed.
        half_width: Half width of its 95 % interval; null where the choice is the best.
        told_apart: Whether the choice is surely worse there.
    """

    scenario: str
    rtt_s: float
    flows: int
    control: str
    best: str
    choice_behind: float
    half_width: float | None
    told_apart: bool


class PreferRow(NamedTuple):
    """What would be chosen if something else mattered most.

    Attributes:
        prefer: What matters.
        best: The setting with the least score then, of those that were judged.
        choice_behind: Score of the choice minus that of the best then, seed by seed.
        half_width: Half width of its 95 % interval; null where the choice is the best.
        told_apart: Whether the choice is surely worse then.
    """

    prefer: str
    best: str
    choice_behind: float
    half_width: float | None
    told_apart: bool


def setting_rows(advice: Advice) -> list[SettingRow]:
    """Of each setting that was judged, the best first."""
    found = []
    for each in advice.ranking:
        setting = advice.finalists[each.place]
        set_by = lines(setting, advice.question)
        measures = {name: advice.mean(setting, name).value for name in _SHOWN}
        behind, half_width = _behind(each)
        found.append(
            SettingRow(
                setting=setting.name,
                family=setting.family,
                target_s=setting.target_s,
                second=setting.second,
                score=each.score.value,
                score_half_width=each.score.half_width,
                behind=behind,
                behind_half_width=half_width,
                told_apart=each.is_told_apart,
                is_today=setting == advice.baseline,
                **measures,
                sluiced=set_by.sluiced,
                tc="\n".join(set_by.tc),
                why_no_tc=set_by.why_no_tc,
            )
        )
    return found


def setting_cells(advice: Advice) -> list[list[str]]:
    """The same as cells below `HEADER`."""
    return [
        [
            words.shown_name(advice, advice.finalists[each.place]),
            measure_text(each.score, 3),
            *_told(each.behind, each.is_told_apart),
            *(
                measure_text(advice.mean(advice.finalists[each.place], name).times(factor), 3)
                for name, factor in _SHOWN.items()
            ),
        ]
        for each in advice.ranking
    ]


def case_rows(advice: Advice) -> list[CaseRow]:
    """Of each scenario."""
    return [
        CaseRow(
            case.name,
            case.rtt_s,
            case.flows,
            case.control,
            *_against_choice(advice, advice.ranking_by(advice.question.prefer, place)),
        )
        for place, case in enumerate(advice.cases)
    ]


def prefer_rows(advice: Advice) -> list[PreferRow]:
    """Of each preference."""
    return [
        PreferRow(prefer, *_against_choice(advice, advice.ranking_by(prefer)))
        for prefer in get_args(Prefer)
    ]


CASE_HEADER = ["scenario", "RTT (ms)", "flows", "best there", "choice behind", "sure"]
PREFER_HEADER = ["what matters most", "best then", "choice behind", "sure"]


def case_cells(row: CaseRow, factor: float) -> list[str]:
    """As cells below `CASE_HEADER`; flows are those of the real link."""
    flows = f"{row.flows * factor:.0f} {row.control}"
    return [row.scenario, f"{1e3 * row.rtt_s:.3g}", flows, row.best, *_cells(row)]


def prefer_cells(row: PreferRow) -> list[str]:
    """As cells below `PREFER_HEADER`."""
    return [row.prefer, row.best, *_cells(row)]


def _cells(row: CaseRow | PreferRow) -> tuple[str, str]:
    behind = None
    if row.half_width is not None:
        behind = Measure(row.choice_behind, row.half_width, "")
    return _told(behind, row.told_apart)


def _told(behind: Measure | None, told_apart: bool) -> tuple[str, str]:
    """How far something is behind the best, and whether it surely is."""
    if behind is None:
        return "best", ""
    return measure_text(behind, 3), "yes" if told_apart else "no"


def _behind(each: Ranked) -> tuple[float, float | None]:
    return (0.0, None) if each.behind is None else (each.behind.value, each.behind.half_width)


def _against_choice(advice: Advice, ranking: list[Ranked]) -> tuple[str, float, float | None, bool]:
    """What is best in a ranking, and how far the choice is behind it."""
    place = list(advice.finalists).index(advice.choice)
    own = next(each for each in ranking if each.place == place)
    best = advice.finalists[ranking[0].place].name
    return (best, *_behind(own), own.is_told_apart)


def summary(advice: Advice) -> dict[str, Any]:
    """All of it, as types that JSON has."""
    return {
        "question": advice.question.table(),
        "choice": advice.choice.name,
        "worth_having": [each.name for each in advice.worth_having],
        "baseline": advice.baseline.name,
        "weights": dict(zip(COSTS, map(float, weights(advice.question.prefer)), strict=True)),
        "factor": advice.factor,
        "duration_s": advice.runs.duration_s,
        "runs": len(advice.runs.measured),
        "settings": [each._asdict() for each in setting_rows(advice)],
        "scenarios": [each._asdict() for each in case_rows(advice)],
        "preferences": [each._asdict() for each in prefer_rows(advice)],
        "assumptions": list(words.assumptions(advice)),
    }
