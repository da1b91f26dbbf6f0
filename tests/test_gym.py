"""Environments for learning: Gymnasium's checker, seeds, counts, the optimum, and export."""

import numpy as np
import pytest

import sluicegate as sg
from sluicegate import network
from sluicegate.cli import main
from sluicegate.frontier import Policy
from sluicegate.frontier.header import write_header

gymnasium = pytest.importorskip("gymnasium")
env_checker = pytest.importorskip("gymnasium.utils.env_checker")

from sluicegate.gym import (  # noqa: E402
    NetworkEnv,
    SlottedEnv,
    SlottedVectorEnv,
    TradeOff,
    baselines,
    optimum,
    regret_of_table,
)

IN_TIME = TradeOff(late=1.0, deadline=10)


def scenario(slots=20_000, **more):
    return sg.Scenario(
        arrivals=sg.GeometricArrivals(rate=0.5),
        service=sg.GeometricService(mu=0.5),
        queue=sg.Queue(limit=40),
        disciplines=[sg.Discipline(aqm="drop_tail")],
        slots=slots,
        **more,
    )


def dumbbell(**more):
    return network.NetworkScenario(
        topology=network.Dumbbell(rate_bps=2e6, client_delays_s=[0.01, 0.02]),
        flows=[network.TcpFlows(count=3)],
        queue=sg.Queue(limit=50),
        disciplines=[sg.Discipline(aqm="drop_tail")],
        **{"duration_s": 2, "warm_up_s": 0, **more},
    )


@pytest.mark.parametrize("actions", ["choice", "probability"])
@pytest.mark.parametrize("reveal", [False, True])
def test_the_slotted_environment_passes_the_checker(actions, reveal):
    kwargs = {"scenario": scenario(), "trade_off": IN_TIME, "actions": actions, "reveal": reveal}
    env = gymnasium.make("sluicegate/Slotted-v0", **kwargs)
    env_checker.check_env(env.unwrapped, skip_render_check=True)


def test_the_network_environment_passes_the_checker():
    env = gymnasium.make("sluicegate/Network-v0", scenario=dumbbell(), reveal=True)
    # the checker warns of what has no greatest value
    env_checker.check_env(env.unwrapped, skip_render_check=True)


def episode(env, seed):
    seen, _ = env.reset(seed=seed)
    told = [(*seen.tolist(), 0.0)]
    over = False
    while not over:
        seen, reward, _, over, _ = env.step(np.array([0.05]))
        told.append((*seen.tolist(), reward))
    return told


@pytest.mark.parametrize(
    "env",
    [
        SlottedEnv(scenario(2000), TradeOff(queue=0.01), actions="probability"),
        NetworkEnv(dumbbell()),
    ],
)
def test_the_same_seed_is_the_same_episode(env):
    assert episode(env, 5) == episode(env, 5)
    assert episode(env, 5) != episode(env, 6)


def test_many_queues_are_one_queue_each():
    many = SlottedVectorEnv(scenario(1000), IN_TIME, num_envs=4, actions="probability")
    seen, _ = many.reset(seed=1)
    assert many.observation_space.contains(seen)
    ends = 0
    for _ in range(600):
        seen, reward, ended, over, told = many.step(np.full((4, 1), 0.2))
        assert many.observation_space.contains(seen)
        assert not ended.any()
        assert np.array_equal(reward, -(told["lost"] + told["late"]))
        ends += int(over.sum())
    # an episode of 1000 slots has about 500 arrivals, and the next one begins by itself
    assert ends >= 4
    made = gymnasium.make_vec(
        "sluicegate/Slotted-v0",
        num_envs=3,
        vectorization_mode="vector_entry_point",
        scenario=scenario(),
        trade_off=IN_TIME,
    )
    assert made.reset(seed=1)[0].shape == (3, 3)


