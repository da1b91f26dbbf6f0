"""The frontier: closed forms, an oracle by value iteration, the chain and runs of its policies."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import sluicegate as sg
from sluicegate.cli import main
from sluicegate.frontier import frontier
from sluicegate.frontier.admission import admission
from sluicegate.frontier.front import Front
from sluicegate.frontier.frontier import check_states
from sluicegate.frontier.header import write_header
from sluicegate.frontier.iteration import least
from sluicegate.frontier.objectives import OBJECTIVES, pair
from sluicegate.frontier.policy import Policy, policy_of
from sluicegate.frontier.process import Evaluation, Process, evaluate
from sluicegate.frontier.program import BoundedFront, solve
from sluicegate.frontier.source import Source, modulated, of_scenario

QUEUE_LOSS = pair("queue", "loss")


def geometric(alpha, mu=0.5):
    return Source(np.array([[1 - alpha]]), np.array([[alpha]]), mu)


def scenario(*disciplines, alpha=0.5, limit=40, **more):
    return sg.Scenario(
        arrivals=sg.GeometricArrivals(rate=alpha),
        service=sg.GeometricService(mu=0.5),
        queue=sg.Queue(limit=limit),
        disciplines=list(disciplines) or [sg.Discipline(aqm="drop_tail")],
        slots=200_000,
        **more,
    )


def uniformised(arrival, end, limit):
    """M/M/1 with admission as a process: a slot is an event of the uniformised chain."""
    # slot n at node 2 (limit - n) + 1, its arrival one before: the empty system comes last
    slot = {n: 2 * (limit - n) + 1 for n in range(limit + 1)}
    node, after, slots, queue, served, lost, drops = ([] for _ in range(7))

    def action(at, leads, *, slot=0, length=0, served_=0, lost_=0, drop=False):
        node.append(at), after.append(leads), slots.append(slot), queue.append(length)
        served.append(served_), lost.append(lost_), drops.append(drop)

    for n in reversed(range(limit + 1)):
        if n < limit:
            action(slot[n] - 1, {slot[n + 1]: 1.0}, served_=1)
        action(slot[n] - 1, {slot[n]: 1.0}, lost_=1, drop=n < limit)
        share = arrival / (arrival + end)
        leads = {slot[n] - 1: share}
        below = slot[max(n - 1, 0)]
        leads[below] = leads.get(below, 0.0) + 1 - share
        action(slot[n], leads, slot=1, length=n)
    matrix = sparse.lil_array((len(node), 2 * limit + 2))
    for row, leads in enumerate(after):
        for column, probability in leads.items():
            matrix[row, column] = probability
    packets = np.array([limit - place // 2 for place in range(2 * limit + 2)])
    return Process(
        node=np.array(node),
        after=sparse.csr_array(matrix),
        slots=np.array(slots, dtype=float),
        events={
            "queue": np.array(queue, dtype=float),
            "served": np.array(served, dtype=float),
            "lost": np.array(lost, dtype=float),
        },
        drops=np.array(drops),
        seen={"packets": packets},
        told="drops arrivals and sees the queue",
    )


def threshold_of(process, outcome):
    return policy_of(process, outcome).threshold


# --- closed forms ---


@pytest.mark.parametrize("limit", [5, 20, 50, 250])
def test_the_end_of_the_front_is_drop_tail_in_closed_form(limit):
    front = Front(admission(geometric(0.5), limit), QUEUE_LOSS, corners=2)
    last = front.corners[-1]
    assert last.y == pytest.approx(1 / (2 * limit + 3), abs=1e-12)
    assert last.x == pytest.approx(limit * (limit + 1) / (2 * limit + 3), abs=1e-9)


@pytest.mark.parametrize(
    ("limit", "queue", "loss", "at", "admits", "per_packet"),
    [
        (20, 2, Fraction(6, 70), 5, Fraction(1, 2), 35),
        (20, 5, Fraction(6, 143), 11, Fraction(10, 17), 143),
        (20, 8, Fraction(9, 323), 17, Fraction(8, 13), 323),
    ],
)
def test_points_of_the_front_as_fractions(limit, queue, loss, at, admits, per_packet):
    process = admission(geometric(0.5), limit)
    point = Front(process, QUEUE_LOSS, corners=3).at(queue)
    assert point.x == pytest.approx(queue, abs=1e-11)
    assert point.y == pytest.approx(float(loss), abs=1e-12)
    assert point.slope == pytest.approx(-1 / per_packet, abs=1e-12)
    found = threshold_of(process, point.outcome)
    assert found[0] == at
    assert found[1] == pytest.approx(float(1 - admits), abs=1e-9)


def test_a_long_buffer_and_a_light_load():
    process = admission(geometric(0.5), 250)
    point = Front(process, QUEUE_LOSS, corners=3).at(64)
    assert point.y == pytest.approx(0.0038463814, abs=1e-10)
    assert point.slope == pytest.approx(-5.9175e-5, abs=1e-9)
    at, drop = threshold_of(process, point.outcome)
    assert (at, drop) == (129, pytest.approx(33 / 97, abs=1e-9))
    light = admission(geometric(0.4), 50)
    front = Front(light, QUEUE_LOSS, corners=3)
    point = front.at(1.5)
    assert point.y == pytest.approx(0.002163359, abs=1e-9)
    at, drop = threshold_of(light, point.outcome)
    assert (at, drop) == (11, pytest.approx(1 - 0.316215, abs=1e-6))
    assert front.corners[-1].y == pytest.approx(2.091e-10, rel=1e-4)


@pytest.mark.parametrize(
    ("arrival", "limit", "length", "loss"),
    [(0.8, 10, 2.966314, 0.023493), (1, 10, 5, 1 / 11), (0.9, 5, 2.194782, 0.126023)],
)
def test_mm1k(arrival, limit, length, loss):
    process = uniformised(arrival, 1, limit)
    rates = least(process, [process.events["lost"]]).rates
    assert rates["queue"] == pytest.approx(length, abs=1e-6)
    assert rates["lost"] / (rates["lost"] + rates["served"]) == pytest.approx(loss, abs=1e-6)
    # and to all digits, by the closed form
    weights = [Fraction(arrival).limit_denominator(100) ** n for n in range(limit + 1)]
    exact = sum(n * w for n, w in enumerate(weights)) / sum(weights)
    assert rates["queue"] == pytest.approx(float(exact), abs=1e-11)


def test_naor():
    """Naor 1969: R = 10, C = 1, lambda = 0.8, mu = 1: the social optimum is n* = 4."""
    process = uniformised(0.8, 1, 30)
    # of events 1.8 per unit of time
    cost = process.weighted({"queue": 1.0, "served": -10 * 1.8})
    outcome = least(process, [cost])
    assert threshold_of(process, outcome)[0] == 4
    assert -outcome.occupation @ cost == pytest.approx(5.462161, abs=1e-6)
    # g(n) = R lambda (1 - p_n) - C L in fractions
    rho = Fraction(4, 5)
    weights = [rho**n for n in range(5)]
    total = sum(weights)
    gain = 8 * (1 - weights[4] / total) - sum(n * w for n, w in enumerate(weights)) / total
    assert -outcome.occupation @ cost == pytest.approx(float(gain), abs=1e-11)


def test_the_constrained_mm1():
    """Loss 15/112, dual -1/28 (per packet of E[L]), chance at n = 6 only: 7/15 are admitted."""
    process = uniformised(1, 1, 20)
    point = Front(process, QUEUE_LOSS, corners=3).at(3.25)
    assert point.y == pytest.approx(15 / 112, abs=1e-12)
    assert point.slope == pytest.approx(-1 / 28, abs=1e-12)
    drops = policy_of(process, point.outcome).drops
    assert np.flatnonzero((drops > 1e-12) & (drops < 1 - 1e-12)).tolist() == [6]
    assert drops[6] == pytest.approx(8 / 15, abs=1e-9)
    found = solve(process, {"lost": 1.0}, [(OBJECTIVES["queue"], 3.25)])
    rates = found.outcome.rates
    assert rates["lost"] / (rates["lost"] + rates["served"]) == pytest.approx(15 / 112, abs=1e-9)
    # of arrivals, half of all events
    assert found.duals[0] / 0.5 == pytest.approx(-1 / 28, abs=1e-9)


@pytest.mark.parametrize(
    ("rates", "stay", "limit", "queue", "loss"),
    [
        ((0.9, 0.1), 0.98, 20, 2, 0.3308540),
        ((0.9, 0.1), 0.98, 20, 5, 0.2658025),
        ((0.9, 0.1), 0.90, 20, 2, 0.2019378),
        ((0.6, 0.2), 0.995, 20, 2, 0.1165271),
        ((1, 0), 0.98, 20, 2, 0.4227734),
        ((1, 0), 0.98, 20, 5, 0.3507405),
        ((0.55, 0.35), 0.998, 30, 3, 0.0594063),
    ],
)
def test_a_modulator_that_is_seen(rates, stay, limit, queue, loss):
    source = modulated([[stay, 1 - stay], [1 - stay, stay]], rates, 0.5)
    assert source.rate == pytest.approx(sum(rates) / 2)
    process = admission(source, limit)
    found = Front(process, QUEUE_LOSS, corners=3).at(queue).y
    assert found == pytest.approx(loss, abs=6e-8)
    assert BoundedFront(process, QUEUE_LOSS, {}).at(queue).y == pytest.approx(found, abs=1e-9)


def test_a_policy_that_sees_the_modulator_is_no_header():
    process = admission(modulated([[0.9, 0.1], [0.1, 0.9]], (0.7, 0.1), 0.5), 10)
    with pytest.raises(sg.SluiceError, match="sees more than an AQM does"):
        policy_of(process, Front(process, QUEUE_LOSS, corners=2).corners[0].outcome)


@pytest.mark.parametrize(
    ("alpha", "share", "threshold", "drop_tail"),
    [(0.5, 0.874132, 4, 0.144578), (0.6, 0.779783, 4, 6.5e-7), (0.8, 0.616101, 3, 0.0)],
)
def test_the_share_in_time(alpha, share, threshold, drop_tail):
    process = admission(geometric(alpha), 40, 10)
    corners = Front(process, pair("loss", "in_time"), corners=30).corners
    assert corners[-1].y == pytest.approx(share, abs=6e-7)
    assert threshold_of(process, corners[-1].outcome)[0] == threshold
    assert corners[0].y == pytest.approx(drop_tail, abs=6e-7)


# --- oracles ---


def by_value_iteration(alpha, mu, limit, queue_cost):
    """The least loss per slot + queue_cost x queue, slot by slot, in plain floating point."""
    values = np.zeros(limit + 2)
    for _ in range(200_000):
        admit = np.append(values[1:], np.inf)
        arrives = np.minimum(admit, 1.0 + values)
        nothing = (1 - alpha) * values + alpha * arrives
        served = np.append(nothing[0], nothing[:-1])
        new = mu * served + (1 - mu) * nothing
        new[0] = nothing[0]
        new += queue_cost * np.maximum(np.arange(limit + 2) - 1, 0)
        change = new - values
        values = new - new[0]
        if np.ptp(change) < 1e-13:
            return change.mean()
    raise AssertionError("it did not converge")


@settings(max_examples=12, deadline=None)
@given(
    alpha=st.floats(0.1, 0.9),
    mu=st.floats(0.2, 0.95),
    limit=st.integers(1, 12),
    queue_cost=st.floats(0.001, 0.3),
)
def test_the_optimum_is_that_of_value_iteration(alpha, mu, limit, queue_cost):
    process = admission(geometric(alpha, mu), limit)
    cost = process.weighted({"queue": queue_cost, "lost": 1.0})
    found = least(process, [cost])
    expected = by_value_iteration(alpha, mu, limit, queue_cost)
    assert found.occupation @ cost == pytest.approx(expected, abs=1e-10)


@settings(max_examples=15, deadline=None)
@given(
    alpha=st.floats(0.1, 0.9),
    mu=st.floats(0.2, 0.95),
    limit=st.integers(2, 25),
    part=st.floats(0.05, 0.95),
    names=st.sampled_from(
        [("queue", "loss"), ("sojourn", "loss"), ("late", "loss"), ("loss", "in_time")]
    ),
)
def test_the_front_is_that_of_the_linear_program(alpha, mu, limit, part, names):
    process = admission(geometric(alpha, mu), limit, 4)
    front = Front(process, pair(*names), corners=5)
    ends = front.corners[0].x, front.corners[-1].x
    x = ends[0] + part * (ends[1] - ends[0])
    point, program = front.at(x), BoundedFront(process, pair(*names), {}).at(x)
    assert point.y == pytest.approx(program.y, abs=1e-8)
    # one constraint: chance at one state at most (Beutler & Ross 1985)
    shares = point.outcome.shares[process.drops]
    assert ((shares > 1e-9) & (shares < 1 - 1e-9)).sum() <= 1
    # and the other way round
    if not point.is_corner:
        assert front.where(point.y).x == pytest.approx(point.x, abs=1e-7)


def test_the_front_under_bursts_is_that_of_the_linear_program():
    """A source that is on or off: without exchanges of rows the values were wrong."""
    on_off = scenario().replace(arrivals=sg.SelfSimilarArrivals(rate=0.4, a=31, states=2))
    process = admission(of_scenario(on_off), 40)
    front = Front(process, QUEUE_LOSS, corners=2)
    program = BoundedFront(process, QUEUE_LOSS, {})
    for queue in (1.0, 2.777, 8.0):
        assert front.at(queue).y == pytest.approx(program.at(queue).y, abs=1e-8)
    assert front.at(2.777).y == pytest.approx(0.3249920, abs=1e-7)
    # values are those of a dense solution
    evaluation = Evaluation(process, front.corners[-1].outcome.shares)
    cost = process.weighted({"queue": 0.15, "lost": 14.0})
    average, values = evaluation.values(cost)
    chosen = front.corners[-1].outcome.shares
    after = np.zeros((process.nodes, process.nodes))
    np.add.at(after, process.node, chosen[:, None] * process.after.toarray())
    matrix = np.eye(process.nodes) - after
    matrix[:, -1] = np.bincount(process.node, chosen * process.slots)
    expected = np.linalg.solve(matrix, np.bincount(process.node, chosen * cost))
    assert average == pytest.approx(expected[-1], rel=1e-12)
    assert values[:-1] == pytest.approx(expected[:-1], abs=1e-9)


def test_the_front_is_convex_and_no_policy_is_below():
    process = admission(geometric(0.6), 15)
    front = Front(process, QUEUE_LOSS)
    points = front.corners
    slopes = np.diff([p.y for p in points]) / np.diff([p.x for p in points])
    assert (np.diff(slopes) > 0).all()
    random = np.random.default_rng(1)
    for _ in range(200):
        shares = np.ones(len(process.node))
        drops = random.random(len(process.choices)) ** 3
        admits = process.first[process.choices]
        shares[admits], shares[admits + 1] = 1 - drops, drops
        rates = evaluate(process, shares).rates
        x, y = (each.value(rates) for each in QUEUE_LOSS)
        assert y >= front.at(x).y - 1e-12


# --- the same model as the chain, and as a run ---


@pytest.mark.slow
@pytest.mark.parametrize(
    "arrivals",
    [
        sg.GeometricArrivals(rate=0.5),
        sg.GeometricArrivals(rate=0.7),
        sg.SelfSimilarArrivals(rate=0.4, a=6.0, states=2),
        sg.SelfSimilarArrivals(rate=0.4, a=8.0, states=4),
    ],
)
def test_every_policy_as_a_header_gives_the_same_in_the_chain(arrivals, tmp_path):
    setting = scenario(limit=20).replace(arrivals=arrivals)
    process = admission(of_scenario(setting), 20, 6)
    random = np.random.default_rng(7)
    front = Front(process, pair("late", "loss"), corners=6)
    policies = [
        *(policy_of(process, front.at(x).outcome) for x in (0.1, 0.25)),
        Policy(random.random(21)),
        Policy(np.where(np.arange(21) % 3, random.random(21), 0.0)),
    ]
    for count, policy in enumerate(policies):
        header = tmp_path / f"policy_{count}.h"
        write_header(header, policy, "A test")
        shares = np.ones(len(process.node))
        admits = process.first[process.choices]
        packets = process.seen["packets"][process.choices]
        # a header has probabilities in steps of 2^-32
        drops = np.rint(policy.drops * 2**32)[packets] / 2**32
        shares[admits], shares[admits + 1] = 1 - drops, drops
        rates = evaluate(process, shares).rates
        record = sg.chain.solve(setting, sg.Discipline(aqm=str(header))).record
        expected = {
            "queue_mean": OBJECTIVES["queue"],
            "loss_ratio": OBJECTIVES["loss"],
            "sojourn_mean": OBJECTIVES["sojourn"],
        }
        for measure, objective in expected.items():
            assert record[measure].value == pytest.approx(objective.value(rates), abs=1e-9)
        late = record.sojourn_distribution[7:].sum()
        assert late == pytest.approx(OBJECTIVES["late"].value(rates), abs=1e-9)


def test_the_best_policy_in_the_chain_and_in_runs(tmp_path):
    """Share in time at d = 10, K = 40: 0.874132 against drop-tail's 0.144578, in three ways."""
    found = frontier(scenario(), ("loss", "in_time"), deadline=10)
    best = found.points[-1]
    header = tmp_path / "in_time.h"
    write_header(header, found.policy(best), "Packets in time")
    disciplines = [sg.Discipline(aqm="drop_tail"), sg.Discipline(aqm=str(header))]
    own = scenario(*disciplines, replications=8)
    places = frontier(own, ("loss", "in_time"), deadline=10).places
    assert [place.how for place in places] == ["exact", "exact"]
    assert places[0].y.value == pytest.approx(0.144578, abs=6e-7)
    assert places[1].y.value == pytest.approx(0.874132, abs=6e-7)
    assert places[1].regret_y.value == pytest.approx(0, abs=1e-9)
    assert places[0].regret_x.value == pytest.approx(0, abs=1e-9)
    run = sg.simulate(own, disciplines[1])
    loss = run["loss_ratio"]
    # twice the interval of 95 %
    assert abs(loss.value - best.x) < 2 * loss.half_width
    in_time = run.sojourn_distribution[:11].sum() * (1 - loss.value)
    assert in_time == pytest.approx(best.y, abs=0.01)


