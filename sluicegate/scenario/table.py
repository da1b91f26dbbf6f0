"""What all tables of scenarios can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self, TypeVar

from sluicegate import _engine
from sluicegate.errors import SluiceError
from sluicegate.near import nearest

T = TypeVar("T", bound="Table")


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of a scenario: its fields are checked by the engine and never change.

    Raises:
        SluiceError: If a field is wrong; every problem is on a line of its own.
    """

    def __post_init__(self) -> None:
        _engine.complete(self)

    def replace(self, changes: Mapping[str, object] | None = None, /, **fields: object) -> Self:
        """The same table with some fields changed, checked anew.

        Args:
            changes: New values by paths, such as `{"queue.limit": 50, "flows.0.count": 3}`.
            **fields: New values of the table's own fields.

        Raises:
            SluiceError: If a path leads nowhere, or a value is wrong.
        """
        changed = _copy(self)
        for path, value in {**(changes or {}), **fields}.items():
            changed = _with(changed, path.split("."), value, path)
        _engine.complete(changed)
        return changed

    def at(self, path: str) -> Any:
        """The value at the end of a path, such as `queue.limit` or `flows.0`.

        Raises:
            SluiceError: If the path leads nowhere.
        """
        part: Any = self
        for step in path.split("."):
            if isinstance(part, tuple | list) and step.isdecimal() and int(step) < len(part):
                part = part[int(step)]
            elif isinstance(part, Table) and step in (state := part.__getstate__()):
                part = state[step]
            elif isinstance(part, Mapping) and step in part:
                part = part[step]
            else:
                raise SluiceError(f"{path}: there is no {step}{_hint(part, step)}")
        return part

    def table(self) -> dict[str, Any]:
        """The table as a scenario file has it, with the fields that have a value."""
        kind = {"kind": self.kind} if hasattr(self, "kind") else {}
        given = {each.name: _plain(getattr(self, each.name)) for each in fields(self)}
        return kind | {name: value for name, value in given.items() if value is not None}

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone: the engine's own form is made again on request."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def _plain(value: object) -> object:
    if isinstance(value, Table):
        return value.table()
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return value


def _copy(table: T) -> T:
    """A table of the same fields, unchecked."""
    copy = object.__new__(type(table))
    copy.__dict__.update(table.__getstate__())
    return copy


def _with(part: Any, steps: list[str], value: object, path: str) -> Any:
    """A part of a scenario, unchecked, with a new value at the end of some steps."""
    if not steps:
        return value
    step, *rest = steps
    match part:
        case Table() if step in (state := part.__getstate__()):
            copy = _copy(part)
            copy.__dict__[step] = _with(state[step], rest, value, path)
            return copy
        case tuple() | list() if step.isdecimal() and int(step) < len(part):
            place = int(step)
            return (*part[:place], _with(part[place], rest, value, path), *part[place + 1 :])
        case Mapping() if step in part or not rest:
            return {**part, step: _with(part.get(step), rest, value, path)}
        case _:
            raise SluiceError(f"{path}: there is no {step}{_hint(part, step)}")


def _hint(part: object, step: str) -> str:
    """What would be right in place of a step that a part does not have."""
    if isinstance(part, tuple | list):
        return f"; there are {len(part)}, counted from 0"
    near = nearest(step, _steps(part))
    return f"; did you mean {near}?" if near else ""


def _steps(part: object) -> list[str]:
    """The steps that can follow the path of a part."""
    if isinstance(part, Table):
        return list(part.__getstate__())
    return [str(key) for key in part] if isinstance(part, Mapping) else []
