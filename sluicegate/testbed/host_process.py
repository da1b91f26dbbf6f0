"""The processes of a testbed's sides, as the bed starts, tells, hears and ends them."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from typing import Any

from sluicegate.errors import SluiceError
from sluicegate.testbed.host import main as main_of_host
from sluicegate.testbed.job import HostJob
from sluicegate.testbed.links import add_link, name_namespace


class HostProcess:
    """The process of a side, as the bed sees it."""

    def __init__(
        self, job: HostJob, work: Callable[..., None] = main_of_host, *given: object
    ) -> None:
        """Start it.

        Args:
            job: What there is to do at its side.
            work: What the process is: called with its end of the pipe to this one.
            *given: What `work` gets besides.
        """
        self.job = job
        self._host, bed = multiprocessing.Pipe()
        # a fork: it has loaded already what it needs
        context = multiprocessing.get_context("fork")
        self._process = context.Process(target=work, args=(bed, *given))
        self._process.start()
        bed.close()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def join(self) -> None:
        """Add the link between it and the router, and tell it what to do."""
        self.hear()
        add_link(self.job, self.pid)
        self.say(self.job)

    def name(self) -> None:
        """Give its namespace the name of its side."""
        name_namespace(self.job.side, self.pid)

    def say(self, what: object) -> None:
        """Tell it something."""
        self._host.send(what)

    def hear(self) -> Any:
        """What it says next.

        Raises:
            SluiceError: If it cannot do its job, or ends instead.
        """
        try:
            said = self._host.recv()
        except EOFError:
            self._process.join()
            code = self._process.exitcode
            raise SluiceError(f"the process of the {self.job.side} ended with {code}") from None
        if isinstance(said, SluiceError):
            raise said
        return said

    def end(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        self._process.join()
