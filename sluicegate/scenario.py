"""Scenarios: what is simulated, as TOML or as Python objects, checked before anything runs."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, ConfigDict, Field, PrivateAttr, model_validator

from sluicegate.checked import Checked, Text, Whole, explained, printable
from sluicegate.errors import SluiceError
from sluicegate.registry import Aqm, PythonAqm, aqm
from sluicegate.scheduler import Fifo, Scheduler
from sluicegate.traffic import Capture, Modulator


def _named(value: object) -> object:
    if not isinstance(value, str | type):
        raise SluiceError(f"{value!r} must be an AQM's name or the path of its C header")
    return printable(value) if isinstance(value, str) else value


Probability: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Positive: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Victim: TypeAlias = Literal["tail", "front", "random"]

# a file that never ends, such as a device, must not fill the memory
_MOST_BYTES = 2**24

# what an AQM's clock takes a slot without duration for, and how far it counts
_SLOT_NS = 1_000_000
_MOST_NS = 2**63


class GeometricArrivals(Checked):
    """A packet in each slot with probability `rate`, independently: the slotted Poisson."""

    kind: Literal["geometric"] = "geometric"
    rate: Probability

    def plan(self) -> dict[str, Any]:
        """The fields of the engine's plan."""
        return {"kind": self.kind, "rate": self.rate}


class SelfSimilarArrivals(Checked):
    """The self-similar modulator with mean `rate` packets per slot; see `traffic.Modulator`."""

    kind: Literal["self-similar"] = "self-similar"
    rate: Annotated[float, Field(ge=1e-9, lt=1)]
    a: Annotated[float, Field(gt=1, allow_inf_nan=False)]
    states: Annotated[Whole, Field(ge=2, le=20)] = 5

    @model_validator(mode="after")
    def _exists(self) -> SelfSimilarArrivals:
        self.modulator()
        return self

    def modulator(self) -> Modulator:
        """The modulator itself."""
        return Modulator.of_mean(self.rate, self.a, self.states)

    def plan(self) -> dict[str, Any]:
        """The fields of the engine's plan."""
        return {"kind": self.kind, "a": self.a, "q": self.modulator().q, "states": self.states}


class FgnArrivals(Checked):
    """A packet in each slot with a probability that follows exact fractional Gaussian noise.

    `rate` is the mean of that probability, `deviation` its standard deviation (before it is held
    within 0 and 1), `hurst` the noise's Hurst parameter, and each value holds for `frame` slots.
    """

    kind: Literal["fgn"] = "fgn"
    rate: Probability
    deviation: Annotated[float, Field(ge=0, le=10)]
    hurst: Annotated[float, Field(gt=0, lt=1)]
    frame: Annotated[Whole, Field(ge=1, le=10**12)] = 100

    def plan(self) -> dict[str, Any]:
        """The fields of the engine's plan."""
        return self.model_dump()


class ReplayArrivals(Checked):
    """The packets of a capture, each in the slot of its time-stamp."""

    kind: Literal["replay"] = "replay"
    capture: str
    _capture: Capture | None = PrivateAttr(None)

    def load(self, folder: Path) -> None:
        """Read the capture; a relative path starts at `folder`."""
        self._capture = Capture.read(folder / self.capture)

    @property
    def packets(self) -> Capture:
        """The capture's packets."""
        if self._capture is None:
            self.load(Path())
        assert self._capture is not None
        return self._capture

    def slots(self, slot_s: float) -> NDArray[np.uint64]:
        """The slot in which each packet comes, counted from the first packet's."""
        return (self.packets.time_ns / (slot_s * 1e9)).astype(np.uint64)


Arrivals: TypeAlias = GeometricArrivals | SelfSimilarArrivals | FgnArrivals | ReplayArrivals


class GeometricService(Checked):
    """A service ends in each slot with probability `mu`."""

    kind: Literal["geometric"] = "geometric"
    mu: Annotated[float, Field(gt=0, le=1)]


