"""What all scenarios have: disciplines, queues, schedulers.

Generated from docs/reference/scenario.schema.json: change engine/scenario, then `make generated`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

from sluicegate.scenario.derived import DisciplineBase
from sluicegate.scenario.table import Table

Victim: TypeAlias = Literal["tail", "front", "random"]
EcnCodepoint: TypeAlias = Literal["not-ect", "ect1", "ect0", "ce"]


@dataclass(frozen=True, kw_only=True)
class Queue(Table):
    """The buffer: how much may wait, and which packet is lost when one must be dropped.

    Attributes:
        limit: Greatest number of packets that wait. [packets; 1 to 100,000; default 250]
        limit_bytes: Greatest number of bytes that wait; None: no limit in bytes. [bytes; 1 to
            1e+12]
        victim: Which packet is lost when one must be dropped: the one that arrives, the one at the
            head of the queue, or a waiting one, drawn at random. [default tail]
        ecn: Whether early drops of packets that can be marked (ECN) become marks. [default False]
    """

    limit: int = 250
    limit_bytes: int | None = None
    victim: Victim = "tail"
    ecn: bool = False


@dataclass(frozen=True, kw_only=True)
class Fifo(Table):
    """One queue, first in, first out."""

    kind: ClassVar[Literal["fifo"]] = "fifo"


@dataclass(frozen=True, kw_only=True)
class Sfq(Table):
    """Stochastic fair queueing (McKenney 1990). One packet of each queue in turn.

    When the limit is reached, the longest queue loses a packet. ns-2's SFQ hashes the addresses of
    nodes instead, has 16 queues, and holds 40 packets whatever its limit.

    Attributes:
        queues: Number of queues. [1 to 65,536; default 1,024]
        perturbation_s: Time after which the salt is drawn anew; 0: never. [s; 0 to 1,000,000;
            default 0]
    """

    kind: ClassVar[Literal["sfq"]] = "sfq"
    queues: int = 1024
    perturbation_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Drr(Table):
    """Deficit round robin (Shreedhar & Varghese 1995). `quantum_bytes` of each queue in turn.

    Attributes:
        queues: Number of queues; flows are spread over them by a hash with a random salt. [1 to
            65,536; default 1,024]
        quantum_bytes: What a queue may send in its turn. [bytes; 64 to 1e+09; default 1,500]
    """

    kind: ClassVar[Literal["drr"]] = "drr"
    queues: int = 1024
    quantum_bytes: int = 1500


@dataclass(frozen=True, kw_only=True)
class Fq(Table):
    """Flow queueing (RFC 8290). Deficit round robin in which a queue that was empty goes first.

    With `aqm = "codel"` and `victim = "front"` this is FQ-CoDel.

    Attributes:
        queues: Number of queues; flows are spread over them by a hash with a random salt. [1 to
            65,536; default 1,024]
        quantum_bytes: What a queue may send in its turn. [bytes; 64 to 1e+09; default 1,514]
    """

    kind: ClassVar[Literal["fq"]] = "fq"
    queues: int = 1024
    quantum_bytes: int = 1514


@dataclass(frozen=True, kw_only=True)
class Prio(Table):
    """Strict priority (Linux: sch_prio.c). The first class of service in which packets wait sends.

    Classes behind it may starve.
    """

    kind: ClassVar[Literal["prio"]] = "prio"


@dataclass(frozen=True, kw_only=True)
class Ets(Table):
    """Enhanced transmission selection (Linux: sch_ets.c). Strict classes of service first.

    Those with a quantum share the rest by deficit round robin.
    """

    kind: ClassVar[Literal["ets"]] = "ets"


@dataclass(frozen=True, kw_only=True)
class Wf2q(Table):
    """Weighted fair queueing (Bennett & Zhang 1997: WF2Q+). Strict classes of service first.

    Those with a quantum share the rest in proportion to it, packet by packet, as evenly as packets
    can.
    """

    kind: ClassVar[Literal["wf2q"]] = "wf2q"


@dataclass(frozen=True, kw_only=True)
class ServiceClass(Table):
    """A class of service: which packets it has, and the AQM of its queue.

    A packet is of the first class that takes both its codepoints. The last class takes all that no
    other does.

    Attributes:
        dscp: Differentiated services codepoints of its packets; empty: any. 46 is EF; 10, 12 and 14
            are AF11 to AF13. Groups of flows are told apart by their `dscp`. [0 to 63]
        ecn: ECN codepoints of its packets; empty: any.
        aqm: AQM of its queue, by its name or the path of its C header; None: that of the
            discipline.
        params: The AQM's parameters that are not its defaults. If neither these nor `aqm` are
            given, they are the discipline's.
        quantum_bytes: Its share, with a scheduler whose classes have turns: what it may send in
            one. Classes without it are strict, and come first. [bytes; 64 to 1e+09]
    """

    dscp: Sequence[int] = ()
    ecn: Sequence[EcnCodepoint] = ()
    aqm: str | type | None = None
    params: Mapping[str, float | str | bool] = field(default_factory=dict)
    quantum_bytes: int | None = None


Scheduler: TypeAlias = Fifo | Sfq | Drr | Fq | Prio | Ets | Wf2q


@dataclass(frozen=True, kw_only=True)
class Discipline(DisciplineBase):
    """An AQM with its parameters, and what the queue does with it.

    With a scheduler that has several queues, each of them gets this AQM, unless `classes` says
    otherwise. `victim` and `ecn`, where given, replace those of the scenario's queue.

    Attributes:
        aqm: Name of an AQM, path of a C header, or path of a Python file: `mine.py`, or
            `mine.py:Class` where it has several.
        params: The AQM's parameters that are not its defaults.
        label: Name in tables and plots; empty: the AQM's name with the given parameters.
        scheduler: How packets are spread over queues.
        classes: Classes of service, one for each queue of the schedulers `prio` and `ets`, the most
            important one first.
        victim: Which packet is lost when one must be dropped.
        ecn: Whether early drops of packets that can be marked (ECN) become marks.
    """

    aqm: str | type
    params: Mapping[str, float | str | bool] = field(default_factory=dict)
    label: str = ""
    scheduler: Scheduler = field(default_factory=Fifo)
    classes: Sequence[ServiceClass] = ()
    victim: Victim | None = None
    ecn: bool | None = None


__all__ = [
    "Discipline",
    "Drr",
    "EcnCodepoint",
    "Ets",
    "Fifo",
    "Fq",
    "Prio",
    "Queue",
    "Scheduler",
    "ServiceClass",
    "Sfq",
    "Victim",
    "Wf2q",
]
