"""A shaper that follows its link: the loop of cake-autorate in a scenario.

Where the rate of a link varies, the queue is behind the shaper, in a modem that has no AQM. The
loop measures delay and load 20 times a second, and sets the shaper's rate: down when delays show a
queue in the modem, up when the shaper is busy and they do not (lynxthecat/cake-autorate,
`cake-autorate.sh` and `defaults.sh` at 070397946aca; the constants are its defaults).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from os import PathLike

import polars as pl

from sluicegate.errors import SluiceError
from sluicegate.scenario import Discipline, NetworkScenario
from sluicegate.worlds.network.record import NetworkRecord
from sluicegate.worlds.network.session import NetworkObservation, NetworkSession, PortState

# six reflectors, each probed every 0.3 s
_PROBES_S = 0.05
# time over which the load is measured
_LOAD_S = 0.2
# from the base line of the delay: it rises slowly and falls at once
_BASELINE_UP, _BASELINE_DOWN = 0.001, 0.9
# delays, s: up to the first the rate rises fastest, from the second on there is a queue, beyond the
# third the rate falls fastest
_RISE_S, _QUEUE_S, _FALL_S = 0.01, 0.03, 0.06
# of the last six delays, three must be long
_WINDOW, _LONG = 6, 3
_LEAST_DOWN, _MOST_DOWN = 0.99, 0.75
_LEAST_UP, _MOST_UP = 1.0, 1.04
_BACK_DOWN, _BACK_UP = 0.99, 1.01
_HIGH_LOAD = 0.75
# after a fall, and between steps back to the base rate, s
_PAUSE_S, _BACK_S = 0.3, 1.0
# a packet that the shaper sends delays a probe
_PACKET_BITS = 12_000


@dataclass(frozen=True)
class Rates:
    """Between which rates the shaper moves, bits/s.

    Attributes:
        least_bps: Never below it.
        base_bps: Where it begins, and goes back to when little is sent.
        most_bps: Never above it.
    """

    least_bps: float
    base_bps: float
    most_bps: float

    def __post_init__(self) -> None:
        """Refuse rates in another order."""
        if not 0 < self.least_bps <= self.base_bps <= self.most_bps:
            raise SluiceError(
                f"rates must rise: least_bps = {self.least_bps:g}, base_bps = {self.base_bps:g}, "
                f"most_bps = {self.most_bps:g}"
            )


@dataclass
class Loop:
    """The loop by itself: it is told delays and loads, and answers rates.

    Attributes:
        rates: Its bounds.
        rate_bps: The present one.
    """

    rates: Rates
    rate_bps: float = field(init=False)
    _baseline_s: float | None = None
    _fell_s: float = -1.0
    _back_s: float = -1.0
    _deltas_s: deque[float] = field(default_factory=lambda: deque(maxlen=_WINDOW))

    def __post_init__(self) -> None:
        """Begin at the base rate."""
        self.rate_bps = self.rates.base_bps

    def answer(self, now_s: float, delay_s: float, sent_bps: float) -> float:
        """The rate after a probe.

        Args:
            now_s: The time.
            delay_s: What the probe took.
            sent_bps: What the shaper sent lately.
        """
        self._deltas_s.append(self._above_baseline(delay_s))
        packet_s = _PACKET_BITS / self.rate_bps
        long = sum(delta_s > _QUEUE_S + packet_s for delta_s in self._deltas_s)
        mean_s = sum(self._deltas_s) / len(self._deltas_s) - packet_s
        may_move = now_s > self._fell_s + _PAUSE_S
        if long >= _LONG:
            if may_move:
                self.rate_bps *= _between(mean_s, _QUEUE_S, _FALL_S, _LEAST_DOWN, _MOST_DOWN)
                self._fell_s = now_s
        elif sent_bps > _HIGH_LOAD * self.rate_bps:
            if may_move:
                self.rate_bps *= _between(mean_s, _RISE_S, _QUEUE_S, _MOST_UP, _LEAST_UP)
        elif now_s > self._back_s + _BACK_S:
            self._go_back()
            self._back_s = now_s
        self.rate_bps = min(max(self.rate_bps, self.rates.least_bps), self.rates.most_bps)
        return self.rate_bps

    def _above_baseline(self, delay_s: float) -> float:
        if self._baseline_s is None:
            self._baseline_s = delay_s
        share = _BASELINE_UP if delay_s >= self._baseline_s else _BASELINE_DOWN
        self._baseline_s += share * (delay_s - self._baseline_s)
        return delay_s - self._baseline_s

    def _go_back(self) -> None:
        base_bps = self.rates.base_bps
        if self.rate_bps > base_bps:
            self.rate_bps = max(base_bps, self.rate_bps * _BACK_DOWN)
        else:
            self.rate_bps = min(base_bps, self.rate_bps * _BACK_UP)


def _between(value: float, low: float, high: float, at_low: float, at_high: float) -> float:
    """Linear from one point to another, and constant outside."""
    share = min(max((value - low) / (high - low), 0.0), 1.0)
    return at_low + share * (at_high - at_low)


@dataclass(frozen=True)
class Followed:
    """A run with the loop at work.

    Attributes:
        record: Of the run.
        course: What the loop saw and did: `time_s`, `rate_bps` of the shaper, `link_bps` of the
            bottleneck, `delay_s` in its queue, `sent_bps` by the shaper.
    """

    record: NetworkRecord
    course: pl.DataFrame


def autorate(
    scenario: NetworkScenario | str | PathLike[str],
    rates: Rates,
    *,
    shaper: str,
    bottleneck: str,
    discipline: Discipline | None = None,
) -> Followed:
    """Run a scenario whose shaper follows its link.

    A probe takes the time that the bottleneck needs for what waits before it. While the link stands
    still no probe comes back, and nothing is set.

    Args:
        scenario: Both links have a queue, and the shaper's rate is constant.
        rates: Bounds of the shaper's rate.
        shaper: Name of its link, `left -> right`.
        bottleneck: Name of the link behind it.
        discipline: Which is compared; the scenario's only one if None.

    Raises:
        SluiceError: If a link is not there or has no queue, or as `NetworkSession`.
    """
    session = NetworkSession(scenario, discipline)
    loop = Loop(rates)
    session.retune(rate_bps=round(loop.rate_bps), link=shaper)
    sent: deque[int] = deque(maxlen=round(_LOAD_S / _PROBES_S) + 1)
    rows = []
    for number in range(1, int(session.end_s / _PROBES_S)):
        now_s = number * _PROBES_S
        session.advance(to_s=now_s)
        seen = session.observe()
        own, behind = _port(seen, shaper), _port(seen, bottleneck)
        sent.append(own.sent_bytes)
        sent_bps = 8 * (sent[-1] - sent[0]) / (_PROBES_S * max(1, len(sent) - 1))
        if behind.rate_bps == 0:
            continue
        delay_s = 8 * behind.queue.bytes / behind.rate_bps
        session.retune(rate_bps=round(loop.answer(now_s, delay_s, sent_bps)), link=shaper)
        rows.append((now_s, loop.rate_bps, float(behind.rate_bps), delay_s, sent_bps))
    columns = ["time_s", "rate_bps", "link_bps", "delay_s", "sent_bps"]
    course = pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.Float64), orient="row")
    return Followed(session.record(), course)


def _port(seen: NetworkObservation, name: str) -> PortState:
    for port in seen.ports:
        if port.name == name:
            return port
    known = ", ".join(port.name for port in seen.ports)
    raise SluiceError(f"{name} is no link with a queue; there are {known}")
