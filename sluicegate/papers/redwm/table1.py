"""The paper's table 1, and what its figures say of each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import NamedTuple

import polars as pl

from sluicegate.papers.router.setting import TRAFFIC, Traffic

RED, REDWM = "RED", "REDwM"
ALGORITHMS = (RED, REDWM)
# packets/s generated, of every kind of traffic
GENERATED = 2000.0
RATE_BPS = 516e3


class Column(NamedTuple):
    """A column of the table.

    Attributes:
        quantity: What it is called in our rows.
        measure: The measure of a record.
        scale: Factor from that measure to the table's unit.
    """

    quantity: str
    measure: str
    scale: float


COLUMNS = {
    "loss": Column("loss ratio (%)", "loss_ratio", 100.0),
    "wait": Column("mean delay (ms)", "delay_mean", 1000.0),
    "queue": Column("mean queue (packets)", "queue_mean", 1.0),
}


@dataclass(frozen=True)
class Printed:
    """One row: loss in %, wait in ms, queue in packets."""

    traffic: Traffic
    algorithm: str
    loss: float
    wait: float
    queue: float

    @property
    def name(self) -> str:
        """The row's label."""
        return f"{self.traffic}, {self.algorithm}"

    @property
    def queue_by_little(self) -> float:
        """The queue that its own wait and loss give if all packets generated arrive, packets."""
        return GENERATED * (1 - self.loss / 100) * self.wait / 1000

    @property
    def packet_bytes_by_loss(self) -> float:
        """Size of the packets that an always busy link would carry with this loss."""
        return RATE_BPS / 8 / (GENERATED * (1 - self.loss / 100))


def printed() -> Mapping[tuple[Traffic, str], Printed]:
    """The six rows, by traffic and algorithm."""
    text = files(__package__ or "").joinpath("table1.csv").read_bytes()
    rows = [Printed(**row) for row in pl.read_csv(text, comment_prefix="#").iter_rows(named=True)]
    assert {row.traffic for row in rows} == set(TRAFFIC)
    return {(row.traffic, row.algorithm): row for row in rows}
