"""From a capture to a question: what was recorded, as a load that reacts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sluicegate.advice.question import Question
from sluicegate.errors import SluiceError
from sluicegate.traffic.capture import Capture
from sluicegate.traffic.hurst import SHORTEST_SERIES, wavelet

FloatArray = NDArray[np.float64]

_TCP, _UDP = 6, 17
_NS_PER_S = 1e9
# longer TCP packets carry data
_DATA_BYTES = 100
# a flow that sends fewer data packets does not last
_SHORT_PACKETS = 10
# the capture is cut into windows of this length; flows are counted in each
_WINDOW_S = 1.0
_BIN_S = 0.01
_HURST = (0.5, 0.95)
# quantiles of the handshakes for the empty path: longer handshakes include a queue
_RTT_QUANTILES = (0.1, 0.5)
# the shortest round trip of a path over a link: in this time light goes 100 km and back through
# fibre (2e8 m/s), so hosts that answer sooner are on one machine or one site; and a SYN without
# options must have crossed the link
_LEAST_RTT_S, _SYN_BYTES = 1e-3, 40
# the least share of the handshakes that must be longer
_POSSIBLE = 0.5
# of the handshakes, one that found the buffer full: the longest may have waited for something else
_FULL_QUANTILE = 0.99
_FLOW_QUANTILES = (0.1, 0.9)
_MOST_SHARE = 0.9


@dataclass(frozen=True)
class Recorded:
    """What a capture shows of its traffic.

    Attributes:
        capture: The packets.
    """

    capture: Capture

    @cached_property
    def _is_data(self) -> NDArray[np.bool_]:
        is_tcp, is_long = self.capture.protocol == _TCP, self.capture.bytes > _DATA_BYTES
        found: NDArray[np.bool_] = is_tcp & is_long
        return found

    @cached_property
    def handshakes_s(self) -> FloatArray:
        """For each TCP flow that opens: the time from its last SYN to its next packet, shape (n,).

        That packet is the ACK of the handshake: wherever the recorder stood, and even if it heard
        one direction only, this is a whole round trip.
        """
        # by flow, each in order of time
        order = np.argsort(self.capture.flow, kind="stable")
        flow, time_ns = self.capture.flow[order], self.capture.time_ns[order].astype(np.int64)
        opens = self.capture.opens[order]
        found = opens[:-1] & ~opens[1:] & (flow[1:] == flow[:-1])
        steps_s: FloatArray = np.diff(time_ns)[found] / _NS_PER_S
        return steps_s[steps_s > 0]

    def rtts_s(self, rate_bps: float) -> tuple[float, float]:
        """Round trips of the empty path: from the shortest tenth to the median of the handshakes.

        Handshakes that were too quick to cross such a link are left out.

        Raises:
            SluiceError: If there is no handshake, or if most are too quick.
        """
        path, found = self.capture.path, self.handshakes_s
        if not len(found):
            raise SluiceError(
                f"{path}: has no TCP handshake, from which round trips follow: give them with --rtt"
            )
        possible = found[found >= _least_s(rate_bps)]
        if len(possible) < _POSSIBLE * len(found):
            low, high = 1e3 * np.quantile(found, _RTT_QUANTILES)
            raise SluiceError(
                f"{path}: {len(found) - len(possible)} of {len(found)} handshakes take less than "
                f"{1e3 * _least_s(rate_bps):.3g} ms (the median {high:.2g} ms), so these hosts are "
                "on one machine or one site: their round trips are not those of a path over a link "
                f"of {rate_bps / 1e6:.3g} Mbit/s. Give those of the link's users, such as --rtt "
                f"20..120ms, or, if the hosts are really so near, --rtt {low:.2g}..{high:.2g}ms"
            )
        low_s, high_s = np.quantile(possible, _RTT_QUANTILES)
        return float(low_s), float(high_s)

    def limit(self, rate_bps: float) -> int:
        """The buffer of the recorded link, packets: what the slowest handshakes waited for.

        A SYN that comes to a full buffer waits until all of it is sent; how much longer such a
        handshake takes than the quickest one is the buffer in seconds. If the buffer was never
        full, it is larger.

        Raises:
            SluiceError: If no handshake waited for two packets.
        """
        found = self.handshakes_s
        waited_s = np.quantile(found, _FULL_QUANTILE) - found.min() if len(found) else 0.0
        limit = round(waited_s * rate_bps / (8 * self.packet_bytes))
        if limit < 2:
            raise SluiceError(
                f"{self.capture.path}: no handshake waited for two packets or more, so the buffer "
                "was never full: give it with --limit, in packets"
            )
        return limit

    @cached_property
    def active(self) -> NDArray[np.int64]:
        """TCP flows with data packets in each second, shape (seconds,)."""
        data = self._is_data
        window = (self.capture.time_ns[data] // np.uint64(_WINDOW_S * _NS_PER_S)).astype(np.int64)
        pairs = np.unique(np.stack([window, self.capture.flow[data].astype(np.int64)]), axis=1)
        return np.bincount(pairs[0]) if pairs.size else np.zeros(1, dtype=np.int64)

    @cached_property
    def flow_packets(self) -> NDArray[np.int64]:
        """Data packets of each TCP flow, shape (flows,)."""
        return np.unique(self.capture.flow[self._is_data], return_counts=True)[1]

    @property
    def packet_bytes(self) -> int:
        """Size of the data packets that carry most bytes."""
        sizes, counts = np.unique(self.capture.bytes[self._is_data], return_counts=True)
        return int(sizes[np.argmax(sizes.astype(np.float64) * counts)])

    @property
    def is_ecn(self) -> bool:
        """Whether most data packets of TCP can be marked."""
        return bool(self.capture.ecn_capable[self._is_data].mean() > 0.5)

    def bits_per_s(self, protocol: int) -> float:
        """Rate of the packets of a protocol."""
        chosen = self.capture.bytes[self.capture.protocol == protocol]
        return 8 * float(chosen.sum(dtype=np.uint64)) / self.capture.duration_s

    @property
    def hurst(self) -> float:
        """Hurst parameter of all packets' counts; 0.5 of a capture too short to tell."""
        counts = self.capture.counts(min(_BIN_S, self.capture.duration_s))
        if len(counts) < SHORTEST_SERIES or not counts.any():
            return _HURST[0]
        return min(max(wavelet(counts).hurst, _HURST[0]), _HURST[1])

    @property
    def dispersion(self) -> float:
        """Variance over mean of the packets in 0.1 s: 1 for a Poisson process."""
        bins = min(10 * _BIN_S, self.capture.duration_s)
        counts = self.capture.counts(bins)
        return float(counts.var() / counts.mean()) if counts.any() else 0.0

    def rows(self) -> list[tuple[str, str]]:
        """What was found, for a table."""
        found = self.handshakes_s
        hand = [1e3 * np.quantile(found, share) for share in (0.1, 0.5, 0.9) if len(found)]
        few, middle, many = np.quantile(self.active, [0.1, 0.5, 0.9])
        return [
            ("packets", f"{self.capture.packets:,} in {self.capture.duration_s:.1f} s"),
            ("rate", f"{self.capture.rate_bps / 1e6:.3g} Mbit/s offered"),
            ("datagrams (UDP)", f"{self.bits_per_s(_UDP) / 1e6:.3g} Mbit/s"),
            ("TCP flows that open", f"{len(found)}"),
            (
                "handshakes, 10 % 50 % 90 %",
                " ".join(f"{value:.3g}" for value in hand) + " ms" if len(found) else "none",
            ),
            ("TCP flows at a time, 10 % 50 % 90 %", f"{few:.0f} {middle:.0f} {many:.0f}"),
            ("data packets of a flow", f"{self.flow_packets.mean():.3g} on average"),
            ("variance over mean in 0.1 s", f"{self.dispersion:.3g}"),
            ("Hurst parameter", f"{self.hurst:.2f}"),
        ]


