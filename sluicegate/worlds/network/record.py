"""Records of the network world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from sluicegate.estimate import Measure
from sluicegate.record import (
    FloatArray,
    Frames,
    Record,
    distribution_frame,
    distributions_of,
    measure_rows,
    measures_of,
)
from sluicegate.worlds.network.response import response_time_s

# measures that are told where there is one line
_SHORT = ("queue_mean", "sojourn_mean", "loss_ratio", "utilization")
_TABLES = ("flows", "class_distributions", "replications", "series")
# those of a port, but for its distributions
_PORT_TABLES = ("series", "band_distributions", "band_series")
OF_BANDS = {
    "band": pl.String,
    "distribution": pl.String,
    "at": pl.Float64,
    "width": pl.Float64,
    "probability": pl.Float64,
}
BANDS_SAMPLED = {
    "band": pl.String,
    "replication": pl.UInt32,
    "time_s": pl.Float64,
    "queue": pl.UInt32,
    "sent": pl.UInt64,
    "sojourn_s": pl.Float64,
}


def lasting(flows: pl.DataFrame, run: dict[str, Any]) -> pl.DataFrame:
    """The flows that have no end of their own: not those that come and go, stop, or have a size."""
    endless = [
        number
        for number, group in enumerate(run["flows"])
        if group["kind"] in ("tcp", "datagrams")
        and group["stop_s"] is None
        and group.get("packets") is None
    ]
    return flows.filter(pl.col("group").is_in(endless))


def main_place(ports: Sequence[PortRecord]) -> int:
    """Place of the port that a record is of.

    It is the first with the compared discipline that sent anything; the first with it if none did.
    """
    compared = [place for place, port in enumerate(ports) if port.own_discipline is None]
    sent = (place for place in compared if ports[place].whole["throughput"].value > 0)
    return next(sent, compared[0])


def _rows(series: pl.DataFrame, name: str) -> FloatArray:
    column = series[name].to_numpy().astype(np.float64)
    return column.reshape(series["replication"].n_unique(), -1)


@dataclass(frozen=True, repr=False)
class PortRecord:
    """One link with a discipline before it.

    Attributes:
        name: The link, as `left -> right`.
        measures: After the warm-up, by name.
        whole: Of the whole run, warm-up included.
        queue_distribution: Share of time, after the warm-up, in which k packets waited, shape (K,).
        sojourn_distribution: Share of the packets sent after the warm-up, by bins of the time from
            arrival to the start of the transmission, shape (W,).
        delay_distribution: Likewise of the time from arrival to its end, shape (D,).
        time_bin_s: Width of the bins of both; bin k starts at k widths.
        sample_s: Time between two samples.
        series: A row per replication and sample, the first at 0 and none at the end of the run:
            where `sample_s` divides the duration, the last is one interval before it. Columns:
            replication; time_s; queue (packets that wait); since the start of the run arrivals,
            losses (packets), and sent_bytes (of the packets whose transmission began); average
            (the AQM's average queue, packets) and probability (its drop probability), both of this
            moment, null where the AQM holds none or the scheduler has several queues, each with an
            AQM of its own; and, only where it varies, rate_bps (of the link).
        own_discipline: Name of the discipline before it where the scenario gives it one of its own;
            None: the compared one.
        band_distributions: Of each band of the discipline (lane of DualPI2, tin of CAKE, class
            of service) after the warm-up: band, distribution (`queue`, `sojourn`, `delay`), at
            (packets or s), width (of the bin that begins there), probability; without the bins in
            which there was nothing. No rows where there are no bands, or packets are not counted by
            class.
        band_series: A row per band, replication and sample, at the times of `series`: band;
            replication; time_s; queue (packets that wait; null where that is not known, as where a
            world of real packets has lost some of a band); since the start of the run sent (packets
            whose transmission began) and sojourn_s (the sum of their sojourns). No rows where there
            are no bands, or packets are not counted by class.
    """

    name: str
    measures: dict[str, Measure]
    whole: dict[str, Measure]
    queue_distribution: FloatArray
    sojourn_distribution: FloatArray
    delay_distribution: FloatArray
    time_bin_s: float
    sample_s: float
    series: pl.DataFrame
    own_discipline: str | None = None
    band_distributions: pl.DataFrame = field(default_factory=partial(pl.DataFrame, schema=OF_BANDS))
    band_series: pl.DataFrame = field(default_factory=partial(pl.DataFrame, schema=BANDS_SAMPLED))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} {self.measures[name]}" for name in _SHORT)
        return f"<{type(self).__name__} of {self.name}: {shown}>"

    def _repr_html_(self) -> str:
        from sluicegate.report.notebook import of_port  # reports import this module

        return of_port(self).cell()

    def rows(self, name: str) -> FloatArray:
        """A column of `series`, a row per replication, shape (R, T); NaN where it is null."""
        return _rows(self.series, name)

    @property
    def bands(self) -> list[str]:
        """The names of the bands that were counted; empty if none were."""
        return self.band_distributions["band"].unique(maintain_order=True).to_list()

    @property
    def samples(self) -> FloatArray:
        """Waiting packets, a row per replication, shape (R, T)."""
        return self.rows("queue")

    @property
    def rate_varies(self) -> bool:
        """Whether the link's rate varies; `series` then has it."""
        return "rate_bps" in self.series.columns

    @property
    def times_s(self) -> FloatArray:
        """When the samples were taken, shape (T,)."""
        return self.series.filter(replication=0)["time_s"].to_numpy()

    def response_times_s(self, target: float, since_s: float = 0.0) -> FloatArray:
        """Response time of each replication, shape (R,), s; see `response_time_s`.

        Args:
            target: Queue to come to, packets.
            since_s: When the change was that the queue responds to.
        """
        times = [response_time_s(row, self.sample_s, target, since_s) for row in self.samples]
        return np.asarray(times, dtype=np.float64)

    def summary(self) -> dict[str, Any]:
        """Everything that is no table, as types that JSON has."""
        return {
            "name": self.name,
            "time_bin_s": self.time_bin_s,
            "sample_s": self.sample_s,
            "own_discipline": self.own_discipline,
            "measures": measure_rows(self.measures),
            "whole": measure_rows(self.whole),
        }

    def frames(self) -> dict[str, pl.DataFrame]:
        """Everything that is a table, by name; see `Record.frames`."""
        distributions = distribution_frame(
            queue=self.queue_distribution,
            sojourn=self.sojourn_distribution,
            delay=self.delay_distribution,
            time_bin=self.time_bin_s,
        )
        return {
            "distributions": distributions.drop("at"),
            **{name: getattr(self, name) for name in _PORT_TABLES},
        }

    @classmethod
    def of(cls, summary: dict[str, Any], frames: Frames) -> PortRecord:
        """The port that `summary` and `frames` are of."""
        fields = {
            **summary,
            "measures": measures_of(summary["measures"]),
            "whole": measures_of(summary["whole"]),
            **distributions_of(frames["distributions"]),
        }
        return cls(**fields | {name: frames[name] for name in _PORT_TABLES})


@dataclass(frozen=True)
class WireRecord:
    """A link whose wire loses, delays or reorders packets, apart from any queue.

    Attributes:
        name: The link, as `left -> right`.
        measures: After the warm-up, by name: `wire_loss_ratio` and `wire_reordered_ratio`.
    """

    name: str
    measures: dict[str, Measure]

    def summary(self) -> dict[str, Any]:
        """Everything, as types that JSON has."""
        return {"name": self.name, "measures": measure_rows(self.measures)}

    @classmethod
    def of(cls, summary: dict[str, Any]) -> WireRecord:
        """The wire that `summary` is of."""
        return cls(summary["name"], measures_of(summary["measures"]))


@dataclass(frozen=True, repr=False)
class NetworkRecord(Record):
    """A record of the network world; its distributions are those of the main port.

    The main port is the first with the compared discipline that sent anything, or the first with it
    if none did. Replications
    are numbered from 0 on, of an interrupted run those that were finished.

    Attributes:
        measures: Of all flows together, by name, and those of the main port: after the warm-up
            but for `fairness`, which is of the whole run.
        whole: The same of the whole run, warm-up included.
        ports: Links with a discipline, the compared one or one of their own, in the topology's
            order.
        wires: Links whose wires lose, delay or reorder packets, in the topology's order.
        flows: A row per replication and flow: replication, group (place in the scenario's `flows`),
            source and sink (nodes), packets (acknowledged in sequence, or received), goodput and
            goodput_bps (packets/s and, headers included, bits/s over the whole run; in bits null
            for those of a capture), sent (datagrams; null for TCP), retransmissions and timeouts
            (null for datagrams), start_s (null if it had nothing to send), completion_s (from its
            start until its application had ended and all that it sent was acknowledged; null if it
            did not come to that, and for datagrams).
        class_distributions: Of each class of flows after the warm-up: class, distribution (`queue`,
            `sojourn` and `delay` at the main port, `one_way_delay`), at (packets or s), width (of
            the bin that begins there), probability; without the bins in which there was nothing.
        replications: A row per replication: the values that `measures` are the means of.
        series: A row per replication and sample, at the times of the ports' series: replication;
            time_s; acknowledged (data packets of all TCP flows since the start of the run); window
            (mean congestion window of the TCP flows that have started and not finished, packets;
            null if there are none, or if the scenario does not say `windows = true`).
    """

    whole: dict[str, Measure]
    ports: list[PortRecord]
    wires: list[WireRecord]
    flows: pl.DataFrame
    class_distributions: pl.DataFrame
    replications: pl.DataFrame
    series: pl.DataFrame

    @property
    def main_place(self) -> int:
        """Place of the main port in `ports`."""
        return main_place(self.ports)

    @property
    def classes(self) -> list[str]:
        """The classes of flows that were counted apart; empty if none were."""
        return self.class_distributions["class"].unique(maintain_order=True).to_list()

    @property
    def class_groups(self) -> dict[str, dict[str, Any]]:
        """Of each class, by its name, the first of its groups of flows, as `run` has it."""
        found: dict[str, dict[str, Any]] = {}
        for place, group in enumerate(self.run["flows"]):
            found.setdefault(group["label"] or f"flows-{place}", group)
        return found

    @property
    def queue_name(self) -> str | None:
        """The name of the main port; None where there is only one."""
        return self.ports[self.main_place].name if len(self.ports) > 1 else None

    def rows(self, name: str) -> FloatArray:
        """A column of `series`, a row per replication, shape (R, T); NaN where it is null."""
        return _rows(self.series, name)

    def values(self, measure: str) -> FloatArray:
        """A column of `replications`, shape (R,)."""
        return self.replications[measure].to_numpy()

    @property
    def replications_are_equal(self) -> bool:
        """Whether there are several replications, and all gave the same."""
        return len(self.replications) > 1 and self.replications.n_unique() == 1

    @property
    def lasting_flows(self) -> pl.DataFrame:
        """The rows of `flows` whose flows have no end of their own."""
        return lasting(self.flows, self.run)

    def summary(self) -> dict[str, Any]:
        """Everything that is no table, as types that JSON has."""
        return super().summary() | {
            "whole": measure_rows(self.whole),
            "ports": [port.summary() for port in self.ports],
            "wires": [wire.summary() for wire in self.wires],
        }

    def frames(self) -> dict[str, pl.DataFrame]:
        """Everything that is a table, by name; those of the ports as `port0/series`."""
        frames = super().frames() | {name: getattr(self, name) for name in _TABLES}
        for place, port in enumerate(self.ports):
            frames |= {f"port{place}/{name}": frame for name, frame in port.frames().items()}
        return frames

    @classmethod
    def _fields(cls, summary: dict[str, Any], frames: Frames) -> dict[str, Any]:
        ports = [
            PortRecord.of(
                port,
                {name: frames[f"port{place}/{name}"] for name in ("distributions", *_PORT_TABLES)},
            )
            for place, port in enumerate(summary["ports"])
        ]
        return super()._fields(summary, frames) | {
            "whole": measures_of(summary["whole"]),
            "ports": ports,
            # a record of before there were wires has none
            "wires": list(map(WireRecord.of, summary.get("wires", []))),
            **{name: frames[name] for name in _TABLES},
        }
