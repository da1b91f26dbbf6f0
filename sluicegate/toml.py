"""Writes a table of a scenario as TOML: Python reads TOML, but does not write it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping


def toml(table: Mapping[str, object]) -> str:
    """A line for each key; tables within are inline."""
    return "".join(f"{_key(key)} = {_value(value)}\n" for key, value in table.items())


def scenario_text(table: Mapping[str, object]) -> str:
    """A whole scenario: lists of tables, such as its flows, are blocks at the end."""
    blocks = {
        name: value
        for name, value in table.items()
        if isinstance(value, list) and value and all(isinstance(each, Mapping) for each in value)
    }
    parts = [toml({name: value for name, value in table.items() if name not in blocks})]
    parts += [f"[[{name}]]\n{toml(each)}" for name, block in blocks.items() for each in block]
    return "\n".join(parts)


def _key(key: str) -> str:
    return key if re.fullmatch("[A-Za-z0-9_-]+", key) else _text(key)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _value(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _text(value)
        case Mapping():
            return (
                f"{{ {', '.join(f'{_key(key)} = {_value(item)}' for key, item in value.items())} }}"
            )
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
        case _:
            return repr(value)
