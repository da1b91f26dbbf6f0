"""Judging candidates: runs under common random numbers, as many as needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sluicegate.errors import SluiceError
from sluicegate.tuning.runner import Runner, Stream
from sluicegate.tuning.trial import Trial, Values


@dataclass(frozen=True)
class Rules:
    """How sure a score must be.

    Attributes:
        precision: Half width of the 95 % interval of a score, relative to it.
        least: Runs of a candidate, unless it is exact.
        most: The most runs of a candidate, however wide its interval is.
    """

    precision: float
    least: int
    most: int

    def __post_init__(self) -> None:
        if not 0 < self.precision < 1:
            raise SluiceError(f"precision = {self.precision} must be between 0 and 1")
        if not 2 <= self.least <= self.most:
            raise SluiceError(f"replications = {self.most} must be {max(self.least, 2)} at least")


class Judge:
    """Judges candidates under the seeds of one stream; no run is made twice.

    Args:
        runner: Makes the runs.
        stream: The stream of seeds.
        rules: How many runs.
    """

    def __init__(self, runner: Runner, stream: Stream, rules: Rules) -> None:
        self._runner = runner
        self._stream = stream
        self._rules = rules
        self.trials: dict[Values, Trial] = {}
        self.best: Trial | None = None

    @property
    def runs(self) -> int:
        """How many runs all candidates took."""
        return sum(len(trial.runs) for trial in self.trials.values())

    def judge(
        self, wanted: Sequence[Values], rivals: Sequence[Trial | None] | None = None
    ) -> list[Trial]:
        """Judge settings together.

        Args:
            wanted: Values of each.
            rivals: For each, what it must beat; None: the best one so far. A candidate that surely
                does not beat it is stopped.

        Returns:
            A trial for each, which has runs unless the scenario refuses its values.

        Raises:
            SluiceError: If a world cannot judge a setting, or lacks a measure that is asked for.
            InterruptError: After Ctrl-C.
        """
        best = self.best
        found = [self._trial(values) for values in wanted]
        # a candidate goes on until it surely beats none of its rivals
        against: dict[Trial, list[Trial | None]] = {}
        for place, trial in enumerate(found):
            rival = rivals[place] if rivals is not None else best
            against.setdefault(trial, []).append(rival)
        live = [trial for trial in against if not trial.refused and self._goes_on(trial, against)]
        while live:
            self._run([(trial, self._next_count(trial)) for trial in live])
            for trial in live:
                trial.looks += 1
            live = [trial for trial in live if self._goes_on(trial, against)]
        for trial in against:
            if self.best is None or trial.beats(self.best):
                self.best = trial
        return found

    def level(self, wanted: Sequence[Values]) -> list[Trial]:
        """Judge settings, all of them under as many seeds as any of them needs."""
        found = self.judge(wanted, [None] * len(wanted))
        most = max((len(trial.runs) for trial in found), default=0)
        behind = [each for each in dict.fromkeys(found) if not (each.refused or each.exact)]
        self._run([(trial, most) for trial in behind if len(trial.runs) < most])
        return found

    def _trial(self, values: Values) -> Trial:
        known = self.trials.get(values)
        if known is None:
            known = self._runner.new_trial(len(self.trials), values)
            self.trials[values] = known
        return known

    def _goes_on(self, trial: Trial, against: dict[Trial, list[Trial | None]]) -> bool:
        """Whether a candidate needs more runs."""
        count = len(trial.runs)
        if trial.exact:
            return count < 1
        if count < self._rules.least:
            return True
        trial.stopped = False
        if count >= self._rules.most or self._is_narrow(trial):
            return False
        rivals = against[trial]
        trial.stopped = all(each is not None and trial.cannot_beat(each) for each in rivals)
        return not trial.stopped

    def _is_narrow(self, trial: Trial) -> bool:
        found = trial.measure
        assert found.half_width is not None
        return found.half_width <= self._rules.precision * abs(found.value)

    def _next_count(self, trial: Trial) -> int:
        """How many runs should make the interval narrow enough; at most twice as many as it has."""
        count = len(trial.runs)
        if trial.exact:
            return 1
        if count < self._rules.least:
            return self._rules.least
        found = trial.measure
        assert found.half_width is not None
        wide = found.half_width / max(self._rules.precision * abs(found.value), 1e-300)
        enough = count * min(wide, 2.0) ** 2
        return min(max(count + 1, math.ceil(min(enough, 2.0 * count))), self._rules.most)

    def _run(self, wanted: Sequence[tuple[Trial, int]]) -> None:
        """Make runs until each candidate has as many as are wanted."""
        asked = [(trial, k) for trial, count in wanted for k in range(len(trial.runs), count)]
        made = self._runner.run([(trial.values, self._stream, k) for trial, k in asked])
        for (trial, _), columns in zip(asked, made, strict=True):
            trial.add(columns)
