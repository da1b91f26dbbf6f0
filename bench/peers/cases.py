"""The cases that are compared: the dumb-bell of the LRED paper (section 6) and its variations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

DURATION_S, SAMPLE_S = 200.0, 0.01
SHORT_PACKETS = 20

# Delays of the links between clients and router, ms. The paper's round trips are whole multiples of
# a packet's transmission time at the bottleneck, 0.4 ms; the others are not.
DELAYS_MS: dict[str, tuple[float, ...]] = {
    "paper": (10, 50, 100, 150, 200),
    "uneven": (7.31, 33.17, 71.93, 118.57, 183.29),
    "short": (3.07, 8.23, 14.89, 21.41, 29.53),
}

# RED as ns-2 sets it by default for 2500 packets/s of 500 bytes: thresholds 6.25 and 18.75,
# w = 1 - exp(-1/2500), wait_.
_RED = {
    "w": 4e-4,
    "mean_packet_bytes": 500,
    "spacing": "waiting",
    "like": "ns2",
    "max_p": 0.1,
}
_RED_THRESHOLDS = {"min_th": 6.25, "max_th": 18.75}


# our name of a TCP variant: its name in dumbbell.tcl
VARIANTS = {
    "tahoe": "Tahoe",
    "reno": "Reno",
    "newreno": "Newreno",
    "sack": "Sack1",
    "cubic": "Cubic",
}


@dataclass(frozen=True)
class Case:
    """One discipline on one network.

    Attributes:
        aqm: The AQM's name in dumbbell.tcl.
        flows: Number of long-lived TCP flows.
        access_bps: Rate of the links to clients and servers.
        q_ref: Queue that ARED, PI and REM aim at, packets.
        delays: One of DELAYS_MS.
        spread_s: Flows start at times uniform over this interval.
        datagrams: Rate of additional Poisson datagrams of 130 B, 1/s: they break phase effects.
        short: Rate of additional Poisson short flows of SHORT_PACKETS, 1/s in all, at random
            clients.
        two_way: True: as many flows send in the reverse direction, and the reverse link has the
            AQM, too. Figures of the queue are of the forward link, the goodput is of both.
        ecn: True: the AQM marks, and the flows use ECN.
        variant: Variant of TCP, one of VARIANTS.
        limit: Buffer, packets; with drop-tail and REM it holds one less, as in ns-2.
        seeds: Number of independent runs of each simulator.
        duration_s: Duration of each run.
    """

    aqm: str
    flows: int
    access_bps: float = 100e6
    q_ref: int = 100
    delays: str = "paper"
    spread_s: float = 1.0
    datagrams: int = 0
    short: int = 0
    two_way: bool = False
    ecn: bool = False
    variant: str = "newreno"
    limit: int = 200
    seeds: int = 10
    duration_s: float = DURATION_S

    @property
    def network(self) -> str:
        """Description of the case, without its AQM and number of flows."""
        parts = [f"{self.access_bps / 1e6:g} Mb/s"]
        if self.q_ref != 100:
            parts.append(f"q0 {self.q_ref}")
        if self.delays != "paper":
            parts.append(f"{self.delays} delays")
        if self.spread_s != 1:
            parts.append(f"starts over {self.spread_s:g} s")
        if self.datagrams:
            parts.append("with datagrams")
        if self.short:
            parts.append(f"{self.short} short flows a second")
        if self.two_way:
            parts.append("two-way")
        if self.ecn:
            parts.append("ECN")
        if self.variant != "newreno":
            parts.append(self.variant.upper())
        if self.limit != 200:
            parts.append(f"buffer {self.limit}")
        return ", ".join(parts)

    @property
    def has_target(self) -> bool:
        """True if the AQM aims at q_ref, so that there is a response time."""
        return self.aqm not in ("DropTail", "RED", "PacketRED")

    def discipline(self) -> dict[str, Any]:
        """Return the discipline of our scenario, with its limit."""
        adaptive = {**_RED, "min_th": self.q_ref / 2, "max_th": 1.5 * self.q_ref}
        return {
            "DropTail": {"aqm": "drop_tail", "limit": self.limit - 1},
            "RED": {
                "aqm": "gentle_red",
                "limit": self.limit,
                "params": {**_RED, **_RED_THRESHOLDS, "like": "ns2_bytes"},
            },
            "PacketRED": {
                "aqm": "gentle_red",
                "limit": self.limit,
                "params": {**_RED, **_RED_THRESHOLDS},
            },
            "ARED": {"aqm": "ared", "limit": self.limit, "params": adaptive},
            "LinearARED": {
                "aqm": "ared",
                "limit": self.limit,
                "params": {**adaptive, "drop_function": "linear"},
            },
            "PI": {"aqm": "pi", "limit": self.limit, "params": {"q_ref": self.q_ref}},
            "REM": {
                "aqm": "rem",
                "limit": self.limit - 1,
                "params": {"q_ref": self.q_ref, "congestion": "rate"},
            },
        }[self.aqm]

    def words(self, seed: int) -> list[str]:
        """Return the case as arguments of dumbbell.tcl."""
        return [
            f"aqm={self.aqm}",
            f"flows={self.flows}",
            f"seed={seed}",
            f"duration={self.duration_s:g}",
            f"sample={SAMPLE_S:g}",
            f"q_ref={self.q_ref}",
            f"access_bps={self.access_bps:g}",
            f"spread={self.spread_s:g}",
            f"datagrams={self.datagrams}",
            f"short={self.short}",
            f"short_packets={SHORT_PACKETS}",
            f"two_way={self.two_way:d}",
            f"ecn={self.ecn:d}",
            f"variant={VARIANTS[self.variant]}",
            f"limit={self.limit}",
            f"delays_ms={','.join(f'{delay:g}' for delay in DELAYS_MS[self.delays])}",
        ]


# RED is ns-2's default, which measures the queue in bytes; PacketRED and ARED measure it in
# packets. LinearARED is ARED without gentle_. With gentle_, ns-2 keeps the slope of the drop
# function above max_th as it was with the first max_p, so that with 500 flows max_p climbs to 0.5
# without effect; our slope follows max_p.
AQMS = ("DropTail", "RED", "ARED", "LinearARED", "PI", "REM")
TARGETED = ("LinearARED", "PI", "REM")
ACCESS_BPS = (100e6, 10e6)


def paper() -> Iterator[Case]:
    """The paper's network, with access links of its rate (10 Mb/s) and with faster ones."""
    for flows in (100, 500):
        for access_bps in ACCESS_BPS:
            yield from (Case(aqm, flows, access_bps) for aqm in AQMS)


