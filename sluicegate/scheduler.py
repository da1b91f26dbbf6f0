"""Schedulers: how a link's packets are spread over queues, and which queue sends next."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, model_validator

from sluicegate.checked import Checked, Whole
from sluicegate.errors import SluiceError

Queues: TypeAlias = Annotated[Whole, Field(ge=1, le=65_536)]
# less would need many turns for one packet
Quantum: TypeAlias = Annotated[Whole, Field(ge=64, le=10**9)]


class Fifo(Checked):
    """One queue, first in, first out."""

    kind: Literal["fifo"] = "fifo"

    def plan(self) -> dict[str, Any]:
        """The fields of the engine's plan."""
        return self.model_dump()


class Sfq(Checked):
    """Stochastic fair queueing (McKenney 1990): one packet of each queue in turn.

    Flows are spread over `queues` queues by a hash whose salt is drawn anew every `perturbation_s`
    seconds (never, if 0). When the limit is reached, the longest queue loses a packet.

    ns-2's SFQ is another one (sfq.cc). It hashes the addresses of nodes, has 16 queues and holds
    40 packets whatever its limit. It never drops a packet that waits, but the one that arrives: if
    its queue holds half as many packets as there are places left, or more; and, once fewer places
    are left than there are queues, if its queue holds more than its fair share, 40 / 16 packets.
    """

    kind: Literal["sfq"] = "sfq"
    queues: Queues = 1024
    perturbation_s: Annotated[float, Field(ge=0, le=1e6)] = 0.0

    @model_validator(mode="after")
    def _never_or_later(self) -> Sfq:
        if 0 < self.perturbation_s < 1e-9:
            raise SluiceError(
                f"perturbation_s = {self.perturbation_s:g} must be 0 or at least 1e-09"
            )
        return self

    def plan(self) -> dict[str, Any]:
        """The fields of the engine's plan."""
        perturbation_ns = round(self.perturbation_s * 1e9)
        return {"kind": self.kind, "queues": self.queues, "perturbation_ns": perturbation_ns}


class Drr(Checked):
    """Deficit round robin (Shreedhar & Varghese 1995): `quantum_bytes` of each queue in turn."""

    kind: Literal["drr"] = "drr"
    queues: Queues = 1024
    quantum_bytes: Quantum = 1500

    def plan(self) -> dict[str, Any]:
        """The fields of the engine's plan."""
        return self.model_dump()


class Fq(Checked):
    """Flow queueing (RFC 8290): deficit round robin in which a queue that was empty goes first.

    With `aqm = "codel"` and `victim = "front"` this is FQ-CoDel.
    """

    kind: Literal["fq"] = "fq"
    queues: Queues = 1024
    quantum_bytes: Quantum = 1514

    def plan(self) -> dict[str, Any]:
        """The fields of the engine's plan."""
        return self.model_dump()


Scheduler: TypeAlias = Annotated[Fifo | Sfq | Drr | Fq, Field(discriminator="kind")]
