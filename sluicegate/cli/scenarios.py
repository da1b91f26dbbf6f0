"""`sluice scenarios`: the scenarios of the documentation, which come with the package."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from sluicegate.cli.screen import console
from sluicegate.errors import SluiceError
from sluicegate.files import write_whole
from sluicegate.near import nearest
from sluicegate.report.terminal import terminal_table

EXAMPLES = Path(__file__).parents[1] / "examples"
# of several paths, such as that of a scenario and that of its capture, the last is missing
_MISSING = re.compile(r"(?:.*: )?(?:cannot read )?(?P<path>.+): No such file.*")
_WRITTEN = "sluice scenarios --out . writes the documentation's files here"


def scenarios(
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write all of them into this folder, as scenarios/ and captures/; . is the "
            "present one.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """List the scenarios that all examples take, or write them here (--out .)."""
    screen = console()
    if out is None:
        rows = [[name, _title(name)] for name in names() if name.endswith(".toml")]
        screen.print(terminal_table(["file", "what it is"], rows))
        screen.print(
            "sluice scenarios --out . writes them here, and the capture that gateway.toml replays"
        )
        return
    kept = [name for name in names() if not _write(name, out / name)]
    for folder in sorted({name.partition("/")[0] for name in names()}):
        screen.print(f"written: {escape(str(out / folder))}")
    if kept:
        raise SluiceError(
            f"not written, because the folder has others of these names: {', '.join(kept)}"
        )


def names() -> list[str]:
    """The paths of the files below a folder, such as `scenarios/light.toml`; scenarios first."""
    found = [str(path.relative_to(EXAMPLES)) for path in EXAMPLES.rglob("*.*")]
    return sorted(found, key=lambda name: (not name.endswith(".toml"), name.count("/"), name))


def hint(message: str) -> str:
    """What an error says more where a file is not there: the name that was probably meant.

    Args:
        message: What the system says, after the file's path, whatever stands before it.
    """
    if not (found := _MISSING.fullmatch(message)):
        return ""
    path, known = Path(found["path"]), [Path(name) for name in names()]
    plain, beside = Path(os.path.normpath(path)), _beside(path)
    if path in beside:  # something else is missing
        return ""
    if plain in known:
        return f"\n{_WRITTEN}"
    if near := _nearest(path, beside):
        return f"; did you mean {near}?"
    # a path that leaves this folder is that of a scenario which is elsewhere
    if ".." in plain.parts or not (near := _nearest(path, known)):
        return ""
    return f"; did you mean {near}?\n{_WRITTEN}"


def _nearest(path: Path, known: list[Path]) -> Path | None:
    """The file of the same kind whose name is nearest, whatever the folders are called."""
    stems = {each.stem: each for each in known if each.suffix == path.suffix}
    near = nearest(path.stem, stems)
    return stems[near] if near else None


def _beside(path: Path) -> list[Path]:
    """The files in a path's folder; what a symbolic link names may be missing, too."""
    try:
        return [each for each in path.parent.iterdir() if each.exists()]
    except OSError:
        return []


def _title(name: str) -> str:
    return str(tomllib.loads((EXAMPLES / name).read_text())["title"])


def _write(name: str, path: Path) -> bool:
    """Write a file, unless there is one; whether it is there now."""
    content = (EXAMPLES / name).read_bytes()
    if path.exists():
        return path.read_bytes() == content
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, content)
    return True
