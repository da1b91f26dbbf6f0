"""Sections 4.2 and 5.1: lemmas and theorems compared with the roots of equation 13.

The roots come from the delay equation's infinitesimal generator and from the argument principle
(`sluicegate.stability.roots`), which do not use equations 18 to 25. Networks are random: N
from 20 to 1000, C from 200 to 50,000 packets/s, R from 20 to 600 ms, all uniform in their
logarithms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
from scipy import optimize

from sluicegate.papers.claims import Check, Claim, judge
from sluicegate.stability.boundary import (
    boundary_frequency,
    crossing_frequency,
    excess_phase,
    greatest_gain,
    greatest_rtt_s,
    least_flows,
)
from sluicegate.stability.controller import Controller
from sluicegate.stability.model import FluidNetwork
from sluicegate.stability.plant import plant
from sluicegate.stability.roots import rightmost_root, unstable_roots
from sluicegate.stability.rules import safe_beta

NETWORKS = 1000
_SEED = 2007
_RANGES = ((20, 1000), (200, 50_000), (0.02, 0.6))
# distance of points beside a boundary, and tolerance of roots on it, as shares
_BESIDE, _EXACT = 0.01, 1e-9
_BRANCHES = (1, 2, 3)


@cache
def networks(count: int) -> list[FluidNetwork]:
    """Random networks."""
    draw = np.random.default_rng(_SEED)
    low, high = np.log(np.array(_RANGES, dtype=np.float64)).T
    return [FluidNetwork(*map(float, row)) for row in np.exp(draw.uniform(low, high, (count, 3)))]


def lemma_claims() -> Iterator[Claim]:
    """What sections 4.2 and 5.1 prove."""
    yield _claim("With zero delay the system is stable.", "sec. 4.2, equation 14", _without_delay)
    yield _claim("Lemma 1: k = 0 gives the smallest R and omega.", "sec. 4.2", _smallest_branch)
    yield _claim(
        "Lemma 2: the system is stable for all R < R*, and R* is unique.", "sec. 4.2", _below_rtt
    )
    yield _claim("Lemma 3: the system is stable for N > N*.", "sec. 4.2", _above_flows)
    yield _claim("Lemma 4: the system is stable for H < H*.", "sec. 4.2", _below_gain)
    yield _claim(
        "Lemma 5: for LRED omega decreases with N, increases with beta, and increases with R if "
        "beta <= sqrt(2 eta) (2 N)^2 / (R C)^3.",
        "sec. 5.1",
        _monotone,
    )
    yield _claim(
        "Theorems 1 and 2: up to theorem 2's beta, LRED is stable for any N >= N- and R <= R+.",
        "sec. 4.2, 5.1",
        _safe,
    )


def _claim(text: str, where: str, holds: Callable[[FluidNetwork, float], float | None]) -> Claim:
    """A claim that holds if it does in every network.

    Args:
        text: Its words.
        where: In the paper.
        holds: For a network and a random number from 0 to 1: how far the root on the boundary is
            from j omega, as a share of omega; 0 where no boundary is looked at; None if the claim
            is false there.
    """
    draw = np.random.default_rng(_SEED + 1)
    found = [holds(network, float(draw.random())) for network in networks(NETWORKS)]
    right = [error for error in found if error is not None]
    told = f"{len(right)} of {len(found)} random networks"
    if any(right):
        told += f"; roots on the boundary are j omega to {max(right):.0e}"
    return judge(text, where, [Check("holds" if len(right) == len(found) else "fails", told)])


def _without_delay(network: FluidNetwork, at: float) -> float | None:
    gain = greatest_gain(network) * 10 ** (4 * at - 2)
    roots = np.roots([1.0, network.k11, network.kc * gain])
    return 0.0 if np.all(roots.real < 0) else None


def _smallest_branch(network: FluidNetwork, at: float) -> float | None:
    gain = greatest_gain(network)
    first = network.rtt_s
    for k in _BRANCHES:

        def excess(log_rtt: float, k: int = k) -> float:
            at_rtt = network.with_(rtt_s=float(np.exp(log_rtt)))
            return excess_phase(at_rtt, gain) - 2 * k * np.pi

        later = network.with_(
            rtt_s=float(np.exp(optimize.brentq(excess, np.log(first), np.log(1e4 * first))))
        )
        omega = crossing_frequency(later, gain)
        # it is indeed a solution of equation 17
        loop = later.kc * gain * np.exp(-1j * omega * later.rtt_s)
        loop /= 1j * omega * (1j * omega + later.k11)
        if later.rtt_s <= first or omega <= boundary_frequency(network) or abs(loop + 1) > _EXACT:
            return None
    return 0.0


def _below_rtt(network: FluidNetwork, at: float) -> float | None:
    gain = greatest_gain(network)
    edge = greatest_rtt_s(network.flows, network.capacity_pps, lambda _: gain)
    if abs(edge / network.rtt_s - 1) > _EXACT:
        return None
    inside = network.with_(rtt_s=edge * max(at, 1e-3) * (1 - _BESIDE))
    outside = network.with_(rtt_s=edge * (1 + _BESIDE))
    return _on_edge(network.with_(rtt_s=edge), gain, inside, gain, outside, gain)


def _above_flows(network: FluidNetwork, at: float) -> float | None:
    gain = greatest_gain(network)
    edge = least_flows(network.capacity_pps, network.rtt_s, lambda _: gain)
    inside = network.with_(flows=edge * (1 + _BESIDE) * 10 ** (3 * at))
    outside = network.with_(flows=edge * (1 - _BESIDE))
    return _on_edge(network.with_(flows=edge), gain, inside, gain, outside, gain)


def _below_gain(network: FluidNetwork, at: float) -> float | None:
    gain = greatest_gain(network)
    inside = gain * (1 - _BESIDE) * max(at, 1e-3)
    return _on_edge(network, gain, network, inside, network, gain * (1 + _BESIDE))


def _on_edge(
    edge: FluidNetwork,
    gain: float,
    inside: FluidNetwork,
    inner_gain: float,
    outside: FluidNetwork,
    outer_gain: float,
) -> float | None:
    """How far the root on the edge is from j omega; None if a side is not as it should be."""
    root = rightmost_root(plant(edge), Controller(gain))
    error = abs(root / (1j * crossing_frequency(edge, gain)) - 1)
    inner = _roots(inside, inner_gain)
    outer = _roots(outside, outer_gain)
    right = error < _EXACT and inner == (True, 0) and outer == (False, 2)
    return float(error) if right else None


def _roots(network: FluidNetwork, gain: float) -> tuple[bool, int]:
    """Whether the rightmost root is in the left half-plane, and how many are in the right one."""
    loop = plant(network), Controller(gain)
    return rightmost_root(*loop).real < 0, unstable_roots(*loop)


def _monotone(network: FluidNetwork, at: float) -> float | None:
    step = 1e-4
    bound = safe_beta(network).monotone

    def omega(network: FluidNetwork, beta: float) -> float:
        return crossing_frequency(network, beta * np.sqrt(network.drop_probability))

    longer = network.with_(rtt_s=network.rtt_s * (1 + step))
    right = [
        omega(longer, factor * bound) > omega(network, factor * bound)
        for factor in (at, 1 - 10 * step)
    ]
    # the bound is sharp
    right.append(omega(longer, 1.01 * bound) < omega(network, 1.01 * bound))
    beta = bound * 10 ** (4 * at - 2)
    more = network.with_(flows=network.flows * 1.01)
    right.append(omega(more, beta) < omega(network, beta) < omega(network, 1.01 * beta))
    return 0.0 if all(right) else None


def _safe(network: FluidNetwork, at: float) -> float | None:
    beta = safe_beta(network).safe * (1 - _BESIDE)
    draw = np.random.default_rng(int(at * 2**32))
    for _ in range(3):
        other = network.with_(
            flows=network.flows * 10 ** draw.uniform(0, 2),
            rtt_s=network.rtt_s * 10 ** draw.uniform(-2, 0),
        )
        gain = beta * float(np.sqrt(other.drop_probability))
        if _roots(other, gain) != (True, 0):
            return None
    return 0.0
