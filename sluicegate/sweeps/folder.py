"""The results folder of a sweep: on this machine, or wherever fsspec can write.

It has `sweep.json`, which says what the sweep is, and Parquet files in `runs/`, each with the runs
that one process had finished at one time. Files are written as a whole and never changed, so that
several processes may write at once. If several have the same run, they have the same results.
"""

from __future__ import annotations

import io
import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from sluicegate.errors import SluiceError
from sluicegate.files import write_whole

_RUNS = "runs"
_VERSIONS = ("format", "sluicegate", "build")
# fields whose values are short
_TOLD = (
    *("title", "discipline", "disciplines", "world", "seed"),
    *("paths", "points", "method", "axes", "score", "constraints"),
)
# this many files of one process are merged into one
_MOST_PARTS = 64


class Folder:
    """A results folder.

    Args:
        path: Where it is: a path of this machine, or a URL that fsspec knows, such as `s3://...`.

    Attributes:
        about_name: The file that says what the folder is.
        what: What the results are of, in messages.
        needed: Fields of that file without which it cannot be read.

    Raises:
        SluiceError: If such a place cannot be reached.
    """

    about_name: ClassVar[str] = "sweep.json"
    what: ClassVar[str] = "sweep"
    needed: ClassVar[tuple[str, ...]] = ("format", "paths", "runs")

    def __init__(self, path: str | PathLike[str]) -> None:
        import fsspec  # type: ignore[import-untyped]  # takes a fifth of a second to import

        self.path = fspath(path)
        try:
            self.files, self.root = fsspec.url_to_fs(self.path)
        except (ValueError, ImportError) as error:
            raise SluiceError(f"{self.path}: {error}") from error
        self._is_local = "file" in (self.files.protocol, *self.files.protocol)

    def read(self, name: str) -> bytes | None:
        """The content of a file; None if there is none."""
        try:
            content: bytes = self.files.cat_file(f"{self.root}/{name}")
        except FileNotFoundError:
            return None
        return content

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file as a whole or not at all.

        Raises:
            OSError: If it cannot be written.
        """
        path = f"{self.root}/{name}"
        self.files.makedirs(path.rpartition("/")[0], exist_ok=True)
        if self._is_local:
            write_whole(Path(path), content)
        else:  # there a file is whole or not there
            self.files.pipe_file(path, content.encode() if isinstance(content, str) else content)

    def about(self) -> dict[str, Any]:
        """What these results are of.

        Raises:
            SluiceError: If it is no results folder.
        """
        name = self.about_name
        content = self.read(name)
        if content is None:
            raise SluiceError(
                f"{self.path} is no results folder of a {self.what}: it has no {name}"
            )
        try:
            found: dict[str, Any] = json.loads(content)
            for field in self.needed:
                found[field]
        except (ValueError, KeyError, TypeError) as error:
            raise SluiceError(f"{self.path}/{name} cannot be read: {error!r}") from error
        return found

    def claim(self, about: Mapping[str, Any]) -> None:
        """Make it the folder of a sweep; it may already be that of the same one.

        Raises:
            SluiceError: If it is not empty and has no results, or results of another one or
                version. Nothing is changed then.
            OSError: If it cannot be written.
        """
        if self.read(self.about_name) is None:
            if self._names(""):
                raise SluiceError(f"{self.path} has other files: choose another folder with --out")
            self.write(self.about_name, json.dumps(about, indent=1) + "\n")
            return
        known = self.about()
        # the first difference is reported; the build is last: it differs with the world, too
        for name in ("format", "sluicegate", *(each for each in about if each != "build"), "build"):
            if known.get(name) != about[name]:
                raise SluiceError(
                    f"{self.path} {_difference(self.what, name, known, about)}; choose another "
                    "folder with --out"
                )

    def _names(self, under: str) -> list[str]:
        """Paths of what is in one of its folders."""
        try:
            self.files.invalidate_cache()
            return sorted(self.files.ls(f"{self.root}/{under}".rstrip("/"), detail=False))
        except FileNotFoundError:
            return []

    def parts(self) -> list[str]:
        """URLs of the Parquet files."""
        names = [name for name in self._names(_RUNS) if name.endswith(".parquet")]
        if self._is_local:
            return names
        return [str(self.files.unstrip_protocol(name)) for name in names]

    def done(self) -> set[int]:
        """Numbers of the runs whose results are here.

        Raises:
            SluiceError: If a file of them is damaged.
        """
        return {row["run"] for row in self.rows(["run"])}

    def rows(self, columns: list[str] | None = None) -> Iterator[dict[str, Any]]:
        """The runs whose results are here, each a row of these columns; of all if None.

        Raises:
            SluiceError: If a file of them is damaged.
        """
        for name in self._names(_RUNS):
            if name.endswith(".parquet"):
                try:
                    frame = pl.read_parquet(self.files.cat_file(name), columns=columns)
                except pl.exceptions.PolarsError as error:
                    raise SluiceError(
                        f"{name} cannot be read: {error}; remove it, and its runs are made again"
                    ) from error
                yield from frame.iter_rows(named=True)

    def remove(self, names: Sequence[str]) -> None:
        """Remove files."""
        for name in names:
            self.files.rm_file(f"{self.root}/{name}")


def _difference(of: str, name: str, known: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    """The difference between two sweeps, or two of what else folders are `of`, in words."""
    if name == "build":
        return f"has results of another build of sluicegate {about['sluicegate']}"
    if name in _VERSIONS:
        what = "sluicegate" if name == "sluicegate" else "the format of results"
        return f"has results of another version of {what}: {known.get(name)}, here {about[name]}"
    if name in _TOLD:
        return f"has results of another {of}: {name} = {known.get(name)}, here {about[name]}"
    return f"has results of another {of}, with other {'values' if name == 'values' else name}"


class Writer:
    """Writes results into a folder, as files of its own.

    Args:
        folder: Where to.
        schema: Columns and their types.
    """

    def __init__(self, folder: Folder, schema: Mapping[str, Any]) -> None:
        self._folder = folder
        self._schema = schema
        self._name = uuid.uuid4().hex[:12]
        self._count = 0
        self._rows: list[dict[str, Any]] = []
        self._parts: dict[str, pl.DataFrame] = {}

    def add(self, row: dict[str, Any]) -> None:
        """Take the results of a run."""
        self._rows.append(row)

    def flush(self) -> None:
        """Write what was taken since the last time.

        Raises:
            OSError: If it cannot be written.
        """
        if not self._rows:
            return
        self._write(pl.DataFrame(self._rows, schema=self._schema))
        self._rows = []
        if len(self._parts) >= _MOST_PARTS:
            self.merge()

    def merge(self) -> None:
        """Make one file of all that were written since the last time."""
        small = self._parts
        if len(small) > 1:
            self._parts = {}
            self._write(pl.concat(small.values()))
            self._folder.remove(list(small))
            self._parts = {}

    def _write(self, frame: pl.DataFrame) -> None:
        content = io.BytesIO()
        frame.write_parquet(content)
        name = f"{_RUNS}/{self._name}-{self._count}.parquet"
        self._folder.write(name, content.getvalue())
        self._count += 1
        self._parts[name] = frame
