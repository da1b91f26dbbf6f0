"""Profiles: the path on which an evaluation is made. RFC 7928 leaves it to the tester."""

from __future__ import annotations

from dataclasses import dataclass

from sluicegate.errors import SluiceError

# flows per packet of S for 0.1, 0.5 and 1 % of losses with drop-tail: sqrt(l_r / 0.76), as RFC 7928
# prints it (section 8.2)
CONGESTION = {"mild": 0.036, "medium": 0.081, "heavy": 0.114}


@dataclass(frozen=True)
class Profile:
    """A path, and how long it is observed.

    Attributes:
        name: Of the profile.
        summary: One line, with the source of the figures.
        rate_bps: Of the bottleneck, from the senders to the receivers.
        reverse_rate_bps: Of the bottleneck on the way back.
        rtt_s: Base round trip.
        buffer_s: Buffer before the bottleneck, the same for all disciplines, in time at its rate.
        packet_bytes: Of a full data packet.
        duration_s: Of a replication.
        warm_up_s: What is left out of it.
        phase_s: Length of a phase where load or capacity change.
        replications: Of each scenario.
        varying: Whether the rate varies, from second to second.
        flows: Numbers of flows of mild, medium and heavy congestion where they do not follow from
            the RFC's formula.
    """

    name: str
    summary: str
    rate_bps: float
    reverse_rate_bps: float
    rtt_s: float
    buffer_s: float
    packet_bytes: int = 1500
    duration_s: float = 100.0
    warm_up_s: float = 20.0
    phase_s: float = 20.0
    replications: int = 10
    varying: bool = False
    flows: tuple[int, int, int] | None = None

    @property
    def buffer_packets(self) -> int:
        """The buffer, packets."""
        return max(1, round(self.rate_bps * self.buffer_s / 8 / self.packet_bytes))

    @property
    def bdp_packets(self) -> int:
        """The product of rate and round trip, packets."""
        return max(1, round(self.rate_bps * self.rtt_s / 8 / self.packet_bytes))

    @property
    def access_rate_bps(self) -> float:
        """Of all links but the bottleneck."""
        return 10 * max(self.rate_bps, self.reverse_rate_bps)

    @property
    def window_s(self) -> float:
        """Time over which goodput and delay are sampled: ten round trips (RFC 7928, 2.7)."""
        return 10 * self.rtt_s

    def count(self, congestion: str) -> int:
        """How many long flows make mild, medium or heavy congestion (RFC 7928, section 8.2)."""
        if self.flows is not None:
            return self.flows[list(CONGESTION).index(congestion)]
        # S of the RFC: the product of rate and round trip, and the buffer, in packets
        size = self.rate_bps * (self.rtt_s + self.buffer_s) / 8 / self.packet_bytes
        # a half must be one: 28.5 is 28.500000000000004 as a product
        return max(1, round(round(CONGESTION[congestion] * size, 9)))

    def told(self) -> str:
        """The figures, in one line."""
        counts = " / ".join(str(self.count(each)) for each in CONGESTION)
        both = self.rate_bps == self.reverse_rate_bps
        back = "" if both else f" ({self.reverse_rate_bps / 1e6:g} Mb/s back)"
        varies = " on average, varying" if self.varying else ""
        return (
            f"{self.rate_bps / 1e6:g} Mb/s{varies}{back}, RTT {1000 * self.rtt_s:g} ms, buffer "
            f"{self.buffer_packets} packets ({self.buffer_s / self.rtt_s:.2g} BDP), "
            f"packets of {self.packet_bytes} bytes, {counts} flows (mild / medium / heavy), "
            f"{self.duration_s:g} s of which {self.warm_up_s:g} s are left out"
        )


_ALL = [
    Profile(
        "default",
        "a buffer of one BDP (RFC 7928, section 3.2); figures of our own",
        rate_bps=10e6,
        reverse_rate_bps=10e6,
        rtt_s=0.1,
        buffer_s=0.1,
    ),
    Profile(
        "home",
        "the uplink of a home; 100 ms of buffer as the access link of draft-irtf-iccrg-tcpeval-01, "
        "rates of our own",
        rate_bps=20e6,
        reverse_rate_bps=100e6,
        rtt_s=0.04,
        buffer_s=0.1,
    ),
    Profile(
        "cellular",
        "a rate that is drawn anew each second (log-normal, sigma 0.5); figures of our own",
        rate_bps=10e6,
        reverse_rate_bps=10e6,
        rtt_s=0.05,
        buffer_s=0.25,
        varying=True,
    ),
    Profile(
        "datacentre",
        "draft-irtf-iccrg-tcpeval-01: 1 Gb/s, edges of 100 us, 10 ms of buffer",
        rate_bps=1e9,
        reverse_rate_bps=1e9,
        rtt_s=0.0004,
        buffer_s=0.01,
        duration_s=4.0,
        warm_up_s=1.0,
        phase_s=1.0,
        replications=5,
    ),
    Profile(
        "satellite",
        "draft-irtf-iccrg-tcpeval-01: 40 and 4 Mb/s, 300 ms one way, 100 ms of buffer",
        rate_bps=40e6,
        reverse_rate_bps=4e6,
        rtt_s=0.6,
        buffer_s=0.1,
        duration_s=300.0,
        warm_up_s=100.0,
        phase_s=100.0,
        replications=5,
    ),
    Profile(
        "l4s",
        "l4s-tests (P. Heist, J. Morton, 2021), S1 and S6: 50 Mbit/s, 20 ms, 1000 packets, 60 s",
        rate_bps=50e6,
        reverse_rate_bps=50e6,
        rtt_s=0.02,
        buffer_s=0.24,
        duration_s=60.0,
        replications=5,
    ),
    Profile(
        "ns3",
        "the settings of ns-3's aqm-eval-suite: 45 packets of 750 bytes, 2 / 5 / 7 flows",
        rate_bps=1e6,
        reverse_rate_bps=1e6,
        rtt_s=0.1,
        buffer_s=0.27,
        packet_bytes=750,
        duration_s=300.0,
        flows=(2, 5, 7),
    ),
]
PROFILES = {each.name: each for each in _ALL}


def profile(name: str) -> Profile:
    """The profile of that name.

    Raises:
        SluiceError: If there is none.
    """
    if name not in PROFILES:
        raise SluiceError(f"profile = {name} must be one of {', '.join(PROFILES)}")
    return PROFILES[name]
