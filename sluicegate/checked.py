"""Tables that users write, checked: what is wrong is told in one SluiceError, a line each."""

from __future__ import annotations

import difflib
import math
import reprlib
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import pydantic
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

from sluicegate.errors import SluiceError

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)


class _Explained(ModelMetaclass):
    def __call__(self, *args: Any, **fields: Any) -> Any:
        with explained(""):
            return super().__call__(*args, **fields)


class Checked(BaseModel, metaclass=_Explained):
    """A table with fixed fields and types.

    Raises:
        SluiceError: When made from what is wrong.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _whole(value: object) -> object:
    # 1e8 is a float in TOML, and how people write numbers of slots
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole: TypeAlias = Annotated[int, BeforeValidator(_whole)]


def printable(text: str) -> str:
    """Check that a text can be shown, and written to a file.

    Raises:
        SluiceError: If it is blank, or has control characters (but for line breaks and tabs) or
            halves of characters in it.
    """
    others = text.replace("\n", "").replace("\t", "")
    if text.isspace() or any(unicodedata.category(each) in ("Cc", "Cs") for each in others):
        raise SluiceError(f"{text!r} must be printable text")
    return text


Text: TypeAlias = Annotated[str, AfterValidator(printable)]

_MOST_THREADS = 256
_WORDS = {
    "greater_than_equal": "must be at least {ge:g}",
    "greater_than": "must be above {gt:g}",
    "less_than_equal": "must be at most {le:g}",
    "less_than": "must be below {lt:g}",
    "finite_number": "must be finite",
    "literal_error": "must be one of {expected}",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "string_type": "must be text",
    "string_unicode": "must be printable text",
    "list_type": "must be a list",
    "model_type": "must be a table",
    "model_attributes_type": "must be a table",
    "dict_type": "must be a table",
    "bool_type": "must be true or false",
    "too_short": "must have at least {min_length}",
    "too_long": "must have at most {max_length}",
    "string_too_short": "must not be empty",
}


class _Short(reprlib.Repr):
    """Shows a value by its first and last parts, however long it is."""

    def repr_int(self, x: int, level: int) -> str:
        # Python does not write out thousands of digits
        return super().repr_int(x, level) if x.bit_length() < 1000 else "a far too large number"


_SHORT = _Short()
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = 80
_MOST_PROBLEMS = 50


@contextmanager
def explained(origin: str) -> Iterator[None]:
    """Turn what pydantic finds wrong into one SluiceError, a line per problem."""
    prefix = f"{origin}: " if origin else ""
    try:
        yield
    except pydantic.ValidationError as error:
        lines = [prefix + line for line in dict.fromkeys(_problems(error))]
        if (more := len(lines) - _MOST_PROBLEMS) > 0:
            lines[_MOST_PROBLEMS:] = [f"{prefix}and {more} more problems"]
        raise SluiceError("\n".join(lines)) from None
    except SluiceError as error:
        raise SluiceError(prefix + str(error)) from None


def _problems(error: pydantic.ValidationError) -> Iterator[str]:
    for problem in error.errors():
        place = ".".join(_place(problem["loc"]))
        context = problem.get("ctx", {})
        if problem["type"] == "value_error":
            yield ": ".join(filter(None, [place, str(context["error"])]))
        elif problem["type"] == "missing":
            yield f"{place} is missing"
        elif problem["type"] == "union_tag_invalid":
            yield f"{place}.kind = {context['tag']!r} must be one of {context['expected_tags']}"
        elif problem["type"] == "union_tag_not_found":
            yield f"{place}.kind is missing"
        elif problem["type"] == "extra_forbidden":
            yield f"{place} is not a field{_nearest(problem['loc'])}"
        elif isinstance(value := problem["input"], float) and math.isnan(value):
            yield f"{place} = nan must be a number"
        elif words := _WORDS.get(problem["type"]):
            kind = isinstance(value, str) and words == "must be a table" and value in _kinds()
            meant = f': {{ kind = "{value}" }}' if kind else ""
            yield f"{place} = {_SHORT.repr(value)} {words.format(**context)}{meant}"
        else:
            yield f"{place} = {_SHORT.repr(value)}: {problem['msg']}"


def _place(path: tuple[int | str, ...]) -> Iterator[str]:
    """The parts of a path but the kinds that a union adds behind a field, which TOML has not."""
    may_be_kind = False
    for part in path:
        may_be_kind = may_be_kind and part in _kinds()
        if not may_be_kind:
            yield str(part)
        may_be_kind = not may_be_kind


def _tables(of: type[Checked]) -> Iterator[type[Checked]]:
    for table in of.__subclasses__():
        yield table
        yield from _tables(table)


def _kind(table: type[Checked]) -> object:
    """The value of `kind` by which a union tells this table from others; None if it has none."""
    field = table.model_fields.get("kind")
    return None if field is None else field.default


def _kinds() -> set[object]:
    return {_kind(table) for table in _tables(Checked)}


def _nearest(path: tuple[int | str, ...]) -> str:
    *above, last = path
    name = str(last)
    every = list(_tables(Checked))
    # behind a union's kind stands a field of that kind's table; elsewhere any table's may be meant
    meant = [table for table in every if above and _kind(table) == above[-1]] or every
    known = {field for table in meant for field in table.model_fields}
    near = difflib.get_close_matches(name, known - {name}, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def check_threads(threads: int | None) -> None:
    """Check how many threads a simulation is given; None means all cores.

    Raises:
        SluiceError: If it is no number from 1 to 256.
    """
    if threads is not None and not 1 <= threads <= _MOST_THREADS:
        raise SluiceError(f"threads = {threads} must be between 1 and {_MOST_THREADS}")
