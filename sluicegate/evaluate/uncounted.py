"""What is known of classes where a router does not count packets by class: what hosts measured.

The worlds of real packets have no counts by class. Goodputs and completion times are those of the
flows, over the whole run. Where all classes wait in one queue, what it says holds for each; with a
scheduler, or a queue on the way back, it does not, and the delay is missing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from sluicegate.registry import Aqm
from sluicegate.scenario import Discipline, Fifo, Flows
from sluicegate.worlds.network.record import NetworkRecord


def of_flows(
    record: NetworkRecord, groups: Sequence[Flows], discipline: Discipline
) -> dict[str, float]:
    """The measures of classes that flows give, by name.

    Args:
        record: Of a run with one replication.
        groups: Of the scenario; each with a label.
        discipline: Before the bottleneck.
    """
    configured = discipline.configured
    coupled = isinstance(configured, Aqm) and configured.of.coupled
    one_queue = isinstance(discipline.scheduler, Fifo) and not coupled and len(record.ports) == 1
    found: dict[str, float] = {}
    for label in dict.fromkeys(str(each.label) for each in groups):
        numbers = [number for number, each in enumerate(groups) if each.label == label]
        flows = record.flows.filter(pl.col("group").is_in(numbers))
        found[f"{label}.goodput_bps"] = float(flows["goodput_bps"].sum())
        completions = flows["completion_s"].drop_nulls()
        if len(completions):
            found[f"{label}.completion_mean"] = float(completions.mean())  # type: ignore[arg-type]
        if one_queue and "sojourn_mean" in record.measures:
            found[f"{label}.queueing_delay"] = record["sojourn_mean"].value
    return {name: value for name, value in found.items() if math.isfinite(value)}
