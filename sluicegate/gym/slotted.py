"""The slotted queue as an environment: a step is the decision about one arrival."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from sluicegate import _engine
from sluicegate.errors import SluiceError
from sluicegate.gym.judge import TradeOff
from sluicegate.scenario import Discipline, Scenario, load

FloatArray = NDArray[np.float64]
Actions = Literal["choice", "probability"]

_COLUMN = {name: place for place, name in enumerate(_engine.SlottedEnvironments.COLUMNS)}
_COUNTS = ("slots", "packet_slots", "lost", "started", "late")
_HIDDEN = ("head_age", "service_left")
_EVENT = {"lost": "lost", "queue": "packet_slots", "late": "late"}
_MOST_SEED = 2**63


class _Queues:
    """Some queues of one scenario, with what is seen of them, done to them, and paid."""

    def __init__(
        self,
        scenario: Scenario | str,
        trade_off: TradeOff,
        actions: Actions,
        reveal: bool,
        count: int,
    ) -> None:
        given = load(scenario) if isinstance(scenario, str) else scenario
        if not isinstance(given, Scenario):
            raise SluiceError("scenario: must be one of the slotted queue, with arrivals, service")
        if actions not in ("choice", "probability"):
            raise SluiceError(f"actions = {actions} must be choice or probability")
        self.scenario, self.trade_off = given, trade_off
        deadline = 0 if trade_off.deadline is None else trade_off.deadline
        drop_tail = Discipline(aqm="drop_tail")
        self.engine = _engine.SlottedEnvironments(given.handle, drop_tail.handle, count, deadline)
        most = [given.queue.limit + 1, *[given.duration_slots] * (4 if reveal else 2)]
        self.observations = gymnasium.spaces.Box(
            np.zeros(len(most), dtype=np.float32), np.array(most, dtype=np.float32)
        )
        self.actions: gymnasium.Space[Any] = (
            gymnasium.spaces.Discrete(2)
            if actions == "choice"
            else gymnasium.spaces.Box(0.0, 1.0, (1,), np.float32)
        )
        self.reveal = reveal
        self.end = float(given.duration_slots)
        self._last = np.zeros(count)

    def reset(self, seed: int) -> NDArray[np.float32]:
        self._last[:] = 0
        return self._seen(self.engine.reset(seed))

    def step(
        self, actions: ArrayLike
    ) -> tuple[NDArray[np.float32], FloatArray, NDArray[np.bool_], dict[str, FloatArray]]:
        told = self.engine.step(np.asarray(actions, dtype=float).reshape(-1))
        counts = {name: told[:, _COLUMN[name]] for name in _COUNTS}
        cost = sum(weight * counts[_EVENT[name]] for name, weight in self.trade_off.weights.items())
        return self._seen(told), -np.asarray(cost), told[:, _COLUMN["over"]] > 0, counts

    def _seen(self, told: FloatArray) -> NDArray[np.float32]:
        slot = told[:, _COLUMN["slot"]]
        end = self.end
        columns = [
            told[:, _COLUMN["packets"]] + told[:, _COLUMN["busy"]],
            np.minimum(np.maximum(slot - self._last, 0), end),
            np.minimum(told[:, _COLUMN["sojourn"]], end),
        ]
        self._last = slot
        if self.reveal:
            hidden = (told[:, _COLUMN[name]] for name in _HIDDEN)
            columns += [np.minimum(each, end) for each in hidden]
        return np.stack(columns, axis=1).astype(np.float32)


class SlottedEnv(gymnasium.Env[NDArray[np.float32], Any]):
    """One queue. A step decides about the packet that arrives, and runs to the next one.

    What is seen, as a header sees it: packets in the system (waiting, and in service), slots since
    the last arrival, slots that the packet waited whose service started last. With `reveal` also
    what no header sees at an arrival: slots that the packet at the head has waited, and slots until
    the service ends.

    Actions: 0 admits, 1 drops; or a drop probability. A full buffer drops in any case. The reward
    is minus the trade-off's cost from this arrival to the next. An episode has the scenario's
    slots; it is truncated, as the queue would go on.

    `info` has counts since the last step: `slots`, `packet_slots`, `lost`, `started` and `late`.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        scenario: Scenario | str,
        trade_off: TradeOff,
        *,
        actions: Actions = "choice",
        reveal: bool = False,
        render_mode: None = None,
    ) -> None:
        """Make it.

        Args:
            scenario: Of the slotted queue, or its file; its disciplines do not matter.
            trade_off: What a step costs.
            actions: `choice`, or `probability`.
            reveal: Whether to show what no header sees.
            render_mode: None; there is nothing to look at.

        Raises:
            SluiceError: If the scenario is another one.
        """
        self._queues = _Queues(scenario, trade_off, actions, reveal, 1)
        self.observation_space = self._queues.observations
        self.action_space = self._queues.actions
        self._probability = np.zeros(1)
        self._costs = [
            (_COLUMN[_EVENT[name]], weight) for name, weight in trade_off.weights.items()
        ]
        self._last = 0.0

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode; the same seed gives the same one."""
        super().reset(seed=seed)
        self._last = 0.0
        told = self._queues.engine.reset(int(self.np_random.integers(_MOST_SEED)))
        return self._seen(told[0].tolist()), {}

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Decide about the packet that arrives."""
        # for one queue, lists of Python are faster than arrays
        self._probability[:] = action
        row: list[float] = self._queues.engine.step(self._probability)[0].tolist()
        cost = sum(weight * row[place] for place, weight in self._costs)
        counts = {name: row[_COLUMN[name]] for name in _COUNTS}
        return self._seen(row), -cost, False, row[_COLUMN["over"]] > 0, counts

    def _seen(self, row: list[float]) -> NDArray[np.float32]:
        end = self._queues.end
        slot = row[_COLUMN["slot"]]
        values = [
            row[_COLUMN["packets"]] + row[_COLUMN["busy"]],
            min(max(slot - self._last, 0.0), end),
            min(row[_COLUMN["sojourn"]], end),
        ]
        self._last = slot
        if self._queues.reveal:
            values += [min(row[_COLUMN[name]], end) for name in _HIDDEN]
        return np.array(values, dtype=np.float32)


