"""What section V of the paper leaves open, which is nearly everything, as a grid of readings."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sluicegate.papers.router.setting import TRAFFIC, Length, Setting, Traffic
from sluicegate.scenario import Discipline, GapKind, NetworkScenario, Victim

RED, DSRED, FRED, ARED = "RED", "DSRED", "FRED", "ARED"
ALGORITHMS = (RED, DSRED, FRED, ARED)
# those that section IV analyses
ANALYSED = (RED, DSRED)
# traffic that section V, as it says, did not have
VARYING: Traffic = "UDP, self-similar"
VICTIMS: tuple[Victim, ...] = ("tail", "front")

# the router of the authors' later paper (redwm, section 6); packets of such a size that the link
# carries a quarter of the datagrams: RED drops 75 percent of them
RATE_BPS, DATAGRAMS_PER_S, PACKET_BYTES = 516e3, 2000.0, 129
# limit, min_th, max_th: of the later paper's router, and of this paper's own model
_BUFFERS = {"small": (25, 5, 15), "large": (250, 100, 200)}
_RTTS_S = (0.0061, 0.1061)
_GAPS: tuple[GapKind, ...] = ("exponential", "constant")
_MAX_P, _GAMMA = 0.1, 0.5
SIMULATED = Length(duration_s=30.0, warm_up_s=6.0, replications=6)
REAL = Length(duration_s=9.0, warm_up_s=3.0, replications=3)


class Case(NamedTuple):
    """An algorithm with a victim, under one kind of traffic and a reading."""

    reading: Reading
    traffic: Traffic
    algorithm: str
    victim: Victim


@dataclass(frozen=True)
class Reading:
    """One way to run the paper's experiments.

    Attributes:
        buffer: One of `_BUFFERS`: how much may wait, and the thresholds.
        flows: TCP connections; also UDP flows.
        rtt_s: Propagation there and back.
        w: Weight of the newest queue in the averages.
        gaps: Between two datagrams.
    """

    buffer: str = "small"
    flows: int = 10
    rtt_s: float = _RTTS_S[0]
    w: float = 0.002
    gaps: GapKind = "exponential"

    @property
    def name(self) -> str:
        """The reading in words."""
        limit, min_th, max_th = _BUFFERS[self.buffer]
        return (
            f"thresholds {min_th} and {max_th} of {limit}, flows {self.flows}, "
            f"RTT {1000 * self.rtt_s:g} ms, w {self.w:g}, {self.gaps}"
        )

    @property
    def setting(self) -> Setting:
        """The router and its traffic."""
        return Setting(
            rate_bps=RATE_BPS,
            limit=_BUFFERS[self.buffer][0],
            rtt_s=self.rtt_s,
            packet_bytes=PACKET_BYTES,
            datagrams_per_s=DATAGRAMS_PER_S,
            gaps=self.gaps,
            flows=self.flows,
        )

    def discipline(self, algorithm: str, victim: Victim) -> Discipline:
        """One of `ALGORITHMS` with one of `VICTIMS`."""
        _, min_th, max_th = _BUFFERS[self.buffer]
        params: dict[str, float | str] = {"min_th": min_th, "max_th": max_th, "w": self.w}
        if algorithm == DSRED:
            params["gamma"] = _GAMMA
        else:
            params["max_p"] = _MAX_P
        if algorithm == RED:
            params["spacing"] = "independent"
        return Discipline(
            label=f"{algorithm} {victim}", aqm=algorithm.lower(), params=params, victim=victim
        )

    def cases(self) -> Iterator[Case]:
        """All algorithms and victims under all traffic; of varying traffic, only those analysed."""
        for traffic, algorithm, victim in (
            *itertools.product(TRAFFIC, ALGORITHMS, VICTIMS),
            *itertools.product([VARYING], ANALYSED, VICTIMS),
        ):
            yield Case(self, traffic, algorithm, victim)


# readings that are measured, too
REAL_READINGS = (Reading(), Reading(buffer="large"))


def grid() -> list[Reading]:
    """Every reading."""
    rest = itertools.product(_BUFFERS, (10, 1), _RTTS_S, (0.002, 0.07), _GAPS)
    return [Reading(*each) for each in rest]


def scenarios(readings: list[Reading], length: Length) -> Mapping[Case, NetworkScenario]:
    """What is run for each case of each reading."""
    return {
        case: reading.setting.scenario(
            case.traffic, reading.discipline(case.algorithm, case.victim), length
        )
        for reading in readings
        for case in reading.cases()
    }
