"""The fluid model: closed forms, independent roots, and small disturbances in time."""

import math

import numpy as np
import pytest
from scipy.special import lambertw

import sluicegate as sg
from sluicegate import network
from sluicegate.cli import main, syntax
from sluicegate.papers.lred import lemmas, theory
from sluicegate.stability import rules, simulated
from sluicegate.stability.aqms import model_of
from sluicegate.stability.assessment import LINEARISATIONS, assess
from sluicegate.stability.boundary import greatest_gain, greatest_rtt_s, least_flows
from sluicegate.stability.controller import Controller
from sluicegate.stability.delay_equations import Solution
from sluicegate.stability.loop import Loop, loop_of
from sluicegate.stability.model import FluidNetwork
from sluicegate.stability.of_scenario import network_of
from sluicegate.stability.plant import Plant, plant
from sluicegate.stability.recommended import recommended
from sluicegate.stability.roots import closed, quasi_polynomial, rightmost_root, unstable_roots
from sluicegate.stability.rows import recommended_row, verdict
from sluicegate.stability.spots import spots
from sluicegate.stability.transient import transient

pytestmark = pytest.mark.slow

EXAMPLE = FluidNetwork(300, 2500, 0.35)
# windows of 15 packets: all AQMs here have an equilibrium
WIDE = FluidNetwork(50, 2500, 0.3)
# 1 Gbit/s: LRED's safe beta is below its range
FAST = FluidNetwork(60, 250_000, 0.2)
AQMS = (
    "lred:beta=0.0003,t_m=1000",
    "pi",
    "rem",
    "pie:target=0.04,spacing=independent",
    "pie:target=0.04",
    "red:min_th=50,max_th=150,max_p=0.02,spacing=independent,w=0.001",
    "gentle_red:min_th=50,max_th=150,max_p=0.005,w=0.01",
)


def discipline(text):
    return sg.Discipline(**syntax.discipline(text))


# ---- roots ----


@pytest.mark.parametrize("gain", [0.2, 1.0, 1.5, 2.0])
def test_roots_of_a_delay_equation_with_a_closed_form(gain):
    """x' = -a x(t - R) has the roots W(-a R) / R; the queue beside it only decays."""
    rtt_s = 0.7
    beside = Plant(
        np.array([[0.0, 0.0], [0.0, -50.0]]),
        np.array([[-gain / rtt_s, 0.0], [0.0, 0.0]]),
        np.zeros(2),
        rtt_s,
    )
    roots = [lambertw(-gain, k) / rtt_s for k in (-1, 0)]
    expected = max(roots, key=lambda root: root.real)
    found = rightmost_root(beside, Controller(0.0))
    assert found.real == pytest.approx(expected.real, rel=1e-12)
    assert found.imag == pytest.approx(abs(expected.imag), rel=1e-12)
    # stable up to pi/2
    assert unstable_roots(beside, Controller(0.0)) == (2 if gain > np.pi / 2 else 0)


@pytest.mark.parametrize("linearisation", LINEARISATIONS)
def test_both_ways_to_the_roots_agree(linearisation):
    draw = np.random.default_rng(5)
    for net in lemmas.networks(20):
        for controller in (
            Controller(greatest_gain(net) * draw.uniform(0.3, 4)),
            Controller(greatest_gain(net) * draw.uniform(0.1, 2), pole=draw.uniform(1, 50)),
            Controller(greatest_gain(net) * 0.2, greatest_gain(net) * draw.uniform(0.01, 1)),
        ):
            loop = plant(net, linearisation), controller
            root = rightmost_root(*loop)
            assert (unstable_roots(*loop) > 0) == (root.real > 0)
            at_root, scale = (
                abs(complex(quasi_polynomial(np.array(s), *closed(*loop), net.rtt_s)))
                for s in (root, root + 0.1 / net.rtt_s)
            )
            assert at_root < 1e-9 * scale


def test_quasi_polynomial_and_loop_are_the_same_equation():
    """1 + L = 0 at the roots; the loop's response L does not use `closed`."""
    for text in AQMS:
        for linearisation in LINEARISATIONS:
            loop = loop_of(model_of(discipline(text)), WIDE, linearisation)
            s = np.array(loop.rightmost_root)
            response = complex(loop.controller.transfer(s) * loop.plant.transfer(s))
            assert response == pytest.approx(-1, abs=1e-8), (text, linearisation)


# ---- margins and boundaries ----


