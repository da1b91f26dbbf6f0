"""What makes the simulations: this process, processes beside it, or a Dask cluster."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from sluicegate.address_space import ONE_THREAD
from sluicegate.errors import SluiceError
from sluicegate.extras import lacking
from sluicegate.sweeps.work import Done, Work

T = TypeVar("T")

# how often processes may end in a row without any result
_MOST_BREAKS = 3
_CONNECT_S = 10
# a scheduler with very many workers may be busy for a while
_ANSWER_S = 60
# how often a worker process looks whether it is still wanted, and this one what is done
_LOOK_S = 1.0
# loky's trackers of resources end after this process. Where that was ended early, they would warn,
# below our message, of what is gone already
_QUIET = "ignore:resource_tracker"


def ended(under_way: Iterable[Future[Done]]) -> set[Future[Done]]:
    """The jobs that have ended, after a wait of a second if there are none."""
    try:
        return wait(under_way, timeout=_LOOK_S, return_when=FIRST_COMPLETED).done
    except RuntimeError as error:
        # Ctrl-C as the wait takes its lock again: `with` then releases what it has not
        if isinstance(error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise


def made(
    waiting: deque[T], size: Callable[[], int], job: Callable[[Sequence[T]], Work], by: Workers
) -> Iterator[tuple[list[T], Done]]:
    """Have things made, each once, in jobs of several; what was lost with a worker is made again.

    Args:
        waiting: What is to be made; it may grow meanwhile.
        size: How many things the next job should have.
        job: The job of some things.
        by: Who makes them.

    Yields:
        The things of each job that is done, and its results.

    Raises:
        SluiceError: If a job cannot be done, or if the workers are gone for good.
    """
    under_way: dict[Future[Done], list[T]] = {}
    while waiting or under_way:
        try:
            while waiting and len(under_way) < by.ahead:
                part = list(islice(waiting, max(1, size())))
                under_way[by.submit(job(part))] = part
                for _ in part:
                    waiting.popleft()
            for future in ended(under_way):
                done = future.result()
                part = under_way.pop(future)
                by.succeeded()
                done.warn()
                yield part, done
        except Exception as error:  # the workers decide what it means
            waiting.extendleft(reversed([each for part in under_way.values() for each in part]))
            under_way.clear()
            by.recover(error)


class Workers(ABC):
    """Takes jobs and gives their results.

    Attributes:
        size: How many work at a time.
        ahead: How many jobs should wait or be worked on.
    """

    size: int

    @property
    def ahead(self) -> int:
        """For each worker, one job under way and the next one."""
        return 2 * self.size

    @abstractmethod
    def submit(self, job: Work) -> Future[Done]:
        """Take a job."""

    def recover(self, error: BaseException) -> None:
        """Go on after a job was lost with its worker.

        Raises:
            SluiceError: If that is not possible.
        """
        raise error

    def succeeded(self) -> None:  # noqa: B027 (most have nothing to do then)
        """Called when a job was done."""


class Here(Workers):
    """This process itself: a job is done when it is taken."""

    size = 1
    ahead = 1

    def submit(self, job: Work) -> Future[Done]:
        """Do it at once."""
        future: Future[Done] = Future()
        future.set_result(job.done())
        return future


class Processes(Workers):
    """Processes beside this one; others take the place of those that are killed."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._breaks = 0
        self._start()

    def _start(self) -> None:
        # takes a fifth of a second to import
        from loky import ProcessPoolExecutor  # type: ignore[import-untyped]

        if _QUIET not in sys.warnoptions:
            # the tracker is started with these
            sys.warnoptions.append(_QUIET)
        # a worker whose polars or BLAS has a thread for every core would disturb the others
        self._pool: Executor = ProcessPoolExecutor(
            self.size, env=ONE_THREAD, initializer=_end_with, initargs=(os.getpid(),)
        )

    def submit(self, job: Work) -> Future[Done]:
        """Give it to whichever process is free."""
        # Ctrl-C goes to all processes of a terminal; this one ends the others, which start here
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            future: Future[Done] = self._pool.submit(job.done)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return future

    def recover(self, error: BaseException) -> None:
        """Start other processes, unless they end too often without a result."""
        if not isinstance(error, BrokenExecutor):
            raise error
        self._breaks += 1
        if self._breaks > _MOST_BREAKS:
            raise SluiceError(
                f"worker processes ended {self._breaks} times in a row, each time without a "
                "result: is there too little memory?"
            ) from error
        self.close()
        self._start()

    def succeeded(self) -> None:
        """Forget that processes ended before."""
        self._breaks = 0

    def close(self) -> None:
        """End all processes, whatever they do."""
        pool: Any = self._pool
        pool.shutdown(kill_workers=True)