def _least_s(rate_bps: float) -> float:
    """The shortest round trip that a path over a link can have, s."""
    return max(_LEAST_RTT_S, 8 * _SYN_BYTES / rate_bps)


def question_of(
    recorded: Recorded,
    rate_bps: float,
    rtts_s: tuple[float, float] | None = None,
    flows: tuple[int, int] | None = None,
    ecn: bool | None = None,
) -> Question:
    """The question that a capture asks; arguments that are given override what was recorded.

    The recorded packets themselves cannot answer it: their senders would not react.

    Args:
        recorded: The capture.
        rate_bps: Of the link that the traffic is to cross.
        rtts_s: As in `Question`; None: see `Recorded.rtts_s`.
        flows: None: by the TCP flows at a time, from the quietest to the busiest tenth of the
            seconds.
        ecn: None: whether most data packets can be marked.

    Raises:
        SluiceError: If the capture has no TCP data, or, where `rtts_s` are not given, no handshakes
            over such a link.
    """
    if not len(recorded.flow_packets):
        raise SluiceError(
            f"{recorded.capture.path}: has no TCP data, so nothing would react to an AQM"
        )
    if rtts_s is None:
        rtts_s = recorded.rtts_s(rate_bps)
    if flows is None:
        few, many = np.quantile(recorded.active, _FLOW_QUANTILES)
        flows = max(1, round(few)), max(1, round(many))
    packets = recorded.flow_packets
    short = float(packets[packets < _SHORT_PACKETS].sum() / packets.sum())
    tcp_share = recorded.bits_per_s(_TCP) / rate_bps
    asked = Question(
        rate_bps=rate_bps,
        rtts_s=rtts_s,
        flows=flows,
        ecn=recorded.is_ecn if ecn is None else ecn,
        packet_bytes=recorded.packet_bytes,
        datagram_share=min(recorded.bits_per_s(_UDP) / rate_bps, _MOST_SHARE),
        datagram_hurst=recorded.hurst,
        transfer_share=min(tcp_share, _MOST_SHARE),
        transfer_packets=max(3.0, float(packets.mean())),
    )
    return replace(asked, short_share=min(max(asked.short_share, short * tcp_share), _MOST_SHARE))
