"""The paper repeated by its own means, the Markov chain, without its limits of size."""

from __future__ import annotations

from sluicegate.estimate import Measure
from sluicegate.papers import model
from sluicegate.papers.campaign import Campaign
from sluicegate.papers.comparison import Reproduction
from sluicegate.papers.drop_from_front.figures import is_drawn
from sluicegate.papers.drop_from_front.reproduction import Pair, repeat
from sluicegate.papers.drop_from_front.source import calibration_case
from sluicegate.papers.drop_from_front.tables import Case, published
from sluicegate.record import Record
from sluicegate.scenario import Arrivals, SelfSimilarArrivals, Victim
from sluicegate.worlds.chain import solve_for
from sluicegate.worlds.chain.world import Chain
from sluicegate.worlds.world import Watch

# the paper's grid, with which the self-similar chains have 1.1 to 1.3 million states
_PAPERS_GRID = Chain(grid=0.25)
# Following packets takes long on a fine grid. With a large w, a coarse grid changes no curve
# visibly; with a small w, it would widen the queue's distribution visibly.
_FOLLOWED_W = 0.07
_FOLLOWED = Chain(grid=5.0, front_times=True)
_LIMIT = Chain(grid=0.25, limit=True)
_TABLE: dict[str, Chain] = {"geometric": _LIMIT, "self-similar": _PAPERS_GRID}
_FIRST_A, _TOLERANCE = 31.0, 1e-8
# a chain has no slots, but a scenario must say how many
_SLOTS = 1000


class Exact:
    """The runs of the chain."""

    world = Chain()
    spread = (
        "The figure after ± is how far the limit of an infinitely fine grid may be; "
        "figures without it are those of the paper's grid of 1/4 packet."
    )

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self.source = _self_similar(campaign)

    def _solve(self, case: Case, victim: Victim, world: Chain) -> Record:
        arrivals: Arrivals = model.GEOMETRIC if case.source == "geometric" else self.source
        scenario = model.scenario(arrivals, case.mu, case.discipline(victim), _SLOTS)
        return self.campaign.run(scenario, world=world)

    def record(self, case: Case) -> Record:
        """Geometric cases in the limit of the grid, self-similar ones on the paper's."""
        return self._solve(case, "tail", _TABLE[case.source])

    def pair(self, case: Case) -> Pair:
        """Both victims on the paper's grid."""
        tail, front = (self._solve(case, victim, _PAPERS_GRID) for victim in ("tail", "front"))
        gain = 1 - front["delay_mean"].value / tail["delay_mean"].value
        delays = {"tail": tail.delay_distribution}
        if is_drawn(case) and case.w == _FOLLOWED_W:
            delays["front"] = self._solve(case, "front", _FOLLOWED).delay_distribution
        return Pair(Measure(gain, None, ""), delays)

    def remarks(self) -> list[str]:
        """Which grid was taken where."""
        return [
            "Geometric rows are taken to the limit of an infinitely fine grid of the average; "
            "self-similar rows and all gains are those of the paper's grid of 1/4 packet. None "
            "of them has a random error. Delays under drop from front are drawn for w = "
            f"{_FOLLOWED_W:g} only, from a grid of {_FOLLOWED.grid:g} packets.",
        ]


def _self_similar(campaign: Campaign) -> SelfSimilarArrivals:
    """The source with which the chain's loss in one case is as published: Newton's method.

    Its few steps are taken anew each time; every other chain is found in the store.
    """
    case = calibration_case()
    start = SelfSimilarArrivals(rate=model.RATE, a=_FIRST_A)
    try:
        found = solve_for(
            model.scenario(start, case.mu, case.discipline("tail"), _SLOTS),
            parameter="a",
            measure="loss_ratio",
            target=case.loss,
            tolerance=_TOLERANCE,
            grid=_PAPERS_GRID.grid,
        )
    except KeyboardInterrupt:
        raise campaign.interrupted() from None
    return SelfSimilarArrivals(rate=model.RATE, a=found.value)


def reproduce(
    *, threads: int | None = None, watch: Watch | None = None, fresh: bool = False
) -> Reproduction:
    """Solve the chains of all 24 cases, with either victim.

    Args:
        threads: As in the simulated reproduction; a chain takes all cores.
        watch: Called now and then; see `sluicegate.compare`.
        fresh: Solve again even what the store has.

    Raises:
        InterruptError: After Ctrl-C; the next call goes on from what is finished.
    """
    chains = 3 * len(published())
    campaign = Campaign(
        "drop-from-front",
        chains * Chain.SLOTS_OF_THE_SAME_TIME,
        threads=threads,
        watch=watch,
        fresh=fresh,
    )
    return repeat(Exact(campaign))
