"""What a tuning keeps of its runs: in memory, and in a folder where there is one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import polars as pl

from sluicegate.sweeps.columns import measure_columns
from sluicegate.sweeps.folder import Folder, Writer
from sluicegate.tuning.problem import Problem
from sluicegate.tuning.score import Columns

if TYPE_CHECKING:
    from sluicegate.tuning.runner import Asked

_WRITE_S = 1.0


class TuningFolder(Folder):
    """The folder of a tuning: `tuning.json` says what it is; its runs are as those of a sweep."""

    about_name = "tuning.json"
    what = "tuning"
    needed = ("format", "axes", "score")


class Kept:
    """The runs of a tuning that are known.

    Args:
        problem: The tuning.
        folder: Where runs are kept for the next time; None: nowhere.

    Raises:
        SluiceError: If the folder has other things, or those of another tuning or version; nothing
            is changed then.
    """

    def __init__(self, problem: Problem, folder: TuningFolder | None) -> None:
        self._names = [axis.name for axis in problem.axes]
        self._classes, self._bands = problem.base.classes(), problem.base.bands()
        self._runs: dict[Asked, Columns] = {}
        self._writer: Writer | None = None
        self._written_s = time.monotonic()
        if folder is not None:
            folder.claim(problem.about())
            folder.repair()
            self._read(folder)
            self._writer = Writer(folder, self._schema())

    @property
    def has_folder(self) -> bool:
        """Whether runs are kept for the next time."""
        return self._writer is not None

    def get(self, run: Asked) -> Columns | None:
        """The measures of a run; None if it was not made yet."""
        return self._runs.get(run)

    def identities(self) -> list[str]:
        """The names of the known runs in the store."""
        return [str(columns["identity"]) for columns in self._runs.values()]

    def add(self, run: Asked, columns: Columns) -> None:
        """Keep a run."""
        self._runs[run] = columns
        if self._writer is not None:
            values, stream, number = run
            place = dict(zip(self._names, map(float, values), strict=True))
            self._writer.add({**place, "stream": stream, "number": number, **columns})
            if time.monotonic() - self._written_s >= _WRITE_S:
                self.flush()

    def flush(self) -> None:
        """Write what was added.

        Raises:
            OSError: If it cannot be written.
        """
        if self._writer is not None and time.monotonic() - self._written_s >= _WRITE_S:
            self._writer.flush()
            self._written_s = time.monotonic()

    def end(self) -> None:
        """Write all, as one file."""
        if self._writer is not None:
            self._writer.flush()
            self._writer.merge()

    def frame(self) -> pl.DataFrame:
        """A row for each run; columns as the folder's files have them."""
        rows = [
            {
                **dict(zip(self._names, map(float, values), strict=True)),
                "stream": stream,
                "number": number,
                **columns,
            }
            for (values, stream, number), columns in self._runs.items()
        ]
        return pl.DataFrame(rows, schema=self._schema())

    def _schema(self) -> dict[str, Any]:
        kinds: dict[str, Any] = dict.fromkeys(self._names, pl.Float64)
        kinds |= {"stream": pl.String, "number": pl.Int64}
        kinds |= {"identity": pl.String, "time_unit": pl.String}
        return kinds | measure_columns(self._classes, self._bands)

    def _read(self, folder: TuningFolder) -> None:
        for row in folder.rows():
            values = tuple(row.pop(name) for name in self._names)
            run = (values, row.pop("stream"), row.pop("number"))
            self._runs[run] = {name: value for name, value in row.items() if value is not None}
