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
        hand = 1e3 * np.quantile(self.handshakes_s, [0.1, 0.5, 0.9])
        few, middle, many = np.quantile(self.active, [0.1, 0.5, 0.9])
        return [
            ("packets", f"{self.capture.packets:,} in {self.capture.duration_s:.1f} s"),
            ("rate", f"{self.capture.rate_bps / 1e6:.3g} Mbit/s offered"),
            ("datagrams (UDP)", f"{self.bits_per_s(_UDP) / 1e6:.3g} Mbit/s"),
            ("TCP flows that open", f"{len(self.handshakes_s)}"),
            ("handshakes, 10 % 50 % 90 %", " ".join(f"{value:.3g}" for value in hand) + " ms"),
            ("TCP flows at a time, 10 % 50 % 90 %", f"{few:.0f} {middle:.0f} {many:.0f}"),
            ("data packets of a flow", f"{self.flow_packets.mean():.3g} on average"),
            ("variance over mean in 0.1 s", f"{self.dispersion:.3g}"),
            ("Hurst parameter", f"{self.hurst:.2f}"),
        ]


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
        rtts_s: As in `Question`; None: by the handshakes, from the shortest tenth to the median.
        flows: None: by the TCP flows at a time, from the quietest to the busiest tenth of the
            seconds.
        ecn: None: whether most data packets can be marked.

    Raises:
        SluiceError: If the capture has no TCP data, or no handshake and no `rtts_s` are given.
    """
    if not len(recorded.flow_packets):
        raise SluiceError(
            f"{recorded.capture.path}: has no TCP data, so nothing would react to an AQM"
        )
    if rtts_s is None:
        if not len(recorded.handshakes_s):
            raise SluiceError(
                f"{recorded.capture.path}: has no TCP handshake, from which round trips follow: "
                "give them with --rtt"
            )
        low_s, high_s = np.quantile(recorded.handshakes_s, _RTT_QUANTILES)
        rtts_s = float(low_s), float(high_s)
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
