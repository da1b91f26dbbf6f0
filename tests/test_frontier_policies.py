"""The frontier's further policies: at the head, runs of losses, classes, and the clairvoyant.

Oracles: a solver of others (mdpsolver), value iteration with all that can be known, brute force,
and runs of the headers.
"""

import itertools
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sluicegate as sg
from sluicegate.cli import main
from sluicegate.frontier import frontier
from sluicegate.frontier.admission import admission
from sluicegate.frontier.clairvoyant import clairvoyant, least_dropped
from sluicegate.frontier.classes import Classes
from sluicegate.frontier.departure import departure
from sluicegate.frontier.front import Front
from sluicegate.frontier.header import write_header
from sluicegate.frontier.iteration import least
from sluicegate.frontier.objectives import OBJECTIVES, pair
from sluicegate.frontier.places import run_lengths
from sluicegate.frontier.policy import policy_of
from sluicegate.frontier.process import evaluate
from sluicegate.frontier.program import BoundedFront
from sluicegate.frontier.source import Source

SLOTS = 400_000


def geometric(alpha, mu=0.5):
    return Source(np.array([[1 - alpha]]), np.array([[alpha]]), mu)


def scenario(*disciplines, alpha=0.5, limit=40, **more):
    return sg.Scenario(
        arrivals=sg.GeometricArrivals(rate=alpha),
        service=sg.GeometricService(mu=0.5),
        disciplines=list(disciplines) or [sg.Discipline(aqm="drop_tail")],
        **{"queue": sg.Queue(limit=limit), "slots": SLOTS, **more},
    )


# --- a solver of others ---


def slot_by_slot(alpha, mu, limit, queue_cost):
    """State 2 n + 1: a packet arrives and finds n; 2 n: none does. As mdpsolver takes it."""
    probabilities, columns, rewards = [], [], []
    for n, arrives in itertools.product(range(limit + 2), (0, 1)):
        sizes = [n] if not arrives else [n + 1, n] if n < limit + 1 else [n]
        rows = []
        for size in sizes:
            after = {}
            for served, chance in ((1, mu), (0, 1 - mu)) if size else ((0, 1.0),):
                for new, share in ((0, 1 - alpha), (1, alpha)):
                    state = 2 * (size - served) + new
                    after[state] = after.get(state, 0.0) + chance * share
            lost = float(arrives and size == n)
            rows.append((after, -lost - queue_cost * max(size - 1, 0)))
        probabilities.append([list(after.values()) for after, _ in rows])
        columns.append([list(after) for after, _ in rows])
        rewards.append([reward for _, reward in rows])
    return probabilities, columns, rewards


@pytest.mark.parametrize(
    ("alpha", "mu", "limit", "queue_cost"),
    [(0.5, 0.5, 20, 0.01), (0.7, 0.4, 12, 0.05), (0.3, 0.9, 15, 0.2)],
)
def test_another_solver_finds_the_same_optimum(alpha, mu, limit, queue_cost):
    mdpsolver = pytest.importorskip("mdpsolver")
    probabilities, columns, rewards = slot_by_slot(alpha, mu, limit, queue_cost)
    model = mdpsolver.model()
    model.mdp(discount=0.99, rewards=rewards, tranMatProbs=probabilities, tranMatColumns=columns)
    model.solve(algorithm="mpi", tolerance=1e-12, criterion="average", parallel=False)
    chosen = model.getPolicy()
    matrix = np.zeros((len(chosen), len(chosen)))
    for state, action in enumerate(chosen):
        matrix[state, columns[state][action]] = probabilities[state][action]
    system = np.vstack(((matrix.T - np.eye(len(chosen)))[1:], np.ones(len(chosen))))
    share = np.linalg.solve(system, np.append(np.zeros(len(chosen) - 1), 1.0))
    theirs = -sum(share[s] * rewards[s][a] for s, a in enumerate(chosen))
    process = admission(geometric(alpha, mu), limit)
    cost = process.weighted({"queue": queue_cost, "lost": 1.0})
    assert least(process, [cost]).occupation @ cost == pytest.approx(theirs, abs=1e-10)


