"""Pages of the catalogue: of each AQM and scheduler, from its header and `sluicegate.catalogue`."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import pictures

import sluicegate as sg
from sluicegate import _engine
from sluicegate.catalogue import FAMILIES, entry
from sluicegate.registry import schedulers

Table = Iterator[str]


def write(folder: Path) -> None:
    """Write a page for each, with its pictures, and one that lists them by family."""
    folder.mkdir(parents=True, exist_ok=True)
    headers = dict(_engine.aqm_headers())
    for each in [*sg.aqms().values(), *schedulers().values()]:
        lines = _page(each, headers[f"{each.name}.h"], pictures.write(each.name, folder))
        (folder / f"{each.name}.md").write_text("\n".join(lines) + "\n")
    (folder.parent / "aqm-families.inc").write_text("\n".join(_families()) + "\n")


def table(header: Sequence[str], rows: list[list[str]]) -> Table:
    """Yield the lines of a table."""
    for row in [list(header), ["---"] * len(header), *rows]:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
    yield ""


def code(value: object) -> str:
    """A value in the font of code."""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def number(value: float) -> str:
    """A number with commas, if it is a large whole one."""
    return f"{value:,.0f}" if abs(value) >= 1000 and value == int(value) else f"{value:g}"


def words(header: str) -> Iterator[str]:
    """Yield the comment at the top of a header: its tables and lists of terms as they stand."""
    comment = re.search(r"^/\*\n(.*?)^ \*/", header, flags=re.MULTILINE | re.DOTALL)
    assert comment is not None
    lines = [line.removeprefix(" *").removeprefix(" ") for line in comment[1].splitlines()]
    for _, block in groupby(lines, key=bool):
        text = list(block)
        # a list's lines go on indented, and stay a list
        is_list = text[0].startswith("- ")
        for is_table, part in groupby(text, key=lambda line: line.startswith("  ")):
            shown = "\n".join(part)
            yield f"```text\n{shown}\n```" if is_table and not is_list else shown


def _families() -> Iterator[str]:
    found = [*sg.aqms().values(), *schedulers().values()]
    for family in FAMILIES:
        own = [each for each in found if entry(each.name).family == family]
        if own:
            yield f"**{family[0].upper()}{family[1:]}**\n"
            rows = [[f"[`{e.name}`](generated/aqms/{e.name}.md)", e.title, e.source] for e in own]
            yield from table(["name", "what it is", "source"], rows)


def _page(aqm: sg.AqmClass, header: str, shown: Sequence[tuple[str, str]]) -> Iterator[str]:
    known = entry(aqm.name)
    yield f"# `{aqm.name}`: {aqm.title}\n"
    yield f"{aqm.summary} Source: {aqm.source}; code: `aqm/{aqm.name}.h`. Family: {known.family}.\n"
    if aqm.base:
        yield f"A preset of [`{aqm.base}`]({aqm.base}.md) with defaults of its own.\n"
    for file, caption in shown:
        yield f"![{caption}]({file})\n\n{caption}\n"
    yield "## Origin and rule\n"
    yield from words(header)
    yield "\n## Where it is in use\n"
    yield f"{known.deployed or 'Nowhere that we know of.'}\n"
    yield "## In Linux\n"
    yield f"{known.linux}\n"
    yield "## Parameters\n"
    if aqm.name in schedulers():
        yield "A scenario gives them: [`disciplines.scheduler` and classes](../network.md)."
        return
    yield from _parameters(aqm)


def _parameters(aqm: sg.AqmClass) -> Iterator[str]:
    if not aqm.params:
        yield "It has none."
        return
    yield "As it comes, these apply:\n"
    defaults = {param.name: param.default for param in aqm.params}
    header = ("parameter", "what it is", "default", "values")
    yield from table(header, [_row(p) for p in aqm.params if aqm.applies(p, defaults)])
    others = [param for param in aqm.params if not aqm.applies(param, defaults)]
    if others:
        yield "The others have a meaning only with another choice:\n"
        rows = [[*_row(param), code(param.when.replace("|", " or "))] for param in others]
        yield from table((*header, "only with"), rows)


def _row(param: sg.Param) -> list[str]:
    default = number(param.default) if type(param.default) is float else str(param.default).lower()
    if param.kind in ("choice", "switch"):
        values = ", ".join(code(word) for word in param.range.split(" | "))
    else:
        values = f"{number(param.least)} to {number(param.greatest)} {param.unit}"
    return [code(param.name), f"{param.help} *({param.source})*", code(default), values]
