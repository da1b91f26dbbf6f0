"""What an evaluation keeps of a run: figures, and curves of a few points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sluicegate.evaluate.case import BACK, FORWARD, Case, Phase
from sluicegate.evaluate.profile import Profile
from sluicegate.evaluate.uncounted import of_flows
from sluicegate.measures import fairness
from sluicegate.measures.synchronisation import synchronisation_ratio
from sluicegate.scenario import Discipline
from sluicegate.worlds.network.record import NetworkRecord

FloatArray = NDArray[np.float64]

# exchanges until a server begins to send: name, connection, TLS 1.3 (RFC 7928, section 2.2)
_EXCHANGES_OF_START_UP = 3
# of a curve of quantiles: 0, 1, ... 100 %
LEVELS = np.linspace(0, 1, 101)
# of the queue, and of each class
_OF_QUEUE = (
    *("sojourn_mean", "sojourn_p99", "queue_mean", "loss_ratio", "mark_ratio", "utilization"),
    *("early_loss_ratio", "forced_loss_ratio", "rpm"),
)
_OF_CLASS = (
    *("goodput_bps", "loss_ratio", "mark_ratio", "sojourn_mean", "sojourn_p99"),
    *("one_way_delay_mean", "one_way_delay_p50", "one_way_delay_p99"),
    *("delay_variation_p50", "delay_variation_p99", "jitter", "missing_ratio", "mos"),
    *("loss_run", "loss_gap"),
    *("completion_mean", "completion_p50", "completion_p99", "slowdown_mean", "finished"),
    *("page_mean", "page_p50", "page_p99"),
    *("frame_mean", "frame_p50", "frame_p99", "quality", "stall_ratio", "stall_rate"),
    *("round_trip_mean", "round_trip_p90", "qoo_web", "qoo_streaming"),
)


@dataclass(frozen=True)
class Measured:
    """A run.

    Attributes:
        values: Measures by name; those without a value are missing.
        curves: Quantiles at `LEVELS`, or means over windows one after the other, by name.
    """

    values: dict[str, float]
    curves: dict[str, list[float]]


def measured(
    case: Case,
    profile: Profile,
    discipline: Discipline,
    record: NetworkRecord,
    decisions: Path | None = None,
) -> Measured:
    """What is kept of a record with one replication.

    Args:
        case: What was run.
        profile: On what path.
        discipline: Which was judged.
        record: Of the run.
        decisions: Its decision log, for which flows lost together.
    """
    values = {name: record.measures[name].value for name in _OF_QUEUE if name in record.measures}
    names = list(dict.fromkeys(each.label for each in case.flows(profile)))
    for name in names:
        values |= _of_class(record, str(name))
    if f"{names[0]}.goodput_bps" not in record.measures:
        values |= of_flows(record, case.flows(profile), discipline)
    goodputs = np.array([values.get(f"{name}.goodput_bps", math.nan) for name in names])
    values["goodput_bps"] = float(goodputs.sum())
    if len(names) == 2:
        values["goodput_ratio"] = float(goodputs[1] / goodputs[0]) if goodputs[0] else math.nan
        values["goodput_fairness"] = fairness(goodputs)
    if case.kind == "two-way":
        for each in case.flows(profile):
            values |= _of_acks(record, str(each.label), FORWARD if each.route else BACK)
    for phase in case.phases(profile):
        values |= _of_phase(record, phase)
    if "probes.completion_mean" in values:
        values["start_up_mean"] = _EXCHANGES_OF_START_UP * values["probes.completion_mean"]
    if decisions is not None:
        flows = sum(each.count for each in case.flows(profile))
        values |= _of_losses(decisions, flows, profile)
    known = {name: value for name, value in values.items() if math.isfinite(value)}
    sizes = {each.packet_bytes for each in case.flows(profile) if each.tcp is not None}
    packet_bytes = sizes.pop() if len(sizes) == 1 else None
    return Measured(known, _curves(record, profile, list(map(str, names)), packet_bytes))


def _of_class(record: NetworkRecord, name: str) -> dict[str, float]:
    kept = (f"{name}.{each}" for each in _OF_CLASS)
    found = {each: record.measures[each].value for each in kept if each in record.measures}
    # all queues that the class meets, those of its ACKs among them: above the least round trip
    queues = [port.measures.get(f"{name}.sojourn_mean") for port in record.ports]
    met = [each.value for each in queues if each is not None]
    if met:
        found[f"{name}.queueing_delay"] = sum(met)
    return found


def _of_acks(record: NetworkRecord, name: str, way: str) -> dict[str, float]:
    """What the ACKs of a class meet at the queue on their way; its data take the other way."""
    measures = next((each.measures for each in record.ports if each.name == way), {})
    found = {"ack_delay": "sojourn_mean", "ack_loss_ratio": "loss_ratio"}
    values = {ours: measures.get(f"{name}.{theirs}") for ours, theirs in found.items()}
    return {f"{name}.{ours}": each.value for ours, each in values.items() if each is not None}


def _of_phase(record: NetworkRecord, phase: Phase) -> dict[str, float]:
    """Means of a phase at the main queue; the delay by Little's law."""
    series = record.ports[record.main_place].series
    part = series.filter(pl.col("time_s").is_between(phase.start_s, phase.stop_s))
    if part.height < 2:
        return {}
    length_s = float(part["time_s"][-1] - part["time_s"][0])
    sent_bytes = float(part["sent_bytes"][-1] - part["sent_bytes"][0])
    arrivals = float(part["arrivals"][-1] - part["arrivals"][0])
    lost = float(part["losses"][-1] - part["losses"][0])
    queue = float(part["queue"].cast(pl.Float64).mean() or 0.0)  # type: ignore[arg-type]
    return {
        f"{phase.name}.queueing_delay": queue * length_s / (arrivals - lost)
        if arrivals > lost
        else math.nan,
        f"{phase.name}.throughput_bps": 8 * sent_bytes / length_s,
        f"{phase.name}.loss_ratio": lost / arrivals if arrivals else math.nan,
    }