# --- drops at the head ---


def most_in_time(alpha, mu, deadline):
    """The greatest share in time of any policy that sees the age of every packet.

    It may serve in any order, drop anything, or leave the server idle: value iteration.
    """
    full = 1 << (deadline + 1)
    states = range(full)
    busy, free = np.zeros(full), np.zeros(full)
    change = 0.0
    for _ in range(5000):

        def arrival(mask, was_free, busy=busy, free=free):
            if not was_free:
                return (1 - alpha) * busy[mask] + alpha * busy[mask | 1]
            return (1 - alpha) * free[mask] + alpha * max(1 + busy[mask], free[mask | 1])

        def open_(mask, arrival=arrival):
            starts = [
                1 + arrival(mask ^ 1 << k, False) for k in range(deadline + 1) if mask >> k & 1
            ]
            return max([arrival(mask, True), *starts])

        aged = [mask << 1 & (full - 1) for mask in states]
        new_free = np.array([open_(mask) for mask in aged])
        new_busy = mu * new_free + (1 - mu) * np.array([arrival(mask, False) for mask in aged])
        gain = np.concatenate((new_free - free, new_busy - busy))
        change = gain.mean()
        busy, free = new_busy - new_free[0], new_free - new_free[0]
        if np.ptp(gain) < 1e-10:
            return change / alpha
    raise AssertionError("it did not converge")


@pytest.mark.parametrize(("alpha", "mu", "deadline"), [(0.5, 0.5, 3), (0.7, 0.4, 2)])
def test_dropping_what_is_late_is_best_of_all(alpha, mu, deadline):
    """Panwar, Towsley & Wolf 1988: first come, first served, without what is late."""
    front = Front(departure(geometric(alpha, mu), 20, deadline), pair("loss", "in_time"), corners=9)
    best = front.corners[-1]
    assert best.y == pytest.approx(most_in_time(alpha, mu, deadline), abs=1e-8)
    drops = policy_of(front.process, best.outcome).drops
    assert (drops[: deadline + 1] == 0).all()
    assert (drops[deadline + 1 :] == 1).all()


def test_at_the_head_in_closed_form_and_in_runs(tmp_path):
    """alpha = mu = 1/2, d = 10: 12/13 in time, against 0.874132 by drops on arrival."""
    found = frontier(scenario(), ("loss", "in_time"), deadline=10, at_head=True)
    best = found.points[-1]
    assert best.y == pytest.approx(12 / 13, abs=1e-9)
    middle = found.at(0.06)
    assert "at 11 drops with probability" not in str(found.policy(best))
    for number, point in enumerate((best, middle)):
        header = tmp_path / f"head_{number}.h"
        write_header(header, found.policy(point), "Packets in time")
        run = sg.simulate(scenario(), sg.Discipline(aqm=str(header)))
        loss = run["loss_ratio"]
        assert abs(loss.value - point.x) < 2 * loss.half_width
        in_time = run.sojourn_distribution[:11].sum() * (1 - loss.value)
        assert in_time == pytest.approx(point.y, abs=0.01)
    assert main(["aqm", str(header)]) == 0


@settings(max_examples=10, deadline=None)
@given(
    alpha=st.floats(0.1, 0.9),
    mu=st.floats(0.2, 0.95),
    deadline=st.integers(0, 8),
    part=st.floats(0.05, 0.95),
)
def test_at_the_head_the_program_agrees(alpha, mu, deadline, part):
    process = departure(geometric(alpha, mu), 12, deadline)
    front = Front(process, pair("loss", "in_time"), corners=5)
    ends = front.corners[0].x, front.corners[-1].x
    x = ends[0] + part * (ends[1] - ends[0])
    program = BoundedFront(process, pair("loss", "in_time"), {})
    assert front.at(x).y == pytest.approx(program.at(x).y, abs=1e-7)
    # what comes is served, lost, or waits: in the long run it is served or lost
    rates = front.corners[0].outcome.rates
    assert rates["served"] + rates["lost"] == pytest.approx(alpha, abs=1e-9)


