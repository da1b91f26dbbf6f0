"""An evaluation in a few plain sentences: is it better, where is it worse, what delay it kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import polars as pl

from sluicegate.evaluate.case import Fitted
from sluicegate.evaluate.evaluation import Evaluation
from sluicegate.evaluate.verdict import LEAST, Comparison, together
from sluicegate.evaluate.words import against, comparisons_of, heading
from sluicegate.registry import Aqm

_DELAY, _GOODPUT = "queueing_delay", "goodput_bps"
# the sections with the least goodput that are named
_NAMED = 3


@dataclass(frozen=True)
class Side:
    """Queueing delay or goodput of a section, beside that of another discipline.

    Attributes:
        word: The verdict over its classes; None if the section does not judge by this measure.
        ratio: How many times the other's it is, a geometric mean; None if it is not known.
    """

    word: str | None
    ratio: float | None


@dataclass(frozen=True)
class Section:
    """A section of one discipline beside another.

    Attributes:
        section: Of the suite.
        verdict: Over all its measures.
        delay: Queueing delay.
        goodput: Goodput.
        better: Other measures that are better somewhere in it.
        worse: Those that are worse.
    """

    section: str
    verdict: str
    delay: Side
    goodput: Side
    better: Sequence[Comparison]
    worse: Sequence[Comparison]


def in_short(found: Evaluation, others: Sequence[str]) -> list[tuple[str, list[str]]]:
    """The answers, in sentences below titles."""
    beside = [
        (f"{name} beside {other}", _beside(found, name, other))
        for name, other in pairs(found, others)
    ]
    kept = _kept_delays(found)
    return [*beside, ("Mean time in the queue", kept)] if kept else beside


def pairs(found: Evaluation, others: Sequence[str]) -> list[tuple[str, str]]:
    """Who is compared with whom."""
    return [(name, other) for name in found.plan.judged for other in others if other != name]


def sections_beside(found: Evaluation, name: str, other: str) -> list[Section]:
    """The sections in which two disciplines were compared."""
    rows = (_section(found, each, name, other) for each in found.sections)
    return [row for row in rows if row.verdict != "unknown"]


def sections_frame(found: Evaluation, others: Sequence[str]) -> pl.DataFrame:
    """A row for each section and pair: the verdicts, and the ratios that the sentences are from."""
    rows = [
        {
            "section": row.section,
            "discipline": name,
            "other": other,
            "verdict": row.verdict,
            "queueing_delay": row.delay.word,
            "queueing_delay_ratio": row.delay.ratio,
            "goodput": row.goodput.word,
            "goodput_ratio": row.goodput.ratio,
        }
        for name, other in pairs(found, others)
        for row in sections_beside(found, name, other)
    ]
    ratios = dict.fromkeys(("queueing_delay_ratio", "goodput_ratio"), pl.Float64)
    return pl.DataFrame(rows, schema_overrides=ratios)


def _section(found: Evaluation, section: str, name: str, other: str) -> Section:
    compared = comparisons_of(found, section, name, other)

    def side(measure: str) -> Side:
        words = [each.word for each in compared if plain(each) == measure]
        ratio = found.ratio(section, name, other, measure)
        return Side(together(words) if words else None, ratio)

    rest = [each for each in compared if plain(each) not in (_DELAY, _GOODPUT)]
    return Section(
        section,
        together([each.word for each in compared]),
        side(_DELAY),
        side(_GOODPUT),
        [each for each in rest if each.word == "better"],
        [each for each in rest if each.word == "worse"],
    )


def plain(comparison: Comparison) -> str:
    """The measure without its class."""
    return comparison.measure.rpartition(".")[2]


def _beside(found: Evaluation, name: str, other: str) -> list[str]:
    """What is said of a discipline beside another: the answer, its delay, its goodput, the rest."""
    rows = sections_beside(found, name, other)
    if not rows:
        return ["Nothing is compared yet."]
    lines = [answer(rows, other)]
    delays = {row.section: row.delay for row in rows if row.delay.word is not None}
    goodputs = {row.section: row.goodput for row in rows if row.goodput.word is not None}
    if delays:
        lines.append(_delay_line(found, delays, other))
    if goodputs:
        lines.append(_goodput_line(found, goodputs, other))
    return [*lines, *rest(rows)]


def answer(rows: Sequence[Section], other: str) -> str:
    """The answer to whether it is better."""
    for verdict in ("better", "worse", "no difference"):
        if all(row.verdict == verdict for row in rows):
            beside = "from" if verdict == "no difference" else "than"
            return f"{verdict.capitalize()} {beside} {other} in all sections."
    delay = _mostly([row.delay for row in rows])
    goodput = _mostly([row.goodput for row in rows])
    if {delay, goodput} == {"better", "worse"}:
        gain = "shorter queues" if delay == "better" else "more goodput"
        loss = "less goodput" if delay == "better" else "longer queues"
        return f"A trade beside {other}: {gain} in most sections, {loss} in most."
    if delay == "better":
        kept = "more" if goodput == "better" else "not less"
        return (
            f"Mostly better than {other}: queues are shorter, goodput is {kept} in most sections."
        )
    if goodput == "better":
        return f"Mostly better than {other}: goodput is more, queues not longer in most sections."
    if "worse" in (delay, goodput):
        lost = ["longer queues"] * (delay == "worse") + ["less goodput"] * (goodput == "worse")
        return f"Mostly worse than {other}: {' and '.join(lost)} in most sections."
    return f"Much like {other}: neither queues nor goodput are better or worse in most sections."


def _mostly(sides: Sequence[Side]) -> str | None:
    """The verdict of more than half of the sections that judge by this; None if there is none."""
    words = [each.word for each in sides if each.word is not None]
    return next((word for word in words if 2 * words.count(word) > len(words)), None)


def _delay_line(found: Evaluation, sides: Mapping[str, Side], other: str) -> str:
    told = _counted(sides, "shorter", "longer")
    known = _ratios(sides)
    if known:
        least, most = min(known, key=known.__getitem__), max(known, key=known.__getitem__)
        told += f". {_middle(known, other)}"
        if least != most:
            told += f"; from {_with(found, least, known)} to {_with(found, most, known)}"
    return f"Queueing delay: {told}."


def _goodput_line(found: Evaluation, sides: Mapping[str, Side], other: str) -> str:
    told = _counted(sides, "more", "less")
    known = _ratios(sides)
    if known:
        told += f". {_middle(known, other)}"
        less = (each for each in known if sides[each].word in ("worse", "a trade"))
        low = sorted((each for each in less if known[each] < 1), key=known.__getitem__)
        if low:
            told += f"; least {', '.join(_with(found, each, known) for each in low[:_NAMED])}"
    return f"Goodput: {told}."


def _ratios(sides: Mapping[str, Side]) -> dict[str, float]:
    return {section: each.ratio for section, each in sides.items() if each.ratio is not None}


def _counted(sides: Mapping[str, Side], better: str, worse: str) -> str:
    """In how many sections it is so: `shorter in 17 of 19 sections, no different in 2`."""
    words = [each.word for each in sides.values()]
    said = {
        "better": better,
        "worse": worse,
        "a trade": f"{better} for some flows and {worse} for others",
        "no difference": "no different",
        "unknown": "unknown",
    }
    first, *more = [(text, words.count(word)) for word, text in said.items() if word in words]
    total = f"{first[0]} in {first[1]} of {len(words)} sections"
    return ", ".join([total, *(f"{text} in {count}" for text, count in more)])


def _with(found: Evaluation, section: str, known: Mapping[str, float]) -> str:
    return f"{share(known[section])} ({found.plan.suite.headed(section)})"


def share(ratio: float) -> str:
    """A ratio as people say it: `26 %`, or `2.3 times`."""
    return f"{100 * ratio:.0f} %" if ratio < 2 else f"{ratio:.2g} times"


def _middle(known: Mapping[str, float], other: str) -> str:
    ratio = median(known.values())
    return f"In the median section {share(ratio)} {'of that' if ratio < 2 else 'that'} of {other}"


def rest(rows: Sequence[Section]) -> list[str]:
    """Measures other than delay and goodput that differ, with the sections."""
    lines = []
    for word in ("better", "worse"):
        where: dict[str, list[tuple[str, Comparison]]] = {}
        for row in rows:
            for each in row.better if word == "better" else row.worse:
                where.setdefault(plain(each), []).append((row.section, each))
        if where:
            told = (f"{heading(measure)} ({_largest(of)})" for measure, of in where.items())
            lines.append(f"Also {word}: {', '.join(told)}.")
    return lines


def _largest(compared: Sequence[tuple[str, Comparison]]) -> str:
    """The sections in which a measure differs, and the greatest of these differences."""

    def change(of: tuple[str, Comparison]) -> float:
        _, each = of
        # it has a verdict, and so both values
        assert each.value is not None
        assert each.other is not None
        return abs(each.value.value - each.other.value) / max(abs(each.other.value), 1e-12)

    section, most = max(compared, key=change)
    sections = list(dict.fromkeys(section for section, _ in compared))
    told = against(most)
    return (
        f"{section}: {told}"
        if len(sections) == 1
        else f"{', '.join(sections)}; {told} in {section}"
    )


def _kept_delays(found: Evaluation) -> list[str]:
    """Which delay each discipline kept in the queue, and whether it was that of its target."""
    lines = []
    for name in found.plan.names:
        waits: dict[str, float] = {}
        kept, targets = [], dict[str, float]()
        for case in found.plan.cases:
            wait = found.mean(case, name, "sojourn_mean")
            if wait is None:
                continue
            waits[case.name] = wait.value
            fitted = found.plan.fitted[case.name][name]
            target_s = _target_s(fitted) if isinstance(fitted, Fitted) else None
            if target_s is not None:
                targets[case.name] = target_s
                kept.append(wait.value <= target_s)
        if waits:
            lines.append(_kept(found, name, waits, targets, kept))
    return lines


def _kept(
    found: Evaluation,
    name: str,
    waits: dict[str, float],
    targets: dict[str, float],
    kept: Sequence[bool],
) -> str:
    worst = max(waits, key=waits.__getitem__)
    case = next(each for each in found.plan.cases if each.name == worst)
    told = (
        f"{name}: {1e3 * median(waits.values()):.3g} ms in the median scenario, at most "
        f"{1e3 * waits[worst]:.3g} ms ({found.plan.suite.headed(case.section)})"
    )
    if not targets:
        return f"{told}."
    target_ms = 1e3 * median(targets.values())
    held = f"{sum(kept)} of {len(kept)} scenarios"
    return f"{told}. Its target is {target_ms:g} ms: the mean was at most that in {held}."


def _target_s(fitted: Fitted) -> float | None:
    """The delay that an AQM aims at, s; None if it has no such parameter."""
    configured = fitted.discipline.configured
    if not isinstance(configured, Aqm):
        return None
    for param in configured.of.params:
        in_force = configured.of.applies(param, configured.params)
        if param.name in ("target", "target_delay") and param.unit == "s" and in_force:
            return float(configured.params[param.name])
    return None


def how_sure(found: Evaluation, others: Sequence[str]) -> str:
    """How sure all this is."""
    known = [
        each.word != "unknown"
        for name, other in pairs(found, others)
        for section in found.sections
        for each in comparisons_of(found, section, name, other)
    ]
    return (
        f"How sure: {found.plan.told_replications()} of each scenario. A difference counts where "
        "its 95 % interval, over pairs of replications, leaves 0 out, and where it is above "
        f"{100 * LEAST:g} % (of a time also above 0.1 ms). Of {sum(known)} figures that are "
        f"compared about {sum(known) / 20:.0f} would seem to differ even if none did."
    )
