"""One offline HTML page that runs the engine itself on a scenario: `sluice page`.

`engine/page` is the engine's side; `make page` compiles it to `engine.wasm`, which is no part of
the sources. The files beside this one are joined into the page.
"""

from __future__ import annotations

import base64
import gzip
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2

from sluicegate._engine import __version__, aqm_class
from sluicegate.errors import SluiceError
from sluicegate.page.refusals import refuse
from sluicegate.scenario import load

MODULE = Path(__file__).parent / "engine.wasm"
# in the order in which they use each other
_SCRIPTS = ("scenario.js", "strips.js", "controls.js", "main.js")
# tables of a file that are no part of its scenario
_OF_COMMANDS = ("sweep", "tune")
_TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader("sluicegate.page", "."),
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
)


def page(path: Path, changed: Mapping[str, Any] | None = None) -> str:
    """The page of a scenario, with the first two of its disciplines.

    Args:
        path: Its TOML file.
        changed: Fields at the top that replace those of the file.

    Raises:
        SluiceError: If the file is wrong, or the page cannot run it; or if this installation has no
            engine for pages.
    """
    scenario = load(path, changed)
    refuse(path, scenario.table())
    given = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    given = {name: value for name, value in given.items() if name not in _OF_COMMANDS}
    shown = _in_units({**given, **(changed or {})}, scenario.table())
    shown["disciplines"] = [_numbers(row) for row in shown["disciplines"][:2]]
    return _TEMPLATES.get_template("page.html").render(
        title=scenario.title or path.stem,
        network="topology" in shown,
        version=__version__,
        style=_text("style.css"),
        engine=_text("engine.js"),
        worker=_text("worker.js"),
        scripts="".join(map(_text, _SCRIPTS)),
        scenario=json.dumps(shown).replace("</", r"<\/").replace("<!--", r"<\!--"),
        module=base64.b64encode(gzip.compress(module(), mtime=0)).decode(),
    )


def _in_units(given: Any, complete: Any) -> Any:
    """What a file gives, with values such as "10M" as the numbers that they mean."""
    match given:
        case dict():
            return {name: _in_units(value, complete[name]) for name, value in given.items()}
        case list():
            return [_in_units(*pair) for pair in zip(given, complete, strict=True)]
        case str() if not isinstance(complete, str):
            return complete
        case _:
            return given


def _numbers(discipline: dict[str, Any]) -> dict[str, Any]:
    """A discipline whose parameters are what they mean, such as 0.005 for "5ms"."""
    if not (given := discipline.get("params")):
        return discipline
    meant = aqm_class(discipline["aqm"]).configure(given).values
    return {**discipline, "params": {name: meant[name] for name in given}}


def module() -> bytes:
    """The engine as WebAssembly.

    Raises:
        SluiceError: If this installation has none.
    """
    try:
        return MODULE.read_bytes()
    except FileNotFoundError:
        raise SluiceError(
            "this installation has no engine for pages: in the sources, `make page` makes it. It "
            "needs clang and Rust's target wasm32-unknown-unknown (Debian, Ubuntu: apt install "
            "clang; rustup target add wasm32-unknown-unknown)"
        ) from None


def _text(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")