# --- runs of losses ---


def test_runs_of_losses(tmp_path):
    """Drop-tail loses 3/2 packets in a row; a policy that loses 1.1 hardly loses more."""
    found = frontier(scenario(limit=20), ("runs", "loss"), points=12)
    last = found.points[-1]
    assert (last.x, last.y) == (pytest.approx(1.5, abs=1e-9), pytest.approx(1 / 43, abs=1e-9))
    (tail,) = found.places
    assert tail.x.value == pytest.approx(1.5, abs=1e-9)
    assert tail.regret_y.value == pytest.approx(0, abs=1e-9)
    point = found.at(1.1)
    assert 1 / 43 < point.y < 0.0245
    header = tmp_path / "thin.h"
    write_header(header, found.policy(point), "Losses apart")
    own = sg.Discipline(aqm=str(header))
    run = sg.simulate(scenario(limit=20), own)
    assert abs(run["loss_ratio"].value - point.y) < 2 * run["loss_ratio"].half_width
    lengths = run_lengths(scenario(limit=20), own, "simulated", 2)
    assert lengths.mean() == pytest.approx(point.x, abs=0.03)


def test_a_bound_on_runs_costs_loss():
    free = admission(geometric(0.6), 10, remembers=True)
    kept = BoundedFront(free, pair("queue", "loss"), {OBJECTIVES["runs"]: 1.05})
    plain = BoundedFront(free, pair("queue", "loss"), {})
    rates = kept.at(3.0).outcome.rates
    assert OBJECTIVES["runs"].value(rates) <= 1.05 + 1e-9
    assert kept.at(3.0).y > plain.at(3.0).y
    # without a bound, to remember is of no use
    unaware = Front(admission(geometric(0.6), 10), pair("queue", "loss"), corners=3)
    assert plain.at(3.0).y == pytest.approx(unaware.at(3.0).y, abs=1e-8)


# --- two classes ---


def test_two_classes_are_trunk_reservation():
    classes = Classes(share=0.3, weight=3)
    process = admission(geometric(0.6), 15, classes=classes)
    front = Front(process, pair("queue", "weighted"), corners=6)
    point = front.at(3.0)
    first, second = policy_of(process, point.outcome).drops
    # the more valuable class is admitted wherever the other is (Miller 1969)
    assert (second <= first).all()
    assert second.sum() < first.sum()
    rates = point.outcome.rates
    lost = [OBJECTIVES[name].value(rates) for name in ("loss_first", "loss_second", "weighted")]
    assert lost[2] == pytest.approx((0.7 * lost[0] + 0.9 * lost[1]) / 1.6, abs=1e-12)
    # an equal weight makes it one class
    plain = Front(admission(geometric(0.6), 15), pair("queue", "loss"), corners=3).at(3.0)
    equal = admission(geometric(0.6), 15, classes=Classes(0.3, 1))
    both = Front(equal, pair("queue", "weighted"), corners=3).at(3.0)
    assert both.y == pytest.approx(plain.y, abs=1e-9)


