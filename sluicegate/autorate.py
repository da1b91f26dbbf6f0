"""A shaper that follows its link: the loop of cake-autorate in a scenario.

Where the rate of a link varies, the queue is behind the shaper, in a modem that has no AQM. The
loop measures delay 20 times a second and load five times, and sets the shaper's rate: down when
delays show a queue in the modem, up when the shaper is busy and they do not
(lynxthecat/cake-autorate, `cake-autorate.sh` and `defaults.sh` at 070397946aca; the constants are
its defaults). Its pinger is fping, which gives round trips; half of one counts as the delay of each
direction. So 30 ms of delay are 60 ms in the queue of one direction.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import inf
from os import PathLike

import polars as pl

from sluicegate.errors import SluiceError
from sluicegate.scenario import NetworkScenario, opened
from sluicegate.scenario.choice import Choice
from sluicegate.worlds.network.record import NetworkRecord
from sluicegate.worlds.network.session import NetworkObservation, NetworkSession, PortState

# six reflectors, each probed every 0.3 s
_REFLECTORS, _PROBES_US = 6, 50_000
# time over which the load is measured, in probes: 0.2 s
_LOAD_PROBES = 4
# the base line of a reflector's delay: it starts high, rises slowly and falls at once
_BASELINE_S, _BASELINE_UP, _BASELINE_DOWN = 0.1, 0.001, 0.9
# delays, s: up to the first the rate rises fastest, from the second on there is a queue, beyond the
# third the rate falls fastest
_RISE_S, _QUEUE_S, _FALL_S = 0.01, 0.03, 0.06
# of the last six delays, three must be long
_WINDOW, _LONG = 6, 3
_LEAST_DOWN, _MOST_DOWN = 0.99, 0.75
_LEAST_UP, _MOST_UP = 1.0, 1.04
_BACK_DOWN, _BACK_UP = 0.99, 1.01
# in whole per cent, the load must be above 75
_HIGH_LOAD = 0.76
# after a fall, and between steps back to the base rate
_PAUSE_US, _BACK_US = 300_000, 1_000_000
# a packet that the shaper sends delays a probe
_PACKET_BITS = 12_000
_US_PER_S = 1_000_000


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
        """Refuse rates in another order, and those that are no numbers."""
        if not 0 < self.least_bps <= self.base_bps <= self.most_bps < inf:
            raise SluiceError(
                f"rates must rise and be finite: least_bps = {self.least_bps:g}, "
                f"base_bps = {self.base_bps:g}, most_bps = {self.most_bps:g}"
            )


@dataclass
class Loop:
    """The loop by itself: it is told loads and delays, and answers rates.

    Attributes:
        rates: Its bounds.
        rate_bps: The present one.
    """

    rates: Rates
    rate_bps: float = field(init=False)
    _busy: bool = False
    # a load was measured since the last rise
    _may_rise: bool = False
    _fell_us: int = 0
    # when the rate last moved, or could have gone back
    _moved_us: int = 0
    _baselines_s: deque[float] = field(
        default_factory=lambda: deque([_BASELINE_S] * _REFLECTORS, _REFLECTORS)
    )
    _deltas_s: deque[float] = field(default_factory=lambda: deque([0.0] * _WINDOW, _WINDOW))
    _long: deque[bool] = field(default_factory=lambda: deque(maxlen=_WINDOW))

    def __post_init__(self) -> None:
        """Begin at the base rate."""
        self.rate_bps = self.rates.base_bps

    def measured(self, sent_bps: float) -> None:
        """Take in a load: it counts until the next one, and allows one rise.

        Args:
            sent_bps: What the shaper sent in the last 0.2 s.
        """
        self._busy = sent_bps >= _HIGH_LOAD * self.rate_bps
        self._may_rise = True

    def answer(self, now_us: int, delay_s: float) -> float:
        """The rate after a probe.

        Args:
            now_us: The time since the start, microseconds.
            delay_s: Half of the round trip that the probe took.
        """
        packet_s = _PACKET_BITS / self.rate_bps
        delta_s = self._above_baseline(delay_s)
        self._deltas_s.append(delta_s)
        self._long.append(delta_s > _QUEUE_S + packet_s)
        mean_s = sum(self._deltas_s) / _WINDOW - packet_s
        paused = now_us <= self._fell_us + _PAUSE_US
        if sum(self._long) >= _LONG:
            if not paused:
                self.rate_bps *= _between(mean_s, _QUEUE_S, _FALL_S, _LEAST_DOWN, _MOST_DOWN)
                self._fell_us = self._moved_us = now_us
        elif self._busy:
            if self._may_rise and not paused:
                self.rate_bps *= _between(mean_s, _RISE_S, _QUEUE_S, _MOST_UP, _LEAST_UP)
                self._may_rise = False
                self._moved_us = now_us
        elif now_us > self._moved_us + _BACK_US:
            self._go_back()
            self._moved_us = now_us
        self.rate_bps = min(max(self.rate_bps, self.rates.least_bps), self.rates.most_bps)
        return self.rate_bps

    def _above_baseline(self, delay_s: float) -> float:
        """Each reflector has its own base line; they answer in turn."""
        baseline_s = self._baselines_s[0]
        share = _BASELINE_UP if delay_s >= baseline_s else _BASELINE_DOWN
        baseline_s += share * (delay_s - baseline_s)
        self._baselines_s.append(baseline_s)
        return delay_s - baseline_s

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
            bottleneck, `delay_s` in its queue, `sent_bps` by the shaper in the last whole 0.2 s.
    """

    record: NetworkRecord
    course: pl.DataFrame


