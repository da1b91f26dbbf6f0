"""Sections 4 and 5: the model, theorem 2's example, and the bounds, all without a simulation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sluicegate.errors import SluiceError
from sluicegate.papers.claims import Check, Claim, judge, ours
from sluicegate.papers.comparison import Plot, Row
from sluicegate.papers.lred import bounds
from sluicegate.papers.lred.lemmas import lemma_claims
from sluicegate.papers.lred.measured import Records, Scenarios
from sluicegate.papers.lred.scenarios import (
    BETA,
    CAPACITY,
    Reading,
    lred,
    pi,
    pi_star,
    rem,
)
from sluicegate.papers.lred.theory_figures import bounds_figure, surfaces_figure
from sluicegate.scenario import Discipline
from sluicegate.stability.aqms import model_of
from sluicegate.stability.assessment import LINEARISATIONS
from sluicegate.stability.boundary import (
    boundary_frequency,
    greatest_gain,
    greatest_rtt_s,
    least_flows,
)
from sluicegate.stability.loop import Loop, loop_of
from sluicegate.stability.model import FluidNetwork
from sluicegate.stability.plant import Linearisation
from sluicegate.stability.rules import safe_beta

READINGS: tuple[Reading, ...] = ()

# the example after theorem 2; experiment 2's cases: flows, round trip (s), printed p0
_EXAMPLE = FluidNetwork(300, CAPACITY, 0.35)
_CASES = {"light": (80, 0.55, 0.0025), "heavy": (800, 0.1, 0.165)}
# where the numbers of flows and round trips within (N-, R+) are tried
_MORE, _TRIED = 3.0, 25
_FLOWS = tuple(range(100, 1001, 100))
# ns-2's PI was designed for these (Hollot et al. 2001)
_PI_FOR = FluidNetwork(60, 3750, 0.2467)


def scenarios(reading: Reading) -> Scenarios:
    """None: nothing is simulated here."""
    return {}


def claims(records: Records) -> list[Claim]:
    """What sections 4 and 5 say of the model, and what the model says of section 6."""
    return [*lemma_claims(), *_of_example(), *_of_pi(), *_of_loss(), *_of_light_case()]


def _of_example() -> Iterator[Claim]:
    beta = safe_beta(_EXAMPLE)
    told = (
        f"equation 31 gives beta_0 = {beta.boundary:.7f}; lemma 5's sqrt(2 eta) (2 N)^2 / (R C)^3 "
        f"= {beta.monotone:.7f}; the lower one, which theorem 2 takes, is {beta.safe:.7f}"
    )
    yield judge(
        "By theorem 2, beta is 0.001 for C = 2500 packets/s, N = 300 and R = 0.35 s.",
        "sec. 5.1",
        [Check("holds" if round(beta.safe, 4) == BETA else "fails", told)],
        "beta_0 alone rounds to 0.001; the minimum is 7 % below 0.001.",
    )
    stable = [_loop(network, lred(), "reduced").is_stable for network in _within(_EXAMPLE)]
    yield judge(
        "For any beta <= 0.001, the system is stable with all N >= 300 and R <= 0.35 s.",
        "sec. 5.1, equations 7 and 8",
        [_all("N and R have a stable loop with beta = 0.001", stable)],
        "The root nearest to the imaginary axis is that of the corner; a lower beta is further "
        "away (lemma 4).",
    )
    models: dict[Linearisation, str] = {
        "constant": "equations 4 and 5, linear without taking w(t - R) for w(t), are",
        "full": "with a round trip that follows the queue the model is",
    }
    for name, words in models.items():
        loop = _loop(_EXAMPLE, lred(), name)
        yield ours(
            judge(
                f"{words} stable in the example, too.",
                "sec. 5.1",
                [_verdict("LRED", loop, stable=True)],
                f"The greatest stable beta there: {BETA * (loop.margins.gain or np.nan):.3g}.",
            )
        )


def _of_pi() -> Iterator[Claim]:
    stable = [_loop(network, pi(), "full").is_stable for network in _within(_PI_FOR)]
    yield judge(
        "The default PI is designed for a small N and a large R; when N increases or R decreases, "
        "the system remains stable.",
        "sec. 5.2, by theory",
        [_all("N and R have a stable loop", stable)],
        f"From N = {_PI_FOR.flows:g} and R = {_PI_FOR.rtt_s:g} s, C = {_PI_FOR.capacity_pps:g} "
        "packets/s, for which Hollot et al. 2001 design it; in their model, too, the round trip "
        "follows the queue.",
    )


def _of_loss() -> Iterator[Claim]:
    for name, (flows, rtt_s, printed) in _CASES.items():
        network = FluidNetwork(flows, CAPACITY, rtt_s)
        p0 = network.drop_probability
        yield judge(
            f"The {name} case of experiment 2 has the p0 of equation 6.",
            "figure 6, sec. 4.1",
            [
                Check(
                    "holds" if abs(p0 / printed - 1) <= 0.1 else "fails",
                    f"{flows} flows and R = {rtt_s:g} s give {p0:.4g}, printed is {printed:g}",
                )
            ],
            f"The window is {network.window:.3g} packets; equal means within a tenth.",
        )


def _of_light_case() -> Iterator[Claim]:
    flows, rtt_s, _ = _CASES["light"]
    network = FluidNetwork(flows, CAPACITY, rtt_s)
    seen = ((lred(), True), (pi(), True), (pi_star(flows, rtt_s), True), (rem(), False))
    models: dict[Linearisation, str] = {
        "full": "with a round trip that follows the queue, the model of section 4 says",
        "reduced": "equations 7 and 8 say",
    }
    for name, words in models.items():
        yield ours(
            judge(
                f"{words} of the light case what was seen: REM oscillates, LRED, PI and PI* do "
                "not.",
                "sec. 4, experiment 2",
                [
                    _verdict(discipline.name, _loop(network, discipline, name), stable)
                    for discipline, stable in seen
                ],
                "PI* is designed with a round trip that follows the queue; with a constant one it "
                "is unstable with any gain, since its zero cancels TCP's pole and leaves a double "
                "integrator with delay.",
            )
        )


def _within(least: FluidNetwork) -> Iterator[FluidNetwork]:
    """Networks of N >= N- and R <= R+ that have an equilibrium."""
    for more in np.geomspace(1, _MORE, _TRIED):
        for shorter in np.geomspace(1 / _MORE, 1, _TRIED):
            network = least.with_(
                flows=least.flows * float(more), rtt_s=least.rtt_s * float(shorter)
            )
            if network.drop_probability < 1:
                yield network


def _loop(network: FluidNetwork, discipline: Discipline, linearisation: Linearisation) -> Loop:
    return loop_of(model_of(discipline), network, linearisation)


def _verdict(name: str, loop: Loop, stable: bool) -> Check:
    """Whether a loop is as expected."""
    told = f"{name} {'stable' if loop.is_stable else 'unstable'} by theory (rightmost root at "
    told += f"{loop.rightmost_root.real:+.3f}/s)"
    return Check("holds" if loop.is_stable == stable else "fails", told)


def _all(words: str, right: list[bool]) -> Check:
    told = f"{sum(right)} of {len(right)} {words}"
    return Check("holds" if all(right) else "fails", told)


def rows(records: Records) -> Iterator[Row]:
    """Every numbered quantity with its value in the example, and the bounds over N."""
    case, beta = "theory, example of theorem 2", safe_beta(_EXAMPLE)
    for quantity, value in {
        "w0 (eq. 6)": _EXAMPLE.window,
        "p0 (eq. 6)": _EXAMPLE.drop_probability,
        "K11 (eq. 7)": _EXAMPLE.k11,
        "K12 (eq. 7)": _EXAMPLE.k12,
        "K21 (eq. 8)": _EXAMPLE.k21,
        "K_C (eq. 13)": _EXAMPLE.kc,
        "omega (eq. 21)": boundary_frequency(_EXAMPLE),
        "H* (eq. 24)": greatest_gain(_EXAMPLE),
        "R* with beta = 0.001 (eq. 22)": greatest_rtt_s(300, CAPACITY, _gain),
        "N* with beta = 0.001 (eq. 23)": least_flows(CAPACITY, 0.35, _gain),
        "beta_0 (eq. 31)": beta.boundary,
        "beta of lemma 5": beta.monotone,
    }.items():
        yield Row(case, quantity, None, value, None)
    yield Row(case, "beta (theorem 2)", BETA, beta.safe, None)
    for linearisation in LINEARISATIONS:
        margin = _loop(_EXAMPLE, lred(), linearisation).margins.gain
        quantity = f"greatest stable beta, {linearisation} model"
        yield Row(case, quantity, None, BETA * (margin or np.nan), None)
    yield from _case_rows()
    yield from _bound_rows()


def _gain(network: FluidNetwork) -> float:
    """H of LRED with the paper's beta (equation 29)."""
    return BETA * float(np.sqrt(network.drop_probability))


