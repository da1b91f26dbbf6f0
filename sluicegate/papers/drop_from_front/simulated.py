"""The paper repeated by simulation."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.estimate import Measure, student
from sluicegate.papers import model
from sluicegate.papers.campaign import Campaign
from sluicegate.papers.comparison import INTERVALS, Reproduction
from sluicegate.papers.drop_from_front.reproduction import Pair, repeat
from sluicegate.papers.drop_from_front.source import SEARCH_SLOTS, self_similar
from sluicegate.papers.drop_from_front.tables import Case, published
from sluicegate.papers.figures import mean_delay_distribution
from sluicegate.record import Record
from sluicegate.scenario import Arrivals, Victim
from sluicegate.worlds.slotted.world import Slotted
from sluicegate.worlds.world import Watch

# near the load 1 the queue wanders slowly, at the load 2 it hardly moves
_SLOTS = {
    ("geometric", 0.5): 100_000_000,
    ("geometric", 0.25): 10_000_000,
    ("self-similar", 0.5): 100_000_000,
    ("self-similar", 0.25): 100_000_000,
}
_PAIR_SLOTS, _PAIR_REPLICATIONS, _PAIR_SEEDS = 5_000_000, 2, range(1, 6)


class Simulated:
    """The runs of the simulation."""

    world = Slotted()
    spread = INTERVALS

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self.source = self_similar(campaign)

    def _arrivals(self, case: Case) -> Arrivals:
        return model.GEOMETRIC if case.source == "geometric" else self.source

    def record(self, case: Case) -> Record:
        """As many slots as the source needs."""
        slots = _SLOTS[case.source, case.mu]
        discipline = case.discipline("tail")
        scenario = model.scenario(self._arrivals(case), case.mu, discipline, slots)
        return self.campaign.run(scenario, self.world)

    def pair(self, case: Case) -> Pair:
        """Both victims under the same seeds."""

        def run(victim: Victim, seed: int) -> Record:
            return self.campaign.run(
                model.scenario(
                    self._arrivals(case),
                    case.mu,
                    case.discipline(victim),
                    _PAIR_SLOTS,
                    replications=_PAIR_REPLICATIONS,
                    seed=seed,
                ),
                self.world,
            )

        tail = [run("tail", seed) for seed in _PAIR_SEEDS]
        front = [run("front", seed) for seed in _PAIR_SEEDS]
        delays = {"tail": mean_delay_distribution(tail), "front": mean_delay_distribution(front)}
        return Pair(_gain(tail, front), delays)

    def remarks(self) -> list[str]:
        """That differences are not independent."""
        return [
            "All rows of one source see the same arrivals: their differences share most of their "
            "noise."
        ]


def _gain(tail: Sequence[Record], front: Sequence[Record]) -> Measure:
    """The mean over the seeds of 1 - front / tail, with Student's interval."""
    return student(
        [
            1 - front_run["delay_mean"].value / tail_run["delay_mean"].value
            for tail_run, front_run in zip(tail, front, strict=True)
        ]
    )


def _all_slots() -> int:
    cases = published()
    of_tables = sum(_SLOTS[case.source, case.mu] for case in cases) * model.REPLICATIONS
    of_pairs = 2 * len(cases) * len(_PAIR_SEEDS) * _PAIR_SLOTS * _PAIR_REPLICATIONS
    return SEARCH_SLOTS + of_tables + of_pairs


def reproduce(
    *, threads: int | None = None, watch: Watch | None = None, fresh: bool = False
) -> Reproduction:
    """Simulate all 24 cases, from the tail for the tables and in pairs for the gains.

    Args:
        threads: Threads to use; all cores if None.
        watch: Called now and then; see `sluicegate.compare`.
        fresh: Run again even what the store has.

    Raises:
        InterruptError: After Ctrl-C; the next call goes on from what is finished.
    """
    campaign = Campaign("drop-from-front", _all_slots(), threads=threads, watch=watch, fresh=fresh)
    return repeat(Simulated(campaign))