def _end_with(parent: int) -> None:
    """End this process when its parent has ended: after kill -9 the parent cannot do it."""

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_S)
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()


class Dask(Workers):
    """A Dask cluster, which gives a job of a killed worker to another one."""

    def __init__(self, client: Any, address: str) -> None:
        self._client = client
        self._address = address
        self._pool: Executor = client.get_executor()

    @property
    def size(self) -> int:  # type: ignore[override]
        """Threads of all workers; they may come and go.

        Raises:
            TimeoutError: If the scheduler is there and does not answer.
        """
        asked = self._client.scheduler.ncores
        threads: dict[str, int] = self._client.sync(asked, callback_timeout=_ANSWER_S)
        return max(1, sum(threads.values()))

    def submit(self, job: Work) -> Future[Done]:
        """Send it to the scheduler."""
        future: Future[Done] = self._pool.submit(job.done)
        return future

    def recover(self, error: BaseException) -> None:
        """Raise what the cluster cannot handle itself."""
        if isinstance(error, CancelledError | OSError):
            raise SluiceError(
                f"--dask {self._address}: the scheduler is gone, or does not answer; what it had "
                "returned is kept, and the same command makes the rest"
            ) from error
        if type(error).__name__ == "KilledWorker":
            raise SluiceError(f"--dask {self._address}: {error}") from error
        raise error


@contextmanager
def here_or_beside(size: int) -> Iterator[Workers]:
    """This process if there is work for one only, or processes beside it."""
    with _terminated_as_by_ctrl_c():
        if size == 1:
            yield Here()
            return
        workers = Processes(size)
        try:
            yield workers
        finally:
            workers.close()


async def _connect(address: str) -> None:
    """Connect to a scheduler, and no more; raises the error if that fails."""
    from distributed.comm.core import connect
    from distributed.security import Security

    settings: Any = Security()  # type: ignore[no-untyped-call]
    known = settings.get_connection_args("client")
    comm: Any = await connect(address, timeout=_CONNECT_S, **known)  # type: ignore[no-untyped-call]
    await comm.close()


@contextmanager
def _terminated_as_by_ctrl_c() -> Iterator[None]:
    """Let SIGTERM, by which batch systems end a job, do what Ctrl-C does: keep what is finished."""
    is_free = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if not is_free or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def on_cluster(address: str) -> Iterator[Workers]:
    """A Dask cluster.

    Raises:
        SluiceError: If dask.distributed is not installed, or nobody answers at the address.
    """
    try:
        import distributed
    except ImportError as error:
        raise lacking("distributed", "--dask") from error
    # what it says of a lost connection would hide what we say
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        # a client that finds no scheduler reports its own end, half a minute later
        asyncio.run(_connect(address))
        connect: Any = distributed.Client  # its types are not declared
        client = connect(address, timeout=_CONNECT_S, set_as_default=False)
    except Exception as error:  # whatever it is: another program there may answer anything
        raise SluiceError(f"--dask {address}: no scheduler answers there") from error
    try:
        with _terminated_as_by_ctrl_c():
            yield Dask(client, address)
    finally:
        client.close(timeout=_CONNECT_S)
