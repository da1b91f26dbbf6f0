"""What users write in options: `kind:key=value,...` and single values."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from sluicegate.errors import SluiceError, UsageError

_OF_THE_QUEUE = ("victim", "ecn", "label", "scheduler")


def value(text: str) -> Any:
    """A number, `true` or `false` as in TOML; anything else is text."""
    try:
        table = tomllib.loads(f"it = {text}")
    except (ValueError, RecursionError):
        return text
    alone = len(table) == 1 and isinstance(table["it"], int | float | str)
    return table["it"] if alone else text


def assignment(text: str, where: str) -> tuple[str, Any]:
    """Read `key=value`.

    Raises:
        UsageError: If it is none; `where` names the option in the message.
    """
    key, equals, rest = text.partition("=")
    if not (key.strip() and equals and rest.strip()):
        raise UsageError(f"{where}: {text!r} must be key=value")
    return key.strip(), value(rest.strip())


def kind_and_fields(text: str, where: str) -> tuple[str, dict[str, Any]]:
    """Read `kind` or `kind:key=value,...`.

    Raises:
        UsageError: If the kind is empty, a part is no assignment, or a key comes twice.
    """
    kind, _, rest = _split(text)
    if not kind.strip():
        raise UsageError(f"{where}: {text!r} must be kind:key=value,...")
    if "=" in kind and not _is_path(kind.strip()):
        meant = f"; did you mean {text.replace(',', ':', 1)}?" if "," in text else ""
        raise UsageError(f"{where}: {text!r} must be kind:key=value,...{meant}")
    fields: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, found = assignment(part, where)
        if key in fields:
            raise UsageError(f"{where}: {key} is given twice in {text!r}")
        fields[key] = found
    return kind.strip(), fields


def _split(text: str) -> tuple[str, str, str]:
    """What stands before the fields, and the fields; `mine.py:Class` stands before them."""
    kind, colon, rest = text.partition(":")
    name, more, fields = rest.partition(":")
    if kind.strip().endswith(".py") and colon and "=" not in name:
        return f"{kind.strip()}:{name.strip()}", more, fields
    return kind, colon, rest


def _is_path(name: str) -> bool:
    return ".py:" in name or name.endswith((".h", ".py"))


def distribution(text: str, where: str) -> dict[str, Any]:
    """The table of a scenario's arrivals or service."""
    kind, fields = kind_and_fields(text, where)
    if isinstance(capture := fields.get("capture"), str):
        fields["capture"] = str(Path(capture).absolute())
    return {"kind": kind, **fields}


def _check_header(path: Path, where: str) -> None:
    from sluicegate.registry import check_header_name  # loads numpy

    try:
        check_header_name(path)
    except SluiceError as error:
        raise SluiceError(f"{where}: {error}") from None


def discipline(text: str, where: str = "--aqm") -> dict[str, Any]:
    """The table of a scenario's discipline: what is not the queue's is the AQM's."""
    name, fields = kind_and_fields(text, where)
    own = {key: fields.pop(key) for key in _OF_THE_QUEUE if key in fields}
    if "scheduler" in own:
        own["scheduler"] = {"kind": own["scheduler"]}
    # a path in a command starts where the command is given
    if _is_path(name):
        if name.endswith(".h"):
            _check_header(Path(name), where)
        name = str(Path(name).absolute())
    return {"aqm": name, "params": fields, **own}
