"""What people feel in a scenario of an evaluation: the measures that have bands."""

from __future__ import annotations

from sluicegate.evaluate import words
from sluicegate.evaluate.case import Case
from sluicegate.evaluate.evaluation import Evaluation
from sluicegate.measures.bands import bands_of
from sluicegate.report.felt import Felt

# of the classes that people use
_MEASURES = (
    *("rpm", "voice.mos", "voice.one_way_delay_p99", "web.page_mean"),
    *("probes.qoo_web", "probes.qoo_streaming"),
)


def felt(found: Evaluation, case: Case) -> list[Felt]:
    """Those that the case has, of all disciplines that were run."""
    rows = []
    for measure in _MEASURES:
        means = {name: found.mean(case, name, measure) for name in found.plan.names}
        values = {name: each for name, each in means.items() if each is not None}
        bands = bands_of(measure, dict.fromkeys(_MEASURES))
        if values and bands is not None:
            factor, _ = words.unit(measure)
            rows.append(Felt(words.labelled(measure), bands, factor, values))
    return rows
