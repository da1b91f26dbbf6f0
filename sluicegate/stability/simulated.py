"""The same network, packet by packet: does the queue oscillate where the theory says so?

A dumb-bell of the network world: N persistent flows of NewReno without delayed ACKs, whose round
trips, queue included, are within 10 % of R. In the second half of the run, the queue **oscillates**
if one of these holds:

- Its autocorrelation has a peak of at least a quarter at a lag between 0.6 and 1.4 predicted
  periods: a quarter of a disturbance is left one period later. The period follows from the
  imaginary part of the rightmost root.
- Its standard deviation is at least half of its mean: far beyond the boundary the buffer is empty
  again and again, without any period.

A small amplitude proves nothing: real TCP halves its window once per round trip at most, so the
oscillation of an unstable loop can be smaller than the noise of a stable one.
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
LEAST_MEMORY, LEAST_DEVIATION = 0.25, 0.5
# of the predicted period: where the peak is looked for
_NEAR = (0.6, 1.4)
_PAIRS = (0.9, 0.95, 1.0, 1.05, 1.1)
_SAMPLES_PER_RTT = 20
# of the run: enough for the slow mode of the loss ratio of LRED, and for some tens of periods
_LEAST_S, _ROUND_TRIPS = 200.0, 800


@dataclass(frozen=True)
class Swing:
    """How a queue moves about its mean.

    Attributes:
        deviation: Standard deviation over the mean.
        memory: The autocorrelation's highest peak about one predicted period; 0 without any.
    """

    deviation: float
    memory: float

    @property
    def oscillates(self) -> bool:
        """By the rule at the top of this file."""
        return self.memory >= LEAST_MEMORY or self.deviation >= LEAST_DEVIATION


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
            client_delays_s=[2 * quarter_s + propagation_s / 2 * (factor - 1) for factor in _PAIRS],
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
        frequency: The predicted one, rad/s; if 0, no peak is looked for.
    """
    mean, deviation = float(samples.mean()), float(samples.std())
    if deviation == 0 or frequency <= 0:
        return Swing(deviation / mean if mean else 0.0, 0.0)
    centred = samples - mean
    products = signal.correlate(centred, centred, method="fft")[len(samples) - 1 :]
    correlation = products / products[0]
    period = 2 * math.pi / frequency / sample_s
    # a noisy curve has peaks everywhere: a tenth of a period is one point
    peaks, _ = signal.find_peaks(correlation, distance=max(1, round(period / 10)))
    near = peaks[(peaks >= _NEAR[0] * period) & (peaks <= _NEAR[1] * period)]
    return Swing(deviation / mean, float(correlation[near].max(initial=0.0)))
