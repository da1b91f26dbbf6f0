"""Records of the network world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sluicegate.estimate import Measure
from sluicegate.network.measures import response_time_s


@dataclass(frozen=True)
class PortRecord:
    """One link with the discipline before it.

    Attributes:
        name: The link, as `left -> right`.
        measures: After the warm-up, by name.
        whole: Of the whole run, warm-up included.
        queue_distribution: Share of time, after the warm-up, in which k packets waited, shape (K,).
        samples: Waiting packets, a row per replication, shape (R, T).
        sample_s: Time between two samples.
    """

    name: str
    measures: dict[str, Measure]
    whole: dict[str, Measure]
    queue_distribution: NDArray[np.float64]
    samples: NDArray[np.uint32]
    sample_s: float

    @property
    def times_s(self) -> NDArray[np.float64]:
        """When the samples were taken, shape (T,)."""
        return np.arange(self.samples.shape[1], dtype=np.float64) * self.sample_s

    def response_times_s(self, target: float) -> NDArray[np.float64]:
        """Response time of each replication to a target queue; see `response_time_s`."""
        times = [response_time_s(row, self.sample_s, target) for row in self.samples]
        return np.asarray(times, dtype=np.float64)


@dataclass(frozen=True)
class NetworkRecord:
    """One discipline on one scenario.

    Attributes:
        discipline: Its name, for tables and legends.
        run: What was run: scenario, discipline with all parameters, seed, version.
        interrupted: Whether replications are missing.
        method: How the intervals were made.
        measures: Of all flows together after the warm-up, by name, and those of the first port.
        whole: The same of the whole run, warm-up included.
        ports: Links with the discipline, in the topology's order.
        flows: A row per replication and flow: replication, group, packets (acknowledged in
            sequence, or received), goodput (packets/s over the whole run).
        replications: A row per replication: all measures after the warm-up.
    """

    discipline: str
    run: dict[str, Any]
    interrupted: bool
    method: str
    measures: dict[str, Measure]
    whole: dict[str, Measure]
    ports: list[PortRecord]
    flows: pl.DataFrame
    replications: pl.DataFrame

    def __getitem__(self, name: str) -> Measure:
        """The measure of that name, after the warm-up."""
        return self.measures[name]
