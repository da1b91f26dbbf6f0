"""The n-state modulator: a Markov source that looks self-similar over several time-scales.

S. Robert and J.-Y. Le Boudec's model, as in section III of "Drop-From-Front" (the paper that
`sluice reproduce drop-from-front` repeats). One packet arrives in each slot in which the modulator
is in state 0; from there it goes to state j with probability a^-j, and back with (q / a)^j.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sluicegate import _engine
from sluicegate.errors import SluiceError

FloatArray = NDArray[np.float64]

_LONGEST_STATE = 1e9


@dataclass(frozen=True)
class Modulator:
    """The self-similar source of drop-from-front with parameters a and q.

    Attributes:
        a: Ratio of successive rates of leaving state 0; larger a spreads the time-scales.
        q: State j is left with probability (q / a)^j; q alone fixes the mean.
        states: Number of states n; n - 1 time-scales.

    Raises:
        SluiceError: The parameters give no transition matrix: states < 2, q not in (0, a], or
            a so small that a^-1 + ... + a^-(n-1) exceeds 1; or the slowest state lasts over 10^9
            slots, where rounding would reach the 8th digit of the variance.

    """

    a: float
    q: float
    states: int = 5
    _eigenvalues: FloatArray = field(init=False, repr=False, compare=False)
    _weights: FloatArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.states < 2:
            raise SluiceError(f"states = {self.states} must be at least 2")
        if not (np.isfinite(self.a) and 0 < self.q <= self.a):
            raise SluiceError(f"q = {self.q} must be above 0 and at most a = {self.a}")
        if (leaving := float(self._leave().sum())) > 1 + 1e-12:
            raise SluiceError(
                f"a = {self.a} is too small for {self.states} states: "
                f"the probabilities a^-j of leaving state 0 add up to {leaving:.4g}, over 1"
            )
        with np.errstate(over="ignore"):
            slowest = np.float64(self.a / self.q) ** (self.states - 1)
        if slowest > _LONGEST_STATE * (1 + 1e-9):
            raise SluiceError(
                f"a = {self.a} is too large for q = {self.q} and {self.states} states: "
                f"the slowest state would last {slowest:.3g} slots; at most 1e9 are allowed"
            )
        # The chain is reversible: with D = diag(sqrt(stationary)), D P D^-1 is symmetric, and
        # P^k[0, 0] = sum of weights * eigenvalues^k.
        root = np.sqrt(self.stationary())
        symmetric = root[:, None] * (np.eye(self.states) - self.transition_matrix()) / root
        decays, vectors = np.linalg.eigh((symmetric + symmetric.T) / 2)
        object.__setattr__(self, "_eigenvalues", 1.0 - decays[1:])
        object.__setattr__(self, "_weights", vectors[0, 1:] ** 2)

    def _leave(self) -> FloatArray:
        """Probabilities a^-j of going from state 0 to j = 1..n-1, shape (n - 1,)."""
        return np.asarray(self.a ** -np.arange(1.0, self.states))

    def _return(self) -> FloatArray:
        """Probabilities (q / a)^j of going from j = 1..n-1 to state 0, shape (n - 1,)."""
        return np.asarray((self.q / self.a) ** np.arange(1.0, self.states))

    def transition_matrix(self) -> FloatArray:
        """Return the probabilities of going from state i to j in one slot, shape (n, n)."""
        matrix = np.diag(np.concatenate(([1.0 - self._leave().sum()], 1.0 - self._return())))
        matrix[0, 1:] = self._leave()
        matrix[1:, 0] = self._return()
        return matrix

    def stationary(self) -> FloatArray:
        """Return the probabilities of the states, proportional to q^-j, shape (n,)."""
        weights = self.q ** -np.arange(0.0, self.states)
        return np.asarray(weights / weights.sum())

    @property
    def mean(self) -> float:
        """Packets per slot: 1 / (1 + q^-1 + ... + q^-(n-1))."""
        return float(self.stationary()[0])

    def variance(self, slots: ArrayLike) -> FloatArray:
        """Return the exact variance of the number of packets in `slots` slots (packets^2).

        m * p * (1 - p) + 2 * p * sum over k < m of (m - k) * (P^k[0, 0] - p), with p the mean and
        the sum in closed form for each eigenvalue of P: any m costs the same.

        Args:
            slots: Whole numbers of slots, at least 1, any shape; the result has that shape.

        """
        m = np.asarray(slots, dtype=np.float64)
        if not (np.isfinite(m).all() and (m >= 1).all() and (m == np.rint(m)).all()):
            raise SluiceError(f"slots = {slots!r} must be whole and at least 1")
        p = self.mean
        sums = _weighted_geometric(self._eigenvalues, m[..., None]) @ self._weights
        return m * p * (1 - p) + 2 * p * sums

    def idc(self, slots: ArrayLike) -> FloatArray:
        """Return the index of dispersion for counts, variance / mean, over `slots` slots."""
        m = np.asarray(slots, dtype=np.float64)
        return self.variance(m) / (m * self.mean)

    def local_hurst(self, shortest: float, longest: float) -> float:
        """Return the Hurst parameter that the time-scales from `shortest` to `longest` show.

        H = 1 + slope / 2, with the slope of log Var(mean over m slots) against log m, by least
        squares at up to 16 whole m spaced evenly in the logarithm. The model has no one Hurst
        parameter: the value depends on the range and, beyond the slowest state of about
        (a / q)^(n-1) slots, tends to 1/2. For the paper's source (n = 5, mean 0.5, a = 31) it is
        the paper's 0.78 over 10^4 to 10^5 slots and over 10^2 to 10^6, but 0.84 over 1 to 10^5.

        Args:
            shortest: Slots, at least 1.
            longest: Slots, at least twice `shortest`.

        """
        if not 1 <= shortest <= longest / 2:
            raise SluiceError(
                f"shortest = {shortest} must be at least 1 and at most half of "
                f"longest = {longest} (slots)"
            )
        m = np.unique(np.rint(np.geomspace(shortest, longest, 16)))
        slope = np.polyfit(np.log(m), np.log(self.variance(m) / m**2), 1)[0]
        return 1.0 + float(slope) / 2.0

    def counts(self, bins: int, slots_per_bin: int, seed: int) -> NDArray[np.int64]:
        """Simulate the packets in `bins` bins of `slots_per_bin` slots, shape (bins,).

        Starts in the stationary distribution. Memory and time grow with the visits to state 0, not
        with the slots.
        """
        rng = np.random.default_rng(seed)
        slots = bins * slots_per_bin
        leave = self._leave()
        first = int(rng.choice(self.states, p=self.stationary()))
        end = int(rng.geometric(self._return()[first - 1])) if first else 0
        # Time and packets at the ends of each visit to state 0: packets grow by 1 a slot within.
        corners_time, corners_packets = [np.zeros(1)], [np.zeros(1)]
        packets = 0.0
        batch = max(64, int(1.1 * slots * self.mean * leave.sum()))
        while end < slots:
            visits = rng.geometric(leave.sum(), size=batch)
            state = rng.choice(self.states - 1, size=batch, p=leave / leave.sum())
            away = rng.geometric(self._return()[state])
            starts = end + np.concatenate(([0], np.cumsum(visits + away)))
            sent = packets + np.concatenate(([0], np.cumsum(visits)))
            corners_time.append(np.stack((starts[:-1], starts[:-1] + visits), axis=1).ravel())
            corners_packets.append(np.stack((sent[:-1], sent[1:]), axis=1).ravel())
            end, packets = int(starts[-1]), float(sent[-1])
        edges = np.arange(bins + 1) * slots_per_bin
        at_edges = np.interp(edges, np.concatenate(corners_time), np.concatenate(corners_packets))
        return np.diff(np.rint(at_edges)).astype(np.int64)

    @classmethod
    def of_mean(cls, mean: float, a: float, states: int = 5) -> Modulator:
        """Make the modulator with this mean and this a; the mean alone fixes q.

        Args:
            mean: Packets per slot, in (0, 1).
            a: Ratio of successive rates of leaving state 0.
            states: Number of states n.

        Raises:
            SluiceError: A value is out of range, or a is too small for that mean.

        """
        return cls(a, _q_of_mean(mean, states), states)

    @classmethod
    def fit(
        cls,
        mean: float,
        hurst: float,
        states: int = 5,
        *,
        shortest: float = 1.0,
        longest: float = 1e4,
    ) -> Modulator:
        """Find the modulator of a mean and a local Hurst parameter.

        q follows from the mean alone; then a is the least value at which `local_hurst` over the
        given time-scales is `hurst`.

        Args:
            mean: Packets per slot, in (0, 1).
            hurst: Local Hurst parameter, in (0.5, 1).
            states: Number of states n.
            shortest: Shortest time-scale, slots.
            longest: Longest time-scale, slots.

        Raises:
            SluiceError: A value is out of range, or no a reaches that Hurst parameter.

        """
        if not 0.5 < hurst < 1:
            raise SluiceError(f"hurst = {hurst} must be above 0.5 and below 1")
        q = _q_of_mean(mean, states)
        least_a = max(q, _least_a(states)) * (1 + 1e-9)

        def excess(log_a: float) -> float:
            source = cls(float(np.exp(log_a)), q, states)
            return source.local_hurst(shortest, longest) - hurst

        largest_a = q * _LONGEST_STATE ** (1 / (states - 1))
        grid = np.linspace(np.log(least_a), np.log(largest_a), 80)
        values = np.array([excess(x) for x in grid])
        crossings = np.flatnonzero((values[:-1] < 0) != (values[1:] < 0))
        if crossings.size == 0:
            low, high = values.min() + hurst, values.max() + hurst
            raise SluiceError(
                f"hurst = {hurst:.3f} is out of reach for {states} states with mean {mean:.3g} "
                f"packets per slot over {shortest:.4g} to {longest:.4g} slots: "
                f"it can be {low:.3f} to {high:.3f}"
            )
        first = crossings[0]
        log_a = _root(excess, grid[first], grid[first + 1])
        return cls(float(np.exp(log_a)), q, states)


def _weighted_geometric(ratio: FloatArray, m: FloatArray) -> FloatArray:
    """Return the sum over k = 1..m-1 of (m - k) * ratio^k, for |ratio| < 1."""
    decay = 1.0 - ratio
    small = m * decay < 1e-2
    # The closed form cancels where ratio^m is close to 1; its binomial series does not.
    series, term = np.zeros(np.broadcast_shapes(m.shape, decay.shape)), m * (m - 1) / 2
    for order in range(3, 9):
        series = series + term
        term = term * -(m - order + 1) / order * decay
    closed = (m * decay - 1.0 + ratio**m) / np.where(small, 1.0, decay) ** 2
    return ratio * np.where(small, series, closed)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    from scipy.optimize import brentq  # takes half a second to import, and few need it

    return float(brentq(function, low, high, xtol=1e-14))


def _q_of_mean(mean: float, states: int) -> float:
    """Solve mean = 1 / (1 + q^-1 + ... + q^-(n-1)) for q."""
    if states < 2:
        raise SluiceError(f"states = {states} must be at least 2")
    return _engine.modulator_q(mean, states)


def _least_a(states: int) -> float:
    """Return the a at which a^-1 + ... + a^-(n-1) is 1."""
    j = np.arange(1.0, states)
    return _root(lambda a: float((a**-j).sum()) - 1.0, 1.0 - 1e-9, 2.0)
