"""What a worker does: simulations of a sweep, one after the other."""

from __future__ import annotations

import math
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from sluicegate import store
from sluicegate.errors import InterruptError
from sluicegate.record import Record
from sluicegate.sweeps.plan import Task
from sluicegate.worlds import AnyWorld


class Work(ABC):
    """What a worker is given, and gives back done."""

    @abstractmethod
    def done(self) -> Done:
        """Do it.

        Raises:
            SluiceError: If a world refuses a run.
            InterruptError: After Ctrl-C.
        """


@dataclass(frozen=True)
class Job(Work):
    """Simulations that a worker makes in one request.

    Attributes:
        bases: For each discipline the scenario with it alone.
        worlds: Where.
        tasks: Which.
        threads: Threads of a simulation.
        keep: Whether the store keeps what is made.
    """

    bases: Sequence[Any]
    worlds: Sequence[AnyWorld]
    tasks: Sequence[Task]
    threads: int
    keep: bool = True

    def done(self) -> Done:
        """Make them; where wanted, the store keeps each as soon as it is made."""
        start_s = time.monotonic()
        with nullcontext() if self.keep else store.unused(), store.refusals() as refusals:
            columns = [_made(self, task) for task in self.tasks]
        return Done(columns, time.monotonic() - start_s, refusals)


@dataclass(frozen=True)
class Done:
    """The results of a job.

    Attributes:
        columns: For each simulation the columns of its measures, and of its notes.
        seconds: How long all took.
        refusals: Why the store has not kept them.
    """

    columns: list[dict[str, Any]]
    seconds: float
    refusals: Sequence[str] = ()

    def warn(self) -> None:
        """Warn of runs that were not kept."""
        for told in self.refusals:
            warnings.warn(told, stacklevel=1)


def _made(job: Job, task: Task) -> dict[str, Any]:
    scenario, world = job.bases[task.discipline].replace(task.changes), job.worlds[task.world]
    record: Record = world.run(
        scenario, scenario.disciplines[0], threads=job.threads, on_progress=_silent, fresh=False
    )
    if record.interrupted:
        raise InterruptError("interrupted")
    return {**measured(record), "notes": "\n".join(world.notes(scenario, [record])) or None}


def _silent(_done: float, _total: float, _stage: str = "") -> None:
    """Ignore the progress of a single run."""


def measured(record: Record) -> dict[str, Any]:
    """Measures as columns; what is not known is None."""
    columns: dict[str, Any] = {"identity": record.identity, "time_unit": record.time_unit}
    for name, measure in record.measures.items():
        columns[name] = _known(measure.value)
        columns[f"{name}_half_width"] = _known(measure.half_width)
        if measure.bound is not None:
            columns[f"{name}_bound"] = _known(measure.bound)
    return columns


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value