def test_the_best_policy_earns_the_optimum():
    best = optimum(scenario(), IN_TIME)
    assert best.cost == pytest.approx(1 - 0.874131944, abs=1e-9)
    threshold, _ = best.policy.threshold
    assert threshold == 4
    assert regret_of_table(scenario(), IN_TIME, best.policy.drops) == pytest.approx(0, abs=1e-12)
    # drop-tail is the table that drops nothing: 0.144578 in time
    drop_tail = regret_of_table(scenario(), IN_TIME, [0])
    assert drop_tail == pytest.approx(0.874132 - 0.144578, abs=2e-6)
    queues = SlottedVectorEnv(scenario(10**7), IN_TIME)
    seen, _ = queues.reset(seed=2)
    rewards = []
    for _ in range(3000):
        seen, reward, *_ = queues.step((seen[:, 0] >= threshold).astype(int))
        rewards.append(reward)
    of_each = np.mean(rewards, axis=0)
    error = of_each.std(ddof=1) / np.sqrt(len(of_each))
    assert abs(-of_each.mean() - best.cost) < 4 * error


def test_baselines_have_a_regret_with_an_interval():
    own = scenario(100_000, replications=4)
    drop_tail, pie = baselines(
        own, IN_TIME, [sg.Discipline(aqm="drop_tail"), sg.Discipline(aqm="pie")]
    )
    exact = regret_of_table(own, IN_TIME, [0])
    assert abs(drop_tail.regret.value - exact) < 2 * drop_tail.regret.half_width
    assert pie.regret.value > 0


def test_a_queue_cost_is_that_of_the_chain():
    trade_off = TradeOff(queue=0.01)
    # alpha = mu = 1/2: queue K (K + 1) / (2 K + 3), loss 1 / (2 K + 3), a packet each two slots
    expected = 1 / 83 + 2 * 0.01 * 40 * 41 / 83
    found = regret_of_table(scenario(), trade_off, [0]) + optimum(scenario(), trade_off).cost
    assert found == pytest.approx(expected, abs=1e-9)


def test_a_trained_table_is_a_header(tmp_path):
    drops = np.array([0, 0, 0, 0.25, *[1.0] * 37])
    header = tmp_path / "learned.h"
    write_header(header, Policy(drops), "Learned")
    assert main(["aqm", str(header)]) == 0
    record = sg.chain.solve(scenario(), sg.Discipline(aqm=str(header))).record
    loss = record["loss_ratio"].value
    cost = loss + (1 - loss) * record.sojourn_distribution[11:].sum()
    expected = regret_of_table(scenario(), IN_TIME, drops) + optimum(scenario(), IN_TIME).cost
    assert cost == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: TradeOff(queue=-1), "queue = -1 must be a number of at least 0"),
        (lambda: TradeOff(late=1), "deadline = None must be a number of slots"),
        (lambda: SlottedEnv(dumbbell(), IN_TIME), "must be one of the slotted queue"),
        (lambda: SlottedEnv(scenario(), IN_TIME, actions="maybe"), "must be choice or probability"),
        (lambda: SlottedVectorEnv(scenario(), IN_TIME, num_envs=0), "num_envs = 0 must be at lea"),
        (lambda: NetworkEnv(scenario()), "must be one of a network"),
        (lambda: NetworkEnv(dumbbell(), interval_s=0), "interval_s = 0 must be above 0"),
        (lambda: NetworkEnv(dumbbell()).step([0]), "reset.. must come before step"),
        (lambda: regret_of_table(scenario(), IN_TIME, [2]), "must be one or more probabilities"),
    ],
)
def test_what_is_refused(make, problem):
    with pytest.raises(sg.SluiceError, match=problem):
        make()


def test_a_wrong_action_is_refused():
    env = SlottedEnv(scenario(), IN_TIME, actions="probability")
    env.reset(seed=1)
    with pytest.raises(ValueError, match="drop probability = 2 must lie between 0 and 1"):
        env.step(np.array([2.0]))
