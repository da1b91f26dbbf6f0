"""What section 6 of the paper leaves open, as a grid of readings."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sluicegate.papers.redwm.table1 import ALGORITHMS, GENERATED, RATE_BPS, RED
from sluicegate.papers.router.setting import TRAFFIC, Length, Setting, Traffic
from sluicegate.scenario import Discipline, GapKind, NetworkScenario

# section 6: packets, packets, packets, weight
LIMIT, MIN_TH, MAX_TH, W = 25, 5, 15, 0.002
# of link 1 and link 2 together; what the Internet behind them adds is not known
PRINTED_RTT_S, INTERNET_RTT_S = 0.0061, 0.1
_SIZES, _FLOWS, _MAX_PS = (40, 128, 500, 1500), (1, 10), (0.1, 0.02)
_GAPS: tuple[GapKind, ...] = ("constant", "exponential")
SIMULATED = Length(duration_s=40.0, warm_up_s=10.0, replications=8)
REAL = Length(duration_s=14.0, warm_up_s=4.0, replications=4)


class Case(NamedTuple):
    """A row of table 1 under a reading."""

    reading: Reading
    traffic: Traffic
    algorithm: str


@dataclass(frozen=True)
class Reading:
    """One way to run the paper's experiment.

    Attributes:
        packet_bytes: Of a packet, headers included; with TCP no less than Linux sends.
        internet: Whether the Internet behind the link adds 0.1 s to the round trip.
        flows: TCP connections; also UDP flows.
        max_p: Drop probability as the average reaches max_th; section 5 has 0.1.
        gaps: Between two datagrams.
    """

    packet_bytes: int = 40
    internet: bool = True
    flows: int = 1
    max_p: float = 0.1
    gaps: GapKind = "constant"

    @property
    def setting(self) -> Setting:
        """The router and its traffic."""
        return Setting(
            rate_bps=RATE_BPS,
            limit=LIMIT,
            rtt_s=PRINTED_RTT_S + (INTERNET_RTT_S if self.internet else 0.0),
            packet_bytes=self.packet_bytes,
            datagrams_per_s=GENERATED,
            gaps=self.gaps,
            flows=self.flows,
        )

    @property
    def name(self) -> str:
        """The reading in words."""
        setting = self.setting
        tcp = "" if setting.segment_bytes == self.packet_bytes else f", TCP {setting.segment_bytes}"
        return (
            f"{self.packet_bytes} B{tcp}, RTT {1000 * setting.rtt_s:g} ms, "
            f"flows {self.flows}, max_p {self.max_p:g}, {self.gaps}"
        )

    def discipline(self, algorithm: str) -> Discipline:
        """RED, or REDwM with [a1, a2, b1] = [0.08, 0.0014, 0.001] in the reading of section 5."""
        params: dict[str, float | str | bool] = {
            "min_th": MIN_TH,
            "max_th": MAX_TH,
            "max_p": self.max_p,
        }
        if algorithm == RED:
            # as section 2 has it, and as the preset redwm
            params |= {"w": W, "spacing": "independent", "idle_decay": False}
            return Discipline(label=algorithm, aqm="red", params=params)
        return Discipline(label=algorithm, aqm="redwm", params=params)

    def cases(self) -> Iterator[Case]:
        """The rows of table 1."""
        for traffic, algorithm in itertools.product(TRAFFIC, ALGORITHMS):
            yield Case(self, traffic, algorithm)


# readings that are measured, too: nearest to table 1, without the Internet, with larger packets
REAL_READINGS = (
    Reading(max_p=0.02),
    Reading(internet=False),
    Reading(packet_bytes=500),
)


def grid() -> list[Reading]:
    """Every reading."""
    rest = itertools.product(_SIZES, (False, True), _FLOWS, _MAX_PS, _GAPS)
    return [Reading(*each) for each in rest]


def scenarios(readings: list[Reading], length: Length) -> Mapping[Case, NetworkScenario]:
    """What is run for each row of table 1 under each reading."""
    return {
        case: reading.setting.scenario(case.traffic, reading.discipline(case.algorithm), length)
        for reading in readings
        for case in reading.cases()
    }
