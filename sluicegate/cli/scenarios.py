"""`sluice scenarios`: the scenarios of the documentation, which come with the package."""

from __future__ import annotations

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
        message: The file, then what the system says of it.
    """
    path, known = Path(message.partition(": ")[0]), names()
    if str(path) in known:
        return f"\n{_WRITTEN}"
    beside = [str(each) for each in path.parent.glob("*" + path.suffix)] if path.suffix else []
    if near := nearest(str(path), beside):
        return f"; did you mean {near}?"
    near = nearest(str(path), known)
    return f"; did you mean {near}?\n{_WRITTEN}" if near else ""


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
