"""The results folder of a sweep: on this machine, or wherever fsspec can write.

It has `sweep.json`, which says what the sweep is, and Parquet files in `runs/`, each with the runs
that one process had finished at one time. Files are written as a whole and never changed, so that
several processes may write at once. If several have the same run, they have the same results.

All are sealed (`sluicegate.seal`), and each Parquet file says of which sweep it is: one of another,
copied here, is not read as one of this.
"""

from __future__ import annotations

import hashlib
import io
import json
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from os import PathLike, fspath
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from sluicegate.errors import SluiceError
from sluicegate.files import UNFINISHED, make_folder, write_whole
from sluicegate.seal import SLOT, DamagedError, check, is_sealed, sealed
from sluicegate.sweeps.words import values_text

_RUNS = "runs"
# version of what is written into a results folder; a change needs a new number
FORMAT = 2
_VERSIONS = ("format", "sluicegate", "build")
# fields whose values are short
_TOLD = (
    *("title", "discipline", "disciplines", "world", "seed"),
    *("paths", "points", "method", "axes", "score", "constraints"),
)
# this many files of one process are merged into one
_MOST_PARTS = 64
# the name of the seal in `sweep.json` and in Parquet's metadata
_SEAL = "seal"
# and there, that of which sweep the file is
_OF = "of"
_DAMAGED = ".damaged"
_ANOTHER = "choose another folder with --out (in Python: out)"
_NAME_IT = "give it one with --out (in Python: out)"


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
        if not self.path:
            raise SluiceError(f"the folder of the {self.what} has no name: {_NAME_IT}")
        try:
            self.files, self.root = fsspec.url_to_fs(self.path)
        except (ValueError, ImportError) as error:
            raise SluiceError(f"{self.path}: {error}") from error
        self._is_local = "file" in (self.files.protocol, *self.files.protocol)
        self._mark = ""
        # those that were found to be as they were written
        self._sound: set[str] = set()

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
        if self._is_local:
            make_folder(Path(path).parent)
            write_whole(Path(path), content)
        else:  # there a file is whole or not there
            self.files.makedirs(path.rpartition("/")[0], exist_ok=True)
            self.files.pipe_file(path, content.encode() if isinstance(content, str) else content)

    def about(self) -> dict[str, Any]:
        """What these results are of.

        Raises:
            DamagedError: If the file that says it is damaged.
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
            # earlier versions wrote no seal
            if is_sealed(content) or found["format"] == FORMAT:
                check(content, name)
        except (ValueError, KeyError, TypeError) as error:
            told = error if isinstance(error, DamagedError) else repr(error)
            raise DamagedError(
                f"{self.path}/{name} is damaged: {told}; the command that made the {self.what} "
                "writes it again"
            ) from error
        found.pop(_SEAL, None)
        self._mark = _mark(found)
        return found

    def check(
        self, about: Mapping[str, Any], varied: Mapping[str, Sequence[Any]] | None = None
    ) -> str:
        """Refuse the folder of anything but this sweep, or of nothing yet; nothing is changed.

        Args:
            about: What this sweep is.
            varied: The values of what varies in it, for the message.

        Returns:
            Why the file that says what the folder is has to be written again; empty if it has not.

        Raises:
            SluiceError: If it has other files, or results of another sweep or version.
        """
        self._mark = _mark(about)
        if self._has_nothing():
            return ""
        if self.read(self.about_name) is None:
            raise SluiceError(f"{self.path} has other files: {_ANOTHER}")
        try:
            known = self.about()
        except DamagedError as error:
            # each part says, too, what it is of
            for part in self._parts():
                with suppress(DamagedError, FileNotFoundError):
                    self._content(part)
            return str(error)
        # the first difference is reported; the build is last: it differs with the world, too
        for name in ("format", "sluicegate", *(each for each in about if each != "build"), "build"):
            if known.get(name) != about[name]:
                told = name in ("points", "values") and self._other_values(varied or {})
                told = told or _difference(self.what, name, known, about)
                raise SluiceError(f"{self.path} {told}; {_ANOTHER}")
        return ""

    def _other_values(self, varied: Mapping[str, Sequence[Any]]) -> str:
        """What varies with other values in the results here, in words; empty if they do not say.

        Where runs are missing there, only a value that is not here is surely another one.
        """
        finished = False
        with suppress(SluiceError):
            finished = len(self.done()) == self.about()["runs"]
        for path, here in varied.items():
            with suppress(SluiceError):
                there = dict.fromkeys(row[path] for row in self.rows([path]))
                if set(there) - set(here) or (finished and set(there) != set(here)):
                    told = f"{path} = {values_text(path, there)}, here {values_text(path, here)}"
                    return (
                        f"has results of another {self.what}: {told} (runs of both that the store "
                        "has are not made again)"
                    )
        return ""

    def claim(self, about: Mapping[str, Any]) -> None:
        """Make it the folder of a sweep; it may already be that of the same one.

        Where the file that says so is damaged, it is written again, with a warning.

        Raises:
            SluiceError: As `check`.
            OSError: If it cannot be written.
        """
        if damage := self.check(about):
            warnings.warn(damage, stacklevel=2)
        text = json.dumps({**about, _SEAL: SLOT}, indent=1) + "\n"
        content = sealed(text.encode(), self.about_name)
        if self.read(self.about_name) != content:
            self.write(self.about_name, content)

    def _has_nothing(self) -> bool:
        """Whether there is at most what a command leaves that ended before its first results."""
        names = {name.rpartition("/")[2] for name in self._names("")} - {self.about_name}
        if _RUNS in names and not self._names(_RUNS):
            names.remove(_RUNS)
        return not any(name for name in names if not name.startswith(UNFINISHED))

    def _names(self, under: str) -> list[str]:
        """Paths of what is in one of its folders."""
        try:
            self.files.invalidate_cache()
            return sorted(self.files.ls(f"{self.root}/{under}".rstrip("/"), detail=False))
        except FileNotFoundError:
            return []

    def _parts(self) -> list[str]:
        """Paths of the Parquet files."""
        return [name for name in self._names(_RUNS) if name.endswith(".parquet")]

    def _content(self, part: str) -> bytes:
        """A Parquet file.

        Raises:
            DamagedError: If it is not as it was written.
            SluiceError: If it is of another sweep.
            FileNotFoundError: If another process has merged it with others meanwhile.
        """
        content: bytes = self.files.cat_file(part)
        try:
            check(content)
        except DamagedError as error:
            raise DamagedError(
                f"{part} is damaged: {error}; the command that made the {self.what} makes its "
                "runs again"
            ) from None
        if pl.read_parquet_metadata(io.BytesIO(content)).get(_OF) != self._mark:
            raise SluiceError(f"{part} is of another {self.what}: move it to a folder of its own")
        self._sound.add(part)
        return content

    def parts(self) -> list[str]:
        """URLs of the Parquet files.

        Raises:
            SluiceError: If one is damaged, or of another sweep.
        """
        names = self._parts()
        try:
            # files never change: each is looked at once
            for name in set(names) - self._sound:
                self._content(name)
        except FileNotFoundError:
            return self.parts()
        if self._is_local:
            return names
        return [str(self.files.unstrip_protocol(name)) for name in names]

    def repair(self) -> None:
        """Set damaged files aside, with a warning for each: their runs count as not made.

        Raises:
            SluiceError: If a file is of another sweep.
        """
        for part in self._parts():
            try:
                self._content(part)
            except DamagedError as error:
                with suppress(FileNotFoundError):
                    self.files.mv(part, part + _DAMAGED)
                warnings.warn(f"{error}; the file is kept as {part}{_DAMAGED}", stacklevel=2)
            except FileNotFoundError:
                pass

    def done(self) -> set[int]:
        """Numbers of the runs whose results are here.

        Raises:
            SluiceError: As `rows`.
        """
        return {row["run"] for row in self.rows(["run"])}

    def rows(self, columns: list[str] | None = None) -> Iterator[dict[str, Any]]:
        """The runs whose results are here, each a row of these columns; of all if None.

        Raises:
            SluiceError: If a file of them is damaged, or of another sweep.
        """
        for part in self._parts():
            with suppress(FileNotFoundError):
                yield from pl.read_parquet(self._content(part), columns=columns).iter_rows(
                    named=True
                )

    def write_part(self, name: str, frame: pl.DataFrame) -> None:
        """Write runs into a Parquet file of that name.

        Raises:
            OSError: If it cannot be written.
        """
        content = io.BytesIO()
        frame.write_parquet(content, metadata={_OF: self._mark, _SEAL: SLOT})
        self.write(name, sealed(content.getvalue()))

    def remove(self, names: Sequence[str]) -> None:
        """Remove files."""
        for name in names:
            self.files.rm_file(f"{self.root}/{name}")


def _mark(about: Mapping[str, Any]) -> str:
    """A hash of a sweep, for the seals of its files."""
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _difference(of: str, name: str, known: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    """The difference between two sweeps, or two of what else folders are `of`, in words."""
    if name == "build":
        return f"has results of another build of sluicegate {about['sluicegate']}"
    if name in _VERSIONS:
        what = "sluicegate" if name == "sluicegate" else "the format of results"
        return f"has results of another version of {what}: {known.get(name)}, here {about[name]}"
    if name in _TOLD:
        return f"has results of another {of}: {name} = {known.get(name)}, here {about[name]}"
    what = "other" if name.endswith("s") else "another"
    return f"has results of another {of}, with {what} {name}"


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
        name = f"{_RUNS}/{self._name}-{self._count}.parquet"
        self._folder.write_part(name, frame)
        self._count += 1
        self._parts[name] = frame
