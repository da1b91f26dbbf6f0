"""Writes the reference pages made from the code: scenario fields, command line, measures."""

import io
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import catalogue
import gallery
from catalogue import code, number

from sluicegate.cli import _COMMANDS, main
from sluicegate.measures import AT_QUEUE, ENDS, FLOWS, QUEUE, Definition, symbols
from sluicegate.page import MODULE, page

Schema = dict[str, Any]

_OF_A_QUEUE = {
    "[queue]": "Queue",
    "[[disciplines]]": "Discipline",
    "[disciplines.scheduler]": "Scheduler",
}
_SLOTTED = {"[arrivals]": "Arrivals", "[service]": "Service", **_OF_A_QUEUE}
_NETWORK = {
    "[topology]": "Topology",
    "[[topology.links]]": "Link",
    "[[flows]]": "Flows",
    "[flows.tcp]": "Tcp",
    "[flows.gaps], [flows.duration], [flows.on], [flows.off], [flows.think]": "Distribution",
    "[flows.packets], [flows.objects]": "Sizes",
    "[flows.fgn]": "Fgn",
    "[flows.mmpp]": "Mmpp",
    "[flows.self_similar]": "SelfSimilar",
    '[links."left -> right"]': "LinkSettings",
    '[links."left -> right".rate]': "Rate",
    '[[links."left -> right".rate.steps]]': "RateStep",
    '[links."left -> right".wire]': "Wire",
    '[links."left -> right".wire.loss]': "Loss",
    **_OF_A_QUEUE,
}


def write(docs: Path) -> None:
    """Write all generated pages below `docs`."""
    folder = docs / "reference" / "generated"
    catalogue.write(folder / "aqms")
    pages = {
        "scenario": _scenario_page("Scenarios of the slotted queue", "Scenario", _SLOTTED),
        "network": _scenario_page("Scenarios of networks", "NetworkScenario", _NETWORK),
        "command": _command_page(),
        "page-to-try": [_page_to_try("../")],
        "page-to-try-first": [_page_to_try("")],
        "measures-queue": _measure_table(QUEUE),
        "measures-flows": _measure_table(FLOWS),
        "measures-classes": _measure_table([*AT_QUEUE, *ENDS]),
    }
    for name, lines in pages.items():
        (folder / f"{name}.md").write_text("\n".join(lines) + "\n")
    gallery.write(docs, folder / "gallery")


# the scenario of the page that the guide leads to, and where that page is in the output
PAGE_OF = "scenarios/network/gate.toml"
PAGE = "queue.html"


def write_page(docs: Path, output: Path) -> None:
    """Write the page that the guide leads to, where there is an engine for pages."""
    if MODULE.exists():
        (output / PAGE).write_text(page(docs.parent / PAGE_OF), encoding="utf-8")


def _page_to_try(root: str) -> str:
    if MODULE.exists():
        return (
            f'<p><a href="{root}{PAGE}">A page to try</a>: ten CUBIC flows over 10 Mb/s.</p>\n'
            f'<iframe src="{root}{PAGE}" title="The engine in a page" loading="lazy" '
            'style="width: 100%; height: 50rem; border: 1px solid"></iframe>'
        )
    return "(These pages were made without an engine for pages, so there is none to try here.)"


def _measure_table(definitions: Sequence[Definition[Any]]) -> Iterator[str]:
    """Yield a table with a row for each measure, and the meanings of the formulas' symbols."""
    rows = [
        [code(each.name), each.unit.in_all_worlds, f"${each.formula}$", each.meaning]
        for each in definitions
    ]
    yield from catalogue.table(["measure", "unit", "formula", "what it is"], rows)
    yield " ".join(f"{meaning}." for meaning in symbols(definitions)) + "\n"