def test_a_simulated_aqm_has_a_regret_with_an_interval():
    red = sg.Discipline(aqm="red", params={"min_th": 2, "max_th": 8, "w": 0.07, "max_p": 0.5})
    (place,) = frontier(scenario(red, replications=4), ("loss", "in_time"), deadline=10).places
    assert place.how == "simulated"
    assert place.regret_y.value > 2 * place.regret_y.half_width > 0


def test_sources_of_scenarios():
    for arrivals in (
        sg.GeometricArrivals(rate=0.3),
        sg.SelfSimilarArrivals(rate=0.3, a=5.0, states=3),
    ):
        source = of_scenario(scenario().replace(arrivals=arrivals))
        assert source.rate == pytest.approx(0.3, abs=1e-12)
        assert (source.mu, source.states) == (0.5, getattr(arrivals, "states", 1))


# --- bounds ---


def test_bounds_are_kept_and_cost_something():
    free = frontier(scenario(alpha=0.6, limit=15), ("queue", "loss"), points=5)
    kept = frontier(
        scenario(alpha=0.6, limit=15),
        ("queue", "loss"),
        deadline=3,
        bounds={"late": 0.05},
        points=5,
    )
    late = OBJECTIVES["late"]
    for point in kept.points:
        assert late.value(point.outcome.rates) <= 0.05 + 1e-9
        assert point.y >= free.at(point.x).y - 1e-9
    assert kept.places[0].breaks == ["late"]
    # the dual is the slope: compared with a difference
    x = (kept.points[0].x + kept.points[-1].x) / 2
    near = [kept.at(x - 1e-5).y, kept.at(x + 1e-5).y]
    assert kept.at(x).slope == pytest.approx((near[1] - near[0]) / 2e-5, rel=1e-3)


