"""Transients: towards the steady state, compared with short simulations; refusals."""

import numpy as np
import pytest
from intervals import assert_mean

import sluicegate as sg

RED = {"spacing": "independent", "idle_decay": False}


def scenario(rate=0.6, *, limit=15, aqm="red", **params):
    usual = RED | {"min_th": 3, "max_th": 9, "w": 0.2, "max_p": 0.3}
    return sg.Scenario(
        arrivals=sg.GeometricArrivals(rate=rate),
        service=sg.GeometricService(mu=0.5),
        queue=sg.Queue(limit=limit),
        disciplines=[sg.Discipline(aqm=aqm, params=usual | params)],
        slots=1000,
    )


def test_every_start_leads_to_the_steady_state():
    steady = sg.chain.solve(scenario())
    starts = (
        {},
        {"start_queue": 15, "start_average": 9},
        {"start": scenario(0.2)},
    )
    for start in starts:
        found = sg.chain.transient(scenario(), slots=[0, 10, 20_000], **start)
        np.testing.assert_allclose(found.queue_distribution.sum(axis=1), 1, atol=1e-9)
        assert (np.diff(found.error) >= 0).all()
        assert found.error[-1] < 2e-9
        assert found.multiplications[-1] < 1000
        distribution = steady.record.queue_distribution
        off = np.abs(found.queue_distribution[-1] - distribution).sum()
        assert off < found.error[-1] + steady.error
        assert found.queue_mean[-1] == pytest.approx(steady.record["queue_mean"].value, abs=1e-8)
        assert found.loss_ratio[-1] == pytest.approx(steady.record["loss_ratio"].value, abs=1e-8)
        mean = steady.average_distribution @ steady.average_levels
        assert found.average_mean[-1] == pytest.approx(mean, abs=1e-8)


def test_starts():
    empty = sg.chain.transient(scenario(), slots=[0])
    assert (empty.queue_mean[0], empty.average_mean[0], empty.error[0]) == (0, 0, 0)
    full = sg.chain.transient(scenario(), slots=[0], start_queue=15, start_average=8.9)
    assert full.queue_mean[0] == 15
    assert full.average_mean[0] == pytest.approx(8.9)
    before = sg.chain.solve(scenario(0.2))
    step = sg.chain.transient(scenario(), slots=[0], start=scenario(0.2))
    np.testing.assert_allclose(
        step.queue_distribution[0], before.record.queue_distribution, rtol=1e-12
    )


def queues_after(slots, runs, seed):
    """Return the lengths of `runs` independent RED queues after each of `slots`, off any grid."""
    rng = np.random.default_rng(seed)
    size, average = np.zeros(runs, dtype=int), np.zeros(runs)
    for slot in range(1, max(slots) + 1):
        served, arrived, chance = rng.random((3, runs))
        size -= (size > 0) & (served < 0.5)
        waiting = np.maximum(size - 1, 0)
        arrives = arrived < 0.6
        average = np.where(arrives, average + 0.2 * (waiting - average), average)
        p = np.select([average < 3, average < 9], [0, 0.3 * (average - 3) / 6], 1.0)
        size += arrives & (waiting < 15) & (chance >= p)
        if slot in slots:
            yield np.maximum(size - 1, 0)


def test_short_simulations_agree():
    slots, runs = [3, 20, 100], 40_000
    found = sg.chain.transient(scenario(), slots=slots, grid=1 / 32)
    for mean, queue in zip(found.queue_mean, queues_after(slots, runs, seed=5), strict=True):
        # 3 times together at 99 %
        assert_mean(queue, mean, within=0.01, errors=2.94)


def test_refusals():
    cases = (
        ({"slots": []}, r"slots = \[\] must be whole numbers from 0 on, rising"),
        ({"slots": [5, 3]}, r"slots = \[5, 3\] must be whole numbers"),
        ({"slots": [2.5]}, r"slots = \[2.5\] must be whole numbers"),
        ({"slots": [float("nan")]}, r"slots = \[nan\] must be whole numbers"),
        ({"slots": [float("inf")]}, r"slots = \[inf\] must be whole numbers"),
        ({"slots": [2**63]}, "rising, below 2\\^63"),
        ({"slots": [5], "start_queue": -1}, "start_queue = -1 must be a whole number from 0 to"),
        ({"slots": [5], "tolerance": 0}, "tolerance = 0 must lie between 0 and 1"),
        ({"slots": [5], "start_queue": 16}, "a start with queue = 16 must have at most 15"),
        ({"slots": [5], "start_average": 99.0}, "a start with average = 99 must have one from 0"),
        ({"slots": [5], "start": scenario(limit=9)}, "start: its chain has"),
        (
            {"slots": [5], "start": scenario(), "start_queue": 1},
            "give a scenario, or start_queue and start_average, not both",
        ),
    )
    for given, message in cases:
        with pytest.raises(sg.SluiceError, match=message):
            sg.chain.transient(scenario(), **given)
