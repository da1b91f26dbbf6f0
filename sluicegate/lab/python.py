"""The Python of this machine in the laboratory: its program, and modules with what they import."""

from __future__ import annotations

import importlib.util
import json
import marshal
import subprocess
import sys
from functools import cache
from pathlib import Path

from sluicegate.errors import SluiceError
from sluicegate.lab.archive import Link
from sluicegate.lab.image import libraries

_HOME = "lab/python"
_PROGRAM = f"{_HOME}/bin/python3"
_MODULES_IN = f"{_HOME}/lib/python{sys.version_info.major}.{sys.version_info.minor}"
_LIBRARIES_IN = f"{_HOME}/libraries"
# PEP 552: a hash that is never checked
_HEADER = importlib.util.MAGIC_NUMBER + (0b01).to_bytes(4, "little") + bytes(8)
# how a shell calls it
COMMAND = f"PYTHONHOME=/{_HOME} LD_LIBRARY_PATH=/{_LIBRARIES_IN} /{_PROGRAM}"
_LIST = """
import {modules}, json, sys
json.dump({{name: each.__file__ for name, each in sys.modules.items()
           if getattr(each, "__file__", None) and name != "__main__"}}, sys.stdout)
"""


@cache
def files(*modules: str) -> dict[str, bytes | Link]:
    """Python, and modules with all that they import, compiled: the same bytes everywhere.

    Args:
        *modules: Their full names.

    Raises:
        SluiceError: If one cannot be imported here.
    """
    command = [sys.executable, "-c", _LIST.format(modules=", ".join(modules))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SluiceError(done.stderr.strip())
    python = Path(sys.executable).resolve()
    content = {_PROGRAM: python.read_bytes(), **_libraries_of(python)}
    for name, path in json.loads(done.stdout).items():
        content |= _module(name, Path(path))
    return content


def _module(name: str, path: Path) -> dict[str, bytes | Link]:
    """A module at its place in the library."""
    stem = name.replace(".", "/") + ("/__init__" if path.stem == "__init__" else "")
    if path.suffix == ".so":
        place = f"{_MODULES_IN}/{Path(stem).parent / path.name}"
        return {place: path.read_bytes(), **_libraries_of(path)}
    code = compile(path.read_bytes(), f"{stem}.py", "exec", dont_inherit=True)
    # later formats of marshal show which objects happen to be shared in this process
    compiled = _HEADER + marshal.dumps(code, 2)
    content: dict[str, bytes | Link] = {f"{_MODULES_IN}/{stem}.pyc": compiled}
    names = path.with_suffix(".pyi")
    if path.stem == "__init__" and names.is_file():
        # stubs of packages that load names lazily
        content[f"{_MODULES_IN}/{stem}.pyi"] = names.read_bytes()
    return content


def _libraries_of(program: Path) -> dict[str, bytes | Link]:
    """What a program or a module is linked with, all in one folder; the loader at its own path."""
    return {
        str(path).lstrip("/")
        if path.name.startswith("ld-")
        else f"{_LIBRARIES_IN}/{path.name}": path.read_bytes()
        for path in libraries(program)
    }
