"""What an ns-2 trace says of flows and links."""

from __future__ import annotations

import math
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sluicegate import _engine
from sluicegate.errors import SluiceError


@dataclass(frozen=True, eq=False)
class Trace:
    """A trace in ns-2's 12 fields, summed up.

    Attributes:
        path: The file.
        lines: Lines read.
        cut_off: Whether the file ends within a line, which does not count.
        start_s: Time of the first line, s.
        end_s: Time of the last line, s.
        flows: A row per flow (type, `fid_`, source and destination), in the order of their first
            packets: `sent`, `received`, `lost` packets, `loss_ratio` (lost of sent),
            `throughput_bps` (bits received, from the first packet sent to the last received),
            `delay_mean_s`, `delay_min_s`, `delay_max_s` (source to destination), `jitter_s` (mean
            absolute difference of the delays of successive packets, RFC 3393).
        links: A row per direction of a link: `arrivals` at its queue, `departures`, `drops`,
            packets `corrupted` on it, `loss_ratio` (drops of arrivals), `throughput_bps` (over the
            whole trace), `queue_mean` over time and `queue_max`, packets, without the one being
            sent.
        bin_s: Length of the bins of both courses, s; the first starts at time 0.
        flow_course: Throughput of each flow in each bin, bit/s, shape (flows, bins).
        link_course: Mean queue of each link in each bin, packets, shape (links, bins).
    """

    path: Path
    lines: int
    cut_off: bool
    start_s: float
    end_s: float
    flows: pl.DataFrame
    links: pl.DataFrame
    bin_s: float
    flow_course: NDArray[np.float64]
    link_course: NDArray[np.float64]

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Trace:
        """Read a trace; its memory does not grow with the file.

        Raises:
            SluiceError: The file cannot be read, or a line (it is named) is not what ns-2 writes.
        """
        try:
            table = _engine.read_trace(fspath(path))
        except ValueError as error:
            raise SluiceError(str(error)) from None
        duration_s = table["end_s"] - table["start_s"]
        bins = max(1, math.ceil(table["end_s"] / table["bin_s"]))
        # the last bin is full only up to the end of the trace
        lengths_s = np.full(bins, table["bin_s"])
        lengths_s[-1] = table["end_s"] - (bins - 1) * table["bin_s"] or table["bin_s"]
        return cls(
            path=Path(path),
            flows=_flows(table["flows"]),
            links=_links(table["links"], duration_s),
            flow_course=8 * _matrix(table["flow_course"], bins) / lengths_s,
            link_course=_matrix(table["link_course"], bins) / lengths_s,
            **{name: table[name] for name in ("lines", "cut_off", "start_s", "end_s", "bin_s")},
        )

    def summary(self) -> dict[str, Any]:
        """Everything but the courses, as types that JSON has."""
        return {
            "trace": str(self.path),
            "lines": self.lines,
            "cut_off": self.cut_off,
            "start_s": self.start_s,
            "end_s": self.end_s,
            "flows": self.flows.to_dicts(),
            "links": self.links.to_dicts(),
        }


def _flows(columns: dict[str, Any]) -> pl.DataFrame:
    received_bits = 8 * pl.col("received_bytes")
    delays = pl.col("delays")
    return pl.DataFrame(columns).select(
        "type",
        "id",
        "source",
        "destination",
        "sent",
        "received",
        "lost",
        _ratio(pl.col("lost"), pl.col("sent")).alias("loss_ratio"),
        _ratio(received_bits, pl.col("last_received_s") - pl.col("first_sent_s")).alias(
            "throughput_bps"
        ),
        _ratio(pl.col("delay_sum_s"), delays).alias("delay_mean_s"),
        pl.when(delays > 0).then("delay_min_s").alias("delay_min_s"),
        pl.when(delays > 0).then("delay_max_s").alias("delay_max_s"),
        _ratio(pl.col("delay_change_sum_s"), delays.cast(pl.Int64) - 1).alias("jitter_s"),
    )


def _links(columns: dict[str, Any], duration_s: float) -> pl.DataFrame:
    duration = pl.lit(duration_s)
    return pl.DataFrame(columns).select(
        "from",
        "to",
        "arrivals",
        "departures",
        "drops",
        "corrupted",
        _ratio(pl.col("drops"), pl.col("arrivals")).alias("loss_ratio"),
        _ratio(8 * pl.col("departed_bytes"), duration).alias("throughput_bps"),
        _ratio(pl.col("queue_area"), duration).alias("queue_mean"),
        "queue_max",
    )


def _ratio(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    """The ratio; null where there is nothing to divide by."""
    return pl.when(whole > 0).then(part / whole)


def _matrix(courses: list[NDArray[np.float64]], bins: int) -> NDArray[np.float64]:
    matrix = np.zeros((len(courses), bins))
    for row, course in zip(matrix, courses, strict=True):
        row[: len(course)] = course[:bins]
        # what happens just as the last bin ends
        row[-1] += course[bins:].sum()
    return matrix