# --- what is refused ---


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"objectives": ("loss", "loss")}, "loss cannot be traded against itself"),
        ({"objectives": ("queue", "sojourn")}, "queue, sojourn must be one of these pairs"),
        ({"objectives": ("queue", "fun")}, "fun must be one of queue, sojourn, late"),
        ({"objectives": ("queue",)}, "there must be two, not 1"),
        ({"objectives": ("late", "loss")}, "late needs a deadline"),
        ({"deadline": 3}, "a deadline has no meaning without late or in_time"),
        ({"objectives": ("late", "loss"), "deadline": -1}, "deadline = -1 must lie between 0"),
        ({"points": 1}, "points = 1 must lie between 2 and 100000"),
        ({"bounds": {"loss": 0.1}}, "bound: loss is an objective already"),
        ({"bounds": {"in_time": 0.9}, "deadline": 2}, "bound in_time>=0.9 is out of reach: the"),
    ],
)
def test_wrong_questions(given, problem):
    with pytest.raises(sg.SluiceError, match=problem):
        frontier(scenario(limit=10), **given)


def test_what_is_out_of_reach_and_too_large():
    found = frontier(scenario(limit=10))
    with pytest.raises(sg.SluiceError, match=r"queue = -1 is out of reach: the best that any"):
        found.at(-1)
    with pytest.raises(sg.SluiceError, match=r"loss = 0.001 is out of reach: .* 0.0434782609"):
        found.front.where(0.001)
    with pytest.raises(sg.SluiceError, match=r"limit = 100000000 must be at most 100000"):
        frontier(scenario(limit=100_000_000))
    with pytest.raises(sg.SluiceError, match=r"gives 1.00e\+08 states, which take about .* GB"):
        check_states(100_000_000, 100_000_002)
    with pytest.raises(sg.SluiceError, match="with bounds there must be at most 5000"):
        check_states(10_000, 10_002, bounded=True)
    front = scenario().replace({"queue.victim": "front"})
    with pytest.raises(sg.SluiceError, match="victim = front must be tail for loss, in_time"):
        frontier(front, ("loss", "in_time"), deadline=5)
    frozen = scenario().replace(arrivals=sg.FgnArrivals(rate=0.5, deviation=0.1, hurst=0.8))
    with pytest.raises(sg.SluiceError, match="kind = fgn has no exact chain"):
        frontier(frozen)


