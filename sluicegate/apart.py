"""A user's C header at work: in a process beside this one, which can be ended.

What an AQM in C does wrong after its trial, such as a loop without an end or a null pointer, then
ends that process only, and this one says what it was doing.
"""

from __future__ import annotations

import atexit
import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from sluicegate import _engine
from sluicegate.errors import NOTHING_FINISHED, InterruptError, SluiceError
from sluicegate.registry import Aqm, PythonAqm
from sluicegate.scenario import Discipline, NetworkScenario

if TYPE_CHECKING:
    from sluicegate.worlds.world import AnyScenario

T = TypeVar("T")
Watch = Callable[[Any, Any], None]

# how long a run may take to end after Ctrl-C, before its process is ended
_GRACE_S = 5.0
_ANSWER_S = 1.0
_START = "from sluicegate.apart import serve; serve()"
# processes that have nothing to do now, each with the number of the process that started it
_idle: list[tuple[int, _Beside]] = []
_is_beside = False


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
        self._beside: _Beside | None = None
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
    if _is_beside or not any(map(_library, at_work)):
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
    return not _is_beside and isinstance(aqm, Aqm) and bool(aqm.of.library)


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
    beside = _free()
    request = (os.getcwd(), libraries, path, function, arguments, watch is not None)
    found: T = beside.call(request, name, watch)
    _idle.append((os.getpid(), beside))
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


def _free() -> _Beside:
    """A process that has nothing to do."""
    while _idle:
        parent, beside = _idle.pop()
        # a fork of this process has no right to those that it started before
        if parent == os.getpid() and beside.is_alive():
            return beside
        if parent == os.getpid():
            beside.end()
    return _Beside()


class _Beside:
    """A process beside this one."""

    def __init__(self) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 (it has no end before the process)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            # Ctrl-C goes to all processes of a group: this one passes it on
            process_group=0,
        )
        self._answers: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._has_begun = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        atexit.register(self.end)

    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    def end(self) -> None:
        """End it, whatever it does."""
        atexit.unregister(self.end)
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for file in (self._process.stdin, self._process.stdout, self._said):
            assert file is not None
            with suppress(BrokenPipeError):
                file.close()

    def call(self, request: object, name: str, watch: Watch | None) -> Any:
        """Have a function called."""
        done = interrupted = False
        self._has_begun = False
        try:
            self._send(request)
            try:
                found = self._result(watch, name)
            except KeyboardInterrupt:
                interrupted = True
                found = self._interrupted(name)
            done = True
            return found
        except _RaisedError as raised:
            done = True
            raise raised.error from None
        finally:
            # what it was told after Ctrl-C must not reach another run
            if interrupted or not done:
                self.end()

    def _interrupted(self, name: str) -> Any:
        """What is finished by now; the run gets Ctrl-C and some time to end."""
        # on a busy machine the process itself takes longer to start than a run has to end
        if not self._has_begun:
            raise InterruptError(NOTHING_FINISHED)
        self._send("interrupt")
        with suppress(queue.Empty, KeyboardInterrupt):
            return self._result(None, name, _GRACE_S)
        self._send("inside")
        inside = None
        with suppress(queue.Empty, KeyboardInterrupt):
            inside = self._inside()
        where = f"{inside} did not come to an end" if inside else "it did not come to an end"
        raise InterruptError(f"interrupted: {name}: {where}; its process was ended")

    def _inside(self) -> Any:
        """The function of the header that runs now, if any."""
        while (answer := self._answers.get(timeout=_ANSWER_S))[0] == "progress":
            pass
        return answer[1] if answer[0] == "inside" else None

    def _result(self, watch: Watch | None, name: str, most_s: float | None = None) -> Any:
        """The result; progress is told on the way."""
        end_s = None if most_s is None else time.monotonic() + most_s
        while True:
            left_s = None if end_s is None else max(0.0, end_s - time.monotonic())
            what, content = self._answers.get(timeout=left_s)
            if what == "progress" and watch is not None:
                watch(*content)
            elif what == "begun":
                self._has_begun = True
            elif what == "raised":
                raise _RaisedError(content)
            elif what == "returned":
                return content
            elif what == "ended":
                raise SluiceError(self._last_words(name))

    def _last_words(self, name: str) -> str:
        """Why it ended by itself."""
        code = self._process.wait()
        self._said.seek(0)
        said = self._said.read().decode(errors="replace").strip()
        if "error: " in said:
            return f"{said.rpartition('error: ')[2]} (in a run of {name}, which was ended)"
        how = f"by signal {-code}" if code < 0 else f"with status {code}"
        hint = ": is there too little memory?" if code == -signal.SIGKILL else ""
        return "\n".join(filter(None, [f"{name}: the process of its run ended {how}{hint}", said]))

    def _send(self, message: object) -> None:
        assert self._process.stdin is not None
        # one that has ended says so when its answer is read
        with suppress(BrokenPipeError):
            self._process.stdin.write(pickle.dumps(message))
            self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with suppress(EOFError, OSError, pickle.UnpicklingError):
            while True:
                self._answers.put(pickle.load(self._process.stdout))
        self._answers.put(("ended", None))


class _RaisedError(Exception):
    """The function raised an error."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


def serve() -> None:
    """Be the process beside another one: take requests from it until it ends."""
    global _is_beside
    _is_beside = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    told = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # what anybody prints here must not come among the answers
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    lock = threading.Lock()
    header: list[str] = []

    def send(what: str, content: object = None) -> None:
        # before the lock is taken: Ctrl-C may come meanwhile
        text = pickle.dumps((what, content))
        with lock:
            told.write(text)
            told.flush()

    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def listen() -> None:
        with suppress(EOFError, OSError):
            while True:
                request = pickle.load(sys.stdin.buffer)
                if request == "interrupt":
                    os.kill(os.getpid(), signal.SIGINT)
                elif request == "inside":
                    send("inside", _engine.aqm_class(header[-1]).inside)
                else:
                    requests.put(request)
        # the other process has ended
        os._exit(1)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        folder, libraries, path, function, arguments, watched = requests.get()
        header.append(path)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            send("begun")
            os.chdir(folder)
            for place, library in libraries.items():
                _engine.adopt_library(place, library)
            watch = (lambda *done: send("progress", done)) if watched else None
            answer = ("returned", function(*arguments, watch=watch))
        except KeyboardInterrupt:
            answer = ("raised", InterruptError(NOTHING_FINISHED))
        except BaseException as error:
            answer = ("raised", error)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        send(*answer)
