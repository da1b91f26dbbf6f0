"""An evaluation in words: measures with their units, verdicts, sections."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.estimate import Measure
from sluicegate.evaluate.case import Case
from sluicegate.evaluate.evaluation import Evaluation
from sluicegate.evaluate.verdict import Comparison, is_time, together
from sluicegate.report.text import measure_text

_DIGITS = 3
_HEADINGS = {
    "queueing_delay": "queueing delay",
    "goodput_bps": "goodput",
    "throughput_bps": "throughput",
    "goodput_fairness": "Jain's fairness of goodputs",
    "goodput_ratio": "goodput, second over first",
    "completion_mean": "completion time",
    "jitter": "jitter",
    "loss_run": "packets lost in a row",
    "loss_gap": "gap between losses",
    "ack_delay": "queueing delay of the ACKs",
    "ack_loss_ratio": "lost of the ACKs",
    "page_mean": "time of a page",
    "one_way_delay_p99": "p99 one-way delay",
    "rpm": "RPM",
    "qoo_web": "QoO (web)",
    "qoo_streaming": "QoO (streaming)",
    "stall_rate": "stalls in a minute",
    "frame_mean": "mean time of a frame",
    "frame_p50": "p50 time of a frame",
    "frame_p99": "p99 time of a frame",
    "quality": "rate of the picture",
    "stall_ratio": "time in which the picture stood still",
    "mos": "MOS",
    "loss_ratio": "lost",
    "utilization": "link busy",
    "synchronisation_ratio": "synchronisation ratio",
    "lost_by_time_0": "flows that lost a packet before time 0",
    "start_up_mean": "flow start-up time",
    "sojourn_mean": "mean sojourn",
    "sojourn_p99": "p99 sojourn",
}
# of classes whose names in measures are no words
_CLASSES = {
    "cbr": "the constant rate",
    "I": "flow I",
    "II": "flow II",
    # phases, which are measured by themselves
    **{each: f"the {each} phase" for each in ("mild", "medium", "heavy", "fast", "slow")},
    **{f"{each}-again": f"the second {each} phase" for each in ("mild", "fast", "slow")},
    "before": "the time before",
    "after": "the time after",
}
_SHARES = (
    "loss_ratio",
    "ack_loss_ratio",
    "utilization",
    "mark_ratio",
    "missing_ratio",
    "stall_ratio",
    "lost_by_time_0",
)


def heading(measure: str) -> str:
    """A measure in words: `queueing delay of bulk`."""
    class_, _, name = measure.rpartition(".")
    said = _HEADINGS.get(name, name.replace("_", " "))
    return f"{said} of {_CLASSES.get(class_, class_)}" if class_ else said


def unit(measure: str) -> tuple[float, str]:
    """Factor to the unit in which a measure is shown, and that unit."""
    name = measure.rpartition(".")[2]
    if is_time(measure):
        return 1000.0, "ms"
    if name.endswith("_bps") or name == "quality":
        return 1e-6, "Mb/s"
    return (100.0, "%") if name in _SHARES else (1.0, "")


def text(measure: str, found: Measure | None, *, units: bool = True) -> str:
    """A value with its interval, and its unit; `n/a` if it is missing."""
    if found is None:
        return "n/a"
    factor, name = unit(measure)
    shown = measure_text(found.times(factor), _DIGITS)
    return f"{shown} {name}".rstrip() if units else shown


def labelled(measure: str) -> str:
    """The text over a column or beside an axis."""
    _, name = unit(measure)
    said = heading(measure)
    return f"{said} ({name})" if name else said


def verdict(comparisons: Sequence[Comparison]) -> str:
    """What a case says of a discipline beside another: the verdict, and where it follows from."""
    parts = [
        f"{each} in {', '.join(_beside(one) for one in comparisons if one.word == each)}"
        for each in ("better", "worse")
        if any(one.word == each for one in comparisons)
    ]
    return "; ".join(parts) or together([each.word for each in comparisons])


def _beside(comparison: Comparison) -> str:
    return f"{heading(comparison.measure)} ({against(comparison)})"


def against(comparison: Comparison) -> str:
    """Both values: `12.3 against 75 ms`."""
    value, other = (
        None if found is None else Measure(found.value, None, "")
        for found in (comparison.value, comparison.other)
    )
    measure = comparison.measure
    return f"{text(measure, value, units=False)} against {text(measure, other)}"


def case_lines(found: Evaluation, case: Case, others: Sequence[str]) -> list[str]:
    """What a case says of each discipline beside each of the others."""
    lines = []
    for name in found.plan.judged:
        if (why := found.why_not(case, name)) is not None:
            lines.append(f"{name}: not run, {why}")
            continue
        if not found.measured(case, name):
            lines.append(f"{name}: not run yet")
            continue
        for other in others:
            if other != name:
                lacks = found.why_not(case, other)
                told = verdict(found.compared(case, name, other)) if lacks is None else lacks
                lines.append(f"{name} beside {other}: {told}")
    return lines


def section_word(found: Evaluation, section: str, name: str, other: str) -> str:
    """One verdict of all cases of a section."""
    return together([each.word for each in comparisons_of(found, section, name, other)])


def comparisons_of(found: Evaluation, section: str, name: str, other: str) -> list[Comparison]:
    """All that the cases of a section compare."""
    return [
        each
        for case in found.cases(section)
        if found.why_not(case, name) is None and found.why_not(case, other) is None
        for each in found.compared(case, name, other)
    ]
