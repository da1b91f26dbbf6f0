"""The scenario of a slotted queue as the rows of a table, and which of its measures matter most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sluicegate.record import Record
from sluicegate.report.text import assignments
from sluicegate.scenario import Scenario


def settings(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """The parts of a scenario and how they were set."""
    yield "arrivals", assignments(scenario.arrivals.table())
    yield "service", assignments(scenario.service.table())
    yield "queue", assignments(scenario.queue.table())
    no_duration = scenario.slot_s is None
    yield "slot", "no duration: times are in slots" if no_duration else f"{scenario.slot_s} s"
    yield "packet size (where not a capture's)", f"{scenario.packet_bytes} bytes"


def key_measures(records: Sequence[Record]) -> list[str]:
    """The measures that matter most of a queue whose senders do not react."""
    marked = any(record["mark_ratio"].value > 0 for record in records)
    return [
        "sojourn_mean",
        "sojourn_p99",
        "queue_mean",
        "loss_ratio",
        *(["mark_ratio"] if marked else []),
        "utilization",
    ]
