"""The worlds: each judges a discipline on a scenario in its own way; all give records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

from sluicegate import store
from sluicegate.chain.build import Tell, build, describe_chain
from sluicegate.chain.limit import extrapolate
from sluicegate.chain.steady import Method, solve
from sluicegate.errors import SluiceError
from sluicegate.network.record import NetworkRecord
from sluicegate.network.scenario import NetworkScenario
from sluicegate.network.simulate import simulate as simulate_network
from sluicegate.record import Record, SlottedRecord, methods
from sluicegate.scenario import Discipline, Scenario
from sluicegate.slotted import simulate

AnyScenario: TypeAlias = Scenario | NetworkScenario
S = TypeVar("S", contravariant=True)

_INTERVALS = "Behind ± stands the half width of the 95 % confidence interval ({})."
_PACKET_BITS = 4000


class Watch(Protocol):
    """Is told how far something is."""

    def __call__(self, name: str, done: float, total: float, stage: str = "", /) -> None:
        """Take what is done of all there is to do under a name, and what that means in words."""


class World(Protocol[S]):
    """What a comparison needs of a world.

    Attributes:
        name: As a user writes it.
        column: What its results are called over a column of figures.
        takes: The kind of its scenarios.
    """

    name: ClassVar[str]
    column: ClassVar[str]
    takes: ClassVar[type[AnyScenario]]

    def check(self, scenario: S, discipline: Discipline) -> None:
        """Refuse what the world cannot judge, before anything is run.

        Raises:
            SluiceError: With the reason.
        """

    def cost(self, scenario: S) -> float:
        """How long a discipline takes: slots that would be simulated in about that time."""

    def run(
        self,
        scenario: S,
        discipline: Discipline,
        *,
        threads: int | None,
        tell: Tell,
        fresh: bool,
    ) -> Record:
        """Judge a discipline, or take what the store has.

        Args:
            scenario: What it is judged on.
            discipline: What is judged.
            threads: Threads that a simulation uses; all cores if None.
            tell: Called now and then.
            fresh: Whether to leave aside what the store has.

        Raises:
            SluiceError: As `check`.
            InterruptError: If Ctrl-C came before anything was finished.
        """

    def in_short(self, scenario: S) -> str:
        """What is done with each discipline, as part of a sentence."""

    def reading(self, records: Sequence[Record]) -> str:
        """A sentence on what stands behind the figures of the world's records."""


def _check_alone(file: Path | None, what: str, scenario: AnyScenario) -> None:
    """Refuse a file that is to be of one discipline, where there are several."""
    if file is not None and (count := len(scenario.disciplines)) != 1:
        raise SluiceError(f"{file}: a {what} is of one discipline, and there are {count}")


@dataclass(frozen=True)
class Slotted:
    """The simulated queue of discrete time.

    Attributes:
        decisions: File to write the decision log to, of a scenario with one discipline and one
            replication; see `sluicegate.simulate`.
    """

    name: ClassVar[str] = "slotted"
    column: ClassVar[str] = "measured"
    takes: ClassVar[type[AnyScenario]] = Scenario

    decisions: Path | None = None

    def check(self, scenario: Scenario, discipline: Discipline) -> None:
        """Every scenario can be simulated; not all logged."""
        _check_alone(self.decisions, "decision log", scenario)

    def cost(self, scenario: Scenario) -> float:
        """Slots of all replications."""
        return scenario.duration_slots * scenario.runs

    def run(
        self,
        scenario: Scenario,
        discipline: Discipline,
        *,
        threads: int | None,
        tell: Tell,
        fresh: bool,
    ) -> SlottedRecord:
        """Simulate; see `sluicegate.simulate`."""
        return simulate(
            scenario,
            discipline,
            threads=threads,
            watch=lambda done, total: tell(done, total, ""),
            fresh=fresh,
            decisions=self.decisions,
        )

    def in_short(self, scenario: Scenario) -> str:
        """Runs, slots and seed."""
        runs = f"{scenario.runs} run{'s' * (scenario.runs > 1)}"
        return f"simulated in {runs} of {scenario.duration_slots:,} slots, seed {scenario.seed}"

    def reading(self, records: Sequence[Record]) -> str:
        """How the intervals were made."""
        return _INTERVALS.format(". ".join(methods(records)))


