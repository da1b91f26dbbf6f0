"""The clients or the servers: `python -m sluicegate.testbed.host`, in their namespace.

Says that it is there, reads a `HostJob`, says that it is ready, reads when the run starts, and
gives a `HostOutcome`.
"""

from __future__ import annotations

import multiprocessing
import pickle
import resource
import sys
from multiprocessing.connection import Connection

import numpy as np

from sluicegate.testbed import datagrams
from sluicegate.testbed.job import HostJob, HostOutcome, Received, Sent
from sluicegate.testbed.links import take_addresses
from sluicegate.testbed.loop import Loop
from sluicegate.testbed.streams import Receivers, Senders

READY = "ready"


def main() -> None:
    """Do a job."""
    _say(READY)
    job: HostJob = pickle.load(sys.stdin.buffer)
    take_addresses(job)
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    loop = Loop()
    senders, receivers = Senders(loop, job), Receivers(loop, job)
    receiver = datagrams.Receiver(loop, job)
    _say(READY)
    start_ns: int = pickle.load(sys.stdin.buffer)
    late, process = _sender_of_datagrams(job, start_ns)
    for part in (senders, receivers, receiver):
        part.begin(start_ns)
    loop.run(start_ns + job.duration_ns)
    senders.look(job.duration_ns)
    sent = Sent(
        streams=senders.outcomes(),
        info=senders.info(),
        lateness_ns=late.recv() if process else np.zeros(0, dtype=np.int64),
        start_lateness_ns=senders.lateness_ns(),
    )
    received = Received(
        stream_bytes=receivers.bytes,
        sampled_bytes=receivers.sampled,
        datagrams=receiver.flows,
        sampled_datagrams=receiver.sampled,
        overruns=receiver.overruns(),
    )
    _say(HostOutcome(sent, received))
    # connections stay as they are until the other side, too, has ended
    sys.stdin.buffer.read()


def _say(what: object) -> None:
    pickle.dump(what, sys.stdout.buffer)
    sys.stdout.buffer.flush()


def _sender_of_datagrams(
    job: HostJob, start_ns: int
) -> tuple[Connection, multiprocessing.process.BaseProcess | None]:
    """A process of its own, so that no connection makes a datagram late."""
    ours, its = multiprocessing.Pipe(duplex=False)
    if not len(job.datagrams.time_ns):
        return ours, None

    def work() -> None:
        its.send(datagrams.send(job, start_ns))

    # the child has this process's namespace
    process = multiprocessing.get_context("fork").Process(target=work, daemon=True)
    process.start()
    return ours, process


if __name__ == "__main__":
    main()
