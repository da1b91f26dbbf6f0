"""What the worlds have in common whose scenario is one queue in slots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, TypeVar

from sluicegate.record import Record
from sluicegate.report.text import assignments
from sluicegate.scenario import ReplayArrivals, Scenario
from sluicegate.worlds.world import AnyScenario, World

R = TypeVar("R", bound=Record)


class OneQueue(World[Scenario, R]):
    """A world of one queue in slots, whose senders do not react."""

    takes: ClassVar[type[AnyScenario]] = Scenario
    tables: ClassVar[tuple[str, ...]] = ("[arrivals]", "[service]")

    def settings(self, scenario: Scenario) -> Iterable[tuple[str, str]]:
        """Arrivals, service, queue and slot."""
        yield "arrivals", assignments(scenario.arrivals.table())
        yield "service", assignments(scenario.service.table())
        yield "queue", assignments(scenario.queue.table())
        no_duration = scenario.slot_s is None
        yield "slot", "no duration: times are in slots" if no_duration else f"{scenario.slot_s} s"
        yield "packet size (where not a capture's)", f"{scenario.packet_bytes} bytes"

    def key_measures(self, records: Sequence[R]) -> list[str]:
        """Times, queue and losses."""
        marked = any(record["mark_ratio"].value > 0 for record in records)
        return [
            "sojourn_mean",
            "sojourn_p99",
            "queue_mean",
            "loss_ratio",
            *(["mark_ratio"] if marked else []),
            "utilization",
        ]

    def notes(self, scenario: Scenario, records: Sequence[R]) -> list[str]:
        """What was left out of a capture."""
        arrivals = scenario.arrivals
        if not isinstance(arrivals, ReplayArrivals):
            return []
        return [f"{arrivals.capture}: {note}." for note in arrivals.packets.notes]