@dataclass(frozen=True)
class Chain:
    """The same queue as a Markov chain, solved exactly.

    Attributes:
        grid: Step of the average's grid, packets.
        method: How the chain is solved; see `sluicegate.chain.solve`.
        limit: Whether to go to the limit of an infinitely fine grid; see
            `sluicegate.chain.extrapolate`.
        front_waits: Whether to follow packets under drop from front through time, for the
            distribution of their waits.
    """

    name: ClassVar[str] = "chain"
    column: ClassVar[str] = "exact"
    takes: ClassVar[type[AnyScenario]] = Scenario
    SLOTS_OF_THE_SAME_TIME: ClassVar[float] = 1e9

    grid: float = 0.25
    method: Method = "auto"
    limit: bool = False
    front_waits: bool = False

    def check(self, scenario: Scenario, discipline: Discipline) -> None:
        """Build the chain and throw it away: what is wrong with it is told then."""
        for name, usual in (("method", "auto"), ("front_waits", False)):
            if self.limit and (given := getattr(self, name)) != usual:
                raise SluiceError(f"{name} = {given} has no meaning where limit is set")
        build(scenario, discipline, self.grid)

    def cost(self, scenario: Scenario) -> float:
        """That of a large chain: from what is there it cannot be told how fast it converges."""
        return self.SLOTS_OF_THE_SAME_TIME

    def run(
        self,
        scenario: Scenario,
        discipline: Discipline,
        *,
        threads: int | None,
        tell: Tell,
        fresh: bool,
    ) -> Record:
        """Solve, or go to the limit; `threads` has no meaning here."""
        run = describe_chain(scenario, discipline, **asdict(self))
        identity = store.identity(run)
        if not fresh and (known := store.find(identity, Record)) is not None:
            return replace(known, discipline=discipline.name)
        if self.limit:
            found = extrapolate(scenario, discipline, grid=self.grid, tell=tell)
        else:
            found = solve(
                scenario,
                discipline,
                grid=self.grid,
                method=self.method,
                front_waits=self.front_waits and run["queue"]["victim"] == "front",
                tell=tell,
            ).record
        record = replace(found, identity=identity, run=run)
        store.keep(record)
        return record

    def in_short(self, scenario: Scenario) -> str:
        """That there is no chance in it."""
        return "solved exactly as a Markov chain"

    def reading(self, records: Sequence[Record]) -> str:
        """Which error is left."""
        if self.limit:
            return "Behind ± stands how far the exact figure may lie off the grid's limit."
        return (
            f"Exact figures are those of the chain with the average in steps of {self.grid:g} "
            "packets: no chance is in them."
        )


@dataclass(frozen=True)
class Network:
    """Packets from end to end, with TCP that reacts.

    Attributes:
        trace: File to write the packets to, of a scenario with one discipline and one replication;
            see `sluicegate.network.simulate`.
        decisions: File to write the decision log to, likewise.
    """

    name: ClassVar[str] = "network"
    column: ClassVar[str] = "measured"
    takes: ClassVar[type[AnyScenario]] = NetworkScenario
    SLOTS_OF_A_PACKET: ClassVar[float] = 20

    trace: Path | None = None
    decisions: Path | None = None

    def check(self, scenario: NetworkScenario, discipline: Discipline) -> None:
        """Every scenario can be simulated that could be made, but for routes; not all traced."""
        _check_alone(self.trace, "trace", scenario)
        _check_alone(self.decisions, "decision log", scenario)

    def cost(self, scenario: NetworkScenario) -> float:
        """Packets that all links with the discipline can send; each takes as long as some slots."""
        rate_bps = sum(wire.rate_bps for wire in scenario.topology.wires() if wire.queue)
        seconds = scenario.duration_s * scenario.replications
        return self.SLOTS_OF_A_PACKET * seconds * rate_bps / _PACKET_BITS

    def run(
        self,
        scenario: NetworkScenario,
        discipline: Discipline,
        *,
        threads: int | None,
        tell: Tell,
        fresh: bool,
    ) -> NetworkRecord:
        """Simulate; see `sluicegate.network.simulate`."""
        return simulate_network(
            scenario,
            discipline,
            threads=threads,
            watch=lambda done_s, total_s: tell(
                done_s, total_s, f"{done_s:,.0f} of {total_s:,.0f} s"
            ),
            fresh=fresh,
            trace=self.trace,
            decisions=self.decisions,
        )

    def in_short(self, scenario: NetworkScenario) -> str:
        """Runs, seconds and seed."""
        runs = f"{scenario.replications} run{'s' * (scenario.replications > 1)}"
        return f"simulated in {runs} of {scenario.duration_s:,g} s, seed {scenario.seed}"

    def reading(self, records: Sequence[Record]) -> str:
        """How the intervals were made."""
        return _INTERVALS.format(". ".join(methods(records)))


WORLDS: dict[str, type[World[Any]]] = {world.name: world for world in (Slotted, Chain, Network)}


def world_named(name: str) -> World[Any]:
    """The world of that name, with its usual settings.

    Raises:
        SluiceError: If there is none.
    """
    if name not in WORLDS:
        raise SluiceError(f"world = {name} must be one of {', '.join(WORLDS)}")
    return WORLDS[name]()


def worlds_of(scenario: AnyScenario) -> list[str]:
    """Names of the worlds that take such a scenario, the usual one first.

    Raises:
        SluiceError: If it is none.
    """
    found = [name for name, world in WORLDS.items() if isinstance(scenario, world.takes)]
    if not found:
        raise SluiceError(
            f"{scenario!r} must be a Scenario or a NetworkScenario: their load() reads a file"
        )
    return found
