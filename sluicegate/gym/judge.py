"""What an agent is judged by: a trade-off, its exact optimum, and the regret of a policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sluicegate.errors import SluiceError
from sluicegate.estimate import Measure, student
from sluicegate.frontier.admission import admission
from sluicegate.frontier.iteration import least
from sluicegate.frontier.places import late_share
from sluicegate.frontier.policy import Policy, policy_of
from sluicegate.frontier.process import Process, evaluate
from sluicegate.frontier.source import of_scenario
from sluicegate.scenario import Discipline, Scenario
from sluicegate.worlds.slotted import simulate

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class TradeOff:
    """What a step costs: 1 for each packet lost, and this for delay. The reward is minus the cost.

    Attributes:
        queue: For each packet that waits at the end of a slot.
        late: For each packet whose service starts after the deadline.
        deadline: In slots; needed with `late`.
    """

    queue: float = 0.0
    late: float = 0.0
    deadline: int | None = None

    def __post_init__(self) -> None:
        """Check it.

        Raises:
            SluiceError: If a cost is below 0, or there is no deadline for what is late.
        """
        for name in ("queue", "late"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise SluiceError(f"trade-off: {name} = {value} must be a number of at least 0")
        if self.late and (self.deadline is None or self.deadline < 0):
            raise SluiceError(
                f"trade-off: deadline = {self.deadline} must be a number of slots, as late = "
                f"{self.late} counts what waits for longer"
            )

    @property
    def weights(self) -> dict[str, float]:
        """Of the events of a process."""
        late = {"late": self.late} if self.late else {}
        return {"lost": 1.0, "queue": self.queue, **late}

    def of_record(self, scenario: Scenario, discipline: Discipline) -> float:
        """Mean cost per arrival of an AQM, from one run."""
        record = simulate(scenario, discipline)
        loss = record["loss_ratio"].value
        rate = of_scenario(scenario).rate
        cost = loss + self.queue * record["queue_mean"].value / rate
        if self.late:
            assert self.deadline is not None
            cost += self.late * (1 - loss) * late_share(record, self.deadline, scenario.slot_s or 1)
        return float(cost)


@dataclass(frozen=True)
class Optimum:
    """The best policy that sees the queue.

    Attributes:
        cost: Its mean cost per arrival.
        policy: What it does.
    """

    cost: float
    policy: Policy


@dataclass(frozen=True)
class Baseline:
    """An AQM beside the optimum.

    Attributes:
        name: Of its discipline.
        cost: Mean cost per arrival.
        regret: What is above the optimum's.
    """

    name: str
    cost: Measure
    regret: Measure


def optimum(scenario: Scenario, trade_off: TradeOff) -> Optimum:
    """The least mean cost per arrival, exactly.

    Raises:
        SluiceError: If the scenario has no exact chain.
    """
    process, cost = _process(scenario, trade_off)
    best = least(process, [cost])
    return Optimum(_per_arrival(scenario, float(best.occupation @ cost)), policy_of(process, best))


def regret_of_table(scenario: Scenario, trade_off: TradeOff, drops: ArrayLike) -> float:
    """How much more a policy costs per arrival than the optimum, exactly.

    Args:
        scenario: As for `optimum`.
        trade_off: What is weighed.
        drops: Drop probability by the packets in the system that an arrival finds, shape (n,); a
            longer queue is treated as the last one.

    Raises:
        SluiceError: If a drop probability is none.
    """
    given = np.asarray(drops, dtype=float)
    if given.ndim != 1 or not len(given) or not ((given >= 0) & (given <= 1)).all():
        raise SluiceError("drops: must be one or more probabilities, from 0 to 1")
    process, cost = _process(scenario, trade_off)
    nodes = process.choices
    shares = np.ones(len(process.node))
    admits = process.first[nodes]
    share = given[np.minimum(process.seen["packets"][nodes], len(given) - 1)]
    shares[admits], shares[admits + 1] = 1 - share, share
    own = _per_arrival(scenario, float(evaluate(process, shares).occupation @ cost))
    return own - optimum(scenario, trade_off).cost


def baselines(
    scenario: Scenario, trade_off: TradeOff, disciplines: Sequence[Discipline] | None = None
) -> list[Baseline]:
    """AQMs beside the optimum: simulated, with 95 % intervals from their replications.

    Args:
        scenario: As for `optimum`.
        trade_off: What is weighed.
        disciplines: The scenario's if None.
    """
    best = optimum(scenario, trade_off).cost
    found = []
    for discipline in disciplines or scenario.disciplines:
        runs = scenario.runs
        costs = np.array(
            [
                trade_off.of_record(
                    scenario.replace(replications=1, seed=scenario.seed + run), discipline
                )
                for run in range(runs)
            ]
        )
        cost = student(costs, "") if runs > 1 else Measure(float(costs[0]), None, "")
        regret = Measure(cost.value - best, cost.half_width, "")
        found.append(Baseline(discipline.name, cost, regret))
    return found


def _process(scenario: Scenario, trade_off: TradeOff) -> tuple[Process, FloatArray]:
    process = admission(of_scenario(scenario), scenario.queue.limit, trade_off.deadline)
    return process, process.weighted(trade_off.weights)


def _per_arrival(scenario: Scenario, per_slot: float) -> float:
    return per_slot / of_scenario(scenario).rate