def wider() -> Iterator[Case]:
    """Other targets, delays and numbers of flows."""
    others = [aqm for aqm in AQMS if aqm != "ARED"]
    for flows in (100, 500):
        for q_ref in (50, 150):
            yield from (Case(aqm, flows, q_ref=q_ref, seeds=5) for aqm in TARGETED)
        for delays in ("uneven", "short"):
            yield from (Case(aqm, flows, delays=delays, seeds=5) for aqm in others)
    for access_bps in ACCESS_BPS:
        yield from (Case(aqm, 300, access_bps, seeds=5) for aqm in others)
    yield from (Case(aqm, 1000, seeds=5) for aqm in others)


def phases() -> Iterator[Case]:
    """Drop-tail in networks with ties between packets, and with datagrams that break the ties."""
    for flows, access_bps in ((100, 10e6), (500, 100e6), (500, 10e6)):
        yield (case := Case("DropTail", flows, access_bps, seeds=40))
        yield replace(case, datagrams=100)


def short() -> Iterator[Case]:
    """Short flows that arrive beside the long ones."""
    yield (case := Case("DropTail", 50, short=10, seeds=20))
    yield replace(case, datagrams=100)


def red() -> Iterator[Case]:
    """RED in packets under many kinds of traffic; with few flows the link is idle at times."""
    for flows in (5, 40):
        yield Case("PacketRED", flows)
    yield Case("PacketRED", 40, two_way=True)
    yield Case("PacketRED", 80, ecn=True)
    for variant in ("tahoe", "reno", "sack"):
        yield Case("PacketRED", 40, variant=variant)


def responses() -> Iterator[Case]:
    """Response times for which five seeds were too few; each run lasts until the response."""
    for case, duration_s in (
        (Case("LinearARED", 100, q_ref=150), 20.0),
        (Case("REM", 100, q_ref=150), 20.0),
        (Case("LinearARED", 100, delays="short"), 30.0),
        (Case("LinearARED", 1000), 30.0),
        (Case("LinearARED", 300, 10e6), 30.0),
        (Case("LinearARED", 500, delays="uneven"), 30.0),
        (Case("REM", 100, delays="short"), 50.0),
        (Case("PI", 100, delays="uneven"), 100.0),
        (Case("REM", 500, delays="uneven"), 120.0),
        (Case("REM", 500, q_ref=50), 150.0),
    ):
        yield replace(case, seeds=60, duration_s=duration_s)


SETS = {
    "paper": paper,
    "wider": wider,
    "phases": phases,
    "short": short,
    "red": red,
    "responses": responses,
}