def bernoulli_capture(slots, alpha, share, seed):
    """Packets of 100 bytes, one slot = 1 us, the second class with ECT(1): raw IPv4 in a pcap."""
    random = np.random.default_rng(seed)
    parts = [struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)]
    for slot in np.flatnonzero(random.random(slots) < alpha).tolist():
        ecn = 1 if random.random() < share else 2
        head = struct.pack(">BBHHHBBH4s4s", 69, ecn, 100, 0, 0, 64, 17, 0, b"\1\1\1\1", b"\2\2\2\2")
        parts.append(struct.pack("<IIII", slot // 10**6, slot % 10**6, 28, 100))
        parts.append(head + struct.pack(">HHHH", 1, 2, 80, 0))
    return b"".join(parts)


def test_a_header_for_two_classes_in_a_run(tmp_path):
    alpha, share, slots = 0.6, 0.3, 150_000
    process = admission(geometric(alpha), 15, classes=Classes(share, 3))
    point = Front(process, pair("queue", "weighted"), corners=6).at(3.0)
    header = tmp_path / "classes.h"
    write_header(header, policy_of(process, point.outcome), "Two classes")
    capture = tmp_path / "classes.pcap"
    capture.write_bytes(bernoulli_capture(slots, alpha, share, 3))
    own = sg.Scenario(
        arrivals=sg.ReplayArrivals(capture=str(capture)),
        service=sg.GeometricService(mu=0.5),
        queue=sg.Queue(limit=15),
        disciplines=[sg.Discipline(aqm=str(header))],
        slot_s=1e-6,
    )
    run = sg.simulate(own)
    loss, queue = run["loss_ratio"], run["queue_mean"]
    rates = point.outcome.rates
    assert abs(loss.value - OBJECTIVES["loss"].value(rates)) < 2 * loss.half_width
    assert abs(queue.value - point.x) < 2 * queue.half_width


# --- the clairvoyant ---


def by_brute_force(arrivals, services, deadline):
    most = 0
    for kept in itertools.product((False, True), repeat=len(arrivals)):
        free, good = 0, True
        for slot, service, keeps in zip(arrivals, services, kept, strict=True):
            if keeps:
                begin = max(free, slot)
                good &= begin - slot <= deadline
                free = begin + service
        most = max(most, sum(kept) if good else 0)
    return len(arrivals) - most


@settings(max_examples=60, deadline=None)
@given(
    packets=st.lists(st.tuples(st.integers(0, 20), st.integers(1, 7)), min_size=1, max_size=8),
    deadline=st.integers(0, 8),
)
def test_the_clairvoyant_is_brute_force(packets, deadline):
    arrivals = sorted(slot for slot, _ in packets)
    services = np.array([service for _, service in packets])
    expected = by_brute_force(arrivals, services, deadline)
    assert least_dropped(arrivals, services, deadline) == expected


def test_no_aqm_beats_the_clairvoyant(root, tmp_path, capsys):
    gateway = sg.load(root / "scenarios" / "gateway.toml")
    disciplines = [gateway.disciplines[0], sg.Discipline(aqm="codel")]
    found = clairvoyant(gateway.replace(disciplines=disciplines), 4999)
    assert found.in_time == pytest.approx(1 - 1767 / 12500, abs=1e-12)
    assert all(place.regret.value > 0 for place in found.places)
    file = str(root / "scenarios" / "gateway.toml")
    words = [*("frontier", file, "--deadline", "4999", "--aqm", "drop_tail")]
    assert main([*words, "--out", str(tmp_path), "--csv", str(tmp_path / "f.csv")]) == 0
    assert "delivers 85.86 % in time" in capsys.readouterr().out
    assert (tmp_path / "f.csv").read_text().startswith("name,in_time,loss,regret\nclairvoyant,0.85")
    assert main([*words, "--at", "1", "--out", str(tmp_path)]) == 2


# --- what is refused ---


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"objectives": ("queue", "loss"), "at_head": True}, "queue: with drops at the head, obj"),
        ({"objectives": ("queue", "weighted")}, "weighted needs two classes"),
        ({"classes": Classes(0.5, 2)}, "classes have no meaning without weighted"),
        ({"objectives": ("loss", "weighted")}, "loss, weighted must be one of these pairs"),
        (
            {
                "objectives": ("queue", "weighted"),
                "classes": Classes(0.5, 2),
                "bounds": {"runs": 2},
            },
            "runs: with classes there is none",
        ),
    ],
)
def test_wrong_questions(given, problem):
    with pytest.raises(sg.SluiceError, match=problem):
        frontier(scenario(limit=10), **given)