def _of_losses(decisions: Path, flows: int, profile: Profile) -> dict[str, float]:
    """Which flows lose together, an event being one round trip, and which lost before time 0.

    With the first loss a flow of NewReno without ECN leaves its first slow start.
    """
    columns = ["time_ns", "event", "packet", "flow_hash"]
    log = (
        pl.scan_csv(decisions)
        .select(columns)
        .filter(pl.col("event").is_in(["arrive", "lost"]))
        .collect()
    )
    came = log.filter(event="arrive").select("packet", "flow_hash")
    lost = log.filter(event="lost").select("time_ns", "packet")
    rows = lost.join(came, on="packet", maintain_order="left")
    times_s, losers = rows["time_ns"].to_numpy() / 1e9, rows["flow_hash"].to_numpy()
    counts = times_s >= profile.warm_up_s
    ratio = synchronisation_ratio(times_s[counts], losers[counts], flows, profile.rtt_s)
    return {
        "synchronisation_ratio": math.nan if ratio is None else ratio,
        "lost_by_time_0": len(np.unique(losers[~counts])) / flows,
    }


def _curves(
    record: NetworkRecord, profile: Profile, names: list[str], packet_bytes: int | None
) -> dict[str, list[float]]:
    """Curves; the goodput of TCP only where all its packets have one size."""
    found = {f"{name}.sojourn_quantiles": _quantiles(record, name) for name in names}
    port = record.ports[record.main_place]
    windows = max(1, round(profile.window_s / port.sample_s))
    queue = port.samples[0]
    whole = len(queue) // windows * windows
    found["queue_windows"] = queue[:whole].reshape(-1, windows).mean(axis=1).tolist()
    found["loss_windows"] = _losses(port.series, profile.window_s)
    acknowledged = record.rows("acknowledged")[0][::windows]
    if packet_bytes is not None:
        bits = 8 * packet_bytes / (windows * port.sample_s)
        found["goodput_windows"] = (np.diff(acknowledged) * bits).tolist()
    return {name: curve for name, curve in found.items() if curve}


def _losses(series: pl.DataFrame, window_s: float) -> list[float]:
    """Share of the packets that were lost in each window; NaN where none came."""
    if series.height < 2:
        return []
    times_s = series["time_s"].to_numpy()
    ends_s = np.arange(0.0, times_s[-1] + window_s / 2, window_s)
    came, lost = (
        np.diff(np.interp(ends_s, times_s, series[name].to_numpy()))
        for name in ("arrivals", "losses")
    )
    return [float(few / all_) if all_ else math.nan for few, all_ in zip(lost, came, strict=True)]


def _quantiles(record: NetworkRecord, name: str) -> list[float]:
    """Quantiles of the time in the main queue, s; bins are taken as filled evenly."""
    bins = record.class_distributions.filter(
        pl.col("class") == name, pl.col("distribution") == "sojourn"
    )
    if not bins.height:
        return []
    ends = np.concatenate([[0.0], np.cumsum(bins["probability"].to_numpy())])
    starts, widths = bins["at"].to_numpy(), bins["width"].to_numpy()
    edges = np.concatenate([starts[:1], starts + widths])
    return [float(each) for each in np.interp(LEVELS * ends[-1], ends, edges)]
