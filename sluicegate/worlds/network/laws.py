"""Laws of times, of sizes, and of rates that vary: what flows are drawn from."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, model_validator

from sluicegate.checked import Checked, Whole
from sluicegate.errors import SluiceError
from sluicegate.traffic import Modulator

Time: TypeAlias = Annotated[float, Field(ge=0, le=1e8)]
Duration: TypeAlias = Annotated[float, Field(ge=1e-9, le=1e8)]
Shape: TypeAlias = Annotated[float, Field(gt=1, le=1000)]


def ns(seconds: float) -> int:
    """Whole nanoseconds."""
    return round(seconds * 1e9)


class Constant(Checked):
    """Always `mean_s` seconds."""

    kind: Literal["constant"] = "constant"
    mean_s: Duration

    def plan(self) -> dict[str, Any]:
        """The fields of the engine's law."""
        return {"kind": self.kind, "mean_ns": ns(self.mean_s)}


class Uniform(Checked):
    """Uniform between `least_s` and `greatest_s`."""

    kind: Literal["uniform"] = "uniform"
    least_s: Time
    greatest_s: Duration

    @model_validator(mode="after")
    def _ordered(self) -> Uniform:
        if self.least_s > self.greatest_s:
            raise SluiceError(
                f"least_s = {self.least_s:g} must not exceed greatest_s = {self.greatest_s:g}"
            )
        return self

    def plan(self) -> dict[str, Any]:
        """The fields of the engine's law."""
        return {
            "kind": self.kind,
            "least_ns": ns(self.least_s),
            "greatest_ns": ns(self.greatest_s),
        }


class Exponential(Checked):
    """Exponential with mean `mean_s`: the gaps of a Poisson process."""

    kind: Literal["exponential"] = "exponential"
    mean_s: Duration

    def plan(self) -> dict[str, Any]:
        """The fields of the engine's law."""
        return {"kind": self.kind, "mean_ns": ns(self.mean_s)}


class Pareto(Checked):
    """Pareto with mean `mean_s`; the smaller `shape`, the heavier the tail."""

    kind: Literal["pareto"] = "pareto"
    mean_s: Duration
    shape: Shape = 1.5

    def plan(self) -> dict[str, Any]:
        """The fields of the engine's law."""
        return {"kind": self.kind, "mean_ns": ns(self.mean_s), "shape": self.shape}


Law: TypeAlias = Annotated[Constant | Uniform | Exponential | Pareto, Field(discriminator="kind")]


class Sizes(Checked):
    """Whole numbers of packets, at least 1.

    Attributes:
        kind: `constant`; `geometric` on 1, 2, ...; or `pareto`, rounded up or down at random so
            that the mean stays.
        mean_packets: Mean, packets; of `pareto` at least shape / (shape - 1), which makes the
            smallest a packet.
        shape: Of `pareto`: the smaller, the heavier the tail.
    """

    kind: Literal["constant", "geometric", "pareto"]
    mean_packets: Annotated[float, Field(ge=1, le=1e9)]
    shape: Shape | None = None

    @model_validator(mode="after")
    def _sensible(self) -> Sizes:
        if (self.shape is not None) != (self.kind == "pareto"):
            raise SluiceError("shape must be given with kind = pareto, and only then")
        if self.kind == "constant" and not self.mean_packets.is_integer():
            raise SluiceError(f"mean_packets = {self.mean_packets:g} must be whole if constant")
        if self.shape is not None and self.mean_packets < (least := self.shape / (self.shape - 1)):
            raise SluiceError(
                f"mean_packets = {self.mean_packets:g} must be at least shape / (shape - 1) = "
                f"{least:g}: nothing is smaller than a packet"
            )
        return self

    def plan(self) -> dict[str, Any]:
        """The fields of the engine's law."""
        if self.kind == "constant":
            return {"kind": self.kind, "packets": int(self.mean_packets)}
        return {"kind": self.kind, "mean": self.mean_packets, "shape": self.shape}


class Fgn(Checked):
    """A rate that follows exact fractional Gaussian noise.

    In each frame of `frame_s` the rate is its mean times 1 + `deviation` * noise, and 0 where that
    is negative, which raises the mean: by less than 0.01 % at a deviation of 0.3, by 0.4 % at 0.5,
    by 8 % at 1.

    Attributes:
        hurst: Hurst parameter of the noise: 0.5 for frames that know nothing of each other, the
            nearer to 1, the longer the bursts.
        deviation: Standard deviation of the rate, as a share of its mean.
        frame_s: Length of a frame.
    """

    hurst: Annotated[float, Field(gt=0, lt=1)]
    deviation: Annotated[float, Field(ge=0, le=1)]
    frame_s: Duration

    def plan(self, mean_ns: float) -> dict[str, Any]:
        """The fields of the engine's Poisson process with gaps of that mean."""
        return {
            "kind": "fgn",
            "mean_ns": mean_ns,
            "hurst": self.hurst,
            "deviation": self.deviation,
            "frame_ns": ns(self.frame_s),
        }


class SelfSimilar(Checked):
    """On and off at many time-scales at once; see `traffic.Modulator`.

    A slot is the time that a packet takes at the flow's rate; the modulator says in which slots
    one is sent.

    Attributes:
        share: Mean share of the slots with a packet.
        a: Ratio of successive rates of leaving the state that sends; a larger one spreads the
            time-scales further.
        states: One more than the number of time-scales.
    """

    share: Annotated[float, Field(ge=1e-9, lt=1)]
    a: Annotated[float, Field(gt=1, allow_inf_nan=False)]
    states: Annotated[Whole, Field(ge=2, le=20)] = 5

    @model_validator(mode="after")
    def _exists(self) -> SelfSimilar:
        self.modulator()
        return self

    def modulator(self) -> Modulator:
        """The modulator itself."""
        return Modulator.of_mean(self.share, self.a, self.states)

    def plan(self, slot_ns: float) -> dict[str, Any]:
        """The fields of the engine's law."""
        return {
            "kind": "self-similar",
            "slot_ns": slot_ns,
            "a": self.a,
            "q": self.modulator().q,
            "states": self.states,
        }
