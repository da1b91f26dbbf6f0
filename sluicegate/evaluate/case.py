"""A scenario of an evaluation as data, and the network that it is on a profile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sluicegate.evaluate.profile import Profile
from sluicegate.scenario import (
    Discipline,
    Dumbbell,
    Flows,
    LinkSettings,
    NetworkScenario,
    ParkingLot,
    Queue,
    RateStep,
    Steps,
)

FORWARD, BACK = "left -> right", "right -> left"
FIRST_HOP, SECOND_HOP = "router0 -> router1", "router1 -> router2"
# round trips are drawn within this share of their nominal value: phases of equal ones would lock
_AROUND = 0.05
# a sample of the queue each quarter of a round trip
_SAMPLES = 4
# seeds of replications, and so most replications: those of neighbouring seeds have none in common
SEEDS = 1000
# deviation of the logarithm of a rate that varies
_SIGMA = 0.5

Rates: TypeAlias = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Phase:
    """A part of a run that is measured by itself, from one time to another, s."""

    name: str
    start_s: float
    stop_s: float


@dataclass(frozen=True)
class Fitted:
    """A discipline as a scenario has it.

    Attributes:
        discipline: The one that is judged.
        second: That of the second hop; None: the same.
        limit: Its buffer, packets; None: that of the profile.
    """

    discipline: Discipline
    second: Discipline | None = None
    limit: int | None = None


def _as_it_is(discipline: Discipline) -> Fitted:
    return Fitted(discipline)


def _alone(_profile: Profile) -> Sequence[float]:
    return (1.0,)


def _none(_profile: Profile) -> Sequence[Phase]:
    return ()


def _no_rates(_profile: Profile) -> Rates:
    return ()


@dataclass(frozen=True)
class Case:
    """A scenario of a suite.

    Attributes:
        name: Unique, of letters, digits and `-`.
        section: Of the suite.
        title: What is tried, in words.
        flows: The groups of flows on a profile.
        judged: The measures by which disciplines are compared.
        pairs: Round trips of the pairs of hosts, as multiples of the profile's.
        kind: One bottleneck with the discipline; in both directions; or two in a row.
        fitted: The discipline as the scenario has it, or in words why it has none.
        phases: Parts that are also measured by themselves; the run lasts until the last ends.
        rates: Rate of the bottleneck from a time on, s and bits/s, where it varies.
        loses_together: Whether it is of interest which flows lose together.
        reverse_share: Rate of the way back over that of the bottleneck; None: the profile's.
        links: What further links have of their own, by their names.
    """

    name: str
    section: str
    title: str
    flows: Callable[[Profile], Sequence[Flows]]
    judged: Sequence[str]
    pairs: Callable[[Profile], Sequence[float]] = _alone
    kind: Literal["one way", "two-way", "two hops"] = "one way"
    fitted: Callable[[Discipline], Fitted | str] = _as_it_is
    phases: Callable[[Profile], Sequence[Phase]] = _none
    rates: Callable[[Profile], Rates] = _no_rates
    loses_together: bool = False
    reverse_share: float | None = None
    links: Mapping[str, LinkSettings] = field(default_factory=dict)

    def scenario(
        self, profile: Profile, fitted: Fitted, replication: int, seed: int
    ) -> NetworkScenario:
        """The network of one replication: its starts and its round trips are drawn.

        Args:
            profile: The path.
            fitted: The discipline, as `fitted` gave it.
            replication: From 0 on.
            seed: Of the evaluation; the same one gives all disciplines the same draws.
        """
        # a seed of NumPy is a list of whole numbers
        draw = np.random.default_rng([seed, replication, *self.name.encode()])
        phases = self.phases(profile)
        return NetworkScenario(
            title=f"{self.section}: {self.title}",
            topology=self._topology(profile, draw),
            flows=list(self.flows(profile)),
            queue=Queue(limit=fitted.limit or profile.buffer_packets),
            links=self._links(profile, fitted.second, draw),
            disciplines=[fitted.discipline],
            duration_s=phases[-1].stop_s if phases else profile.duration_s,
            warm_up_s=profile.warm_up_s,
            sample_s=profile.rtt_s / _SAMPLES,
            replications=1,
            seed=SEEDS * seed + replication,
        )

    def _topology(self, p: Profile, draw: np.random.Generator) -> Dumbbell | ParkingLot:
        fastest = max([p.rate_bps, *(rate for _, rate in self.rates(p))])
        access_bps = max(p.access_rate_bps, 10 * fastest)
        if self.kind == "two hops":
            factor = float(draw.uniform(1 - _AROUND, 1 + _AROUND))
            return ParkingLot(
                hops=2,
                rate_bps=p.rate_bps,
                delay_s=0.0,
                access_rate_bps=access_bps,
                access_delay_s=p.rtt_s * factor / 4,
            )
        nominal = np.asarray(self.pairs(p), dtype=np.float64)
        factors = draw.uniform(1 - _AROUND, 1 + _AROUND, len(nominal))
        return Dumbbell(
            rate_bps=p.rate_bps,
            delay_s=0.0,
            server_delay_s=0.0,
            client_delays_s=[float(each) for each in p.rtt_s / 2 * nominal * factors],
            access_rate_bps=access_bps,
            two_way=self.kind == "two-way",
        )

    def _links(
        self, p: Profile, second: Discipline | None, draw: np.random.Generator
    ) -> Mapping[str, LinkSettings]:
        if self.kind == "two hops":
            slow = LinkSettings(rate=_steps(((0.0, p.rate_bps / 2),)))
            own = {} if second is None else {SECOND_HOP: LinkSettings(discipline=second)}
            return {FIRST_HOP: slow, **own}
        rates = self.rates(p) or (_varying(p, draw) if p.varying else ())
        found = dict(self.links)
        if rates:
            found[FORWARD] = LinkSettings(rate=_steps(rates))
        share = self.reverse_share
        back_bps = p.reverse_rate_bps if share is None else share * p.rate_bps
        if back_bps != p.rate_bps:
            found[BACK] = LinkSettings(rate=_steps(((0.0, back_bps),)))
        return found


@lru_cache(maxsize=64)
def _steps(rates: Rates) -> Steps:
    # a thousand of them take a tenth of a second to make, and all replications have the same
    return Steps(steps=[RateStep(time_s=time_s, rate_bps=rate) for time_s, rate in rates])


def _varying(p: Profile, draw: np.random.Generator) -> Rates:
    seconds = int(np.ceil(p.duration_s))
    factors: NDArray[np.float64] = draw.lognormal(-(_SIGMA**2) / 2, _SIGMA, seconds)
    return tuple((float(at), float(p.rate_bps * factor)) for at, factor in enumerate(factors))