def test_sources_that_do_not_hang_together():
    with pytest.raises(sg.SluiceError, match="states fall into 2 classes"):
        modulated([[1, 0], [0, 1]], [0.2, 0.8], 0.5)
    with pytest.raises(sg.SluiceError, match="rows sum to 1"):
        modulated([[0.5, 0.4], [0.5, 0.5]], [0.2, 0.8], 0.5)
    with pytest.raises(sg.SluiceError, match="slots with a packet and slots without"):
        modulated([[0.5, 0.5], [0.5, 0.5]], [1, 1], 0.5)


# --- the command ---


def test_the_command(tmp_path, root, capsys):
    out, header = tmp_path / "out", tmp_path / "best.h"
    call = [
        *("frontier", str(root / "scenarios" / "deadline.toml"), "--aqm", "drop_tail"),
        *("--objectives", "in_time, loss", "--deadline", "10", "--at", "0.1", "--out", str(out)),
        *("--header", str(header), "--json", str(tmp_path / "f.json")),
        *("--csv", str(tmp_path / "f.csv")),
    ]
    assert main(call) == 0
    shown = capsys.readouterr().out
    assert "86.95312" in shown
    assert "admits while fewer than 4 packets are in the system" in shown
    assert (out / "frontier.html").read_text().count("<svg") >= 1
    written = json.loads((tmp_path / "f.json").read_text())
    assert written["disciplines"][0]["y"]["value"] == pytest.approx(0.144578, abs=6e-7)
    assert len((tmp_path / "f.csv").read_text().splitlines()) == len(written["points"]) + 2
    assert main(["aqm", str(header)]) == 0


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        ("--header best.h", 2, "--header needs --at"),
        ("--at 1 --header Best.h", 1, "Best.h: the file's name is the name of the AQM"),
        ("--bound late=0.1", 2, "--bound: late=0.1 must be NAME<=VALUE"),
        ("--bound late>=0.1", 2, "only in_time is bounded from below"),
        ("--bound late<=x", 2, "'x' must be a number"),
        ("--bound late<=nan", 2, "'nan' must be a finite number"),
    ],
)
def test_wrong_options(words, code, problem, root, tmp_path, capsys):
    scenario_file = str(root / "scenarios" / "deadline.toml")
    assert main(["frontier", scenario_file, "--out", str(tmp_path), *words.split()]) == code
    assert problem in capsys.readouterr().err


def test_networks_are_refused(root, tmp_path, capsys):
    dumbbell = str(root / "scenarios" / "network" / "dumbbell.toml")
    assert main(["frontier", dumbbell, "--out", str(tmp_path)]) == 1
    assert "must be a scenario of the slotted queue" in capsys.readouterr().err