class DeterministicService(Checked):
    """Every service takes `slots` slots."""

    kind: Literal["deterministic"] = "deterministic"
    slots: Annotated[Whole, Field(ge=1, le=10**9)]


class PacketSizeService(Checked):
    """A link of `rate_bps` bits/s: a packet takes its own time, rounded up to whole slots."""

    kind: Literal["packet-size"] = "packet-size"
    rate_bps: Annotated[float, Field(gt=0, le=1e15)]


Service: TypeAlias = GeometricService | DeterministicService | PacketSizeService


class Queue(Checked):
    """The buffer: how many packets may wait, and which goes when one must be dropped."""

    limit: Annotated[Whole, Field(ge=1, le=100_000)] = 250
    victim: Victim = "tail"
    ecn: bool = False


class Discipline(Checked):
    """An AQM with its parameters, and what the queue does with it.

    With a scheduler that has several queues each of them gets this AQM. `victim` and `ecn`, where
    given, go before those of the scenario's queue. `aqm` is a name, the path of a C header, or a
    Python class.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    aqm: Annotated[str | type, BeforeValidator(_named)]
    params: dict[str, Any] = Field(default_factory=dict)
    label: Text = ""
    scheduler: Scheduler = Fifo()
    victim: Victim | None = None
    ecn: bool | None = None
    _aqm: Aqm | PythonAqm | None = PrivateAttr(None)

    def load(self, folder: Path) -> None:
        """Configure the AQM; the relative path of a header starts at `folder`."""
        name = self.aqm
        where = folder / name if isinstance(name, str) and name.endswith(".h") else name
        self._aqm = aqm(where, **self.params)

    @property
    def configured(self) -> Aqm | PythonAqm:
        """The AQM with its parameters set."""
        if self._aqm is None:
            self.load(Path())
        assert self._aqm is not None
        return self._aqm

    @property
    def name(self) -> str:
        """The label, or else the AQM's name with the parameters that were given."""
        if self.label:
            return self.label
        shown = [f"{key}={value}" for key, value in self.params.items()]
        shown += [self.scheduler.kind] if self.scheduler.kind != "fifo" else []
        shown += [f"drop from {self.victim}"] if self.victim else []
        shown += ["ECN"] if self.ecn else []
        return f"{self.configured.name} {', '.join(shown)}".rstrip()