def autorate(
    scenario: NetworkScenario | str | PathLike[str],
    rates: Rates,
    *,
    shaper: str,
    bottleneck: str,
    discipline: Choice = None,
) -> Followed:
    """Run a scenario whose shaper follows its link.

    A probe takes the time that the bottleneck needs for what waits before it; the loop sees half of
    it, as its fping gives half of a round trip. While the link stands still no probe comes back,
    and nothing is set.

    Args:
        scenario: Both links have a queue, the shaper's rate is constant; one replication.
        rates: Bounds of the shaper's rate.
        shaper: Name of its link, `left -> right`.
        bottleneck: Name of the link behind it.
        discipline: Which is compared, itself or by its name or place; the only one if None.

    Raises:
        SluiceError: If a link is not there or has no queue, if both are the same, if there are
            several replications, or as `NetworkSession`.
    """
    if shaper == bottleneck:
        raise SluiceError(f"shaper and bottleneck are both {shaper}: they must be two links")
    scenario = opened(scenario, NetworkScenario)
    if scenario.replications != 1:
        raise SluiceError(
            f"replications = {scenario.replications} must be 1: the loop follows one run"
        )
    session = NetworkSession(scenario, discipline)
    loop = Loop(rates)
    session.retune(rate_bps=round(loop.rate_bps), link=shaper)
    before_bytes, sent_bps = 0, 0.0
    rows = []
    for number in range(1, int(session.end_s * _US_PER_S / _PROBES_US)):
        now_us = number * _PROBES_US
        session.advance(to_s=now_us / _US_PER_S)
        seen = session.observe()
        own, behind = _port(seen, shaper), _port(seen, bottleneck)
        if number % _LOAD_PROBES == 0:
            took_s = _LOAD_PROBES * _PROBES_US / _US_PER_S
            sent_bps = 8 * (own.sent_bytes - before_bytes) / took_s
            before_bytes = own.sent_bytes
            loop.measured(sent_bps)
        if behind.rate_bps == 0:
            continue
        delay_s = 8 * behind.queue.bytes / behind.rate_bps
        session.retune(rate_bps=round(loop.answer(now_us, delay_s / 2)), link=shaper)
        rows.append((now_us / _US_PER_S, loop.rate_bps, float(behind.rate_bps), delay_s, sent_bps))
    columns = ["time_s", "rate_bps", "link_bps", "delay_s", "sent_bps"]
    course = pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.Float64), orient="row")
    return Followed(session.record(), course)


def _port(seen: NetworkObservation, name: str) -> PortState:
    for port in seen.ports:
        if port.name == name:
            return port
    known = ", ".join(port.name for port in seen.ports)
    raise SluiceError(f"{name} is no link with a queue; there are {known}")
