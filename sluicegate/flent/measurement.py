"""Measurements as flent keeps them: gzip of JSON with series that share their times.

Version 4 of the format is written. Versions 2 and 3 differ in the raw values, which we do not read.
"""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sluicegate.errors import SluiceError
from sluicegate.files import write_whole

FloatArray = NDArray[np.float64]

DIRECTIONS = ("upload", "download")
PING = "Ping (ms) ICMP"
MEGABITS = "Mbits/s"
_VERSION = 4
_READ = (2, 3, 4)
# series that flent computes from those of the flows
_COMPUTED = ("avg", "sum", "fairness")


@dataclass(frozen=True)
class Measurement:
    """One run of flent, or one of ours in flent's terms.

    Attributes:
        title: What it is called in tables.
        times_s: Since its start, shape (T,).
        series: By flent's names, each of shape (T,); NaN where nothing was measured.
        test: The name of flent's test.
        units: Of the series, by their names.
        start: When it started.
        length_s: How long traffic was sent.
        parameters: Of the test.
        note: What a reader must know.
    """

    title: str
    times_s: FloatArray
    series: Mapping[str, FloatArray]
    test: str
    units: Mapping[str, str] = field(default_factory=dict)
    start: datetime = field(default_factory=lambda: datetime.now(UTC))
    length_s: float = 0.0
    parameters: Mapping[str, str] = field(default_factory=dict)
    note: str = ""

    @classmethod
    def read(cls, path: Path) -> Measurement:
        """Read a file that flent or `write` has written.

        Raises:
            SluiceError: If it is not such a file, or of another version of the format.
            OSError: If it cannot be read.
        """
        try:
            content = json.loads(gzip.decompress(path.read_bytes()))
        except (gzip.BadGzipFile, EOFError, zlib.error, ValueError) as error:
            raise SluiceError(
                f"{path}: must be gzip of JSON, as flent writes it: {error}"
            ) from None
        try:
            return _parsed(content, path)
        except SluiceError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise SluiceError(f"{path}: not as flent writes it: {error!r}") from None

    def write(self, path: Path) -> None:
        """Write a file that flent reads, as a whole or not at all.

        Raises:
            OSError: If it cannot be written.
        """
        written = json.dumps(self._content(path.name), indent=2, sort_keys=True)
        write_whole(path, gzip.compress(written.encode(), mtime=0))

    def flows(self, direction: str) -> list[str]:
        """The names of the series of TCP flows in a direction of `DIRECTIONS`."""
        start = f"TCP {direction}"
        found = [name for name in self.series if name.startswith(start)]
        # `TCP upload BE::tcp_rtt` is what the kernel reported of a flow
        return [
            name
            for name in found
            if name.rpartition(" ")[2] not in _COMPUTED and "::tcp_" not in name
        ]

    def throughput_mbps(self, direction: str) -> FloatArray:
        """Of all TCP flows in a direction together, shape (T,); NaN where there is none.

        Raises:
            SluiceError: If there are no TCP flows in that direction.
        """
        flows = self.flows(direction)
        total = f"TCP {direction} sum"
        if not flows and total in self.series:
            return self.series[total]
        if not flows:
            raise SluiceError(
                f"{self.title}: there must be TCP flows in the direction {direction}; there are: "
                f"{', '.join(self.series)}"
            )
        each = np.stack([self.series[name] for name in flows])
        return np.where(np.isnan(each).all(axis=0), np.nan, np.nansum(each, axis=0))

    def ping_ms(self) -> FloatArray:
        """Round trips of a ping, shape (T,); NaN where there is none."""
        names = [name for name in self.series if name.startswith("Ping (ms)")]
        if not names:
            return np.full(len(self.times_s), np.nan)
        return self.series[PING if PING in names else names[0]]

    def _content(self, name: str) -> dict[str, Any]:
        epoch_s = self.start.timestamp()
        kept = {name: _known(values) for name, values in self.series.items()}
        raw = {
            name: [
                {"t": epoch_s + at, "val": value}
                for at, value in zip(self.times_s.tolist(), values, strict=True)
                if value is not None
            ]
            for name, values in kept.items()
        }
        start = self.start.astimezone(UTC).isoformat().replace("+00:00", "Z")
        metadata = {
            "NAME": self.test,
            "TITLE": self.title,
            "NOTE": self.note,
            "TIME": start,
            "T0": start,
            "LENGTH": round(self.length_s),
            "TOTAL_LENGTH": round(self.length_s),
            "STEP_SIZE": float(np.diff(self.times_s[:2]).sum()),
            "HOST": "sluicegate",
            "HOSTS": ["sluicegate"],
            "LOCAL_HOST": "sluicegate",
            "IP_VERSION": 4,
            "TEST_PARAMETERS": dict(self.parameters),
            "DATA_FILENAME": name,
            "FLENT_VERSION": f"sluicegate {version('sluicegate')}",
            "SERIES_META": {name: {"UNITS": unit} for name, unit in self.units.items()},
        }
        return {
            "version": _VERSION,
            "metadata": metadata,
            "x_values": self.times_s.tolist(),
            "results": kept,
            "raw_values": raw,
        }


def _parsed(content: Any, path: Path) -> Measurement:
    if (found := content["version"]) not in _READ:
        raise SluiceError(
            f"{path}: version = {found} of flent's format must be one of "
            f"{', '.join(map(str, _READ))}"
        )
    metadata = content["metadata"]
    times_s = np.array(content["x_values"], dtype=np.float64)
    series = {name: np.array(each, dtype=np.float64) for name, each in content["results"].items()}
    for name, values in series.items():
        if values.shape != times_s.shape:
            raise SluiceError(
                f"{path}: results.{name} has {len(values)} values and must have {len(times_s)}, as "
                "x_values"
            )
        if np.isinf(values).any():
            raise SluiceError(f"{path}: results.{name} has an infinite value: all must be finite")
    if not np.isfinite(times_s).all() or (np.diff(times_s) <= 0).any():
        raise SluiceError(f"{path}: x_values must be finite and increase, in seconds")
    start = datetime.fromisoformat(metadata["TIME"])
    meta = metadata.get("SERIES_META", {})
    return Measurement(
        title=metadata.get("TITLE") or path.name.removesuffix(".gz").removesuffix(".flent"),
        times_s=times_s,
        series=series,
        test=metadata["NAME"],
        units={name: each["UNITS"] for name, each in meta.items() if "UNITS" in each},
        start=start if start.tzinfo else start.replace(tzinfo=UTC),
        length_s=float(metadata.get("LENGTH") or 0.0),
        parameters=metadata.get("TEST_PARAMETERS") or {},
        note=metadata.get("NOTE") or "",
    )


def _known(values: FloatArray) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values.tolist()]
