"""Advice: the question, what was simulated for it, and what follows."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sluicegate import store
from sluicegate.advice.cases import Case, duration_s
from sluicegate.advice.question import Prefer, Question
from sluicegate.advice.runs import FloatArray, Key, Runs
from sluicegate.advice.score import Ranked, over_scenarios, ranking, weights
from sluicegate.advice.search import JUDGED, Search
from sluicegate.advice.settings import FAMILIES, Setting, baseline, left_out, settings
from sluicegate.errors import SluiceError
from sluicegate.estimate import Measure, paired, student
from sluicegate.files import make_folder, write_whole
from sluicegate.room import touch
from sluicegate.seal import SLOT, DamagedError, check, sealed
from sluicegate.sweeps.workers import here_or_beside
from sluicegate.threads import check_threads
from sluicegate.worlds import Watch

if TYPE_CHECKING:
    from sluicegate.report.page import Page

# packets that the bottleneck sends in all runs together, about, and a divisor for those of one run
PACKETS = 30e6
_RUNS = 1200
_LEAST_PACKETS = 1e6
# longest time for which a slow link is simulated to get enough packets
_MOST_S = 60.0
# a link is scaled down by more than this factor, or not at all
_LEAST_FACTOR = 1.5
_FORMAT = 1


@dataclass(frozen=True)
class Advice:
    """What was found out about a question.

    Attributes:
        question: What was asked.
        factor: How many times smaller the simulated link is than the real one.
        runs: What was simulated.
        finalists: The settings that were judged under fresh seeds, the best first.
    """

    question: Question
    factor: float
    runs: Runs
    finalists: Sequence[Setting]

    def __repr__(self) -> str:
        from sluicegate.advice.rows import HEADER, setting_cells
        from sluicegate.report.terminal import TerminalTable, as_text

        return as_text(TerminalTable(HEADER, setting_cells(self)), width=120)

    def _repr_html_(self) -> str:
        from sluicegate.advice.page import in_notebook

        return in_notebook(self).cell()

    def page(self) -> Page:
        """The report's page."""
        from sluicegate.advice.page import advice_page

        return advice_page([self])

    @cached_property
    def ranking(self) -> list[Ranked]:
        """The finalists from the best to the worst; `place` is the index in `finalists`."""
        return self.ranking_by(self.question.prefer)

    def ranking_by(self, prefer: Prefer, place: int | None = None) -> list[Ranked]:
        """The finalists ranked by another preference, or in one scenario only (its index)."""
        return ranking([self._scores(each, prefer, place) for each in self.finalists])

    def _scores(self, setting: Setting, prefer: Prefer, place: int | None = None) -> FloatArray:
        return self.runs.scores(setting, JUDGED, weights(prefer), place)

    @property
    def choice(self) -> Setting:
        """The setting with the least score."""
        return self.finalists[self.ranking[0].place]

    @property
    def worth_having(self) -> list[Setting]:
        """The choice, what is equally good, and the two next best AQMs, one setting of each."""
        found: dict[str, Setting] = {}
        for each in self.ranking:
            setting = self.finalists[each.place]
            found.setdefault(setting.family, setting)
        chosen = list(dict.fromkeys([*list(found.values())[:3], *self.equally_good]))
        linux = self.best_of_linux
        return chosen if linux is None or linux in chosen else [*chosen, linux]

    @property
    def equally_good(self) -> list[Setting]:
        """The settings that these runs cannot tell from the choice."""
        return [
            self.finalists[each.place]
            for each in self.ranking
            if each.behind is not None and not each.is_told_apart
        ]

    @cached_property
    def best_of_linux(self) -> Setting | None:
        """The best of the finalists that is a qdisc of Linux; None if only the baseline is."""
        found = (self.finalists[each.place] for each in self.ranking)
        asked = replace(self.question, linux=True)
        return next(
            (each for each in found if each != self.baseline and each.refusal(asked) is None), None
        )

    @property
    def better_than_choice(self) -> list[tuple[Case, Setting]]:
        """The scenarios in which another setting is surely better, with the best one there."""
        chosen, found = self.ranking[0].place, []
        for place, case in enumerate(self.cases):
            ranked = self.ranking_by(self.question.prefer, place)
            if next(each for each in ranked if each.place == chosen).is_told_apart:
                found.append((case, self.finalists[ranked[0].place]))
        return found

    @property
    def baseline(self) -> Setting:
        """Drop-tail with the buffer of today, or with the usual one."""
        return baseline(self.question)

    def mean(self, setting: Setting, name: str) -> Measure:
        """A measure's mean over all scenarios, with its interval over the seeds.

        The mean of times is the geometric one, as in the score.
        """
        rows = np.array(
            [self.runs.values(setting, name, JUDGED, place) for place in range(len(self.cases))]
        )
        with np.errstate(divide="ignore"):
            is_time = name in ("sojourn_p99", "completion_mean")
            return student(over_scenarios(rows) if is_time else rows.mean(axis=0))

    def parts(self, setting: Setting) -> FloatArray:
        """What each cost adds to a setting's score, in the order of `COSTS`."""
        return self.runs.parts(setting, JUDGED, weights(self.question.prefer))

    def difference(self, one: Setting, other: Setting) -> Measure:
        """How much higher the score of one setting is than that of another, pair by pair."""
        prefer = self.question.prefer
        found = paired(self._scores(one, prefer), self._scores(other, prefer))
        assert found is not None
        return found

    @property
    def cases(self) -> list[Case]:
        """The scenarios that span the question."""
        return self.runs.cases


