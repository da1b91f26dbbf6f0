"""What `sluiced run --jsonl` has written of a live router, as a table."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from sluicegate.errors import SluiceError

_TIMES = pl.Struct(dict.fromkeys(("mean", "p50", "p90", "p99", "max"), pl.Float64))
_FLOWS = pl.Struct(
    {
        "bytes": pl.Int64,
        "error_bytes": pl.Int64,
        "heaviest": pl.List(pl.Struct({"flow": pl.String, "bytes": pl.Int64})),
    }
)
_MEASURES: dict[str, pl.DataType | type[pl.DataType]] = {
    "time_s": pl.Float64,
    **dict.fromkeys(("arrivals", "arrived_bytes", "sent", "sent_bytes", "lost"), pl.Int64),
    "drops": pl.Struct(dict.fromkeys(("early", "forced", "overflow", "both"), pl.Int64)),
    "marked": pl.Int64,
    "queue_mean": pl.Float64,
    **dict.fromkeys(("queue_max", "queue_packet_ns"), pl.Int64),
    "sojourn_ms": _TIMES,
    "sojourn_sum_ns": pl.Int64,
    "delay_ms": _TIMES,
    "delay_sum_ns": pl.Int64,
}
_OF_BAND = ("queue", "sojourn", "delay")
_DISTRIBUTIONS = (*_OF_BAND, "lateness")
_PAIRS = pl.List(pl.List(pl.Int64))
# of the columns, those that have no value where it is unknown, or where there is none
UNKNOWN = (
    *("limit_bytes", "qdisc", "average_queue", "drop_probability"),
    *("kernel_held", "kernel_queue_drops", "kernel_buffer_drops", "bands", "wire"),
)
# what every line has, of former versions, too
_ALWAYS = ("link", "time_s", "arrivals", "lost", "marked", "sojourn_ms", "delay_ms", "lateness_ms")
# in the order of the lines
SCHEMA = pl.Schema(
    {
        "version": pl.Int64,
        **_MEASURES,
        "link": pl.String,
        **dict.fromkeys(("rate_bps", "overhead_bytes", "limit", "limit_bytes"), pl.Int64),
        **dict.fromkeys(("qdisc", "discipline"), pl.String),
        "flows": _FLOWS,
        **dict.fromkeys(("clock_ns", "queue_packets", "queue_bytes"), pl.Int64),
        **dict.fromkeys(("average_queue", "drop_probability"), pl.Float64),
        **dict.fromkeys(("released", "left_at_end"), pl.Int64),
        "lateness_ms": _TIMES,
        "lateness_sum_ns": pl.Int64,
        **dict.fromkeys(("unreadable", "unmarkable", "id_gaps", "overruns"), pl.Int64),
        **dict.fromkeys(("refused_verdicts", "kernel_held", "kernel_queue_drops"), pl.Int64),
        "kernel_buffer_drops": pl.Int64,
        "bands": pl.List(pl.Struct({**_MEASURES, "queue_packets": pl.Int64})),
        "wire": pl.Struct(dict.fromkeys(("entered", "lost", "reordered"), pl.Int64)),
        "interval": pl.Struct(
            {
                **_MEASURES,
                "lateness_ms": _TIMES,
                "lateness_sum_ns": pl.Int64,
                "flows": _FLOWS,
                **{f"{name}_distribution_ns": _PAIRS for name in _DISTRIBUTIONS},
                "bands": pl.List(
                    pl.Struct(
                        {**_MEASURES, **{f"{name}_distribution_ns": _PAIRS for name in _OF_BAND}}
                    )
                ),
            }
        ),
    }
)


def read_router_records(path: Path | str) -> pl.DataFrame:
    """Read the lines of a live router; a last line that is cut off, as by a kill, is left out.

    Args:
        path: What `sluiced run --jsonl` has written, or still writes.

    Returns:
        A row for each link and interval, with the fields of the lines as columns: counts since the
        start, and under `interval` those since the row before.

    Raises:
        SluiceError: If a line is not from `sluiced`.
        OSError: If the file cannot be read.
    """
    lines = Path(path).read_bytes()
    whole = lines[: lines.rfind(b"\n") + 1]
    if not whole:
        return pl.DataFrame(schema=SCHEMA)
    try:
        frame = pl.read_ndjson(whole, schema=SCHEMA)
    except pl.exceptions.PolarsError as error:
        raise SluiceError(
            f"{path}: must have been written by sluiced run --jsonl: {error}"
        ) from None
    for name in _ALWAYS:
        lacking = frame[name].is_null().arg_true()
        if len(lacking):
            raise SluiceError(
                f"{path}: line {lacking[0] + 1} must have been written by sluiced run --jsonl: it "
                f"has no {name}"
            )
    return frame
