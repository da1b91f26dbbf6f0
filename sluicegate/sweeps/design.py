"""The design of a sweep: which values its variables take together."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import polars as pl

from sluicegate.errors import SluiceError

Method: TypeAlias = Literal["grid", "list", "latin-hypercube"]
Point: TypeAlias = dict[str, Any]
# a value as the field at a path has it: "20ms" as 0.02
Read: TypeAlias = Callable[[str, Any], Any]

_MOST_POINTS = 1_000_000
_NUMBER = r"[+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_RANGE = re.compile(
    rf"\s*({_NUMBER})\s*([A-Za-z/]*)\.\.({_NUMBER})\s*([A-Za-z/]*)(?::(\d+))?(?::(log))?\s*"
)


def _as_written(_path: str, value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Range:
    """Numbers between two ends, which are among them; whole ones if both ends are whole.

    Attributes:
        text: As it was written: `FROM..TO`, `FROM..TO:COUNT` or `FROM..TO:COUNT:log`.
        first: The lower end.
        last: The upper end.
        count: How many; None: not said.
        log: Whether their ratios are equal, not their differences.
    """

    text: str
    first: float
    last: float
    count: int | None
    log: bool

    @classmethod
    def read(cls, text: str, where: str, read: Read = _as_written) -> Range:
        """Read a range; a unit behind the last number holds for both, as in `20..120ms`.

        Args:
            text: The range.
            where: The variable.
            read: See `Read`.

        Raises:
            SluiceError: If it is none, or empty.
        """
        found = _RANGE.fullmatch(text)
        if found is None:
            raise SluiceError(
                f"{where} = {text!r} must be a list, or a range such as 1..20, 0.1..0.9:9 or "
                "1e6..1e9:7:log"
            )
        told = f"{where} = {text}"
        first = _number(found[1], found[2] or found[4], told, where, read)
        last = _number(found[3], found[4], told, where, read)
        if first >= last:
            raise SluiceError(
                f"{told} is an empty range: {found[3]}{found[4]} must exceed {found[1]}{found[2]}"
            )
        if found[6] and first <= 0:
            raise SluiceError(f"{told} must start above 0 to be logarithmic")
        count = None if found[5] is None else int(found[5])
        if count is not None and count < 2:
            raise SluiceError(f"{where} = {text} must have 2 values at least")
        if count is not None and count > _MOST_POINTS:
            raise _too_many(count)
        return cls(text.strip(), first, last, count, bool(found[6]))

    @property
    def ends(self) -> str:
        """As it was written, without a count."""
        return self.text.partition(":")[0]

    @property
    def is_whole(self) -> bool:
        """Whether its values are whole numbers."""
        return isinstance(self.first, int) and isinstance(self.last, int)

    def values(self, where: str) -> list[float]:
        """All of them.

        Raises:
            SluiceError: If their number is not given.
        """
        if self.count is not None:
            return list(dict.fromkeys(self.at(share) for share in np.linspace(0, 1, self.count)))
        if not self.is_whole or self.log:
            raise SluiceError(f"{where} = {self.text} must say how many: {self._with_count()}")
        if self.last - self.first >= _MOST_POINTS:
            raise _too_many(self.last - self.first + 1)
        return list(range(int(self.first), int(self.last) + 1))

    def at(self, share: float) -> float:
        """The value at a share of the way from the first to the last."""
        if self.log:
            value = math.exp(math.log(self.first) * (1 - share) + math.log(self.last) * share)
        else:
            value = self.first + (self.last - self.first) * share
        value = min(max(value, self.first), self.last)
        return round(value) if self.is_whole else float(value)

    def _with_count(self) -> str:
        return f"{self.ends}:5:log" if self.log else f"{self.ends}:5"


@dataclass(frozen=True)
class Variable:
    """What varies: one path into a scenario, or several whose values change together.

    Attributes:
        name: The paths, joined by commas.
        paths: Each alone.
        given: A range, or the values: each a tuple with a value for each path.
    """

    name: str
    paths: tuple[str, ...]
    given: Range | Sequence[tuple[Any, ...]]

    @classmethod
    def read(cls, name: str, given: object, read: Read = _as_written) -> Variable:
        """Read a variable; see `Read`.

        Raises:
            SluiceError: If there are no values, or not as many as paths.
        """
        paths = tuple(part.strip() for part in name.split(","))
        name = ", ".join(paths)
        if not all(paths) or len(set(paths)) < len(paths):
            raise SluiceError(f"{name!r} must be a path, or different ones joined by commas")
        if isinstance(given, str):
            if len(paths) > 1:
                raise SluiceError(f"{name} = {given!r} must be a list with a value for each path")
            return cls(name, paths, Range.read(given, name, read))
        given = plain(given)
        if not isinstance(given, Sequence):
            raise SluiceError(f"{name} = {given!r} must be a list or a range")
        if not given:
            raise SluiceError(f"{name} = [] must have a value at least")
        if len(paths) == 1:
            return cls(name, paths, [(read(name, value),) for value in given])
        for values in given:
            if isinstance(values, str) or not isinstance(values, Sequence):
                raise SluiceError(f"{name}: {values!r} must be a list of {len(paths)} values")
            if len(values) != len(paths):
                raise SluiceError(f"{name}: {list(values)} must have {len(paths)} values")
        return cls(name, paths, [tuple(map(read, paths, values)) for values in given])

    def values(self) -> list[Point]:
        """Its values in order: each is a value for each path."""
        if isinstance(self.given, Range):
            rows: Sequence[tuple[Any, ...]] = [(v,) for v in self.given.values(self.name)]
        else:
            rows = self.given
        return [dict(zip(self.paths, row, strict=True)) for row in rows]

    def at(self, share: float) -> Point:
        """The value at a share, from 0 to 1, of the way through all."""
        if isinstance(self.given, Range):
            return {self.name: self.given.at(share)}
        place = min(int(share * len(self.given)), len(self.given) - 1)
        return dict(zip(self.paths, self.given[place], strict=True))


def variables(vary: Mapping[str, object], read: Read = _as_written) -> list[Variable]:
    """Read what varies.

    Args:
        vary: Values by path: a list, or the text of a `Range`. Paths joined by commas vary
            together: each of their values is a list of one for each.
        read: See `Read`.

    Raises:
        SluiceError: If nothing varies, a path comes twice, or values make no sense.
    """
    if not vary:
        raise SluiceError("nothing varies: give a path with its values, such as seed = 1..5")
    found = [Variable.read(name, given, read) for name, given in vary.items()]
    paths = [path for each in found for path in each.paths]
    for path in paths:
        if paths.count(path) > 1:
            raise SluiceError(f"{path} varies twice; paths joined by commas vary together")
    return found


def points(found: Sequence[Variable], method: Method, count: int | None, seed: int) -> list[Point]:
    """The points of a design: a value for each path.

    Args:
        found: What varies.
        method: `grid`: every value of each variable with every value of the others; the first
            changes slowest. `list`: the first values of all, then the second ones, and so on.
            `latin-hypercube`: `count` random points, of which each variable's values fill its range
            evenly (McKay, Beckman & Conover 1979).
        count: Of points; for a Latin hypercube only.
        seed: Of its random numbers.

    Raises:
        SluiceError: If there is no such method, if `count` is missing or has no meaning, or if
            there are too many points.
    """
    if method not in get_args(Method):
        raise SluiceError(f"method = {method} must be one of {', '.join(get_args(Method))}")
    if (count is None) == (method == "latin-hypercube"):
        must = "must be given" if count is None else "has no meaning"
        raise SluiceError(f"points {must} with method = {method}")
    if method == "latin-hypercube":
        return _latin_hypercube(found, count or 0, seed)
    values = [each.values() for each in found]
    if method == "grid":
        if (size := math.prod(map(len, values))) > _MOST_POINTS:
            raise _too_many(size)
        return [_joined(parts) for parts in product(*values)]
    if len(set(map(len, values))) > 1:
        told = ", ".join(
            f"{len(rows)} of {each.name}" for each, rows in zip(found, values, strict=True)
        )
        raise SluiceError(
            f"method = list needs equally many values of each variable; there are {told}"
        )
    return [_joined(parts) for parts in zip(*values, strict=True)]


def _latin_hypercube(found: Sequence[Variable], count: int, seed: int) -> list[Point]:
    from scipy.stats.qmc import LatinHypercube  # takes a second to import

    if not 1 <= count <= _MOST_POINTS:
        raise SluiceError(f"points = {count} must be between 1 and {_MOST_POINTS:,}")
    for each in found:
        if isinstance(each.given, Range) and each.given.count is not None:
            raise SluiceError(
                f"{each.name} = {each.given.text} must have no count here: {each.given.ends}"
            )
    shares = LatinHypercube(len(found), rng=np.random.default_rng(seed)).random(count)
    return [
        _joined([each.at(float(share)) for each, share in zip(found, row, strict=True)])
        for row in shares
    ]


def plain(given: object) -> object:
    """Values of NumPy, or of a column of Polars, as Python's own."""
    if isinstance(given, np.ndarray | np.generic):
        return given.tolist()
    if isinstance(given, pl.Series):
        return given.to_list()
    return [plain(each) for each in given] if isinstance(given, list | tuple) else given


def _joined(parts: Sequence[Point]) -> Point:
    return {path: value for part in parts for path, value in part.items()}


def _number(text: str, unit: str, told: str, where: str, read: Read) -> float:
    """One end of a range, whose unit may be empty."""
    plain = text.replace("_", "")
    if unit:
        found = read(where, plain + unit)
        if not isinstance(found, float):
            raise SluiceError(f"{told}: {where} takes no number with the unit {unit!r}")
        return found
    value = float(plain)
    if not math.isfinite(value):
        raise SluiceError(f"{told} must lie between two finite numbers")
    # it may be refused without a unit
    found = read(where, int(plain) if re.fullmatch(r"[+-]?\d+", plain) else value)
    assert isinstance(found, int | float)
    return found


def _too_many(count: float) -> SluiceError:
    return SluiceError(f"{count:,} points are more than {_MOST_POINTS:,}: vary less in one sweep")