@pytest.mark.parametrize("text", AQMS)
@pytest.mark.parametrize("linearisation", LINEARISATIONS)
def test_margins_lead_to_the_imaginary_axis(text, linearisation):
    loop = loop_of(model_of(discipline(text)), WIDE, linearisation)
    margins = loop.margins
    if margins.gain is not None:
        assert (margins.gain > 1) == loop.is_stable
        edge = Loop(WIDE, loop.controller.times(margins.gain), linearisation)
        expected = 1j * margins.phase_crossover_rad_s
        assert abs(edge.rightmost_root - expected) < 1e-7 * abs(expected)
    if margins.phase_rad is not None and linearisation == "reduced":
        assert (margins.phase_rad > 0) == loop.is_stable
        # with this linearisation the delay is only in the exponent
        longer = Plant(
            loop.plant.now,
            loop.plant.delayed,
            loop.plant.drop,
            WIDE.rtt_s + margins.delay_s,
        )
        if longer.rtt_s > 0:
            root = rightmost_root(longer, loop.controller)
            assert abs(root - 1j * margins.crossover_rad_s) < 1e-7 * margins.crossover_rad_s


def test_lreds_example():
    assert EXAMPLE.window == pytest.approx(35 / 12)
    assert EXAMPLE.drop_probability == pytest.approx(1.5 * (12 / 35) ** 2)
    beta = rules.safe_beta(EXAMPLE)
    assert beta.boundary == pytest.approx(0.00105452584, rel=1e-8)
    assert beta.monotone == pytest.approx(math.sqrt(3) * 600**2 / 875**3)
    assert beta.safe == pytest.approx(0.00093076, rel=1e-5)
    loop = Loop(EXAMPLE, Controller(beta.boundary * math.sqrt(EXAMPLE.drop_probability)))
    assert complex(loop.response(np.array(2.1268323138))) == pytest.approx(-1, abs=1e-9)


def test_the_true_lemmas_hold_and_the_others_fail(monkeypatch):
    monkeypatch.setattr(lemmas, "NETWORKS", 8)
    assert {claim.verdict for claim in lemmas.lemma_claims()} == {"holds"}
    monkeypatch.setattr(lemmas, "greatest_gain", lambda network: 1.02 * greatest_gain(network))
    verdicts = [claim.verdict for claim in lemmas.lemma_claims()]
    # lemmas 2 and 4 depend on this gain, lemma 3 on its boundary
    assert verdicts == ["holds", "holds", "fails", "holds", "fails", "holds", "holds"]
    monkeypatch.setattr(lemmas, "least_flows", lambda *args: 0.98 * least_flows(*args))
    assert [claim.verdict for claim in lemmas.lemma_claims()][3] == "fails"


def test_all_boundaries_lie_on_one_surface():
    gain = greatest_gain(EXAMPLE)
    assert greatest_rtt_s(300, 2500, lambda _: gain) == pytest.approx(0.35, rel=1e-10)
    assert least_flows(2500, 0.35, lambda _: gain) == pytest.approx(300, rel=1e-10)
    with pytest.raises(sg.SluiceError, match=r"no boundary: every rtt_s from 0\.1 to 0\.2 is sta"):
        greatest_rtt_s(300, 2500, lambda _: gain, (0.1, 0.2))


@pytest.mark.parametrize("linearisation", LINEARISATIONS)
def test_edges_of_round_trip_and_flows(linearisation):
    found = assess(discipline("lred:beta=0.001"), EXAMPLE)
    edge = found.edge_rtt_s(linearisation)
    if linearisation == "reduced":

        def gain(network):
            return 0.001 * math.sqrt(network.drop_probability)

        assert edge == pytest.approx(greatest_rtt_s(300, 2500, gain), rel=1e-5)
        flows = found.edge_flows(linearisation)
        assert flows == pytest.approx(least_flows(2500, 0.35, gain), rel=1e-5)
    on_edge = loop_of(found.model, EXAMPLE.with_(rtt_s=edge), linearisation).rightmost_root
    assert abs(on_edge.real) < 1e-4


# ---- rules ----


def test_pi_and_red_are_designed_as_in_their_papers():
    """Hollot et al. 2001, both examples: N- = 60, C = 3750, R+ = 0.2467 (0.246)."""
    a, b = rules.designed_pi(FluidNetwork(60, 3750, 0.2467), 1 / 160)
    assert (a, b) == pytest.approx((1.822e-5, 1.816e-5), rel=0.01)
    assert a - b == pytest.approx(9.64e-6 / 160, rel=0.01)
    w = -math.expm1(-0.005 / 3750)
    slope = rules.greatest_red_slope(FluidNetwork(60, 3750, 0.246), w)
    assert slope == pytest.approx(1.86e-4, rel=0.06)


