"""The results of an evaluation: values, comparisons, tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sluicegate.estimate import Measure, student
from sluicegate.evaluate.case import Case, Fitted
from sluicegate.evaluate.measured import Measured
from sluicegate.evaluate.plan import DROP_TAIL, Plan
from sluicegate.evaluate.verdict import Comparison, compared
from sluicegate.evaluate.work import NETWORK
from sluicegate.measures.ellipse import Ellipse, ellipse

FloatArray = NDArray[np.float64]

# what an AQM does to packets, but for a full buffer
_ACTS = ("early_loss_ratio", "forced_loss_ratio", "mark_ratio")
_IDLE = (
    "{} dropped nothing before the buffer was full, and marked nothing, in any of its {} runs "
    "here: with these parameters it never acts behind a buffer of {} packets."
)
_REAL = (
    "World {}: TCP is that of a Linux, and a router does not count by class. Goodputs of classes "
    "are of the whole run, and their queueing delay is that of the queue, where there is one."
)
_STARTING = (
    "{}, {}: {:.3g} % of the flows had lost no packet when the warm-up ended, so that they may "
    "have been in their first slow start. RFC 7928 counts section 8.2 from when all are in "
    "congestion avoidance."
)


@dataclass(frozen=True)
class Evaluation:
    """Disciplines on the scenarios of a suite, finished or not.

    Attributes:
        plan: What is run.
        runs: What was measured, by the identity of the run; it grows while the evaluation goes on.
    """

    plan: Plan
    runs: dict[str, Measured]

    @property
    def done(self) -> int:
        """How many runs of the plan are there."""
        return sum(run.identity in self.runs for run in self.plan.runs)

    @property
    def sections(self) -> list[str]:
        """The sections of the suite, in its order."""
        return list(dict.fromkeys(case.section for case in self.plan.cases))

    def cases(self, section: str) -> list[Case]:
        """The cases of a section."""
        return [case for case in self.plan.cases if case.section == section]

    def is_complete(self, section: str) -> bool:
        """Whether all runs of a section are there."""
        names = {case.name for case in self.cases(section)}
        return all(run.identity in self.runs for run in self.plan.runs if run.case in names)

    def was_run(self, section: str) -> bool:
        """Whether there are runs of a section: a world may not be able to do its scenarios."""
        names = {case.name for case in self.cases(section)}
        return any(run.case in names for run in self.plan.runs)

    def measured(self, case: Case, name: str) -> list[Measured]:
        """What was measured in the replications of a discipline, those that are there."""
        runs = self.plan.runs_of.get((case.name, name), [])
        return [self.runs[run.identity] for run in runs if run.identity in self.runs]

    def values(self, case: Case, name: str, measure: str) -> FloatArray:
        """A measure in each replication, shape (R,); NaN where it is missing."""
        found = np.full(self.plan.replications, np.nan)
        for run in self.plan.runs_of.get((case.name, name), []):
            if run.identity in self.runs:
                found[run.replication] = self.runs[run.identity].values.get(measure, np.nan)
        return found

    def mean(self, case: Case, name: str, measure: str) -> Measure | None:
        """Mean over the replications that have a value, with its interval; None if none has."""
        values = self.values(case, name, measure)
        known = values[np.isfinite(values)]
        return student(known) if len(known) else None

    def why_not(self, case: Case, name: str) -> str | None:
        """Why a discipline has no runs in a case; None if it has."""
        fitted = self.plan.fitted[case.name][name]
        return None if isinstance(fitted, Fitted) else fitted

    def compared(self, case: Case, name: str, other: str = DROP_TAIL) -> list[Comparison]:
        """The measures by which a case judges, of one discipline beside another."""
        return [
            compared(each, self.values(case, name, each), self.values(case, other, each))
            for each in case.judged
        ]

    def ratio(self, section: str, name: str, other: str, measure: str) -> float | None:
        """How many times a measure is that of another discipline, over a section.

        It is the geometric mean over the cases and classes that judge by the measure.

        Args:
            section: Of the suite.
            name: The discipline.
            other: The other one.
            measure: Without a class, such as `queueing_delay`.

        Returns:
            None if it is known of no case.
        """
        found = []
        for case in self.cases(section):
            for each in case.judged:
                if each.rpartition(".")[2] == measure:
                    one, beside = (self.mean(case, who, each) for who in (name, other))
                    if one is not None and beside is not None and float(beside) > 0:
                        found.append(float(one) / float(beside))
        known = [each for each in found if each > 0]
        return float(np.exp(np.mean(np.log(known)))) if known else None

    def ellipse(self, case: Case, name: str, class_: str) -> Ellipse | None:
        """Queueing delay, s, and goodput, bits/s, of a class over the replications."""
        delays = self.values(case, name, f"{class_}.queueing_delay")
        goodputs = self.values(case, name, f"{class_}.goodput_bps")
        return ellipse(delays, goodputs)

    def never_acted(self, name: str) -> bool:
        """Whether an AQM dropped and marked nothing of its own will in any run that is there."""
        runs = [run for case in self.plan.cases for run in self.measured(case, name)]
        # worlds of real packets may not say why a packet was dropped
        known = all(_ACTS[0] in run.values for run in runs)
        return (
            bool(runs)
            and known
            and not any(run.values.get(each, 0) for run in runs for each in _ACTS)
        )

    def notes(self) -> list[str]:
        """What a reader must know: AQMs or parameters without effect here, or for another link."""
        plan, told = self.plan, dict[str, None]()
        case = plan.cases[0]
        for fitted in plan.fitted[case.name].values():
            if isinstance(fitted, Fitted):
                scenario = case.scenario(plan.profile, fitted, 0, plan.seed)
                told |= dict.fromkeys(scenario.notes())
        for each in plan.disciplines:
            if each.aqm != DROP_TAIL and self.never_acted(each.name):
                runs = sum(len(self.measured(case, each.name)) for case in plan.cases)
                told[_IDLE.format(each.name, runs, plan.profile.buffer_packets)] = None
        for case in plan.cases:
            for name in plan.names:
                share = self.mean(case, name, "lost_by_time_0")
                if share is not None and share.value < 1:
                    left = 100 * (1 - share.value)
                    told[_STARTING.format(case.section, name, left)] = None
        if plan.world != NETWORK:
            told[_REAL.format(plan.world)] = None
        return list(told)

    def frame(self) -> pl.DataFrame:
        """Every measure: section, case, discipline, measure, value, half_width, replications."""
        rows = []
        for case in self.plan.cases:
            for name in self.plan.names:
                of = self.measured(case, name)
                for measure in dict.fromkeys(each for run in of for each in run.values):
                    values = self.values(case, name, measure)
                    known = values[np.isfinite(values)]
                    mean = student(known)
                    rows.append(
                        (
                            *(case.section, case.name, name, measure),
                            *(mean.value, mean.half_width, len(known)),
                        )
                    )
        columns = ("section", "case", "discipline", "measure", "value", "half_width")
        return pl.DataFrame(
            rows,
            schema={
                **dict.fromkeys(columns[:4], pl.String),
                **dict.fromkeys(columns[4:], pl.Float64),
                "replications": pl.Int64,
            },
            orient="row",
        )

    def verdicts(self, others: Sequence[str]) -> pl.DataFrame:
        """Every comparison with each of the others, a row each."""
        rows = [
            {
                "section": case.section,
                "case": case.name,
                "discipline": name,
                "other": other,
                "measure": found.measure,
                "verdict": found.word,
                "value": None if found.value is None else found.value.value,
                "other_value": None if found.other is None else found.other.value,
                "difference": None if found.difference is None else found.difference.value,
                "half_width": None if found.difference is None else found.difference.half_width,
            }
            for case in self.plan.cases
            for name in self.plan.judged
            if self.why_not(case, name) is None
            for other in others
            if other != name and self.why_not(case, other) is None
            for found in self.compared(case, name, other)
        ]
        words = ("section", "case", "discipline", "other", "measure", "verdict")
        figures = ("value", "other_value", "difference", "half_width")
        kinds = {**dict.fromkeys(words, pl.String), **dict.fromkeys(figures, pl.Float64)}
        return pl.DataFrame(rows, schema=kinds)

    def summary(self, others: Sequence[str]) -> dict[str, Any]:
        """Everything, as types that JSON has."""
        return {
            "suite": self.plan.suite.title,
            "profile": asdict(self.plan.profile),
            "seed": self.plan.seed,
            "world": self.plan.world,
            "replications": self.plan.replications,
            "disciplines": self.plan.names,
            "judged": self.plan.judged,
            "runs": len(self.plan.runs),
            "done": self.done,
            "choices": [asdict(each) for each in self.plan.suite.choices],
            "measures": self.frame().to_dicts(),
            "verdicts": self.verdicts(others).to_dicts(),
        }
