"""Process 1 of a testbed: `python -m sluicegate.testbed.bed`, in the router's namespaces.

Reads a `Job`, and gives how far it is, in seconds, now and then; then an `Outcome`, or as text why
there is none. When its reader goes away it ends, and the kernel with it all that it started.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sluicegate.errors import SluiceError
from sluicegate.testbed.command import command
from sluicegate.testbed.host_process import HostProcess
from sluicegate.testbed.job import FOLDER, Job, QdiscJob, RouterJob
from sluicegate.testbed.links import forward
from sluicegate.testbed.outcome import Outcome
from sluicegate.testbed.qdiscs import Qdiscs
from sluicegate.testbed.router import Router, rules

_SETTLE_NS = 200_000_000
_BETWEEN_NEWS_S = 0.5


def serve(run: Callable[[Any, Callable[[float], None]], Outcome]) -> None:
    """Read a job, do it by `run`, and give what comes of it."""
    job: Job = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_reader, daemon=True).start()
    try:
        _say(run(job, _say))
    except SluiceError as error:
        _say(str(error))


def _say(what: object) -> None:
    pickle.dump(what, sys.stdout.buffer)
    sys.stdout.buffer.flush()


def _end_with_reader() -> None:
    # nothing more is ever written to this pipe: it can only close
    # not through sys.stdin, whose lock a fork would inherit
    os.read(0, 1)
    os._exit(1)


def run(job: Job, on_progress: Callable[[float], None]) -> Outcome:
    """Do a job in the namespaces of this process, which are the router's.

    Args:
        job: What to do.
        on_progress: Called now and then with the seconds since its start.

    Raises:
        SluiceError: If it cannot be done, with the reason.
    """
    return run_between(job, lambda: [HostProcess(each) for each in job.hosts], on_progress)


def run_between(
    job: Job, start: Callable[[], Sequence[HostProcess]], on_progress: Callable[[float], None]
) -> Outcome:
    """Do a job between the clients and the servers that `start` starts; see `run`."""
    command("mount", "-t", "tmpfs", "tmpfs", FOLDER)
    hosts = start()
    try:
        return _run(job, hosts, on_progress)
    finally:
        for host in hosts:
            host.end()


def _run(job: Job, hosts: Sequence[HostProcess], on_progress: Callable[[float], None]) -> Outcome:
    for host in hosts:
        host.join()
    # a host that cannot do its job ends, and its link with it: heard later, that would be the error
    for host in hosts:
        host.hear()
    forward(job.hosts[0].ipv6)
    router = qdiscs = None
    if isinstance(job.router, QdiscJob):
        if job.router.marks_behind:
            for host in hosts:
                host.name()
        qdiscs = Qdiscs(job.router)
    elif job.router is not None:
        for rule in rules(job.router):
            command(*rule)
        router = Router(job.router, Path(FOLDER))
    load = os.getloadavg()[0]
    start_ns = _start_ns(router or qdiscs, job)
    if qdiscs:
        qdiscs.begin(start_ns)
    for host in hosts:
        host.say(start_ns)
    while (since_s := (time.monotonic_ns() - start_ns) / 1e9) < job.hosts[0].duration_ns / 1e9:
        on_progress(max(0.0, since_s))
        time.sleep(_BETWEEN_NEWS_S)
    clients, servers = (host.hear() for host in hosts)
    if qdiscs:
        qdiscs.end()
    return Outcome(
        start_ns=start_ns,
        hosts=(clients, servers),
        router=router.stop() if router else qdiscs.after() if qdiscs else "",
        seen=qdiscs.seen() if qdiscs else [],
        load=(load, os.getloadavg()[0]),
    )


def _start_ns(router: Router | Qdiscs | None, job: Job) -> int:
    """Soon, at an instant at which it is noted how the router stands."""
    soon_ns = time.monotonic_ns() + _SETTLE_NS
    if router is None:
        return soon_ns
    if isinstance(job.router, RouterJob) and job.router.flows_start_s is not None:
        start_ns = router.start_ns + round(job.router.flows_start_s * 1e9)
        if start_ns < soon_ns:
            raise SluiceError(
                f"this machine is too busy: the flows must begin {job.router.flows_start_s:g} s "
                "after the start of sluiced, and were not ready"
            )
        return start_ns
    every_ns = job.hosts[0].sample_ns
    if isinstance(job.router, QdiscJob):
        every_ns = job.router.sampling_ns
    return soon_ns + (router.start_ns - soon_ns) % every_ns


if __name__ == "__main__":
    serve(run)
