"""A link under TCP as an environment: a step sets the drop probability for the next interval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from sluicegate._engine import ADMIT, DROP_EARLY, View
from sluicegate.errors import SluiceError
from sluicegate.scenario import Discipline, NetworkScenario, load
from sluicegate.worlds.network import NetworkSession

_MOST_SEED = 2**63


class NetworkEnv(gymnasium.Env[NDArray[np.float32], Any]):
    """The first link with a queue of a network scenario, in steps of an interval.

    What is seen, as the tick of a header sees it: packets that wait, delay that the queue means at
    the link's rate (s), and packets that arrived and that were dropped since the last step. With
    `reveal` also the mean congestion window of the TCP flows, which no header sees.

    The action is the probability with which arrivals are dropped until the next step. The reward is
    the share of the link's rate that was used, minus `delay_cost` times the queue's delay (s). No
    optimum is known under TCP: compare with AQMs.

    An episode is one run of the scenario, and is truncated at its end.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        scenario: NetworkScenario | str,
        *,
        interval_s: float = 0.03,
        delay_cost: float = 10.0,
        reveal: bool = False,
        render_mode: None = None,
    ) -> None:
        """Make it.

        Args:
            scenario: Of the network world, or its file; its disciplines do not matter.
            interval_s: Time between two steps, s.
            delay_cost: What a second of delay costs, beside 1 for a link that is fully used.
            reveal: Whether to show what no header sees.
            render_mode: None; there is nothing to look at.

        Raises:
            SluiceError: If the scenario is another one, or if a number is out of range.
        """
        given = load(scenario) if isinstance(scenario, str) else scenario
        if not isinstance(given, NetworkScenario):
            raise SluiceError("scenario: must be one of a network, with a topology and flows")
        if not 0 < interval_s <= given.duration_s:
            raise SluiceError(
                f"interval_s = {interval_s} must be above 0 and at most {given.duration_s}, the "
                "duration"
            )
        if not (np.isfinite(delay_cost) and delay_cost >= 0):
            raise SluiceError(f"delay_cost = {delay_cost} must be a number of at least 0")
        self.scenario = given.replace(replications=1)
        self.interval_s, self.delay_cost, self.reveal = interval_s, delay_cost, reveal
        most = np.full(5 if reveal else 4, np.finfo(np.float32).max, dtype=np.float32)
        self.observation_space = gymnasium.spaces.Box(np.zeros_like(most), most)
        self.action_space = gymnasium.spaces.Box(0.0, 1.0, (1,), np.float32)
        self._session: NetworkSession | None = None
        self._drops = 0
        self._before = (0, 0, 0)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin a run; the same seed gives the same one."""
        super().reset(seed=seed)
        own = self

        class Given:
            """Drops with the probability of the last step."""

            def arrive(self, view: View) -> int:
                return DROP_EARLY if view.random >> 32 < own._drops else ADMIT

        self._drops, self._before = 0, (0, 0, 0)
        run = self.scenario.replace(seed=int(self.np_random.integers(_MOST_SEED)))
        self._session = NetworkSession(run, Discipline(aqm=Given))
        return self._seen()[0], {}

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Drop with this probability for an interval."""
        if self._session is None:
            raise SluiceError("reset() must come before step()")
        self._drops = round(float(np.clip(np.asarray(action).reshape(-1)[0], 0, 1)) * 2**32)
        end_s = self.scenario.duration_s
        until_s = min(self._session.now_s + self.interval_s, end_s)
        self._session.advance(to_s=until_s)
        seen, used = self._seen()
        reward = used - self.delay_cost * float(seen[1])
        return seen, reward, False, bool(until_s >= end_s), {"used": used}

    def _seen(self) -> tuple[NDArray[np.float32], float]:
        """The observation, and the share of the rate that was used since the last one."""
        assert self._session is not None
        state = self._session.observe()
        port = state.ports[0]
        lost = port.queue.verdicts.lost
        before, self._before = self._before, (port.arrivals, lost, port.sent_bytes)
        arrived, dropped, sent = (new - old for new, old in zip(self._before, before, strict=True))
        delay_s = 8 * port.queue.bytes / port.rate_bps
        values = [port.queue.packets, delay_s, arrived, dropped]
        if self.reveal:
            windows = [each.windows for each in state.flows if len(each.windows)]
            values.append(float(np.concatenate(windows).mean()) if windows else 0.0)
        used = min(8 * sent / (port.rate_bps * self.interval_s), 1.0)
        return np.array(values, dtype=np.float32), used
