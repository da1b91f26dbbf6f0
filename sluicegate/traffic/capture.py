"""A packet capture as typed columns."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sluicegate import _engine
from sluicegate.errors import SluiceError

_NS_PER_S = 1_000_000_000
_MOST_BINS = 10_000_000


@dataclass(frozen=True, eq=False)
class Capture:
    """The IP packets of a pcap or pcapng file, ordered by time; all columns have one shape (n,).

    Attributes:
        path: The file.
        time_ns: Nanoseconds since the first packet.
        bytes: Length of the IP packet on the wire, link header and padding not counted.
        flow: Hash of protocol, addresses and ports.
        protocol: IP protocol number; 6 is TCP, 17 is UDP.
        ecn_capable: Whether the packet can be marked, or is already: ECT(0), ECT(1) or CE.
        opens: Whether it opens a TCP connection: SYN without ACK.
        not_ip: Frames of the file that held no IP packet and are in no column.
        link_types: The link types met, in order of appearance.
        notes: What was left out, and why: frames without an IP packet, a last packet that is cut
            off, packets whose time is not known.

    """

    path: Path
    time_ns: NDArray[np.uint64]
    bytes: NDArray[np.uint32]
    flow: NDArray[np.uint32]
    protocol: NDArray[np.uint8]
    ecn_capable: NDArray[np.bool_]
    opens: NDArray[np.bool_]
    not_ip: int
    link_types: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Capture:
        """Read a capture; it may be compressed by gzip or Zstandard.

        Raises:
            SluiceError: The file cannot be read, is no capture, is corrupt (the packet is named),
                has a link type without support, or holds no IP packet.

        """
        try:
            columns = _engine.read_capture(fspath(path))
        except ValueError as error:
            raise SluiceError(str(error)) from None
        return cls(
            path=Path(path),
            time_ns=columns.time_ns,
            bytes=columns.bytes,
            flow=columns.flow,
            protocol=columns.protocol,
            ecn_capable=columns.ecn_capable,
            opens=columns.opens,
            not_ip=columns.not_ip,
            link_types=tuple(columns.link_types),
            notes=tuple(columns.notes),
        )

    @property
    def fingerprint(self) -> str:
        """A hash of all packets."""
        columns = (self.time_ns, self.bytes, self.flow, self.ecn_capable)
        content = b"".join(column.tobytes() for column in columns)
        return hashlib.sha256(content).hexdigest()

    @property
    def packets(self) -> int:
        """Number of IP packets."""
        return int(self.time_ns.size)

    @property
    def duration_s(self) -> float:
        """Time from the first to the last packet."""
        return float(self.time_ns[-1]) / _NS_PER_S

    @property
    def rate_pps(self) -> float:
        """Packets per second: `packets` / `duration_s`."""
        return self.packets / self._positive_duration_s()

    @property
    def rate_bps(self) -> float:
        """Bits of IP packets per second."""
        return 8.0 * float(self.bytes.sum(dtype=np.uint64)) / self._positive_duration_s()

    def counts(self, bin_s: float) -> NDArray[np.int64]:
        """Count the packets in consecutive bins of `bin_s` seconds; an incomplete last is left out.

        Returns:
            Packets per bin, shape (floor(duration_s / bin_s),).

        Raises:
            SluiceError: `bin_s` is under 1 ns, longer than the capture, or makes over 10^7 bins.

        """
        if not bin_s >= 1e-9:
            raise SluiceError(f"bin_s = {bin_s} must be at least 1e-9 (seconds)")
        if bin_s > self.duration_s:
            raise SluiceError(
                f"bin_s = {bin_s} must not exceed the capture's length of {self.duration_s:.6g} s"
            )
        bin_ns = round(bin_s * _NS_PER_S)
        bins = int(self.time_ns[-1]) // bin_ns
        if bins > _MOST_BINS:
            raise SluiceError(
                f"bin_s = {bin_s} makes {bins} bins; at most {_MOST_BINS} are allowed"
            )
        indices = (self.time_ns // np.uint64(bin_ns)).astype(np.int64)
        return np.bincount(indices, minlength=bins)[:bins].astype(np.int64)

    def _positive_duration_s(self) -> float:
        if self.time_ns[-1] == 0:
            raise SluiceError(
                f"{self.path}: a rate needs packets at two instants at least; "
                f"here all {self.packets} packets have one"
            )
        return self.duration_s