def test_recommended_coefficients_can_be_used_as_they_stand():
    found = recommended(WIDE, 100.0)
    for each in found:
        again = discipline(each.option)
        assert again.configured.params == each.discipline().configured.params
    stable = {each.aqm: assess(each.discipline(), WIDE) for each in found}
    assert stable["lred"].loops["reduced"].is_stable
    assert stable["pi"].loops["full"].is_stable
    assert stable["red"].loops["full"].is_stable


def test_impossible_coefficients_are_reported_and_the_others_kept():
    found = [recommended_row(each, FAST) for each in recommended(FAST, 1000.0)]
    lred, *others = found
    assert lred.stable is None
    assert verdict(lred).startswith("no: lred.beta = ")
    assert any(row.stable is not None for row in others)


# ---- in time ----


def test_runge_kutta_has_the_fourth_order_on_a_delay_equation():
    """x' = -x(t - 1) with x = 1 before 0: by the method of steps x(3) = 1 - 3 + 2^2/2 - 1/6."""

    def error(steps):
        solution = Solution((1.0,), 3 / steps)
        solution.advance(lambda t, x, past: (-past(t - 1)[0],), steps)
        return abs(solution.end[0] - (1 - 3 + 2 - 1 / 6))

    # polynomials up to degree 3 are exact: so is this up to t = 3, but not x' = -x(t-1)^2
    assert error(30) < 1e-13

    def end(steps):
        solution = Solution((1.0,), 3 / steps)
        solution.advance(lambda t, x, past: (-(past(t - 1)[0] ** 2) - 0.3 * x[0],), steps)
        return solution.end[0]

    coarse, middle, fine = end(15), end(30), end(60)
    assert 11 < (coarse - middle) / (middle - fine) < 22


