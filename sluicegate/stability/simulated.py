"""The same network, packet by packet: does the queue oscillate where the theory says so?

A dumb-bell of the network world: N persistent flows of NewReno without delayed ACKs, whose round
trips, queue included, are within 10 % of R. A queue **oscillates** if in the second half of the run

- its standard deviation is at least half of its mean, and
- at least half of its variance lies within an octave of the predicted frequency, the imaginary
  part of the rightmost root.

Both were fixed before the first run. A noisy but stable queue fails the second or the first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import signal

from sluicegate.errors import SluiceError
from sluicegate.scenario import Discipline, Queue
from sluicegate.stability.model import FluidNetwork
from sluicegate.worlds.network import Dumbbell, NetworkScenario, Tcp, TcpFlows

FloatArray = NDArray[np.float64]

PACKET_BYTES = 500
# of the mean queue, and of the variance
LEAST_DEVIATION, LEAST_SHARE = 0.5, 0.5
_PAIRS = (0.9, 0.95, 1.0, 1.05, 1.1)
_SAMPLES_PER_RTT = 20
# of the run: enough for the slow mode of the loss ratio of LRED, and for some tens of periods
_LEAST_S, _ROUND_TRIPS = 200.0, 400


@dataclass(frozen=True)
class Swing:
    """How a queue moves about its mean.

    Attributes:
        deviation: Standard deviation over the mean.
        share: Of the variance, that within an octave of the predicted frequency.
    """

    deviation: float
    share: float

    @property
    def oscillates(self) -> bool:
        """By the rule at the top of this file."""
        return self.deviation >= LEAST_DEVIATION and self.share >= LEAST_SHARE


def scenario_of(
    network: FluidNetwork, discipline: Discipline, queue: float, *, limit: int, seed: int = 1
) -> NetworkScenario:
    """A network as a scenario of the network world.

    Args:
        network: N (rounded), C, R; one packet per ACK.
        discipline: Before the bottleneck.
        queue: q0, packets, which is part of the round trip.
        limit: Of the buffer, packets.
        seed: Of every random stream.

    Raises:
        SluiceError: If the queue alone takes the whole round trip.
    """
    rate_bps = network.capacity_pps * PACKET_BYTES * 8
    propagation_s = network.rtt_s - queue / network.capacity_pps
    # on the way there and back, half of it on the clients' links
    if propagation_s * 0.9 <= 0:
        raise SluiceError(
            f"rtt_s = {network.rtt_s:g} must exceed the wait in a queue of {queue:.3g} packets"
        )
    quarter_s = propagation_s / 8
    rtt_s = min(network.rtt_s, 1.0)
    duration_s = max(_LEAST_S, _ROUND_TRIPS * rtt_s)
    return NetworkScenario(
        topology=Dumbbell(
            rate_bps=rate_bps,
            delay_s=quarter_s,
            server_delay_s=quarter_s,
            client_delays_s=[
                2 * quarter_s + propagation_s / 2 * (factor - 1) for factor in _PAIRS
            ],
            access_rate_bps=10 * rate_bps,
        ),
        flows=[
            TcpFlows(
                count=max(1, round(network.flows)),
                spread_s=max(1.0, 2 * rtt_s),
                tcp=Tcp(like="ns2", packet_bytes=PACKET_BYTES, receiver_window=100_000),
            )
        ],
        queue=Queue(limit=limit),
        disciplines=[discipline],
        duration_s=duration_s,
        sample_s=rtt_s / _SAMPLES_PER_RTT,
        replications=1,
        seed=seed,
    )


def swing(samples: FloatArray, sample_s: float, frequency: float) -> Swing:
    """How a sampled queue moves.

    Args:
        samples: Packets, shape (T,), one each `sample_s` seconds.
        sample_s: s.
        frequency: The predicted one, rad/s; 0 where none is: no share is found then.
    """
    mean = float(samples.mean())
    if mean == 0:
        return Swing(0.0, 0.0)
    deviation = float(samples.std()) / mean
    if frequency <= 0:
        return Swing(deviation, 0.0)
    # eight periods tell an octave from its neighbours
    period = 2 * math.pi / frequency / sample_s
    length = min(len(samples), round(8 * period))
    hertz, power = signal.welch(samples, 1 / sample_s, nperseg=length)
    near = np.abs(np.log2(np.maximum(2 * math.pi * hertz, 1e-12) / frequency)) <= 1
    return Swing(deviation, float(power[near].sum() / power.sum()))