def _case_rows() -> Iterator[Row]:
    for name, (flows, rtt_s, printed) in _CASES.items():
        network, case = FluidNetwork(flows, CAPACITY, rtt_s), f"theory, {name} case"
        yield Row(case, "p0 (eq. 6)", printed, network.drop_probability, None)
        for discipline in (lred(), pi(), rem()):
            for linearisation in LINEARISATIONS:
                try:
                    root = _loop(network, discipline, linearisation).rightmost_root
                except SluiceError:
                    # no equilibrium: p0 above 1
                    continue
                quantity = f"growth (1/s), {discipline.name}, {linearisation} model"
                yield Row(case, quantity, None, root.real, None)


def _bound_rows() -> Iterator[Row]:
    for flows in _FLOWS:
        network = FluidNetwork(flows, CAPACITY, bounds.r_max_s(flows))
        p0, case = np.array(network.drop_probability), f"theory, {flows} flows"
        yield Row(case, "p0 (eq. 6)", None, float(p0), None)
        for name in ("PI", "PI*", "REM"):
            number = 40 if name == "REM" else 34
            bound_s = float(bounds.bound_s(name, flows, p0))
            yield Row(case, f"bound (s), {name} (eq. {number})", None, bound_s, None)
        exact_s = float(bounds.rem_bound_s(p0, exact=True))
        yield Row(case, "bound (s), REM without eq. 39's approximation", None, exact_s, None)


