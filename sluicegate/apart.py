"""A user's C header at work: in a process beside this one, which can be ended.

What an AQM in C does wrong after its trial, such as a loop without an end or a null pointer, then
ends that process only, and this one says what it was doing.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from sluicegate import _engine, beside
from sluicegate.beside import Beside, Watch
from sluicegate.errors import SluiceError
from sluicegate.registry import Aqm, PythonAqm
from sluicegate.scenario import Discipline, NetworkScenario

if TYPE_CHECKING:
    from sluicegate.worlds.world import AnyScenario

T = TypeVar("T")

# processes that have nothing to do now, each with the number of the process that started it
_idle: list[tuple[int, Beside]] = []


def run(
    function: Callable[..., T],
    scenario: AnyScenario,
    discipline: Discipline,
    *rest: object,
    watch: Watch | None,
) -> T:
    """Call `function(scenario, discipline, *rest, watch=watch)`, beside this process if need be.

    Args:
        function: One of a module; it runs the discipline.
        scenario: First argument.
        discipline: Second argument: if its AQM is a user's header, the call is made beside.
        *rest: More arguments, and what is returned: anything that can be pickled.
        watch: Called now and then.

    Raises:
        SluiceError: If the AQM ended its process, with what it was doing.
        InterruptError: After Ctrl-C, if it did not come to an end.
        Exception: What the function raises.
    """
    libraries = _libraries(scenario, discipline)
    if not libraries:
        return function(scenario, discipline, *rest, watch=watch)
    arguments = (scenario, discipline, *rest)
    path = next(iter(libraries))
    return _beside(path, libraries, function, arguments, discipline.name, watch)


class Kept:
    """An object that is made from a scenario and a discipline and called again and again.

    If an AQM is a user's header, the object is in a process beside this one, which ends with the
    last reference to this one.
    """

    def __init__(
        self,
        make: Callable[[AnyScenario, Discipline], object],
        scenario: AnyScenario,
        discipline: Discipline,
    ) -> None:
        self._name = discipline.name
        self._libraries = _libraries(scenario, discipline)
        self._object: object = None
        self._beside: Beside | None = None
        if not self._libraries:
            self._object = make(scenario, discipline)
            return
        self._beside = _free()
        weakref.finalize(self, self._beside.end)
        self._ask(_keep, make, scenario, discipline)

    @property
    def is_beside(self) -> bool:
        """Whether the object is in a process beside this one."""
        return self._beside is not None

    def call(self, method: str, *arguments: object) -> Any:
        """Call a method of the object.

        Args:
            method: Its name.
            *arguments: Its arguments, which, as its result, can be pickled.

        Raises:
            SluiceError: If the AQM ended its process, with what it was doing, or had before.
            InterruptError: After Ctrl-C, if the object is beside this process, which then ends.
            Exception: What the method raises.
        """
        if self._beside is None:
            return getattr(self._object, method)(*arguments)
        if not self._beside.is_alive():
            raise SluiceError(f"{self._name}: the process of its run has ended; start another run")
        return self._ask(_call_kept, method, *arguments)

    def _ask(self, function: Callable[..., object], *arguments: object) -> Any:
        assert self._beside is not None
        path = next(iter(self._libraries))
        request = (os.getcwd(), self._libraries, path, function, arguments, False)
        return self._beside.call(request, self._name, None)


_kept: object = None


def _keep(
    make: Callable[[AnyScenario, Discipline], object],
    scenario: AnyScenario,
    discipline: Discipline,
    *,
    watch: Watch | None,
) -> None:
    global _kept
    _kept = make(scenario, discipline)


def _call_kept(method: str, *arguments: object, watch: Watch | None) -> object:
    return getattr(_kept, method)(*arguments)


def _libraries(scenario: AnyScenario, discipline: Discipline) -> dict[str, bytes]:
    """The compiled code of all headers by their paths, one at work first; none if none is."""
    at_work = [discipline, *_of_links(scenario)]
    if beside.is_here or not any(map(_library, at_work)):
        return {}
    return dict(filter(None, map(_library, (*at_work, *scenario.disciplines))))


def ask(aqm: Aqm, method: str, *arguments: object) -> Any:
    """Call a method of a configured AQM of the engine, beside this process if need be.

    Raises:
        SluiceError: If the AQM ended its process, with what it was doing.
        InterruptError: After Ctrl-C, if it did not come to an end.
    """
    if not is_needed(aqm):
        return getattr(aqm.engine, method)(*arguments)
    path = f"{aqm.name}.h"
    of = (path, aqm.params, method, *arguments)
    return _beside(path, {path: aqm.of.library}, _asked, of, aqm.name, None)


def _asked(
    path: str, params: dict[str, Any], method: str, *arguments: object, watch: Watch | None
) -> Any:
    return getattr(_engine.aqm_class(path).configure(params), method)(*arguments)


def is_needed(aqm: Aqm | PythonAqm) -> bool:
    """Whether an AQM's code may not be run in this process."""
    return not beside.is_here and isinstance(aqm, Aqm) and bool(aqm.of.library)


def _beside(
    path: str,
    libraries: dict[str, bytes],
    function: Callable[..., T],
    arguments: tuple[object, ...],
    name: str,
    watch: Watch | None,
) -> T:
    """Call a function in a process that has nothing else to do.

    Args:
        path: The header at work.
        libraries: The compiled code of all headers, by their paths.
        function: One of a module.
        arguments: Its own, besides `watch`.
        name: Of the AQM, for messages.
        watch: Called now and then.
    """
    process = _free()
    request = (os.getcwd(), libraries, path, function, arguments, watch is not None)
    found: T = process.call(request, name, watch)
    _idle.append((os.getpid(), process))
    return found


def _of_links(scenario: AnyScenario) -> list[Discipline]:
    """The disciplines of a network's links that have one of their own."""
    links = scenario.links.values() if isinstance(scenario, NetworkScenario) else ()
    return [each.discipline for each in links if each.discipline is not None]


def _library(discipline: Discipline) -> tuple[str, bytes] | None:
    """The path of a discipline's header, and its compiled code; None if it has none."""
    aqm = discipline.configured
    if not isinstance(aqm, Aqm) or not (code := aqm.of.library):
        return None
    return str(discipline.aqm), code


def _free() -> Beside:
    """A process that has nothing to do."""
    while _idle:
        parent, process = _idle.pop()
        # a fork of this process has no right to those that it started before
        if parent == os.getpid() and process.is_alive():
            return process
        if parent == os.getpid():
            process.end()
    return Beside()
