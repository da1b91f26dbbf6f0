"""Writes the reference pages that follow from the code: AQMs, scenario fields, the command line."""

import inspect
import io
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, get_args
from unittest.mock import patch

from pydantic import BaseModel

import sluicegate as sg
from sluicegate import network
from sluicegate.cli import _COMMANDS, main
from sluicegate.scenario import Arrivals, Service
from sluicegate.scheduler import Scheduler
from sluicegate.worlds.network.laws import Law
from sluicegate.worlds.network.scenario import AnyFlows, AnyTopology

Tables = dict[str, tuple[type[BaseModel], ...]]


def _members(union: Any) -> tuple[type[BaseModel], ...]:
    """The tables of a union that are told apart by their `kind`."""
    return get_args(get_args(union)[0])


_OF_A_QUEUE: Tables = {
    "[queue]": (sg.Queue,),
    "[[disciplines]]": (sg.Discipline,),
    "[disciplines.scheduler]": _members(Scheduler),
}
_SLOTTED: Tables = {
    "[arrivals]": get_args(Arrivals),
    "[service]": get_args(Service),
    **_OF_A_QUEUE,
}
_NETWORK: Tables = {
    "[topology]": _members(AnyTopology),
    "[[topology.links]]": (network.Link,),
    "[[flows]]": _members(AnyFlows),
    "[flows.tcp]": (network.Tcp,),
    "[flows.gaps], [flows.duration], [flows.on], [flows.off], [flows.think]": _members(Law),
    "[flows.packets], [flows.objects]": (network.Sizes,),
    "[flows.fgn]": (network.Fgn,),
    "[flows.self_similar]": (network.SelfSimilar,),
    **_OF_A_QUEUE,
}


def write(docs: Path) -> None:
    """Write all generated pages below `docs`."""
    folder = docs / "reference" / "generated"
    (folder / "aqms").mkdir(parents=True, exist_ok=True)
    pages = {f"aqms/{name}": _aqm_page(aqm) for name, aqm in sg.aqms().items()}
    pages |= {
        "scenario": _scenario_page("Scenarios of the slotted queue", sg.Scenario, _SLOTTED),
        "network": _scenario_page("Scenarios of networks", network.NetworkScenario, _NETWORK),
        "command": _command_page(),
    }
    for name, lines in pages.items():
        (folder / f"{name}.md").write_text("\n".join(lines) + "\n")


def _table(header: Sequence[str], rows: list[list[str]]) -> Iterator[str]:
    for row in [list(header), ["---"] * len(header), *rows]:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
    yield ""


def _code(value: object) -> str:
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 and value == int(value) else f"{value:g}"


def _aqm_page(aqm: sg.AqmClass) -> Iterator[str]:
    yield f"# `{aqm.name}`: {aqm.title}\n"
    yield f"{aqm.summary} Source: {aqm.source}; code: `aqm/{aqm.name}.h`.\n"
    if aqm.base:
        yield f"A preset of [`{aqm.base}`]({aqm.base}.md) with defaults of its own.\n"
    if not aqm.params:
        yield "It has no parameters."
        return
    yield "As it comes, these parameters apply:\n"
    defaults = {param.name: param.default for param in aqm.params}
    header = ("parameter", "what it is", "default", "values")
    yield from _table(header, [_row(p) for p in aqm.params if aqm.applies(p, defaults)])
    others = [param for param in aqm.params if not aqm.applies(param, defaults)]
    if others:
        yield "The others have a meaning only with another choice:\n"
        rows = [[*_row(param), _code(param.when.replace("|", " or "))] for param in others]
        yield from _table((*header, "only with"), rows)


def _row(param: sg.Param) -> list[str]:
    default = _number(param.default) if type(param.default) is float else str(param.default).lower()
    if param.kind in ("choice", "switch"):
        values = ", ".join(_code(word) for word in param.range.split(" | "))
    else:
        values = f"{_number(param.least)} to {_number(param.greatest)} {param.unit}"
    return [_code(param.name), f"{param.help} *({param.source})*", _code(default), values]


def _scenario_page(title: str, root: type[BaseModel], tables: Tables) -> Iterator[str]:
    yield f"# {title}\n"
    yield "A scenario is a TOML file. Paths in it start at its folder; whole numbers may be written"
    yield "as `1e8`; an unknown field is an error.\n"
    yield "## At the top\n"
    yield from _fields(root)
    for name, models in tables.items():
        yield f"## `{name}`\n"
        for model in models:
            if len(models) > 1:
                yield f'### `kind = "{model.model_fields["kind"].default}"`\n'
            yield from _fields(model)


def _fields(model: type[BaseModel]) -> Iterator[str]:
    yield (inspect.getdoc(model) or "").partition("\nAttributes:\n")[0].strip() + "\n"
    meanings = _meanings(model)
    schema = model.model_json_schema()
    required = schema.get("required", [])
    rows = [
        [_code(name), _allowed(field), "required" if name in required else _default(field)]
        + ([meanings.get(name, "")] if meanings else [])
        for name, field in schema["properties"].items()
        if "const" not in field
    ]
    if not rows:
        return
    header = ["field", "values", "default"] + (["what it is"] if meanings else [])
    yield from _table(header, rows)


def _meanings(model: type[BaseModel]) -> dict[str, str]:
    """What the docstrings of a model and of those that it extends say of its fields."""
    found: dict[str, str] = {}
    for each in reversed(model.mro()):
        attributes = inspect.cleandoc(each.__doc__ or "").partition("\nAttributes:\n")[2]
        for name, meaning in re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", attributes, re.M):
            found[name] = " ".join(meaning.split()).replace("None:", "not given:")
    return {name: meaning for name, meaning in found.items() if name in model.model_fields}


def _default(field: dict[str, Any]) -> str:
    value = field.get("default")
    value = f"{value:g}" if isinstance(value, float) else value
    return "" if value in (None, "") or isinstance(value, dict) else _code(value)


def _allowed(field: dict[str, Any]) -> str:
    """What a field takes, in words, from its JSON schema."""
    for choice in field.get("anyOf", []):
        if choice.get("type") != "null":
            return _allowed(choice)
    if "$ref" in field or "oneOf" in field:
        return "table"
    if field.get("type") == "array":
        each = _allowed(field["items"])
        return "list of tables" if each == "table" else f"list, each a {each}"
    if "enum" in field:
        return ", ".join(_code(word) for word in field["enum"])
    bounds = [
        f"{words} {_number(field[key])}"
        for words, *keys in (
            ("at least", "minimum", "ge"),
            ("above", "exclusiveMinimum", "gt"),
            ("at most", "maximum", "le"),
            ("below", "exclusiveMaximum", "lt"),
        )
        for key in keys
        if key in field
    ]
    kinds = {
        "integer": "whole number",
        "number": "number",
        "string": "text",
        "boolean": "`true`, `false`",
        "object": "table",
    }
    return ", ".join([kinds[field["type"]], *bounds])


def _command_page() -> Iterator[str]:
    yield "# The command line\n"
    yield "What `--help` says.\n"
    for arguments in [[], *([name] for name in _COMMANDS)]:
        yield f"## `{' '.join(['sluice', *arguments])}`\n"
        yield f"```text\n{_help_text(arguments)}\n```\n"


def _help_text(arguments: list[str]) -> str:
    wide = {"COLUMNS": "90", "NO_COLOR": "1"}
    with patch.dict(os.environ, wide), redirect_stdout(io.StringIO()) as shown:
        main([*arguments, "--help"])
    return "\n".join(line.rstrip() for line in shown.getvalue().strip().splitlines())
