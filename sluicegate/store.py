"""The store of finished runs and drawn pages: what was made once is not made again."""

from __future__ import annotations

import ast
import gzip
import hashlib
import json
import os
import time
import warnings
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import platformdirs

from sluicegate import _engine
from sluicegate.errors import SluiceError
from sluicegate.files import disk_of, make_folder, write_whole
from sluicegate.record import Record
from sluicegate.room import make_room, touch
from sluicegate.seal import DamagedError, check

R = TypeVar("R", bound=Record)

_PACKAGE = Path(__file__).parent
_used = ContextVar("used", default=True)
_refusals: ContextVar[list[str] | None] = ContextVar("refusals", default=None)
# runs that take less than this are not waited for one by one until they are on the disk
_SYNC_S = 1.0
_synced_s = -_SYNC_S


@contextmanager
def unused() -> Iterator[None]:
    """Neither look for runs nor keep them meanwhile: for very many runs with little of interest."""
    token = _used.set(False)
    try:
        yield
    finally:
        _used.reset(token)


@contextmanager
def refusals() -> Iterator[list[str]]:
    """Collect why runs are not kept meanwhile, instead of a warning: for a worker's results."""
    found: list[str] = []
    token = _refusals.set(found)
    try:
        yield found
    finally:
        _refusals.reset(token)


@cache
def build(made_by: str) -> str:
    """Hash of the code that makes a record: another engine, or other measures, is another run.

    Args:
        made_by: The module that makes it. The hash is of the engine, of this module, and of all
            modules of this package that it imports, directly or not.
    """
    parts = [Path(str(_engine.__file__)), *sorted(modules_behind(made_by))]
    return hashlib.sha256(b"".join(part.read_bytes() for part in parts)).hexdigest()


def modules_behind(name: str) -> set[Path]:
    """The files of a module of this package and of all others of it that it imports."""
    found: set[Path] = set()
    waiting = [name]
    while waiting:
        path = _file(waiting.pop())
        if path is not None and path not in found:
            found.add(path)
            waiting += _imports(ast.parse(path.read_bytes()))
    return found


def _file(name: str) -> Path | None:
    """The file of a module of this package; None if there is none, as of the engine."""
    _, *parts = name.split(".")
    stem = _PACKAGE.joinpath(*parts)
    files = (stem.with_suffix(".py"), stem / "__init__.py")
    return next((path for path in files if path.is_file()), None)


def _imports(tree: ast.AST) -> Iterator[str]:
    """The modules of this package that a file may import, but for its type annotations."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                continue
            # how it is shown is no part of a result
            case ast.FunctionDef(name="_repr_html_" | "__str__"):
                continue
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] == _PACKAGE.name:
                # a name may be a module of its own
                yield from (f"{module}.{alias.name}" for alias in node.names)
                if module != _PACKAGE.name:
                    yield module
            case ast.Import():
                yield from (alias.name for alias in node.names if "sluicegate." in alias.name)
            # expressions, which most of a file is, import nothing
            case ast.stmt() | ast.excepthandler() | ast.match_case():
                yield from _imports(node)


def identity(run: dict[str, Any], made_by: str) -> str:
    """Hash of everything that determines a run.

    Args:
        run: Its scenario, discipline and settings, as types that JSON has.
        made_by: See `build`.
    """
    text = json.dumps({"build": build(made_by), "run": run}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def folder() -> Path:
    """Where finished runs are kept: `$SLUICE_RUNS`, or the user's cache."""
    given = os.environ.get("SLUICE_RUNS")
    return Path(given) if given else platformdirs.user_cache_path("sluicegate") / "runs"


def _path(name: str) -> Path:
    return folder() / f"{name}.zip"


def has(name: str) -> bool:
    """Whether there is a finished run of that identity."""
    return _path(name).is_file()


def find(name: str, kind: type[R]) -> R | None:
    """The finished run of that identity; None if there is none, or if its file is damaged.

    A damaged one is replaced when the run is made again and kept.

    Args:
        name: The identity.
        kind: Class of the record, which the world knows.
    """
    if not _used.get():
        return None
    try:
        found = kind.read(_path(name), name)
    except (OSError, DamagedError):  # it can be made again
        return None
    touch(_path(name))
    return found


def keep(record: Record) -> None:
    """Keep a finished run, if the folder can be written; if not, a warning says why.

    Long runs are on the disk when this returns. After a power cut those of the last second may be
    missing, or damaged.
    """
    global _synced_s
    if not _used.get():
        return
    now_s = time.monotonic()
    sync = now_s - _synced_s >= _SYNC_S
    try:
        make_folder(folder())
        record.write(_path(record.identity), sync=sync)
        if sync:
            _synced_s = now_s
        make_room(_path(record.identity))
    except OSError as error:
        _warn(
            f"{folder()}, on the disk mounted at {disk_of(folder())}: {error.strerror}: finished "
            "runs are not kept there, and will be made again when they are needed; "
            "SLUICE_RUNS=FOLDER chooses another folder"
        )
    except SluiceError as error:
        _warn(str(error))


def _warn(what: str) -> None:
    """Tell why runs are not kept as asked, once for each reason."""
    collected = _refusals.get()
    if collected is None:
        warnings.warn(what, stacklevel=1)
    elif what not in collected:
        collected.append(what)


def how_to_go_on(made: Collection[str]) -> str:
    """What the same command does after Ctrl-C, in words.

    Args:
        made: The identities of what was finished; the store may not have kept all.
    """
    lost = sum(not has(name) for name in made)
    if not lost:
        return "the same command goes on from what is finished"
    return (
        f"{lost:,} of {len(made):,} finished runs are not in {folder()}, and the same command "
        "makes them again"
    )


def _page(mark: str) -> Path:
    return folder() / f"{mark}.html.gz"


def find_page(mark: str) -> str | None:
    """The sealed page of that mark, a hash of all that determines it.

    None if there is none, or if its file is damaged: it is drawn again.
    """
    try:
        html = gzip.decompress(_page(mark).read_bytes())
        check(html, mark)
    except (OSError, EOFError, zlib.error, DamagedError):
        return None
    touch(_page(mark))
    return html.decode()


def keep_page(mark: str, html: str) -> None:
    """Keep a drawn page, sealed as of its mark, if the folder can be written."""
    with suppress(OSError, SluiceError):
        make_folder(folder())
        write_whole(_page(mark), gzip.compress(html.encode(), compresslevel=1), sync=False)
        make_room(_page(mark))
