"""Writes a table of a scenario as TOML: Python reads TOML, but does not write it."""

from __future__ import annotations

import json
from collections.abc import Mapping


def toml(table: Mapping[str, object]) -> str:
    """A line for each key; tables within are inline."""
    return "".join(f"{key} = {_value(value)}\n" for key, value in table.items())


def _value(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False)
        case Mapping():
            return f"{{ {', '.join(f'{key} = {_value(item)}' for key, item in value.items())} }}"
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
        case _:
            return repr(value)