class SlottedVectorEnv(VectorEnv[NDArray[np.float32], NDArray[Any], NDArray[Any]]):
    """Many queues, each as `SlottedEnv`, in one call of the engine.

    A queue whose episode is over begins the next one at the next step.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": [],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        scenario: Scenario | str,
        trade_off: TradeOff,
        *,
        num_envs: int = 64,
        actions: Actions = "choice",
        reveal: bool = False,
        render_mode: None = None,
    ) -> None:
        """As of `SlottedEnv`; `num_envs` queues."""
        if num_envs < 1:
            raise SluiceError(f"num_envs = {num_envs} must be at least 1")
        self._queues = _Queues(scenario, trade_off, actions, reveal, num_envs)
        self.num_envs = num_envs
        self.single_observation_space = self._queues.observations
        self.single_action_space = self._queues.actions
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._none, self._all = np.zeros(num_envs, dtype=bool), np.ones(num_envs, dtype=bool)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode of each; the same seed gives the same ones."""
        super().reset(seed=seed)
        return self._queues.reset(int(self.np_random.integers(_MOST_SEED))), {}

    def step(
        self, actions: ArrayLike
    ) -> tuple[
        NDArray[np.float32], FloatArray, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]
    ]:
        """Decide about the packet that arrives at each queue."""
        seen, reward, over, counts = self._queues.step(actions)
        told: dict[str, Any] = dict(counts)
        told.update({f"_{name}": self._all for name in counts})
        return seen, reward, self._none.copy(), over, told
