"""A trained network in integers: the policy of an agent as an AQM without floating point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sluicegate.errors import SluiceError

IntArray = NDArray[np.int64]

# weights are in steps of 2^-16; what a layer gets and gives, in steps of 2^-8
WEIGHT_BITS, VALUE_BITS = 16, 8
MOST_SEEN = 2**16 - 1
MOST_VALUE = MOST_SEEN << VALUE_BITS
# with these the kernel's verifier follows about half as many instructions as it allows
WIDEST, MOST_HIDDEN = 16, 2
SEEN = 3


@dataclass(frozen=True)
class IntegerNetwork:
    """A multilayer perceptron with rectified linear units, in integers.

    It sees what `sluicegate.gym.SlottedEnv` shows: packets in the system, slots since the last
    arrival, slots that the packet waited whose service started last; each counts as at most
    65,535. Its two outputs are what admitting and dropping are worth: it drops where the second is
    greater.

    Attributes:
        weights: Of each layer, in steps of 2^-16, below 2^31; shape (outputs, inputs).
        biases: Of each layer, in steps of 2^-24, below 2^47; shape (outputs,).
    """

    weights: tuple[IntArray, ...]
    biases: tuple[IntArray, ...]

    @classmethod
    def quantised(cls, weights: Sequence[ArrayLike], biases: Sequence[ArrayLike]) -> IntegerNetwork:
        """Round the weights and biases of a trained network.

        Args:
            weights: Of each layer, shape (outputs, inputs): the first has three inputs, the last
                two outputs.
            biases: Of each layer, shape (outputs,).

        Raises:
            SluiceError: If layers do not fit together, are too many or too wide, have no unit, or
                have values that are no numbers or too large.
        """
        rows = [_numbers(each, f"weights of layer {k}") for k, each in enumerate(weights, 1)]
        offsets = [_numbers(each, f"biases of layer {k}") for k, each in enumerate(biases, 1)]
        _check(rows, offsets)
        one = float(2**WEIGHT_BITS)
        return cls(
            tuple(np.rint(each * one).astype(np.int64) for each in rows),
            tuple(np.rint(each * one * 2**VALUE_BITS).astype(np.int64) for each in offsets),
        )

    def drops(self, seen: ArrayLike) -> NDArray[np.bool_]:
        """Where it drops, as the header does to the bit.

        Args:
            seen: What it sees, shape (n, 3); parts of a packet or slot are cut off.

        Raises:
            SluiceError: If it has another shape, or what is no number.
        """
        given = _numbers(seen, "what it sees")
        if given.ndim != 2 or given.shape[1] != SEEN:
            raise SluiceError(
                f"network: what it sees has shape {given.shape}: it must be (n, {SEEN})"
            )
        if np.isnan(given).any():
            raise SluiceError("network: what it sees must be numbers: NaN is none")
        values = np.clip(given, 0, MOST_SEEN).astype(np.int64) << VALUE_BITS
        for number, (weights, biases) in enumerate(zip(self.weights, self.biases, strict=True)):
            values = values @ weights.T + biases
            if number < len(self.weights) - 1:
                values = np.minimum(np.maximum(values, 0) >> WEIGHT_BITS, MOST_VALUE)
        return np.asarray(values[:, 1] > values[:, 0])

    def __str__(self) -> str:
        """In words."""
        widths = [SEEN, *(len(each) for each in self.biases)]
        return f"a network of {' - '.join(map(str, widths))} units, in integers"


def _numbers(given: ArrayLike, what: str) -> NDArray[np.float64]:
    try:
        return np.asarray(given, dtype=float)
    except (TypeError, ValueError) as error:
        raise SluiceError(f"network: {what} must be numbers in equal rows: {error}") from error


def _check(weights: list[NDArray[np.float64]], biases: list[NDArray[np.float64]]) -> None:
    if not weights or len(weights) != len(biases):
        raise SluiceError(
            f"network: {len(weights)} layers of weights and {len(biases)} of biases: there must be "
            "as many, and at least one"
        )
    if len(weights) > MOST_HIDDEN + 1:
        raise SluiceError(
            f"network: {len(weights)} layers are too many: at most {MOST_HIDDEN} hidden ones and "
            "the outputs fit"
        )
    width = SEEN
    for number, (rows, offsets) in enumerate(zip(weights, biases, strict=True), 1):
        last = number == len(weights)
        outputs = 2 if last else offsets.size
        if rows.shape != (outputs, width) or offsets.shape != (outputs,):
            raise SluiceError(
                f"network: layer {number} of {len(weights)} has weights of shape {rows.shape} and "
                f"biases of shape {offsets.shape}: they must be ({outputs}, {width}) and "
                f"({outputs},)"
            )
        if not 1 <= outputs <= WIDEST:
            raise SluiceError(
                f"network: layer {number} has {outputs} units, at most {WIDEST} fit, and at least 1"
            )
        most = max(abs(rows).max(initial=0), abs(offsets).max(initial=0) / 2**VALUE_BITS)
        if not most < 2**15 - 1:
            raise SluiceError(
                f"network: layer {number} has weights and biases that are no numbers or too large: "
                "weights must be below 32,767, biases below 8,388,352"
            )
        width = outputs
