"""AQMs: those of `aqm/`, a user's own C header, a user's own Python class."""

from __future__ import annotations

import difflib
import hashlib
import inspect
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sluicegate import _engine
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
        when: Which other parameter's value it depends on, as `law=gentle|cubic`, or empty.
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
    _engine: _engine.AqmClass = field(repr=False)

    def __call__(self, /, **params: Value) -> Aqm:
        """Set parameters; the others keep their defaults.

        Raises:
            SluiceError: For an unknown name, a value out of range, or values that exclude each
                other.
        """
        try:
            return Aqm(self, self._engine.configure(params))
        except ValueError as error:
            raise SluiceError(str(error)) from None

    def applies(self, param: Param, values: Mapping[str, Value]) -> bool:
        """Whether `param` has a meaning with these values of the others."""
        if not param.when:
            return True
        name, _, words = param.when.partition("=")
        shown = values[name]
        return (str(shown).lower() if isinstance(shown, bool) else shown) in words.split("|")


class Aqm:
    """An AQM with its parameters set."""

    def __init__(self, of: AqmClass, engine: _engine.ConfiguredAqm) -> None:
        self.of = of
        self.name = of.name
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
    def has_law(self) -> bool:
        """Whether the drop probability depends on the average queue alone."""
        return self.engine.drop_probability(np.zeros(1)) is not None

    def drop_probability(self, average: ArrayLike) -> NDArray[np.float64]:
        """The drop law.

        Args:
            average: Average queue, packets, any shape of one dimension.

        Returns:
            The drop probability at each average.

        Raises:
            SluiceError: If the AQM has no law that depends on its average alone.
        """
        law = self.engine.drop_probability(np.atleast_1d(np.asarray(average, dtype=np.float64)))
        if law is None:
            raise SluiceError(f"{self.name} has no drop law that depends on an average alone")
        return law

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
        averages = self.engine.open_loop(np.asarray(queue, dtype=np.uint32), interval_ns)
        if averages is None:
            raise SluiceError(f"{self.name} holds no average queue")
        return averages


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


def _wrap(engine: _engine.AqmClass, fingerprint: str = "") -> AqmClass:
    return AqmClass(
        name=engine.name,
        title=engine.title,
        source=engine.source,
        summary=engine.summary,
        base=engine.base,
        params=[Param(**row) for row in engine.params],
        fingerprint=fingerprint,
        _engine=engine,
    )


@cache
def aqms() -> dict[str, AqmClass]:
    """Every AQM that comes with the package, by name."""
    return {engine.name: _wrap(engine) for engine in _engine.aqm_classes()}


def aqm_class(name: str | Path) -> AqmClass:
    """The AQM of that name, or the one in a C header (a path that ends in `.h`).

    Raises:
        SluiceError: If there is none, or if the header does not compile.
    """
    if str(name).endswith(".h"):
        return compile_header(Path(name))
    if (found := aqms().get(str(name))) is None:
        raise SluiceError(
            f"{name} is not an AQM{_meant(str(name))}; there are {', '.join(aqms())}, or give the "
            "path of a C header"
        )
    return found


def _meant(name: str) -> str:
    """What a name that no AQM has may stand for."""
    plain = name.lower().replace("-", "_")
    scheduler, _, inside = plain.partition("_")
    if scheduler in ("sfq", "drr", "fq"):
        inside = {"codel": "codel:victim=front,"}.get(inside, "drop_tail:")
        return f" but a scheduler around one ({inside}scheduler={scheduler})"
    near = difflib.get_close_matches(plain, aqms(), n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def aqm(name: str | Path | type, /, **params: Value) -> Aqm | PythonAqm:
    """An AQM by name, by the path of its C header, or from a Python class.

    Args:
        name: `"red"`, `"my_aqm.h"`, or a class with `arrive(view)`.
        **params: Its parameters; the others keep their defaults.

    Raises:
        SluiceError: If there is no such AQM or the parameters are refused.
    """
    if isinstance(name, type):
        if params:
            raise SluiceError("a Python AQM takes its parameters itself; give none here")
        return PythonAqm(name)
    return aqm_class(name)(**params)


@cache
def _compiled(name: str, text: str) -> AqmClass:
    compiler = shutil.which("cc")
    if compiler is None:
        raise SluiceError(
            f"{name}: compiling an AQM needs a C compiler named cc, and there is none"
        )
    with tempfile.TemporaryDirectory() as folder:
        for header, content in _engine.HEADERS.items():
            Path(folder, header).write_text(content)
        Path(folder, f"{name}.h").write_text(text)
        Path(folder, "user.c").write_text(
            f'#include "{name}.h"\n'
            f"const struct aqm_class *sluice_aqm(void) {{ return &{name}_class; }}\n"
        )
        library = Path(folder, "user.so")
        flags = ["-std=gnu11", "-O2", "-fPIC", "-shared", "-DAQM_HOSTED", "-Wall", "-Werror"]
        done = subprocess.run(
            [compiler, *flags, "-Wno-unused", "-I.", "user.c", "-o", str(library)],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SluiceError(f"{name}.h does not compile as an AQM:\n{done.stderr.rstrip()}")
        try:
            engine = _engine.load_aqm(str(library))
        except ValueError as error:
            raise SluiceError(f"{name}.h: {error}") from None
        # of the code itself, which headers that this one includes also make
        return _wrap(engine, hashlib.sha256(library.read_bytes()).hexdigest())


def compile_header(path: Path) -> AqmClass:
    """Compile a user's AQM: a header like those of `aqm/`, whose file name is the AQM's name.

    Raises:
        SluiceError: If the file is missing, its name is no C identifier, there is no C
            compiler, or the compiler refuses it; the compiler's own words are in the text.
    """
    if not path.stem.isidentifier():
        raise SluiceError(f"{path}: the file's name must be the AQM's, a C identifier")
    try:
        text = path.read_text()
    except OSError as error:
        raise SluiceError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SluiceError(f"{path}: not a text file") from None
    return _compiled(path.stem, text)
