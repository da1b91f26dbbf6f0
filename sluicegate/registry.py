"""AQMs: those of `aqm/`, a user's own C header, a user's own Python class."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sluicegate import _engine, python_aqm
from sluicegate.errors import SluiceError

Value = float | str | bool


@dataclass(frozen=True)
class Param:
    """One parameter of an AQM, as its header describes it.

    Attributes:
        name: As in a scenario.
        kind: `number`, `integer`, `switch` or `choice`.
        choices: The words of a choice.
        unit: `packets`, `s`, `bits/s`, `bytes`, or empty.
        default: In that unit.
        least: Least allowed value.
        greatest: Greatest allowed value.
        when: Which other parameter's value it depends on (`drop_function=gentle|cubic`), or empty.
        help: One line.
        source: Where it is defined.
    """

    name: str
    kind: str
    choices: list[str]
    unit: str
    default: Value
    least: float
    greatest: float
    when: str
    help: str
    source: str

    @property
    def range(self) -> str:
        """The allowed values in words."""
        if self.kind == "choice":
            return " | ".join(self.choices)
        if self.kind == "switch":
            return "true | false"
        return f"{_plain(self.least)} to {_plain(self.greatest)}"


def _plain(number: float) -> str:
    return f"{number:,.0f}" if number.is_integer() else f"{number:g}"


@dataclass(frozen=True)
class AqmClass:
    """An AQM before its parameters are set; call it with parameters to set them."""

    name: str
    title: str
    source: str
    summary: str
    base: str | None
    params: list[Param]
    fingerprint: str
    _engine: _engine.AqmClass = field(repr=False, compare=False)

    @property
    def library(self) -> bytes:
        """The compiled code of a user's header; empty for an AQM of the package."""
        return self._engine.library

    @property
    def coupled(self) -> bool:
        """Whether it has queues of its own and judges all: it takes no scheduler, and `ecn`."""
        return self._engine.coupled

    @property
    def state_bytes(self) -> int:
        """Bytes of the state that each queue has."""
        return self._engine.state_bytes

    @property
    def config_bytes(self) -> int:
        """Bytes of the config, which all queues share."""
        return self._engine.config_bytes

    @property
    def functions(self) -> list[str]:
        """When it is called: `arrive`, and which of `depart`, `tick` and `occupancy`."""
        return self._engine.functions

    def __call__(self, /, **params: Value) -> Aqm:
        """Set parameters; the others keep their defaults.

        Raises:
            SluiceError: For an unknown name, a value out of range, or values that exclude each
                other.
        """
        return Aqm(self._engine.configure(params))

    def applies(self, param: Param, values: Mapping[str, Value]) -> bool:
        """Whether `param` has a meaning with these values of the others."""
        if not param.when:
            return True
        name, _, words = param.when.partition("=")
        shown = values[name]
        return (str(shown).lower() if isinstance(shown, bool) else shown) in words.split("|")


class Aqm:
    """An AQM with its parameters set."""

    def __init__(self, engine: _engine.ConfiguredAqm) -> None:
        self.of = _wrap(engine.of)
        self.name = self.of.name
        self.params: dict[str, Value] = engine.values
        self.engine = engine

    def __repr__(self) -> str:
        given = (f"{p.name}={self.params[p.name]!r}" for p in self.of.params if self._is_set(p))
        return f"{self.name}({', '.join(given)})"

    def _is_set(self, param: Param) -> bool:
        return self.params[param.name] != param.default

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What determines the AQM's behaviour."""
        return {"name": self.name, "code": self.of.fingerprint, "params": self.params}

    @property
    def has_drop_function(self) -> bool:
        """Whether the drop probability depends on the average queue alone."""
        return self._ask("drop_probability", np.zeros(1)) is not None

    def drop_probability(self, average: ArrayLike) -> NDArray[np.float64]:
        """The drop function.

        Args:
            average: Average queue, packets, any shape of one dimension.

        Returns:
            The drop probability at each average.

        Raises:
            SluiceError: If the AQM has no drop function that depends on its average alone.
        """
        averages = np.atleast_1d(np.asarray(average, dtype=np.float64))
        probabilities = self._ask("drop_probability", averages)
        if probabilities is None:
            raise SluiceError(f"{self.name} has no drop function that depends on an average alone")
        return probabilities

    def open_loop(self, queue: ArrayLike, interval_ns: int = 1_000_000) -> NDArray[np.float64]:
        """The average after each arrival, if arrivals find these queues.

        Args:
            queue: Waiting packets that each arrival finds, one dimension.
            interval_ns: Time between arrivals.

        Returns:
            The average queue after each arrival, packets.

        Raises:
            SluiceError: If the AQM holds no average.
        """
        averages = self._ask("open_loop", np.asarray(queue, dtype=np.uint32), interval_ns)
        if averages is None:
            raise SluiceError(f"{self.name} holds no average queue")
        return averages

    def _ask(self, method: str, *arguments: object) -> NDArray[np.float64] | None:
        from sluicegate import apart  # which imports this module

        found: NDArray[np.float64] | None = apart.ask(self, method, *arguments)
        return found


