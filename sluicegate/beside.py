"""A process beside this one that calls functions, and can be ended whatever they do.

`Beside` is this process's end, and `serve` is what the other one does.
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
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from sluicegate import _engine
from sluicegate.errors import NOTHING_FINISHED, InterruptError, SluiceError

Watch = Callable[[Any, Any], None]

# how long a run may take to end after Ctrl-C, before its process is ended
_GRACE_S = 5.0
_ANSWER_S = 1.0
_START = "from sluicegate.beside import serve; serve()"
# whether this is such a process
is_here = False


class Beside:
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
    global is_here
    is_here = True
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