def _scenario_page(title: str, root: str, tables: dict[str, str]) -> Iterator[str]:
    """Yield the fields of all tables, from the published schema."""
    schema = Path(__file__).parent / "reference" / "scenario.schema.json"
    defs: dict[str, Schema] = json.loads(schema.read_text())["$defs"]
    yield f"# {title}\n"
    yield "A scenario is a TOML file. Paths in it start at its folder; whole numbers may be written"
    yield "as `1e8`; an unknown field is an error. Editors that know JSON Schema complete and check"
    yield "it with [scenario.schema.json](../scenario.schema.json).\n"
    yield 'A number of bits/s or s may have its unit behind it, as text: `rate_bps = "20M"`'
    yield '(k, M, G, T; `20Mbit/s` is the same), `delay_s = "20ms"` (ns, us, ms, s). So may'
    yield 'parameters of AQMs: `params = { target = "5ms" }`.\n'
    yield "## At the top\n"
    yield from _fields(defs[root])
    for place, name in tables.items():
        yield f"## `{place}`\n"
        union = defs[name].get("oneOf")
        for each in [defs[name]] if union is None else [defs[_name(ref)] for ref in union]:
            if union is not None:
                yield f'### `kind = "{each["properties"]["kind"]["const"]}"`\n'
            yield from _fields(each)


def _name(reference: Schema) -> str:
    return str(reference["$ref"]).removeprefix("#/$defs/")


def _fields(table: Schema) -> Iterator[str]:
    yield f"{table['description']}\n"
    rows = [
        [
            code(name),
            field["description"],
            "required" if name in table["required"] else _default(field),
            _allowed(field),
        ]
        for name, field in table["properties"].items()
        if "const" not in field
    ]
    if rows:
        yield from catalogue.table(("field", "what it is", "default", "values"), rows)


def _default(field: Schema) -> str:
    value = field.get("default")
    value = f"{value:g}" if isinstance(value, float) else value
    return "" if value in (None, "") or isinstance(value, dict) else code(value)


def _allowed(field: Schema) -> str:
    """Return the values that a field takes, in words."""
    others = field.get("additionalProperties")
    if isinstance(others, dict) and "$ref" in others:
        return "tables by name"
    if "$ref" in field or field.get("type") == "object":
        return "table"
    if "enum" in field:
        return ", ".join(code(word) for word in field["enum"])
    if field["type"] == "array":
        each = _allowed(field["items"])
        return "list of tables" if each == "table" else f"list, each a {each}"
    words = {
        "minimum": "at least",
        "exclusiveMinimum": "above",
        "maximum": "at most",
        "exclusiveMaximum": "below",
    }
    bounds = [f"{words[key]} {number(field[key])}" for key in words if key in field]
    kinds = {
        "integer": "whole number",
        "number": "number",
        "string": "text",
        "boolean": "`true`, `false`",
    }
    unit = f" {field['unit']}" if "unit" in field else ""
    kind = field["type"]
    return ", ".join([kinds[kind[0] if isinstance(kind, list) else kind], *bounds]) + unit


def _command_page() -> Iterator[str]:
    yield "# The command line\n"
    yield "What `--help` says.\n"
    yield (
        "The exit status is 0; 1 where something cannot be done, such as a scenario that is wrong, "
        "or where `decisions` finds a difference; 2 where the command line itself is wrong; 130 "
        "after Ctrl-C.\n"
    )
    yield (
        "`sluice --install-completion` has your shell complete commands, options and the names of "
        "AQMs; `--show-completion` shows what it would install.\n"
    )
    for arguments in [[], *([name] for name in _COMMANDS)]:
        yield f"## `{' '.join(['sluice', *arguments])}`\n"
        yield f"```text\n{_help_text(arguments)}\n```\n"


def _help_text(arguments: list[str]) -> str:
    wide = {"COLUMNS": "90", "NO_COLOR": "1"}
    with patch.dict(os.environ, wide), redirect_stdout(io.StringIO()) as shown:
        main([*arguments, "--help"])
    return "\n".join(line.rstrip() for line in shown.getvalue().strip().splitlines())
