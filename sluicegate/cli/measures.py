"""`sluice measures`: the name of every measure, and what it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sluicegate.cli.screen import console
from sluicegate.measures import AT_QUEUE, ENDS, FLOWS, QUEUE, Definition
from sluicegate.report.terminal import terminal_table

_GROUPS: dict[str, Sequence[Definition[Any]]] = {
    "of the queue": QUEUE,
    "of all flows together, in networks": FLOWS,
    "of a class of flows, in networks, with the class before it, as in calls.jitter": [
        *AT_QUEUE,
        *ENDS,
    ],
}


def measures() -> None:
    """List the measures, for --measures, --y and --x."""
    below = {
        f"\n{title}": [[each.name, each.unit.in_all_worlds, each.meaning] for each in listed]
        for title, listed in _GROUPS.items()
    }
    console().print(terminal_table(["name", "unit", "what it is"], [], below=below))
