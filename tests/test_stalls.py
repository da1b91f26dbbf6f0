"""Runs with real packets are made again, or skipped, only where the machine held them up."""

import os
import signal
import time
from contextlib import contextmanager

import pytest
import stalls


def undisturbed(monkeypatch, runs, seen_s):
    """Take runs in their order, each with the stalls of the router and of hosts, s."""

    @contextmanager
    def witness():
        yield lambda: seen_s

    monkeypatch.setattr(stalls, "witness", witness)
    left = list(runs)
    return stalls.undisturbed(lambda: left.pop(0), lambda run: run)


def test_the_first_run_that_nothing_held_up_counts(monkeypatch):
    runs = [(0.2, 0.1), (0.01, 0.02), (0.0, 0.0)]
    assert undisturbed(monkeypatch, runs, 0.1) == (0.01, 0.02)
    # what the run did not notice does not matter
    assert undisturbed(monkeypatch, runs[1:], 0.1) == (0.01, 0.02)


@pytest.mark.parametrize(("hosts_s", "seen_s"), [(0.1, 0.001), (0.001, 0.1)])
def test_a_machine_that_holds_up_all_runs_skips_the_test(monkeypatch, hosts_s, seen_s):
    with pytest.raises(pytest.skip.Exception, match=r"three runs, by 0\.1 s"):
        undisturbed(monkeypatch, [(0.2, hosts_s)] * 3, seen_s)


def test_a_router_that_alone_is_late_fails_the_test(monkeypatch):
    runs = [(0.2, 0.1), (0.2, 0.001), (0.2, 0.1)]
    with pytest.raises(pytest.fail.Exception, match=r"sluiced was late, .* by 0\.002 s only"):
        undisturbed(monkeypatch, runs, 0.002)


def test_a_thread_that_sleeps_sees_a_stall(monkeypatch):
    made = []
    popen = stalls.subprocess.Popen

    def noted(*given, **more):
        made.append(popen(*given, **more))
        return made[-1]

    monkeypatch.setattr(stalls.subprocess, "Popen", noted)
    with stalls.witness() as lateness_s:
        os.kill(made[0].pid, signal.SIGSTOP)
        time.sleep(2 * stalls.HELD_UP_S)
        os.kill(made[0].pid, signal.SIGCONT)
        assert lateness_s() > stalls.HELD_UP_S
