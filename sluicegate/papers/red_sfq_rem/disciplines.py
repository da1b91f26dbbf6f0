"""RED, SFQ and REM with the settings of ns-2.35, none of which the paper prints.

ns-2's queues differ in what a buffer of a number of packets means. RED works in bytes of a mean
packet of 500 B, the buffer included; REM, like drop-tail, holds one packet less; SFQ always holds
40 packets. With `like = "text"`, all three hold what the paper says instead, and RED and REM know
the size of the packets.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias

from sluicegate.papers.red_sfq_rem.source import BOTTLENECK_DELAY_S, PAYLOAD_BYTES
from sluicegate.registry import Value
from sluicegate.scenario import Discipline, Sfq

Like: TypeAlias = Literal["ns2", "text"]

# of TCP and IP
HEADER_BYTES = 40
WIRE_BYTES = PAYLOAD_BYTES + HEADER_BYTES
# ns-2's defaults
_RED_BYTES, _REM_BYTES = 500, 1000
_SFQ_LIMIT, _SFQ_QUEUES = 40, 16
_TARGET_DELAY_S, _LEAST_MIN_TH, _MAX_P = 0.005, 5.0, 0.1


class Gate(NamedTuple):
    """A discipline and how many packets may wait."""

    discipline: Discipline
    limit: int


def gate(name: str, like: Like, limit: int, rate_bps: float) -> Gate:
    """One of the paper's three algorithms before the bottleneck.

    Args:
        name: One of `ALGORITHMS`.
        like: What `limit` and unsaid parameters mean.
        limit: Buffer given to the simulation, packets.
        rate_bps: Of the bottleneck; ns-2's RED derives its parameters from it.
    """
    if name == "RED":
        return _red(_RED_BYTES if like == "ns2" else WIRE_BYTES, limit, rate_bps)
    if name == "SFQ":
        queues, holds = (_SFQ_QUEUES, _SFQ_LIMIT) if like == "ns2" else (Sfq().queues, limit)
        sfq = Discipline(label=name, aqm="drop_tail", scheduler=Sfq(queues=queues))
        return Gate(sfq, holds)
    mean_bytes, holds = (_REM_BYTES, limit - 1) if like == "ns2" else (WIRE_BYTES, limit)
    params: dict[str, Value] = {
        "congestion": "rate",
        "q_ref": 20,
        "sampling_interval": 0.01,
        "mean_packet_bytes": mean_bytes,
    }
    return Gate(Discipline(label=name, aqm="rem", params=params), holds)


def _red(mean_bytes: int, limit: int, rate_bps: float) -> Gate:
    """ns-2's automatic RED (red.cc, initialize_params) in bytes of a mean packet.

    A packet of k times the mean size counts k times, in the queue and for its drop probability.
    """
    packets_per_s = rate_bps / 8 / mean_bytes
    packet = WIRE_BYTES / mean_bytes
    min_th = max(_LEAST_MIN_TH, _TARGET_DELAY_S * packets_per_s / 2) / packet
    rtt_s = max(0.1, 3 * (BOTTLENECK_DELAY_S + 1 / packets_per_s))
    params: dict[str, Value] = {
        "drop_function": "gentle",
        "spacing": "waiting",
        "like": "ns2_bytes",
        "min_th": min_th,
        "max_th": 3 * min_th,
        "max_p": _MAX_P * packet,
        "w": -math.expm1(-1 / (10 * rtt_s * packets_per_s)),
        "mean_packet_bytes": mean_bytes,
    }
    return Gate(Discipline(label="RED", aqm="red", params=params), math.ceil(limit / packet))
