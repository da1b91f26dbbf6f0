"""The search: many settings under one seed, fewer under more, the last ones under fresh seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sluicegate.advice.question import Question
from sluicegate.advice.runs import FloatArray, Runs
from sluicegate.advice.score import weights
from sluicegate.advice.settings import RANGE, Setting, baseline, settings, targets_s
from sluicegate.sweeps.workers import Workers
from sluicegate.worlds import Watch

# seeds of the three stages; those of the last stage were not used to choose
SCREENED, CHOSEN, JUDGED = [1], [1, 2, 3, 4], list(range(5, 13))
# families that go on after the first stage, and settings of each
_FAMILIES, _OF_EACH = 7, 2
# how many settings are refined, and by which factor their targets are changed
_REFINED, _STEP = 3, 3**0.5
# settings judged at the end: the best of this many families, the runner-up and the baseline
_FINALISTS = 5


@dataclass(frozen=True)
class Search:
    """The course of a search.

    Attributes:
        real: The link that is asked about; targets are those of this link.
        runs: What was run, on the link that is simulated.
        names: Of the families; None: all.
    """

    real: Question
    runs: Runs
    names: Sequence[str] | None

    def all(self) -> list[Setting]:
        """Every setting of the first stage, the baseline first."""
        first = baseline(self.real)
        found = [
            each for each in settings(self.real, self.names) if each.is_possible(self.runs.link)
        ]
        return list(dict.fromkeys([first, *found]))

    def about(self) -> int:
        """How many runs the search takes, about."""
        screened = len(self.all())
        kept = min(screened, 1 + _FAMILIES * _OF_EACH)
        refined = 2 * min(_REFINED, kept)
        judged = min(kept, _FINALISTS + 2)
        return len(self.runs.cases) * (
            screened
            + kept * (len(CHOSEN) - len(SCREENED))
            + refined * len(CHOSEN)
            + judged * len(JUDGED)
        )

    def finalists(self, workers: Workers, watch: Watch) -> list[Setting]:
        """Search; give the settings that were judged, the baseline among them.

        Raises:
            InterruptError: After Ctrl-C.
            SluiceError: If the workers are gone for good.
        """
        first = baseline(self.real)
        candidates = self._sorted(self.all(), SCREENED, workers, watch)
        kept = _best_of_families(candidates, _FAMILIES, _OF_EACH)
        sorted_ = self._sorted([*kept, first], CHOSEN, workers, watch)
        beside = [near for each in sorted_[:_REFINED] for near in self._beside(each)]
        sorted_ = self._sorted([*sorted_, *beside], CHOSEN, workers, watch)
        found = list(
            dict.fromkeys([first, *_best_of_families(sorted_, _FINALISTS, 1), *sorted_[:2]])
        )
        return self._sorted(found, JUDGED, workers, watch)

    def scores(self, setting: Setting, seeds: Sequence[int]) -> FloatArray:
        """The score under each seed, shape (R,)."""
        return self.runs.scores(setting, seeds, weights(self.real.prefer))

    def _sorted(
        self, found: Sequence[Setting], seeds: Sequence[int], workers: Workers, watch: Watch
    ) -> list[Setting]:
        """Settings from the best to the worst by their mean scores; missing runs are made."""
        self.runs.make(self.runs.missing(found, seeds), workers, watch, self.about())
        return sorted(
            dict.fromkeys(found), key=lambda each: (float(self.scores(each, seeds).mean()), each)
        )

    def _beside(self, setting: Setting) -> list[Setting]:
        """The setting with a slightly shorter and a slightly longer target."""
        least_s, most_s = targets_s(self.real, RANGE)
        near = [setting.target_s / _STEP, setting.target_s * _STEP]
        found = [
            Setting(setting.family, float(f"{target_s:.3g}"), setting.second)
            for target_s in near
            if least_s <= target_s <= most_s
        ]
        return [each for each in found if each.is_possible(self.real, self.runs.link)]


def _best_of_families(sorted_: Sequence[Setting], families: int, of_each: int) -> list[Setting]:
    """The first settings of each of the first families."""
    found: dict[str, list[Setting]] = {}
    for each in sorted_:
        found.setdefault(each.family, []).append(each)
    return [each for own in list(found.values())[:families] for each in own[:of_each]]