def test_wrong_classes_sources_and_recordings(root):
    with pytest.raises(sg.SluiceError, match="share = 1 must lie between 0 and 1"):
        Classes(1, 2)
    with pytest.raises(sg.SluiceError, match="weight = 0 must be above 0"):
        Classes(0.5, 0)
    bursty = scenario().replace(arrivals=sg.SelfSimilarArrivals(rate=0.4, a=6.0, states=2))
    with pytest.raises(sg.SluiceError, match="arrivals must be geometric"):
        frontier(bursty, ("loss", "in_time"), deadline=3, at_head=True)
    gateway = sg.load(root / "scenarios" / "gateway.toml")
    with pytest.raises(sg.SluiceError, match="a recording needs a deadline"):
        clairvoyant(gateway, None)
    with pytest.raises(sg.SluiceError, match="must be packet-size or deterministic"):
        clairvoyant(gateway.replace(service=sg.GeometricService(mu=0.5)), 3)
    with pytest.raises(sg.SluiceError, match="kind must be replay"):
        clairvoyant(scenario(), 3)


def test_classes_and_head_on_the_command_line(root, tmp_path, capsys):
    file = str(root / "scenarios" / "deadline.toml")
    call = ["frontier", file, "--aqm", "drop_tail", "--out", str(tmp_path)]
    words = "--objectives loss,in_time --deadline 10 --at-head"
    assert main([*call, *words.split()]) == 0
    assert "92.30769" in capsys.readouterr().out
    words = "--objectives queue,weighted --classes 0.3,3 --at 5"
    assert main([*call, *words.split()]) == 0
    assert "of the second class: admits while" in capsys.readouterr().out
    assert main([*call, "--classes", "0.3"]) == 2
    assert "must be SHARE,WEIGHT" in capsys.readouterr().err


def test_a_policy_with_two_rows_is_evaluated_as_it_says():
    """An oracle for the memory: the chain of (packets, last lost), made by hand."""
    alpha, mu, limit = 0.7, 0.5, 4
    process = admission(geometric(alpha, mu), limit, remembers=True)
    random = np.random.default_rng(2)
    drops = random.random((2, limit + 2))
    drops[:, 0], drops[:, -1] = 0, 1
    shares = np.ones(len(process.node))
    nodes = process.choices
    admits = process.first[nodes]
    row, packets = process.seen["after_loss"][nodes], process.seen["packets"][nodes]
    shares[admits], shares[admits + 1] = 1 - drops[row, packets], drops[row, packets]
    rates = evaluate(process, shares).rates
    sizes = limit + 2
    matrix, lost, again = np.zeros((2 * sizes, 2 * sizes)), np.zeros(2 * sizes), np.zeros(2 * sizes)
    for n, bit in itertools.product(range(sizes), (0, 1)):
        for end, chance in ((1, mu), (0, 1 - mu)) if n else ((0, 1.0),):
            left, at = n - end, 2 * n + bit
            matrix[at, 2 * left + bit] += chance * (1 - alpha)
            p = drops[bit, left]
            matrix[at, 2 * left + 1] += chance * alpha * p
            if left < sizes - 1:
                matrix[at, 2 * (left + 1)] += chance * alpha * (1 - p)
            lost[at] += chance * alpha * p
            again[at] += chance * alpha * p * bit
    system = np.vstack(((matrix.T - np.eye(2 * sizes))[1:], np.ones(2 * sizes)))
    share = np.linalg.solve(system, np.append(np.zeros(2 * sizes - 1), 1.0))
    assert rates["lost"] == pytest.approx(share @ lost, abs=1e-12)
    assert rates["again"] == pytest.approx(share @ again, abs=1e-12)