class PythonAqm:
    """A Python class as an AQM: slow, for a first idea.

    The class has `arrive(view)` and, where it needs them, `depart(view)` and `tick(view)` with
    an attribute `tick_interval_ns`. `arrive` and `depart` return `ADMIT`, `DROP_EARLY` or
    `DROP_FORCED`. `occupancy(view, change)` is called as a packet joins those that wait
    (`change` = 1) or leaves them (-1). With an attribute `wants_candidate = True`, the view of an
    arrival has the `candidate_flow_hash` of a waiting packet drawn at random, and `arrive` may
    return `DROP_BOTH`. Each replication gets an instance of its own.
    """

    def __init__(self, factory: Callable[[], object]) -> None:
        if not callable(factory) or not hasattr(factory, "arrive"):
            raise SluiceError(f"{factory!r} must be a class with a method arrive(view)")
        self.name: str = getattr(factory, "__name__", "python")
        self.params: dict[str, Value] = {}
        self.engine: Any = factory

    def __repr__(self) -> str:
        return f"{self.name}()"

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What determines the AQM's behaviour: the source of its class, where there is one."""
        try:
            source = inspect.getsource(self.engine)
        except (OSError, TypeError):
            source = ""
        return {"name": self.name, "source": source}


def _wrap(engine: _engine.AqmClass) -> AqmClass:
    return AqmClass(
        name=engine.name,
        title=engine.title,
        source=engine.source,
        summary=engine.summary,
        base=engine.base,
        params=[_param(each) for each in engine.params],
        fingerprint=engine.fingerprint,
        _engine=engine,
    )


def _param(engine: _engine.Param) -> Param:
    return Param(**{each.name: getattr(engine, each.name) for each in fields(Param)})


# the class of a header, at the start of a line; and the size from which it is no header
_CLASS = re.compile(r"^AQM_CLASS\(\s*(\w+)", re.MULTILINE)
_MOST_BYTES = 1 << 20


class AqmTable(dict[str, AqmClass]):
    """AQMs by name; shown as a table with a line for each."""

    def __repr__(self) -> str:
        names, titles = max(map(len, self)), max(len(each.title) for each in self.values())
        lines = (
            f"{name:{names}}  {each.title:{titles}}  {each.source}" for name, each in self.items()
        )
        return "\n".join(lines)


@cache
def aqms() -> AqmTable:
    """Every AQM that comes with the package, by name."""
    return AqmTable({engine.name: _wrap(engine) for engine in _engine.aqm_classes()})


@cache
def schedulers() -> AqmTable:
    """Every scheduler that comes with the package, by name; a scenario gives its fields."""
    return AqmTable({engine.name: _wrap(engine) for engine in _engine.scheduler_classes()})


def aqm_class(name: str | Path) -> AqmClass:
    """The AQM of that name, or the one in a C header (a path that ends in `.h`).

    A header is like those of `aqm/`; its file name is the AQM's name.

    Raises:
        SluiceError: If there is none, if there is no C compiler, or if it refuses the header; the
            compiler's own text is in the message.
    """
    check_header_name(Path(name))
    return _wrap(_engine.aqm_class(str(name)))


def check_header_name(path: Path) -> None:
    """Refuse a header whose class has another name than its file: a compiler says it in ten lines.

    Raises:
        SluiceError: If it is one.
    """
    if path.suffix != ".h" or not path.is_file() or path.stat().st_size > _MOST_BYTES:
        return
    own = _CLASS.findall(path.read_text(encoding="utf-8", errors="replace"))
    if own and path.stem not in own:
        raise SluiceError(
            f"{path}: the file's name must be the AQM's: it has AQM_CLASS({own[-1]}, ...), so call "
            f"it {own[-1]}.h, or write {path.stem} throughout"
        )


def aqm(name: str | Path | type, /, **params: Value) -> Aqm | PythonAqm:
    """An AQM by name, by the path of its C header or Python file, or from a Python class.

    Args:
        name: `"red"`, `"my_aqm.h"`, `"mine.py"` or `"mine.py:Class"`, or a class with
            `arrive(view)`.
        **params: Its parameters; the others keep their defaults.

    Raises:
        SluiceError: If there is no such AQM or the parameters are refused.
    """
    if isinstance(name, type):
        if params:
            raise SluiceError("a Python AQM takes its parameters itself; give none here")
        return PythonAqm(name)
    if (found := python_aqm.at(str(name))) is not None:
        return aqm(found, **params)
    return aqm_class(name)(**params)