def advise(
    question: Question,
    *,
    aqms: Sequence[str] | None = None,
    packets: float = PACKETS,
    workers: int | None = None,
    watch: Watch | None = None,
    fresh: bool = False,
) -> Advice:
    """Find the AQM and its parameters for a link.

    What was asked before is answered from the store. The result does not depend on how many workers
    there are.

    Args:
        question: The link and its traffic.
        aqms: Names of the families that are compared (see `FAMILIES`); None: all.
        packets: Packets that the bottleneck sends in all runs together, about: more take longer and
            make intervals narrower; a fast link is scaled down so that this number is enough.
        workers: Processes that make the runs; all cores if None.
        watch: Called now and then; see `sluicegate.compare`.
        fresh: Whether to ignore an answer in the store; single runs are still taken from it.

    Raises:
        SluiceError: If there is no such family, if none of them can be set for the link, or if a
            number makes no sense.
        InterruptError: After Ctrl-C; the same call goes on.
    """
    check_threads(workers)
    if not packets >= _LEAST_PACKETS:
        raise SluiceError(f"packets = {packets:g} must be {_LEAST_PACKETS:g} at least")
    if not settings(question, aqms):
        reasons = (f"{name}: {why}" for name, why in left_out(question, aqms).items())
        raise SluiceError(f"nothing is left to compare: {'; '.join(reasons)}")
    factor, seconds = simulated(question, packets)
    runs = Runs(question.scaled(factor), seconds)
    search = Search(question, runs, aqms)
    search.all()
    name = _identity(question, aqms, factor, seconds)
    if not fresh and (found := _find(name, runs)) is not None:
        return Advice(question, factor, runs, found)
    with here_or_beside(workers or _cores()) as made:
        finalists = search.finalists(made, watch or _silent)
    _keep(name, finalists, runs)
    return Advice(question, factor, runs, finalists)


def simulated(question: Question, packets: float) -> tuple[float, float]:
    """How many times smaller the simulated link is, and how long each scenario is, s.

    `packets` is divided among the runs: a fast link is scaled down to its part, a slow one is
    simulated for longer.
    """
    of_a_run, least_s = packets / _RUNS, duration_s(question)
    factor = question.capacity_pps * least_s / of_a_run
    if factor > _LEAST_FACTOR:
        return factor, least_s
    return 1.0, max(least_s, min(_MOST_S, of_a_run / question.capacity_pps))


def _cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _silent(_name: str, _done: float, _total: float, _stage: str = "", /) -> None:
    """Nobody looks."""


def _identity(question: Question, aqms: Sequence[str] | None, factor: float, seconds: float) -> str:
    asked = {
        "format": _FORMAT,
        "version": version("sluicegate"),
        "question": question.table(),
        "aqms": sorted(FAMILIES) if aqms is None else sorted(aqms),
        "factor": factor,
        "seconds": seconds,
    }
    return store.identity(asked, __name__)


def _path(name: str) -> Path:
    return store.folder() / f"advice-{name}.json"


def _keep(name: str, finalists: Sequence[Setting], runs: Runs) -> None:
    """Keep an answer, if the folder can be written."""
    rows = [
        [astuple(setting), place, seed, values]
        for (setting, place, seed), values in runs.measured.items()
    ]
    best = [astuple(each) for each in finalists]
    content = json.dumps({"finalists": best, "measured": rows, "seal": SLOT})
    with suppress(OSError):
        make_folder(store.folder())
        write_whole(_path(name), sealed(content.encode(), name))


def _find(name: str, runs: Runs) -> list[Setting] | None:
    """The finalists of an answer that was kept, whose runs are put back; None if there is none."""
    try:
        text = _path(name).read_bytes()
        check(text, name)
    except (OSError, DamagedError):  # it can be computed again
        return None
    touch(_path(name))
    content = json.loads(text)
    measured: dict[Key, list[float | None]] = {
        (Setting(*setting), place, seed): values
        for setting, place, seed, values in content["measured"]
    }
    runs.measured.update(measured)
    return [Setting(*each) for each in content["finalists"]]
