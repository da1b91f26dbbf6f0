"""Records: what a run gives, the same in every world, in memory and on disk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sluicegate.estimate import Measure


@dataclass(frozen=True)
class Record:
    """One discipline on one scenario.

    Attributes:
        identity: Hash of everything that determines the run.
        discipline: Its name, for tables and legends.
        run: What was run: scenario, discipline with all parameters, seed, version.
        slots: Slots simulated, all replications together, warm-up included.
        warm_up_slots: Slots left out at the start of each replication.
        interrupted: Whether the run was stopped before its end.
        method: How the intervals were made.
        time_unit: `slots` or `s`, of everything that is a time.
        measures: By name; see `sluicegate.estimate.MEASURES`.
        queue_distribution: Probability that k packets wait, shape (K,).
        wait_distribution: Probability of each bin of the time in the system, shape (W,).
        wait_bin: Width of those bins in `time_unit`; bin k starts at k widths.
        resolution: Probabilities below are chance, or the solution's error.
    """

    identity: str
    discipline: str
    run: dict[str, Any]
    slots: int
    warm_up_slots: int
    interrupted: bool
    method: str
    time_unit: str
    measures: dict[str, Measure]
    queue_distribution: NDArray[np.float64]
    wait_distribution: NDArray[np.float64]
    wait_bin: float
    resolution: float

    @property
    def world(self) -> str:
        """The world that gave it."""
        return str(self.run["world"])

    @property
    def is_exact(self) -> bool:
        """Whether it was computed, with no chance in it."""
        return self.slots == 0

    def __getitem__(self, name: str) -> Measure:
        """The measure of that name."""
        return self.measures[name]

    @property
    def wait_times(self) -> NDArray[np.float64]:
        """Where the bins of `wait_distribution` start, in `time_unit`."""
        return np.arange(len(self.wait_distribution), dtype=np.float64) * self.wait_bin

    def summary(self) -> dict[str, Any]:
        """Everything but the distributions, as types that JSON has."""
        return {
            "identity": self.identity,
            "discipline": self.discipline,
            "run": self.run,
            "slots": self.slots,
            "warm_up_slots": self.warm_up_slots,
            "interrupted": self.interrupted,
            "method": self.method,
            "time_unit": self.time_unit,
            "wait_bin": self.wait_bin,
            "resolution": self.resolution,
            "measures": {
                name: {"value": m.value, "half_width": m.half_width, "unit": m.unit}
                for name, m in self.measures.items()
            },
        }

    def frame(self) -> pl.DataFrame:
        """The distributions, a row each: distribution, at (packets or time), probability."""
        at_queue = np.arange(len(self.queue_distribution), dtype=np.float64)
        parts = [
            ("queue", at_queue, self.queue_distribution),
            ("wait", self.wait_times, self.wait_distribution),
        ]
        return pl.concat(
            pl.DataFrame({"at": at, "probability": probability}).select(
                pl.lit(name).alias("distribution"), pl.all()
            )
            for name, at, probability in parts
        )

    def write(self, path: Path) -> None:
        """Write to one Parquet file: the distributions as rows, all else as its metadata."""
        part = path.with_suffix(".part")
        self.frame().write_parquet(part, metadata={"sluicegate": json.dumps(self.summary())})
        part.replace(path)

    @classmethod
    def read(cls, path: Path) -> Record:
        """Read what `write` wrote."""
        summary = json.loads(pl.read_parquet_metadata(path)["sluicegate"])
        frame = pl.read_parquet(path)

        def distribution(name: str) -> NDArray[np.float64]:
            rows = frame.filter(pl.col("distribution") == name)
            return rows["probability"].to_numpy()

        measures = {name: Measure(**row) for name, row in summary.pop("measures").items()}
        return cls(
            **summary,
            measures=measures,
            queue_distribution=distribution("queue"),
            wait_distribution=distribution("wait"),
        )


def names(records: Sequence[Record]) -> list[str]:
    """What tells records apart: the discipline, and the world where there are several."""
    if len({record.world for record in records}) < 2:
        return [record.discipline for record in records]
    return [f"{record.discipline} ({record.world})" for record in records]
