"""An evaluation in a few plain sentences: is it better, where is it worse, what delay it kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

import polars as pl

from sluicegate.evaluate.answer import Section, Side, answer, counted, share
from sluicegate.evaluate.case import Fitted
from sluicegate.evaluate.evaluation import Evaluation
from sluicegate.evaluate.verdict import LEAST, Comparison, together
from sluicegate.evaluate.words import against, comparisons_of, heading
from sluicegate.registry import Aqm

_DELAY, _GOODPUT = "queueing_delay", "goodput_bps"
# the sections with the least goodput that are named
_NAMED = 3
# of fewer figures less than one would seem to differ by chance
_MANY = 20


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
    kinds = {
        **dict.fromkeys(("section", "discipline", "other", "verdict"), pl.String),
        "queueing_delay": pl.String,
        "queueing_delay_ratio": pl.Float64,
        "goodput": pl.String,
        "goodput_ratio": pl.Float64,
    }
    return pl.DataFrame(rows, schema=kinds)


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
    lines = [answer(rows, other, is_all=len(found.sections) == 1)]
    delays = {row.section: row.delay for row in rows if row.delay.word is not None}
    goodputs = {row.section: row.goodput for row in rows if row.goodput.word is not None}
    if delays:
        lines.append(_delay_line(found, delays, other))
    if goodputs:
        lines.append(_goodput_line(found, goodputs, other))
    return [*lines, *rest(rows)]


def _delay_line(found: Evaluation, sides: Mapping[str, Side], other: str) -> str:
    told = counted(list(sides.values()), "shorter", "longer")
    known = _ratios(sides)
    if known:
        least, most = min(known, key=known.__getitem__), max(known, key=known.__getitem__)
        told += _middle(found, sides, other)
        if share(known[least]) != share(known[most]):
            told += f"; from {_with(found, least, known)} to {_with(found, most, known)}"
    return f"Queueing delay: {told}."


def _goodput_line(found: Evaluation, sides: Mapping[str, Side], other: str) -> str:
    told = counted(list(sides.values()), "more", "less")
    known = _ratios(sides)
    if known:
        told += _middle(found, sides, other)
        less = (each for each in known if sides[each].word in ("worse", "a trade"))
        low = sorted((each for each in less if known[each] < 1), key=known.__getitem__)
        if low and len(sides) > 1:
            told += f"; least {', '.join(_with(found, each, known) for each in low[:_NAMED])}"
    return f"Goodput: {told}."


def _ratios(sides: Mapping[str, Side]) -> dict[str, float]:
    return {section: each.ratio for section, each in sides.items() if each.ratio is not None}


def _with(found: Evaluation, section: str, known: Mapping[str, float]) -> str:
    return f"{share(known[section])} ({found.plan.suite.headed(section)})"


def _middle(found: Evaluation, sides: Mapping[str, Side], other: str) -> str:
    """How much it is beside the other: in the median section, or in the only one."""
    known = _ratios(sides)
    told = share(median(known.values()))
    beside = f"{told} {'of that' if told.endswith('%') else 'that'} of {other}"
    if len(known) > 1:
        return f". In the median section {beside}"
    (section,) = known
    where = "" if len(found.sections) == 1 else f" ({found.plan.suite.headed(section)})"
    return f", {beside}{where}"


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
    told = f"{name}: {1e3 * median(waits.values()):.3g} ms"
    if len(waits) > 1:
        told += (
            f" in the median scenario, at most {1e3 * waits[worst]:.3g} ms "
            f"({found.plan.suite.headed(case.section)})"
        )
    elif len(found.plan.cases) > 1:
        told += f" in {found.plan.suite.headed(case.section)}"
    if not targets:
        return f"{told}."
    target_ms, least_ms, most_ms = (1e3 * of(targets.values()) for of in (median, min, max))
    if len(waits) == 1:
        return f"{told}. Its target is {target_ms:g} ms: the mean was {'not ' * kept[0]}above it."
    # section 8.3 has others
    between = f", in some scenarios {least_ms:g} to {most_ms:g} ms" if least_ms < most_ms else ""
    return (
        f"{told}. Its target is {target_ms:g} ms{between}: the mean was at most its target there "
        f"in {sum(kept)} of {len(kept)} scenarios."
    )


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
    known = sum(
        each.word != "unknown"
        for name, other in pairs(found, others)
        for section in found.sections
        for each in comparisons_of(found, section, name, other)
    )
    return (
        f"How sure: {found.plan.told_replications()} of each scenario. A difference counts where "
        "its 95 % interval, over pairs of replications, leaves 0 out, and where it is above "
        f"{100 * LEAST:g} % (of a time also above 0.1 ms).{by_chance(known)}"
    )


def by_chance(figures: int) -> str:
    """How many of these figures would seem to differ by chance; nothing if they are few.

    One in twenty intervals leaves 0 out where there is no difference. Some of these differences
    are too small to count.
    """
    if figures < _MANY:
        return ""
    return (
        f" Of {figures} figures that are compared at most about {figures / 20:.0f} would seem to "
        "differ even if none did."
    )
