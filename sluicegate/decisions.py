"""Decision logs: what AQMs were asked and answered, compared line by line.

Every world writes the same log: CSV with the header `COLUMNS` and a line for each event at a queue.

- `number` counts the lines from 1; `time_ns` is the world's clock.
- `link` is the number of the link among those with the discipline, `queue` that of the scheduler's
  queue; each is 0 where there is only one.
- `event` is `arrive` or `depart` (the AQM judges a packet), `join` or `leave` (an AQM that follows
  which packets wait is told of one), `tick`, or `lost` (a packet is lost).
- `packet` counts the arrivals at the link from 1; a tick has none.
- `verdict` is the AQM's, once limit and marking are decided, or why the packet is lost: the names
  of `enum aqm_verdict` in `aqm/aqm.h`, without `AQM_`.
- All other columns are what the AQM saw, `struct aqm_view` field by field; empty at `lost`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import zip_longest
from os import PathLike, fspath

from sluicegate import _engine
from sluicegate.errors import SluiceError

COLUMNS = _engine.DECISION_COLUMNS.split(",")

_EVENTS = {
    "arrive": "the AQM judges packet {packet}, which arrives: {verdict}",
    "depart": "the AQM judges packet {packet}, which departs: {verdict}",
    "join": "the AQM counts packet {packet}, which joins the queue",
    "leave": "the AQM counts off packet {packet}, which has left the queue",
    "tick": "the AQM's interval is over",
    "lost": "packet {packet} is lost: {verdict}",
}
_VIEW = COLUMNS[COLUMNS.index("verdict") + 1 :]

Row = dict[str, str]


def first_difference(
    first: str | PathLike[str], second: str | PathLike[str]
) -> tuple[int, str | None]:
    """How many lines of two logs are alike, and in words how they go on then; None if both end.

    Raises:
        SluiceError: If one of the files is no decision log.
        OSError: If one cannot be read.
    """
    alike = 0
    for one, other in zip_longest(_rows(first), _rows(second)):
        if one != other:
            return alike, _told(fspath(first), one, fspath(second), other)
        alike += 1
    return alike, None


def _rows(path: str | PathLike[str]) -> Iterator[Row]:
    with open(path, encoding="utf-8", newline="") as file:
        lines = csv.reader(file)
        try:
            if next(lines, None) != COLUMNS:
                raise SluiceError(f"{fspath(path)}: line 1 must be {','.join(COLUMNS)}")
            for line in lines:
                if len(line) != len(COLUMNS) or line[COLUMNS.index("event")] not in _EVENTS:
                    raise SluiceError(f"{fspath(path)}: line {lines.line_num} is no decision")
                yield dict(zip(COLUMNS, line, strict=True))
        except (UnicodeDecodeError, csv.Error):
            raise SluiceError(f"{fspath(path)} must be a decision log, which is text") from None


def _told(first: str, one: Row | None, second: str, other: Row | None) -> str:
    names = (first, second) if first != second else ("first", "second")
    lines = [
        f"{name}: {'it ends' if row is None else _in_words(row)}"
        for name, row in zip(names, (one, other), strict=True)
    ]
    if one is not None and other is not None:
        differ = [name for name in COLUMNS if one[name] != other[name]]
        lines += [f"  {name} = {one[name] or '-'} and {other[name] or '-'}" for name in differ]
        lines += _meaning(differ, one["event"] == other["event"])
    return "\n".join(lines)


def _in_words(row: Row) -> str:
    event = _EVENTS[row["event"]].format(**row)
    where = f" (link {row['link']}, queue {row['queue']})"
    return f"line {row['number']}, at {int(row['time_ns']) / 1e9:.9f} s, {event}{where}"


def _meaning(differ: list[str], same_event: bool) -> list[str]:
    """What follows from which columns differ."""
    if not same_event:
        return ["The queues take different steps."]
    if differ == ["verdict"]:
        return ["Both AQMs saw the same: their code, parameters or states differ."]
    if set(differ) <= {"random", "verdict"}:
        return ["Their random numbers differ."]
    if set(differ) & set(_VIEW):
        return ["The AQMs saw different things."]
    return []
