"""AQMs in Python files: `mine.py`, or `mine.py:Class` where a file has several."""

from __future__ import annotations

import hashlib
import re
import sys
import traceback
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

from sluicegate.errors import SluiceError

_PREFIX = "sluicegate_python_aqm_"
_MOST_BYTES = 1 << 20
# what the engine says of such an answer
_ANSWERED = re.compile(r"(\w+)\.(\w+) returned ")


def at(text: str) -> type | None:
    """The class at `mine.py` or `mine.py:Class`; None if the text is neither.

    Raises:
        SluiceError: As `load`.
    """
    if text.endswith(".py"):
        return load(Path(text), None)
    file, _, name = text.rpartition(":")
    return load(Path(file), name) if file.endswith(".py") else None


def load(path: Path, name: str | None) -> type:
    """The class of that name in a Python file, or its only AQM.

    An AQM is a class with `arrive(view)` that the file itself defines. The file is run once, as if
    it was imported; it is run again when it has changed.

    Raises:
        SluiceError: If the file cannot be read or run (with the line), or has no such class.
    """
    module = _module(path)
    own = {
        word: each
        for word, each in vars(module).items()
        if isinstance(each, type) and each.__module__ == module.__name__
    }
    aqms = [word for word, each in own.items() if hasattr(each, "arrive") and word[0] != "_"]
    there_are = f"there are {', '.join(aqms)}" if aqms else "it has no class with arrive(view)"
    if name is not None:
        if name not in own:
            raise SluiceError(f"{path}: no class is called {name or 'so'}; {there_are}")
        if not hasattr(own[name], "arrive"):
            raise SluiceError(f"{path}: {name} must have a method arrive(view)")
        return own[name]
    if not aqms:
        raise SluiceError(f"{path}: {there_are}")
    if len(aqms) > 1:
        raise SluiceError(f"{path}: {there_are}; choose one, such as {path.name}:{aqms[0]}")
    return own[aqms[0]]


def _module(path: Path) -> ModuleType:
    """The module of a file, which is run unless the same text was run before.

    Raises:
        SluiceError: If it cannot be read or run.
    """
    full = path.absolute()
    mark = hashlib.sha256(str(full).encode() + b"\0" + _text(path)).hexdigest()[:16]
    name = f"{_PREFIX}{mark}_{path.stem}"
    if name in sys.modules:
        return sys.modules[name]
    loader = SourceFileLoader(name, str(full))
    spec = spec_from_loader(name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    # as for `python mine.py`, it may import what lies beside it
    sys.path.insert(0, str(full.parent))
    try:
        # not from a cache of the loader: two changes within a second would be one
        exec(compile(loader.get_data(str(full)), str(full), "exec"), vars(module))
    except KeyboardInterrupt:
        del sys.modules[name]
        raise
    except BaseException as error:  # also SystemExit
        del sys.modules[name]
        raise SluiceError(told(error, {full: str(path)}) or f"{path}: {error!r}") from error
    finally:
        sys.path.remove(str(full.parent))
    return module


def _text(path: Path) -> bytes:
    try:
        # a pipe or a device may have no end
        if path.exists() and not path.is_file():
            raise SluiceError(f"{path}: must be a Python file")
        if path.stat().st_size > _MOST_BYTES:
            raise SluiceError(f"{path}: has {path.stat().st_size} bytes, at most {_MOST_BYTES}")
        return path.read_bytes()
    except OSError as error:
        raise SluiceError(f"{path}: {error.strerror}") from error


def loaded() -> dict[Path, str]:
    """The files that were run, by their full paths, as they are shown."""
    modules = (each for name, each in sys.modules.items() if name.startswith(_PREFIX))
    return {Path(str(each.__file__)): str(each.__file__) for each in modules}


def told(error: BaseException, files: dict[Path, str]) -> str | None:
    """An error that came from one of these files, with the line; None if it is from none."""
    if isinstance(error, SyntaxError) and Path(str(error.filename)) in files:
        where = f"{files[Path(str(error.filename))]}, line {error.lineno}"
        return f"{where}: {type(error).__name__}: {error.msg}"
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if (path := Path(frame.filename)) in files:
            function = "" if frame.name == "<module>" else f" ({frame.name})"
            return f"{files[path]}, line {frame.lineno}{function}: {what}"
    return None


def no_verdict(message: str, files: dict[Path, str]) -> str | None:
    """The error of a method of these files that answered with no verdict, with the method's line.

    None for any other error. No frame leads there, as the method has returned.
    """
    if (found := _ANSWERED.match(message)) is None:
        return None
    name, method = found.groups()
    for path, shown in files.items():
        for module in [each for each in sys.modules.values() if _is_of(each, path)]:
            if (function := getattr(getattr(module, name, None), method, None)) is not None:
                line = function.__code__.co_firstlineno
                return f"{shown}, line {line} ({method}): {message}"
    return None


def _is_of(module: ModuleType, path: Path) -> bool:
    return module.__name__.startswith(_PREFIX) and Path(str(module.__file__)) == path
