"""Writes the Python classes of scenarios: a frozen dataclass for each table of the schema.

Run by `make generated`; a test checks that the committed files are current.
"""

from __future__ import annotations

import ast
import json
import keyword
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
SCHEMA = ROOT / "docs" / "reference" / "scenario.schema.json"
PACKAGE = ROOT / "sluicegate" / "scenario"
WIDTH = 100

Schema = dict[str, Any]

_HEAD = '''"""{title}

Generated from docs/reference/scenario.schema.json: change engine/scenario, then `make generated`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

'''
_TITLES = {
    "common": "What all scenarios have: disciplines, queues, schedulers.",
    "slotted": "Scenarios of the slotted queue.",
    "network": "Scenarios of networks: topologies, flows, TCP, distributions.",
}
_SCALARS = {"integer": "int", "number": "float", "boolean": "bool", "string": "str"}


def files() -> dict[str, str]:
    """Return the text of each generated file of the package, by file name."""
    defs: dict[str, Schema] = json.loads(SCHEMA.read_text())["$defs"]
    homes = _homes(defs)
    texts = {}
    for home, title in _TITLES.items():
        names = [name for name, where in homes.items() if where == home]
        words = _words(names, defs)
        aliases = [f"{name}: TypeAlias = {_literal(words[name])}" for name in words]
        parts = ["\n".join(aliases), *("\n".join(_definition(name, defs)) for name in names)]
        exported = ", ".join(json.dumps(name) for name in sorted([*words, *names]))
        parts.append(f"__all__ = [{exported}]")
        body = "\n\n".join(part for part in parts if part)
        imports = _imports(home, names, homes, defs, body)
        texts[f"{home}.py"] = _HEAD.format(title=title) + imports + "\n" + body + "\n"
    return {name: _formatted(_without_unused(text)) for name, text in texts.items()}


