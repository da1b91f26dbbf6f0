"""Records: what a run gives, the same in every world, in memory and on disk."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Self
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sluicegate.errors import SluiceError
from sluicegate.estimate import Measure
from sluicegate.files import write_whole
from sluicegate.measures import BETWEEN, DISTRIBUTIONS, NO_CLASSES, OF_CLASS
from sluicegate.near import nearest
from sluicegate.seal import SLOT, DamagedError, check, sealed

FloatArray = NDArray[np.float64]
Frames = Mapping[str, pl.DataFrame]

_SUMMARY = "record.json"


@dataclass(frozen=True, repr=False)
class Record:
    """One discipline on one scenario; worlds that know more give a subclass.

    Attributes:
        identity: Hash of everything that determines the run.
        discipline: Its name, for tables and legends.
        run: What was run: scenario, discipline with all parameters, seed, version.
        done: Share of the run that was finished: 1 unless it was interrupted.
        method: How the intervals were made.
        time_unit: `slots` or `s`, of everything that is a time.
        measures: By name; see `sluicegate.measures`.
        queue_distribution: Probability that k packets wait, shape (K,).
        sojourn_distribution: Share of the packets served by bins of the time from arrival to the
            start of service, shape (W,); empty where it is not known.
        delay_distribution: Likewise of the time from arrival to the end of service, shape (D,).
        time_bin: Width of the bins of both in `time_unit`; bin k starts at k widths.
        resolution: Smaller probabilities are chance, or the solution's error.
        unknown: Measures that the world cannot know, and why; a name may have `*` for any text.
    """

    identity: str
    discipline: str
    run: dict[str, Any]
    done: float
    method: str
    time_unit: str
    measures: dict[str, Measure]
    queue_distribution: FloatArray
    sojourn_distribution: FloatArray
    delay_distribution: FloatArray
    time_bin: float
    resolution: float
    unknown: Mapping[str, str] = field(default_factory=dict, kw_only=True)

    @property
    def world(self) -> str:
        """The world that gave it."""
        return str(self.run["world"])

    @property
    def interrupted(self) -> bool:
        """Whether the run was stopped before its end."""
        return self.done < 1

    @property
    def is_exact(self) -> bool:
        """Whether it was computed, without anything random."""
        return "seed" not in self.run

    @property
    def queue_name(self) -> str | None:
        """Which of several queues the record is of; None where there is only one."""
        return None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.discipline}: {self.method}>"

    def _repr_html_(self) -> str:
        from sluicegate.report.notebook import of_record  # reports import this module

        return of_record(self).cell()

    def __getitem__(self, name: str) -> Measure:
        """The measure of that name.

        Raises:
            SluiceError: If there is none, or if it is unknown, with the reason.
        """
        if name not in self.measures:
            if (why := self.why_unknown(name)) is not None:
                raise SluiceError(f"{name} is unknown: {why}")
            raise SluiceError(self._is_none(name))
        return self.measures[name]

    def _is_none(self, name: str) -> str:
        """What is wrong with a name that no measure here has, and what would be right."""
        if name in OF_CLASS:
            own = [each for each in self.measures if each.endswith(f"{BETWEEN}{name}")]
            parts = (each.partition(BETWEEN) for each in self.measures)
            classes = dict.fromkeys(class_ for class_, _, rest in parts if rest in OF_CLASS)
            there = f"here {NO_CLASSES}"
            if own:
                there = f"there are {', '.join(own)}"
            elif classes:
                there = f"no class here has it; classes are {', '.join(classes)}"
            return f"{name} is a measure of a class of flows; {there}"
        near = nearest(name, self.measures)
        there = f"there are {', '.join(self.measures)}"
        return f"{name} is no measure; {f'did you mean {near}? ' if near else ''}{there}"

    def why_unknown(self, name: str) -> str | None:
        """Why the world cannot know a measure; None if it can."""
        if name in self.measures:
            return None
        whys = (why for pattern, why in self.unknown.items() if fnmatchcase(name, pattern))
        return next(whys, None)

    def values(self, measure: str) -> FloatArray:
        """A measure of each replication, shape (R,); empty if they are not known one by one."""
        return np.empty(0)

    @property
    def sojourn_times(self) -> FloatArray:
        """Where the bins of `sojourn_distribution` start, in `time_unit`."""
        return np.arange(len(self.sojourn_distribution), dtype=np.float64) * self.time_bin

    @property
    def delay_times(self) -> FloatArray:
        """Where the bins of `delay_distribution` start, in `time_unit`."""
        return np.arange(len(self.delay_distribution), dtype=np.float64) * self.time_bin

    def summary(self) -> dict[str, Any]:
        """Everything that is not a table, as types that JSON has."""
        return {
            "identity": self.identity,
            "discipline": self.discipline,
            "world": self.world,
            "run": self.run,
            "done": self.done,
            "method": self.method,
            "time_unit": self.time_unit,
            "time_bin": self.time_bin,
            "resolution": self.resolution,
            "measures": measure_rows(self.measures),
            "unknown": dict(self.unknown),
        }

    def frame(self) -> pl.DataFrame:
        """The distributions, a row each: distribution, at (packets or time), probability."""
        return distribution_frame(
            queue=self.queue_distribution,
            sojourn=self.sojourn_distribution,
            delay=self.delay_distribution,
            time_bin=self.time_bin,
        )

    def frames(self) -> dict[str, pl.DataFrame]:
        """Everything that is a table, by name.

        The distributions are without `at`, which follows from `time_bin` and takes nine tenths of
        their room.
        """
        return {"distributions": self.frame().drop("at")}

    def write(self, path: Path, *, sync: bool = True) -> None:
        """Write to one file: a zip archive of `record.json` and a Parquet file for each table.

        Args:
            path: The file.
            sync: Wait until it is on the disk.

        Raises:
            OSError: If the file cannot be written.
        """
        whole = io.BytesIO()
        # deflated, though Parquet has compressed the values: it does not compress its own headers
        with ZipFile(whole, "w", ZIP_DEFLATED, compresslevel=1) as archive:
            archive.comment = SLOT.encode()
            archive.writestr(_SUMMARY, json.dumps(self.summary()))
            for name, frame in self.frames().items():
                content = io.BytesIO()
                # the default level takes a third longer and saves a tenth
                frame.write_parquet(content, compression_level=1, statistics=False)
                archive.writestr(f"{name}.parquet", content.getvalue())
        write_whole(path, sealed(whole.getvalue()), sync=sync)

    @classmethod
    def read(cls, path: Path, identity: str | None = None) -> Self:
        """Read what `write` wrote.

        Args:
            path: The file.
            identity: That of the record; any if None.

        Raises:
            OSError: If the file cannot be read.
            SluiceError: If it is damaged, of another run, or of a version or a world whose records
                have other parts.
        """
        content = path.read_bytes()
        try:
            check(content)
        except DamagedError as error:
            raise DamagedError(f"{path} is no record, or damaged: {error}") from None
        with ZipFile(io.BytesIO(content)) as archive:
            summary = json.loads(archive.read(_SUMMARY))
            if identity is not None and summary["identity"] != identity:
                raise DamagedError(
                    f"{path} has the record of {summary['identity']}, not {identity}"
                )
            frames = {
                name.removesuffix(".parquet"): pl.read_parquet(archive.read(name))
                for name in archive.namelist()
                if name != _SUMMARY
            }
        try:
            return cls(**cls._fields(summary, frames))
        except (KeyError, TypeError) as error:
            # a part is missing, or is one that there is no field for
            written = summary.get("run", {}).get("version", "unknown")
            raise SluiceError(
                f"{path} is no {cls.__name__} of this version of Sluicegate ({error}): it is of "
                f"world = {summary.get('world', 'unknown')}, version {written}"
            ) from None

    @classmethod
    def _fields(cls, summary: dict[str, Any], frames: Frames) -> dict[str, Any]:
        """The fields of a record from what `summary` and `frames` gave."""
        # the world is in `run`
        own = {name: value for name, value in summary.items() if name != "world"}
        return {
            **own,
            "measures": measures_of(summary["measures"]),
            **distributions_of(frames["distributions"]),
        }


def measure_rows(measures: Mapping[str, Measure]) -> dict[str, dict[str, Any]]:
    """Measures as types that JSON has."""
    # not by `asdict`, which copies each value deeply: a record has hundreds
    return {name: dict(vars(measure)) for name, measure in measures.items()}


def measures_of(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Measure]:
    """The measures that `measure_rows` was given."""
    return {name: Measure(**row) for name, row in rows.items()}


def distribution_frame(
    *, queue: FloatArray, sojourn: FloatArray, delay: FloatArray, time_bin: float
) -> pl.DataFrame:
    """Distributions as rows: distribution (its name), at (packets or time), probability."""
    parts = [("queue", queue, 1.0), ("sojourn", sojourn, time_bin), ("delay", delay, time_bin)]
    names = [name for name, share, _ in parts for _ in range(len(share))]
    return pl.DataFrame(
        {
            "distribution": pl.Series(names, dtype=pl.String),
            "at": np.concatenate([np.arange(len(share)) * width for _, share, width in parts]),
            "probability": np.concatenate([share for _, share, _ in parts]),
        }
    )


def distributions_of(frame: pl.DataFrame) -> dict[str, FloatArray]:
    """The fields of a record's distributions from the rows of `distribution_frame`."""
    return {
        f"{name}_distribution": frame.filter(distribution=name)["probability"].to_numpy()
        for name in DISTRIBUTIONS
    }


def names(records: Sequence[Record]) -> list[str]:
    """What tells records apart: the discipline, and the world where there are several."""
    if len({record.world for record in records}) < 2:
        return [record.discipline for record in records]
    return [f"{record.discipline} ({record.world})" for record in records]


def methods(records: Sequence[Record]) -> list[str]:
    """How the intervals were made; where they differ, with the names for each.

    Those of most are last, and are called the others.
    """
    told: dict[str, list[str]] = {}
    for name, record in zip(names(records), records, strict=True):
        told.setdefault(record.method, []).append(name)
    if len(told) < 2:
        return list(told)
    *few, last = sorted(told, key=lambda method: len(told[method]))
    others = "the others" if len(told[last]) > 1 else told[last][0]
    return [*(f"{', '.join(told[method])}: {method}" for method in few), f"{others}: {last}"]
