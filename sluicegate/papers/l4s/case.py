"""A case: a scenario, and what others measured in it."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from sluicegate.errors import SluiceError
from sluicegate.estimate import Measure
from sluicegate.scenario import NetworkScenario
from sluicegate.worlds.network.record import NetworkRecord

# of a full packet: on an Ethernet without its preamble, as `htb` counts, with and without headers
PACKET_BYTES, _FRAME_BYTES, _DATA_BYTES = 1500, 1514, 1448
DATA_SHARE = _DATA_BYTES / PACKET_BYTES
# TCP with time stamps
_ACK_BYTES = 52
# flows start within this time, so that trials differ
_SPREAD_S = 0.1
# within three spreads, or so much
_SPREADS, _BAR = 3, 0.1

T = TypeVar("T")
Of = Callable[[NetworkRecord], Measure]


@dataclass(frozen=True)
class Figure:
    """One figure of a case.

    Attributes:
        quantity: What, with the unit.
        published: By others.
        spread: Its standard deviation over their trials; None: they made one.
        of: Ours.
    """

    quantity: str
    published: float
    spread: float | None
    of: Of

    @property
    def bar(self) -> float:
        """The largest difference that agrees."""
        return max(_SPREADS * (self.spread or 0.0), _BAR * abs(self.published))


@dataclass(frozen=True)
class Case:
    """A case of a set.

    Attributes:
        group: The set, of which agreement is counted.
        name: As in the table.
        scenario: With one discipline.
        figures: What was measured.
    """

    group: str
    name: str
    scenario: NetworkScenario
    figures: Sequence[Figure]


def rows(folder: Path, name: str) -> Iterator[dict[str, str]]:
    """The rows of a table in the folder that the user gave; nothing if it is not there.

    Raises:
        SluiceError: If it is no table, or if a line has more or fewer values than columns.
    """
    path = folder / name
    if not path.is_file():
        return
    try:
        with path.open(newline="") as file:
            table = csv.DictReader(file)
            for row in table:
                # what is too much is under None, and what is missing is None
                if None in row or None in row.values():
                    which = "more" if None in row else "fewer"
                    raise SluiceError(
                        f"{path}, line {table.line_num}: {which} values than the columns, "
                        f"{', '.join(table.fieldnames or ())}"
                    )
                yield row
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SluiceError(f"{path}: {error}") from None


def figure(row: Mapping[str, str], quantity: str, column: str, of: Of, spread: str = "") -> Figure:
    """The figure of a column.

    Args:
        row: Of the table.
        quantity: What it is.
        column: Which.
        of: Ours.
        spread: The column with its spread; empty: there is none.

    Raises:
        SluiceError: If a column is missing or is no number.
    """
    return Figure(quantity, number(row, column), number(row, spread) if spread else None, of)


def number(row: Mapping[str, str], column: str, unit: str = "", told: str = "a number") -> float:
    """A number of a row, which its unit may follow; `told` says so to whoever wrote another.

    Raises:
        SluiceError: If the column is missing or is no number.
    """
    try:
        found = float(text(row, column).removesuffix(unit))
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise SluiceError(f"{column} = {row[column]!r} must be {told}")
    return found


def known(row: Mapping[str, str], column: str, words: Mapping[str, T]) -> T:
    """What a word of a row stands for.

    Raises:
        SluiceError: If the column is missing, or if it is none of these words.
    """
    found = text(row, column)
    if found not in words:
        raise SluiceError(f"{column} = {found!r} must be one of {', '.join(words)}")
    return words[found]


def text(row: Mapping[str, str], column: str) -> str:
    """A word of a row.

    Raises:
        SluiceError: If the column is missing.
    """
    if column not in row:
        raise SluiceError(f"column {column} is missing; there are {', '.join(row)}")
    return row[column]


def tcp(
    label: str, control: str, *, ecn: bool, offload: bool, fallback: bool = False, **more: Any
) -> dict[str, Any]:
    """A TCP flow of Linux.

    Args:
        label: Of its class.
        control: Congestion control.
        ecn: Whether it asks for marks.
        offload: Whether its host cuts large packets in the network card.
        fallback: Whether Prague falls back where the queue seems to be a classic one.
        more: Further fields of the group.
    """
    own = {
        "like": "linux",
        "congestion_control": control,
        "ecn": ecn,
        "packet_bytes": PACKET_BYTES,
        "ack_bytes": _ACK_BYTES,
        "segmentation_offload": offload,
        "classic_fallback": fallback,
    }
    return {"kind": "tcp", "label": label, "tcp": own, "spread_s": _SPREAD_S} | more


def scenario(
    flows: Sequence[Mapping[str, Any]],
    discipline: Mapping[str, Any],
    queue: Mapping[str, Any],
    *,
    mbit: float,
    rtts_s: Sequence[float],
    duration_s: float,
    warm_up_s: float,
    replications: int,
    links: Mapping[str, Any] | None = None,
) -> NetworkScenario:
    """Flows of different round trips share a link, behind a shaper that counts Ethernet headers."""
    ways_s = [each / 2 for each in rtts_s]
    shared_s = min(ways_s) / 2
    return NetworkScenario.parse(
        {
            "topology": {
                "kind": "dumbbell",
                "rate_bps": mbit * 1e6 * PACKET_BYTES / _FRAME_BYTES,
                "access_rate_bps": 1e11,
                "delay_s": shared_s,
                "client_delays_s": [each - shared_s for each in ways_s],
                "server_delay_s": 0.0,
            },
            "flows": list(flows),
            "queue": dict(queue),
            "links": dict(links or {}),
            "disciplines": [dict(discipline)],
            "duration_s": duration_s,
            "warm_up_s": warm_up_s,
            "replications": replications,
            "seed": 1,
        }
    )


def goodput(label: str) -> Of:
    """Data that a class delivers, Mbit/s without headers."""
    return lambda record: record[f"{label}.goodput_bps"].times(DATA_SHARE / 1e6)


def round_trip(label: str, rtt_s: float, which: str = "mean") -> Of:
    """Round-trip time of a class, ms: there is no queue on the way back.

    Args:
        label: Of the class.
        rtt_s: Without queues.
        which: `mean`, or a quantile such as `p95`, of its packets.
    """

    def of(record: NetworkRecord) -> Measure:
        there = _time(record, label, "one_way_delay", which)
        return replace(there, value=there.value + 1e3 * rtt_s / 2)

    return of


def smoothed_round_trip(label: str) -> Of:
    """Mean of the round-trip time that TCP itself holds, ms, for what was read of a socket."""
    return lambda record: _ms(record, f"{label}.smoothed_round_trip")


def waiting(label: str, which: str) -> Of:
    """Time that packets of a class wait, ms; `which` is `mean`, or a quantile such as `p99`."""
    return lambda record: _time(record, label, "sojourn", which)


def _time(record: NetworkRecord, label: str, what: str, which: str) -> Measure:
    if which == "p95":
        return Measure(_quantile_ms(record, label, what, 0.95), None, "ms")
    return _ms(record, f"{label}.{what}_{which}")


def _quantile_ms(record: NetworkRecord, label: str, what: str, level: float) -> float:
    """A quantile of times of a class that is no measure, of all trials together, ms.

    It is the end of the bin in which it lies; NaN if none of its packets came through.
    """
    found = record.class_distributions.filter(
        (pl.col("class") == label) & (pl.col("distribution") == what)
    ).filter(pl.col("probability").cum_sum() >= level)
    if found.is_empty():
        return math.nan
    return 1e3 * float(found["at"][0] + found["width"][0])


def _ms(record: NetworkRecord, name: str) -> Measure:
    """A time of a class, ms; NaN if none of its packets came through, as in an overload."""
    if name not in record.measures:
        return Measure(math.nan, None, "ms")
    return record[name].times(1e3)
