"""A copy of the sources, on which tests follow the guides to adding something."""

import fcntl
import shutil
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# what is compiled, and what `make generated` reads and writes
COPIED = [
    *("Cargo.toml", "Cargo.lock", ".cargo", "aqm", "engine", "gate", "kernel"),
    *("Makefile", "requirements.lock", "pyproject.toml", "docs/reference", "sluicegate/scenario"),
]
SETTINGS = Path(".cargo/config.toml")


@contextmanager
def source_copy() -> Iterator[Path]:
    """The folder of the copy, for one test at a time.

    It is always the same folder, and only files that differ are written: cargo compiles what
    a guide changes and what an earlier guide has changed, and no more.
    """
    folder = ROOT / "target" / "guides"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder.parent / "guides.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = {path.relative_to(ROOT): path.read_bytes() for path in _sources()}
        wanted[SETTINGS] += _without_optimisation()
        for path in [path for path in folder.rglob("*") if path.is_file()]:
            if path.relative_to(folder) not in wanted and ".venv" not in path.parts:
                path.unlink()
        for name, content in wanted.items():
            path = folder / name
            if not path.exists() or path.read_bytes() != content:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        # were it newer than what follows from it in .venv, make would make .venv again
        shutil.copystat(ROOT / "requirements.lock", folder / "requirements.lock")
        (folder / "target").mkdir(exist_ok=True)
        if not (folder / ".venv").is_symlink():
            (folder / ".venv").symlink_to(ROOT / ".venv")
        yield folder


def _sources() -> list[Path]:
    paths = [path for name in COPIED for path in ((ROOT / name), *(ROOT / name).rglob("*"))]
    return [path for path in paths if path.is_file() and "__pycache__" not in path.parts]


def _without_optimisation() -> bytes:
    """Settings for our own crates: what is compiled of them here runs for a moment only."""
    ours = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["dependencies"]
    names = [name for name in ours if name.startswith("sluice-")]
    return "".join(f"[profile.dev.package.{name}]\nopt-level = 0\n" for name in names).encode()
