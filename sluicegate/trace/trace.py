"""What an ns-2 trace says of flows and links."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sluicegate import _engine
from sluicegate.errors import SluiceError

# imported where they are used: together they take longer than a million lines
if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

FLOW_COLUMNS = {
    "type": str,
    "id": int,
    "source": str,
    "destination": str,
    "sent": int,
    "received": int,
    "lost": int,
    "loss_ratio": float,
    "throughput_bps": float,
    "delay_mean_s": float,
    "delay_min_s": float,
    "delay_max_s": float,
    "jitter_s": float,
}
LINK_COLUMNS = {
    "from": int,
    "to": int,
    "arrivals": int,
    "departures": int,
    "drops": int,
    "corrupted": int,
    "loss_ratio": float,
    "throughput_bps": float,
    "queue_mean": float,
    "queue_max": int,
}
# the first bytes of pcap (of either byte order, in microseconds or nanoseconds) and pcapng
_CAPTURES = tuple(map(bytes.fromhex, ("a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1", "0a0d0d0a")))
# those of gzip and Zstandard
_COMPRESSED = (bytes.fromhex("1f8b"), bytes.fromhex("28b52ffd"))


@dataclass(frozen=True, eq=False)
class Trace:
    """A trace in ns-2's 12 fields, summed up.

    Attributes:
        path: The file.
        lines: Lines read.
        cut_off: Whether the file ends within a line, which does not count.
        start_s: Time of the first line, s.
        end_s: Time of the last line, s.
        bin_s: Length of the bins of both courses, s; the first starts at time 0.
    """

    path: Path
    lines: int
    cut_off: bool
    start_s: float
    end_s: float
    bin_s: float
    _found: _engine.TraceSummary = field(repr=False)

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Trace:
        """Read a trace; its memory does not grow with the file.

        Raises:
            SluiceError: The file cannot be read, or a line (it is named) is not what ns-2 writes.
        """
        try:
            found = _engine.read_trace(fspath(path))
        except ValueError as error:
            raise SluiceError(_is_another(Path(path)) or str(error)) from None
        return cls(
            path=Path(path),
            lines=found.lines,
            cut_off=found.cut_off,
            start_s=found.start_s,
            end_s=found.end_s,
            bin_s=found.bin_s,
            _found=found,
        )

    @cached_property
    def flows(self) -> pl.DataFrame:
        """A row per flow (type, `fid_`, source and destination), in the order of first packets.

        `sent`, `received`, `lost` packets, `loss_ratio` (lost of sent), `throughput_bps` (bits
        received, from the first packet sent to the last received), `delay_mean_s`, `delay_min_s`,
        `delay_max_s` (source to destination), `jitter_s` (mean absolute difference of the delays
        of successive packets, RFC 3393). Null where there is nothing to divide by.
        """
        import polars as pl

        return pl.DataFrame(list(map(_flow, self._found.flows)), schema=FLOW_COLUMNS)

    @cached_property
    def links(self) -> pl.DataFrame:
        """A row per direction of a link.

        `arrivals` at its queue, `departures`, `drops`, packets `corrupted` on it, `loss_ratio`
        (drops of arrivals), `throughput_bps` (over the whole trace), `queue_mean` over time and
        `queue_max`, packets, without the one being sent.
        """
        import polars as pl

        return pl.DataFrame(list(map(_link, self._found.links)), schema=LINK_COLUMNS)

    @property
    def flow_course(self) -> NDArray[np.float64]:
        """Throughput of each flow in each bin, bit/s, shape (flows, bins)."""
        return self.flow_course_of(range(len(self._found.flows)))

    def flow_course_of(self, places: Iterable[int]) -> NDArray[np.float64]:
        """Throughput in each bin of the flows in these rows of `flows`, bit/s, shape (n, bins)."""
        return 8 * self._course([self._found.flows[place].course for place in places])

    def heaviest(self, places: Iterable[int]) -> list[int]:
        """These rows of `flows`, sorted by the bytes received, most first."""
        import numpy as np

        flows = self._found.flows
        received = {place: float(np.frombuffer(flows[place].course).sum()) for place in places}
        return sorted(received, key=lambda place: -received[place])

    @cached_property
    def link_course(self) -> NDArray[np.float64]:
        """Mean queue of each link in each bin, packets, shape (links, bins)."""
        return self._course([link.course for link in self._found.links])

    def _course(self, courses: Sequence[bytes]) -> NDArray[np.float64]:
        """What was added in each bin, over the bin's length."""
        import numpy as np

        bins = max(1, math.ceil(self.end_s / self.bin_s))
        matrix = np.zeros((len(courses), bins))
        for row, sums in zip(matrix, map(np.frombuffer, courses), strict=True):
            row[: len(sums)] = sums[:bins]
            # events at the very end of the last bin
            row[-1] += sums[bins:].sum()
        # the last bin is full only up to the end of the trace
        lengths_s = np.full(bins, self.bin_s)
        lengths_s[-1] = self.end_s - (bins - 1) * self.bin_s or self.bin_s
        course: NDArray[np.float64] = matrix / lengths_s
        return course

    def summary(self) -> dict[str, Any]:
        """Everything but the courses, in types of JSON; flows and links as rows."""
        return {
            "trace": str(self.path),
            "lines": self.lines,
            "cut_off": self.cut_off,
            "start_s": self.start_s,
            "end_s": self.end_s,
            "flows": list(map(_flow, self._found.flows)),
            "links": list(map(_link, self._found.links)),
        }


def _is_another(path: Path) -> str:
    """What kind of file it is, if its first bytes show that it is no trace; else nothing."""
    # a pipe cannot be opened again
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        start = file.read(4)
    if start in _CAPTURES:
        return f"{path} is a capture of packets, not a trace of ns-2: sluice fit {path} reads it"
    if start.startswith(_COMPRESSED):
        return f"{path} is compressed: unpack it first, or, if it is a capture, use sluice fit"
    return ""


def _flow(flow: _engine.TraceFlow) -> dict[str, Any]:
    return {
        "type": flow.kind,
        "id": flow.id,
        "source": flow.source,
        "destination": flow.destination,
        "sent": flow.sent,
        "received": flow.received,
        "lost": flow.lost,
        "loss_ratio": flow.loss_ratio,
        "throughput_bps": flow.throughput_bps,
        "delay_mean_s": flow.delay_mean_s,
        "delay_min_s": flow.delay_min_s,
        "delay_max_s": flow.delay_max_s,
        "jitter_s": flow.jitter_s,
    }


def _link(link: _engine.TraceLink) -> dict[str, Any]:
    return {
        "from": link.source,
        "to": link.sink,
        "arrivals": link.arrivals,
        "departures": link.departures,
        "drops": link.drops,
        "corrupted": link.corrupted,
        "loss_ratio": link.loss_ratio,
        "throughput_bps": link.throughput_bps,
        "queue_mean": link.queue_mean,
        "queue_max": link.queue_max,
    }
