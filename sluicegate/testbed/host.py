"""The clients or the servers: a process that the bed forks, in a network namespace of its own.

It tells the bed that it is there, receives a `HostJob`, tells that it is ready, receives the time
at which the run starts, and sends a `HostOutcome`.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import resource
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from sluicegate.errors import SluiceError
from sluicegate.testbed import datagrams
from sluicegate.testbed.calls import NO_CALLS, Calls
from sluicegate.testbed.job import HostJob
from sluicegate.testbed.links import take_addresses
from sluicegate.testbed.loop import Loop
from sluicegate.testbed.outcome import HostOutcome, Received, Sent
from sluicegate.testbed.streams import Receivers, Senders
from sluicegate.testbed.wire import WireLooks

READY = "ready"


# linux/sched.h
_CLONE_NEWNET = 0x40000000


def main(bed: Connection) -> None:
    """Take a job from the bed, and do it.

    Args:
        bed: The pipe to the bed.

    Raises:
        OSError: If this process is not allowed to make a namespace.
    """
    enter_namespace()
    bed.send(READY)
    job: HostJob = bed.recv()
    try:
        _do(job, bed)
    except SluiceError as error:
        bed.send(error)


def enter_namespace() -> None:
    """Give this process a network namespace of its own.

    Raises:
        OSError: If it is not allowed to.
    """
    kernel = ctypes.CDLL(None, use_errno=True)
    if kernel.unshare(_CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _do(job: HostJob, bed: Connection) -> None:
    take_addresses(job)
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    loop = Loop()
    senders, receivers = Senders(loop, job), Receivers(loop, job)
    receiver = datagrams.Receiver(loop, job)
    calls = _calls(job)
    wire = WireLooks(loop, job.sample_ns, job.duration_ns) if job.wire else None
    bed.send(READY)
    start_ns: int = bed.recv()
    if calls:
        calls.send(start_ns)
    late, process = _sender_of_datagrams(job, start_ns)
    for part in (senders, receivers, receiver):
        part.begin(start_ns)
    if wire:
        wire.begin(start_ns)
    loop.run(start_ns + job.duration_ns)
    senders.sample(job.duration_ns)
    of_calls = _heard(calls) if calls else NO_CALLS
    receiver.add(of_calls.events)
    sent = Sent(
        streams=senders.outcomes(),
        info=senders.info(),
        lateness_ns=late.recv() if process else np.zeros(0, dtype=np.int64),
        start_lateness_ns=senders.lateness_ns(),
        events=senders.events(),
        frame_lateness_ns=of_calls.lateness_ns,
        unsent=of_calls.unsent,
    )
    received = Received(
        stream_bytes=receivers.bytes(),
        sampled_bytes=receivers.sampled(),
        datagrams=receiver.flows,
        sampled_datagrams=receiver.sampled,
        overruns=receiver.overruns(),
        wire=wire.rows() if wire else np.empty((0, 3), dtype=np.int64),
    )
    bed.send(HostOutcome(sent, received, of_calls.events))
    # connections stay open until the other side has ended, too: then the bed closes the pipe
    with contextlib.suppress(EOFError):
        bed.recv()


def _calls(job: HostJob) -> Connection | None:
    """A process of the calls' own, which is ready; None if there are none.

    It is told when the run starts, and tells in the end what happened.
    """
    if not (job.calls or job.arriving_calls):
        return None
    ours, its = multiprocessing.Pipe()

    def work() -> None:
        ends = Calls(job)
        its.send(READY)
        its.send(ends.run(its.recv()))

    multiprocessing.get_context("fork").Process(target=work, daemon=True).start()
    # if it fails, this is what is heard
    its.close()
    _heard(ours)
    return ours


def _heard(calls: Connection) -> Any:
    """What the calls' process tells."""
    try:
        return calls.recv()
    except EOFError:
        raise SluiceError("the process of the video calls ended") from None


def _sender_of_datagrams(
    job: HostJob, start_ns: int
) -> tuple[Connection, multiprocessing.process.BaseProcess | None]:
    """A process of its own, so that no connection makes a datagram late."""
    ours, its = multiprocessing.Pipe(duplex=False)
    if not len(job.datagrams.time_ns):
        return ours, None

    def work() -> None:
        its.send(datagrams.send(job, start_ns))

    # the child has this process's namespace; it ends with it
    process = multiprocessing.get_context("fork").Process(target=work, daemon=True)
    process.start()
    return ours, process