def _formatted(text: str) -> str:
    command = [sys.executable, "-m", "ruff", "format", f"--config={ROOT / 'pyproject.toml'}", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def _homes(defs: dict[str, Schema]) -> dict[str, str]:
    """Return the file of each definition; parameters of AQMs have no class."""
    slotted, network = (set(_needs(root, defs)) for root in ("Scenario", "NetworkScenario"))

    def home(name: str) -> str:
        if name in slotted and name in network:
            return "common"
        return "slotted" if name in slotted else "network"

    return {name: home(name) for name in defs if not name.startswith("params of ")}


def _needs(name: str, defs: dict[str, Schema]) -> Iterator[str]:
    yield name
    for other in _references(defs[name]):
        if not other.startswith("params of "):
            yield from _needs(other, defs)


def _references(schema: object) -> Iterator[str]:
    """Yield the definitions to which a part of the schema refers."""
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"].removeprefix("#/$defs/")
        for part in schema.values():
            yield from _references(part)
    if isinstance(schema, list):
        for part in schema:
            yield from _references(part)


def _words(names: Iterable[str], defs: dict[str, Schema]) -> dict[str, list[str]]:
    """Return the words of each choice, by the name of the choice."""
    found = {}
    for name in names:
        for field in defs[name].get("properties", {}).values():
            of = field.get("items", field)
            if "enum" in of:
                found[of["title"]] = of["enum"]
    return found


def _literal(words: Iterable[str]) -> str:
    return f"Literal[{', '.join(json.dumps(word) for word in words)}]"


def _imports(
    home: str, names: list[str], homes: dict[str, str], defs: dict[str, Schema], body: str
) -> str:
    foreign = {
        other
        for name in names
        for other in [*_references(defs[name]), *_default_classes(defs[name], defs)]
        if homes.get(other, home) != home
    }
    bases = {base for base in _bases() if f"({base})" in body}
    lines = []
    if foreign:
        lines.append(f"from sluicegate.scenario.common import {', '.join(sorted(foreign))}")
    if bases:
        lines.append(f"from sluicegate.scenario.derived import {', '.join(sorted(bases))}")
    if "(Table)" in body:
        lines.append("from sluicegate.scenario.table import Table")
    return "\n".join(lines) + "\n"


def _without_unused(text: str) -> str:
    """Return the text without unused imports."""
    lines = []
    for line in text.splitlines():
        if line.startswith("from ") and "__future__" not in line:
            start, _, names = line.partition(" import ")
            rest = text.replace(line, "")
            used = [name for name in names.split(", ") if _uses(rest, name)]
            if not used:
                continue
            line = f"{start} import {', '.join(used)}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def _uses(text: str, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(ast.parse(text)))


def _bases() -> set[str]:
    """Return the names of the base classes, with what follows from the fields of a table."""
    tree = ast.parse((PACKAGE / "derived.py").read_text())
    return {node.name for node in tree.body if isinstance(node, ast.ClassDef)}


def _base(name: str, defs: dict[str, Schema]) -> str:
    """Return the base class of a table, or of a union that contains it."""
    unions = [
        union
        for union, schema in defs.items()
        if {"$ref": f"#/$defs/{name}"} in schema.get("oneOf", [])
    ]
    known = _bases()
    return next((f"{each}Base" for each in [name, *unions] if f"{each}Base" in known), "Table")


def _definition(name: str, defs: dict[str, Schema]) -> Iterator[str]:
    schema = defs[name]
    if "oneOf" in schema:
        yield f"{name}: TypeAlias = {' | '.join(_references(schema['oneOf']))}"
        return
    fields = [
        (field, each)
        for field, each in schema["properties"].items()
        # a table that a command reads is no field of the scenario
        if not _is_kind(field, each) and "command" not in each
    ]
    required = set(schema["required"])
    yield "@dataclass(frozen=True, kw_only=True)"
    yield f"class {name}({_base(name, defs)}):"
    yield from _docstring(schema["description"], fields, required)
    yield ""
    for field, each in schema["properties"].items():
        if _is_kind(field, each):
            kind = json.dumps(each["const"])
            yield f"    kind: ClassVar[Literal[{kind}]] = {kind}"
    for field, each in fields:
        assert not keyword.iskeyword(field)
        yield from _field(field, each, field in required, defs)


def _is_kind(field: str, schema: Schema) -> bool:
    return field == "kind" and "const" in schema


def _field(name: str, schema: Schema, required: bool, defs: dict[str, Schema]) -> Iterator[str]:
    kind = _type(schema)
    if required:
        line = f"    {name}: {kind}"
    elif "default" in schema:
        line = f"    {name}: {kind} = {_default(schema, defs)}"
    else:
        line = f"    {name}: {kind} | None = None"
    yield line


def _type(schema: Schema) -> str:
    if "$ref" in schema:
        return next(_references(schema))
    if "enum" in schema:
        return str(schema["title"])
    if schema["type"] == "array":
        return f"Sequence[{_type(schema['items'])}]"
    if "$ref" in schema.get("additionalProperties", {}):
        return f"Mapping[str, {next(_references(schema))}]"
    if schema["type"] == "object":
        return "Mapping[str, float | str | bool]"
    if "anyOf" in schema and schema["type"] == "string":
        return "str | type"
    # a number that may have a unit behind it is read as a number
    kind = schema["type"]
    return _SCALARS[kind[0] if isinstance(kind, list) else kind]


def _default(schema: Schema, defs: dict[str, Schema]) -> str:
    value = schema["default"]
    if "$ref" in schema:
        return f"field(default_factory={_class_of(schema)})"
    if isinstance(value, dict):
        return "field(default_factory=dict)"
    if isinstance(value, list):
        return repr(tuple(map(float, value)))
    if schema.get("type") in ("number", ["number", "string"]):
        return repr(float(value))
    return json.dumps(value) if isinstance(value, str) else repr(value)


def _class_of(schema: Schema) -> str:
    """Return the class of a field's default, which is a table."""
    name = next(_references(schema))
    kind = schema["default"].get("kind")
    return name if kind is None else f"{kind.capitalize()}"


def _default_classes(schema: Schema, defs: dict[str, Schema]) -> Iterator[str]:
    for each in schema.get("properties", {}).values():
        if "$ref" in each and "default" in each:
            yield _class_of(each)


def _docstring(
    description: str, fields: Iterable[tuple[str, Schema]], required: set[str]
) -> Iterator[str]:
    first, *others = description.split("\n\n")
    lines = _wrapped(first, "    ")
    for paragraph in others:
        lines += ["", *_wrapped(paragraph, "    ")]
    attributes = [
        line
        for name, schema in fields
        for line in _wrapped(_attribute(name, schema, name in required), "        ", "            ")
    ]
    if attributes:
        lines += ["", "    Attributes:", *attributes]
    lines[0] = f'    """{lines[0].strip()}'
    if len(lines) == 1 and len(lines[0]) + 3 <= WIDTH:
        yield f'{lines[0]}"""'
        return
    yield from lines
    yield '    """'


def _wrapped(text: str, indent: str, further: str | None = None) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent if further is None else further,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _attribute(name: str, schema: Schema, required: bool) -> str:
    """Return the description of a field, with unit, range and default."""
    notes = [*_range(schema)]
    default = schema.get("default")
    if default is not None and "$ref" not in schema and default not in ("", {}, []):
        notes.append(f"default {_shown(default)}")
    what = schema["description"].replace("not given:", "None:")
    return f"{name}: {what}" + (f" [{'; '.join(notes)}]" if notes else "")


def _range(schema: Schema) -> Iterator[str]:
    of = schema["items"] if schema.get("type") == "array" else schema
    if "unit" in of:
        yield of["unit"]
    words = {
        "minimum": "at least",
        "exclusiveMinimum": "above",
        "maximum": "at most",
        "exclusiveMaximum": "below",
    }
    bounds = [f"{words[key]} {_shown(of[key])}" for key in words if key in of]
    if "minimum" in of and "maximum" in of:
        bounds = [f"{_shown(of['minimum'])} to {_shown(of['maximum'])}"]
    if bounds:
        yield ", ".join(bounds)


def _shown(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, bool) or not isinstance(value, float | int):
        return str(value)
    return f"{value:,.0f}" if value == int(value) and abs(value) < 1e7 else f"{value:.6g}"


if __name__ == "__main__":
    for file, text in files().items():
        (PACKAGE / file).write_text(text)