@pytest.mark.parametrize("text", AQMS)
def test_a_small_disturbance_evolves_as_the_rightmost_root_says(text):
    model, net = model_of(discipline(text)), WIDE
    for constant in (True, False):
        root = loop_of(model, net, "constant" if constant else "full").rightmost_root
        # small to the end, but large compared with a drop function's resolution of 2^-32
        until_s = min(9.0, 6 / abs(root.real))
        found = transient(model, [(0.0, net)], until_s, disturbed=1e-2, constant_rtt=constant)
        off = found.queue - model.queue(net)
        late = off[len(off) // 2 :]
        # late values follow x(t + h) = c1 x(t) - c2 x(t - h), a recurrence with the same roots
        h = round(until_s / 20 / (found.times_s[1] - found.times_s[0]))
        span_s = found.times_s[h] - found.times_s[0]
        before, now, after = late[: -2 * h], late[h:-h], late[2 * h :]
        expected = np.exp(root * span_s)
        predicted = 2 * expected.real * now - abs(expected) ** 2 * before
        if root.imag == 0:
            predicted = expected.real * now
        scale = np.abs(late).max()
        assert np.abs(after - predicted).max() < 0.02 * scale, (constant, root)


def test_steps_lead_from_one_equilibrium_to_the_next():
    model = model_of(discipline("lred:t_m=0.2"))
    more = EXAMPLE.with_(flows=330)
    found = transient(model, [(0.0, EXAMPLE), (2.0, more)], 40.0, limit=400)
    before = found.times_s < 1.99
    assert found.queue[before] == pytest.approx(100)
    # with more flows the queue rises first
    assert found.queue.max() > 105
    assert found.queue[-1] == pytest.approx(100, abs=0.5)
    assert found.window[-1] == pytest.approx(more.window, rel=1e-3)
    assert found.drop_probability[-1] == pytest.approx(more.drop_probability, rel=1e-2)


def test_a_full_buffer_loses_what_has_no_room():
    model = model_of(discipline("lred:beta=1e-6,t_m=1000"))
    found = transient(model, [(0.0, WIDE), (1.0, WIDE.with_(flows=400))], 30.0, limit=150)
    assert found.queue.max() == 150
    # the buffer's losses determine the windows, not LRED's own
    window = found.window[-1]
    rate = 400 * window / (0.3 + 50 / 2500)
    assert 1 - 2500 / rate == pytest.approx(1.5 / window**2, rel=0.05)
    assert found.drop_probability[-1] < 0.1


def test_times_too_long_for_the_steps_are_refused():
    with pytest.raises(sg.SluiceError, match=r"until_s = 10000 must be at most 3e\+03 \(s\)"):
        transient(model_of(discipline("pi")), [(0.0, WIDE)], 10_000.0, constant_rtt=True)


# ---- AQMs ----


@pytest.mark.parametrize(
    ("text", "p"), [("spacing=independent", 0.1), ("spacing=uniformised", 0.1)]
)
def test_spacing_changes_how_much_red_drops(text, p):
    """The drop rate is measured with the engine's RED in an overloaded slotted world."""
    red = discipline(f"red:min_th=1,max_th=1000,max_p=1,w=1,{text}")
    model = model_of(red)
    average = 1 + 999 * p
    expected = p if "independent" in text else 2 * p / (1 + p)
    assert model.drop(average, average) == pytest.approx(expected, rel=1e-3)


def test_equilibria():
    for text in AQMS:
        model = model_of(discipline(text))
        queue, state = model.queue(WIDE), model.start(WIDE)
        assert model.drop(state, queue) == pytest.approx(WIDE.drop_probability, rel=1e-3), text
        lost = WIDE.drop_probability
        assert model.change(state, queue, 0.0, lost, WIDE) == pytest.approx(0, abs=1e-12), text


REFUSED = [
    ("codel", "codel has no fluid model; there are models of lred, pi, rem, pie, red"),
    ("red:average=lpf_oda", 'red.average must be "ewma": the model knows no other filter'),
    ("rem:congestion=rate", 'rem.congestion must be "queue"'),
    ("red:w=0", "red.w = 0 must exceed 0: the average never moves"),
    ("pi:unit=bytes", "pi.unit must be packets: the model counts no bytes"),
    ("pi:scheduler=fq", "scheduler must be fifo: the model has one queue"),
    ("red", "red has no equilibrium: it drops 0.0392 of the packets at most"),
    ("pi:q_ref=1000", "rtt_s = 0.35 must exceed 0.4, the wait in the 1000 packets that"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_aqms_without_a_model_are_refused_with_the_reason(text, message):
    with pytest.raises(sg.SluiceError) as error:
        assess(discipline(text), EXAMPLE)
    assert message in str(error.value)


def test_networks_without_equilibrium_are_refused():
    with pytest.raises(
        sg.SluiceError, match=r"rtt_s = 0 must lie between 1e-07 and 1e\+06 \(s; R\)"
    ):
        FluidNetwork(1, 1, 0)
    with pytest.raises(sg.SluiceError, match=r"a flow has a window of .* = 0\.312 packets, which"):
        assess(discipline("pi"), FluidNetwork(800, 2500, 0.1))


# ---- scenarios ----


def dumbbell(**changes):
    return network.NetworkScenario(
        **{
            "topology": network.Dumbbell(),
            "flows": [network.TcpFlows(count=100)],
            "queue": sg.Queue(limit=200),
            "disciplines": [discipline("lred")],
            "duration_s": 10,
            **changes,
        }
    )


def test_n_r_and_c_of_a_scenario():
    found = network_of(dumbbell(), discipline("lred"))
    sending_s = 540 * 8 * (1 / 10e6 + 2 / 100e6)
    mean_s = np.mean([0.01, 0.05, 0.1, 0.15, 0.2])
    assert (found.flows, found.capacity_pps, found.acked) == (100, 2500, 1)
    assert found.rtt_s == pytest.approx(2 * (mean_s + 0.005) + sending_s + 100 / 2500)
    # RED's queue depends on the round trip, and the round trip on the queue
    red = discipline("red:min_th=20,max_th=150,max_p=0.3,w=0.002")
    loaded = network_of(dumbbell(), red)
    assert loaded.rtt_s - model_of(red).queue(loaded) / 2500 == pytest.approx(
        found.rtt_s - 100 / 2500
    )


def test_delayed_acks_count_if_windows_grow_by_the_ack():
    for like, acked in (("rfc", 1), ("ns2", 2)):
        tcp = network.Tcp(like=like, delayed_ack_s=0.1)
        flows = [network.TcpFlows(count=30, tcp=tcp)]
        assert network_of(dumbbell(flows=flows), discipline("lred")).acked == acked


OTHERS = [
    ({"topology": network.Star()}, "topology.kind = 'star' must be 'dumbbell'"),
    ({"flows": [network.TcpFlows(count=9, packets=8)]}, "flows[0] must be TCP flows without end"),
    ({"flows": [network.TcpFlows(route="reverse")]}, "flows[0].route must be 'forward'"),
    (
        {"flows": [network.TcpFlows(tcp=network.Tcp(congestion_control="cubic"))]},
        "flows[0].tcp.congestion_control = 'cubic' must be 'reno'",
    ),
    (
        {"flows": [network.TcpFlows(tcp=network.Tcp(packet_bytes=size)) for size in (500, 1500)]},
        "flows.tcp.packet_bytes must be the same everywhere, not 500, 1500",
    ),
]


@pytest.mark.parametrize(("changes", "message"), OTHERS)
def test_scenarios_that_the_model_does_not_describe_are_refused(changes, message):
    with pytest.raises(sg.SluiceError) as error:
        network_of(dumbbell(**changes), discipline("lred"))
    assert message in str(error.value)


# ---- compared with simulations ----


def test_what_counts_as_an_oscillation():
    draw, times = np.random.default_rng(2), np.arange(0, 400, 0.05)
    noise = 100 + 10 * draw.standard_normal(len(times))
    calm = simulated.swing(noise, 0.05, 2.0)
    assert not calm.oscillates
    assert calm.deviation == pytest.approx(0.1, rel=0.1)
    # a swing as large as the noise
    swinging = simulated.swing(noise + 14 * np.sin(1.9 * times), 0.05, 2.0)
    assert swinging.oscillates
    assert swinging.memory == pytest.approx(0.5, abs=0.05)
    # a swing at another frequency than predicted
    assert not simulated.swing(noise + 14 * np.sin(9 * times) * 0.1, 0.05, 2.0).oscillates
    # a queue that is empty again and again
    assert simulated.swing(np.maximum(0, draw.standard_normal(5000)), 0.05, 2.0).oscillates
    assert simulated.swing(np.zeros(100), 0.05, 2.0) == simulated.Swing(0.0, 0.0)


def test_simulated_networks_behave_as_the_full_model_says(monkeypatch):
    """Two networks far from the boundary, one on each side."""
    monkeypatch.setattr(simulated, "_LEAST_S", 60.0)
    monkeypatch.setattr(simulated, "_ROUND_TRIPS", 300)
    low, high = discipline("lred:beta=0.002,q_ref=60"), discipline("lred:beta=0.02,q_ref=60")
    around = FluidNetwork(60, 2000, 0.15)
    calm = spots(assess(low, around), low, (55, 65), (0.14, 0.16), 1)
    swinging = spots(assess(high, around), high, (55, 65), (0.14, 0.16), 2)
    assert [(spot.stable, spot.oscillates) for spot in calm] == [(True, False)]
    # no network with these settings is stable
    assert [(spot.stable, spot.oscillates) for spot in swinging] == [(False, True)]


# ---- the paper, the command ----


def test_the_papers_example_and_cases(monkeypatch):
    monkeypatch.setattr(lemmas, "NETWORKS", 3)
    monkeypatch.setattr(theory, "_TRIED", 8)
    claims = {claim.text: claim for claim in theory.claims({})}
    failing = [claim for claim in claims.values() if claim.verdict == "fails"]
    assert len(failing) == 5
    example = next(claim for claim in failing if "beta is 0.001" in claim.text)
    assert "0.0010545" in example.evidence
    assert "0.0009308" in example.evidence
    assert len(claims) == len(theory.claims({}))
    assert len(list(theory.plots({}))) == 2
    rows = {(row.row, row.quantity): row for row in theory.rows({})}
    assert len(rows) == len(list(theory.rows({})))
    assert rows["theory, heavy case", "p0 (eq. 6)"].measured == pytest.approx(15.36)
    assert rows["theory, 100 flows", "bound (s), PI (eq. 34)"].measured == pytest.approx(
        (1.5 * (100 / 1125) ** 2) / (6e-8 * 170 * 100), rel=1e-9
    )


def test_the_command_refuses_what_is_missing(capsys, root):
    light = str(root / "scenarios" / "light.toml")
    for arguments, message in (
        (["--aqm", "pi"], "error: give a scenario, or --aqm, --flows, --rtt and --rate"),
        (
            [light, "--flows", "3"],
            "error: --flows, --rtt and --rate must not be given with a scenario, which has them",
        ),
        ([light], "must be a scenario of the network world"),
        (
            ["--aqm", "pi", "--flows", "3", "--rtt", "1", "--rate", "fast"],
            "error: --rate: 'fast' must be a number (bits/s)",
        ),
    ):
        assert main(["stability", *arguments]) != 0
        assert message in capsys.readouterr().err