class Scenario(Checked):
    """Everything that determines a comparison in the slotted world.

    Attributes:
        title: One line.
        arrivals: Law of the arrivals.
        service: Law of the service.
        queue: The buffer.
        disciplines: What is compared.
        slots: Length of one replication; a replay defaults to the capture's length.
        replications: Independent repetitions, all cores at work: 8 unless given. A capture is
            replayed once, since every repetition would bring the same packets.
        seed: Of every random stream; all disciplines see the same arrivals.
        slot_s: Duration of a slot in seconds. Without it times are in slots, and an AQM's
            clock takes a slot for a millisecond.
        packet_bytes: Size of every packet that is not a capture's.
    """

    title: Text = ""
    arrivals: Annotated[Arrivals, Field(discriminator="kind")]
    service: Annotated[Service, Field(discriminator="kind")]
    queue: Queue = Queue()
    disciplines: Annotated[list[Discipline], Field(min_length=1)]
    slots: Annotated[Whole, Field(ge=1000, le=10**15)] | None = None
    replications: Annotated[Whole, Field(ge=1, le=1000)] | None = None
    seed: Annotated[Whole, Field(ge=0, lt=2**64)] = 1
    slot_s: Annotated[float, Field(ge=1e-9, le=1e3)] | None = None
    packet_bytes: Annotated[Whole, Field(ge=1, le=65_535)] = 500

    @model_validator(mode="after")
    def _complete(self) -> Scenario:
        timed = isinstance(self.arrivals, ReplayArrivals) or isinstance(
            self.service, PacketSizeService
        )
        if timed and self.slot_s is None:
            raise SluiceError("slot_s is missing: a capture or a link's rate needs a slot's length")
        if self.slots is None and not isinstance(self.arrivals, ReplayArrivals):
            raise SluiceError("slots is missing: say how long a replication lasts")
        if isinstance(self.arrivals, ReplayArrivals) and self.runs != 1:
            raise SluiceError(
                f"replications = {self.runs} must be 1: a capture brings the same packets each time"
            )
        for place, discipline in enumerate(self.disciplines):
            with explained(f"disciplines.{place}"):
                _ = discipline.configured
        names = [discipline.name for discipline in self.disciplines]
        if doubles := {name for name in names if names.count(name) > 1}:
            raise SluiceError(f"disciplines: two are called {doubles.pop()!r}; give each a label")
        if self.duration_slots > (most := _MOST_NS // self.slot_ns):
            raise SluiceError(
                f"slots = {self.duration_slots} must be at most {most}: "
                f"with {self.slot_ns} ns a slot an AQM's clock counts no further"
            )
        return self

    @property
    def runs(self) -> int:
        """Replications of each discipline."""
        if self.replications is not None:
            return self.replications
        return 1 if isinstance(self.arrivals, ReplayArrivals) else 8

    @property
    def duration_slots(self) -> int:
        """Slots of one replication."""
        if not isinstance(self.arrivals, ReplayArrivals):
            assert self.slots is not None
            return self.slots
        assert self.slot_s is not None
        whole = int(self.arrivals.slots(self.slot_s)[-1]) + 1
        if self.slots is not None and self.slots > whole:
            raise SluiceError(
                f"slots = {self.slots} must be at most {whole}, where the capture ends"
            )
        return self.slots or whole

    @property
    def slot_ns(self) -> int:
        """What an AQM's clock takes a slot for, ns."""
        return _SLOT_NS if self.slot_s is None else round(self.slot_s * 1e9)

    @classmethod
    def load(cls, path: str | Path) -> Scenario:
        """Read a scenario from a TOML file; paths in it start at the file's folder.

        Raises:
            SluiceError: If the file is missing, is no TOML, or says what makes no sense; every
                problem stands on a line of its own.
        """
        path = Path(path)
        return cls.parse(read_toml(path), path.parent, str(path))

    @classmethod
    def parse(cls, table: dict[str, Any], folder: Path = Path(), origin: str = "") -> Scenario:
        """Check a scenario given as a table of TOML's types; see `load`."""
        with explained(origin):
            return cls.model_validate(placed(table, folder))


def read_toml(path: Path) -> dict[str, Any]:
    """Read the table in a TOML file.

    Raises:
        SluiceError: If the file is missing, is no TOML, or has over 16 MiB.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise SluiceError(f"{path}: {error.strerror}") from None
    if len(content) > _MOST_BYTES:
        raise SluiceError(f"{path}: a scenario must have at most {_MOST_BYTES} bytes")
    try:
        return tomllib.loads(content.decode("utf-8-sig"))  # some editors write a mark first
    except RecursionError:
        raise SluiceError(f"{path}: not valid TOML: tables or lists nested too deep") from None
    except ValueError as error:  # of numbers with thousands of digits, too
        raise SluiceError(f"{path}: not valid TOML: {error}") from None


def placed(table: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A copy of `table` in which relative paths start at `folder`."""

    def capture(row: dict[str, Any]) -> dict[str, Any]:
        path = row.get("capture")
        return {**row, "capture": str(folder / path)} if isinstance(path, str) else row

    def header(row: dict[str, Any]) -> dict[str, Any]:
        name = row.get("aqm")
        if isinstance(name, str) and name.endswith(".h"):
            return {**row, "aqm": str(folder / name)}
        return row

    return {
        **table,
        **_changed(table, "arrivals", capture),
        **_changed(table, "flows", capture),
        **_changed(table, "disciplines", header),
    }


def _changed(
    table: dict[str, Any], name: str, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """The table of that name, or each of the array of that name, changed; nothing if neither."""
    match table.get(name):
        case dict() as row:
            return {name: change(row)}
        case list() as rows:
            return {name: [change(row) if isinstance(row, dict) else row for row in rows]}
        case _:
            return {}