def plots(records: Records) -> Iterator[Plot]:
    """The surfaces of lemmas 2 to 4, and the bounds."""
    flows, rtts_s = np.geomspace(50, 2000, 60), np.geomspace(0.03, 1.5, 60)
    yield Plot(
        surfaces_figure(flows, rtts_s, CAPACITY, (BETA / 4, BETA, 4 * BETA), _EXAMPLE),
        "Sections 4 and 5.1: the boundaries of stability",
        "Left: R*(N) and N*(R) are one curve for each beta of LRED; below it the loop is stable. "
        "Right: the largest beta of theorem 2 over R+, for three N-. +: the paper's example. "
        "Equations 7 and 8.",
    )
    p0 = np.linspace(0.005, 0.4, 80)
    curves = {
        "PI (34)": bounds.pi_bound_s(p0),
        "REM (40)": bounds.rem_bound_s(p0),
        "REM, exact exponential": bounds.rem_bound_s(p0, exact=True),
        "PI*, N- = 100 (34)": bounds.pi_bound_s(p0, bounds.pi_star_gain(100, 0.45)),
        "PI*, N- = 1000 (34)": bounds.pi_bound_s(p0, bounds.pi_star_gain(1000, 0.9)),
    }
    yield Plot(
        bounds_figure(p0, curves),
        "Section 5.2: lower bounds of the response time",
        "Equations 34 and 40 with the settings of section 6; equation 39 takes the exponential for "
        "its first two terms.",
    )
