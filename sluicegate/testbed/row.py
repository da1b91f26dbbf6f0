"""What there is to do in a testbed with two routers in a row, and what came of it.

The first router is a process with a namespace of its own (`row_bed`). To the testbed, whose router
is the second one, it is what the clients are; to the clients, it is the testbed. Its links are
called as those of the other, `clients` and `servers`. All of this is apart from a testbed with one
router, whose runs in the laboratory are the same to the byte, whatever changes here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sluicegate.testbed.job import Job, QdiscJob, RouterJob
from sluicegate.testbed.outcome import HostOutcome, Seen

# names of the routers' namespaces, and of the ends of the links to the next one as `sluiced` takes
# them
FIRST, SECOND = "first", "second"
FAR_END_OF_FIRST, FAR_END_BACK = f"{SECOND}/clients", f"{FIRST}/servers"


@dataclass(frozen=True)
class First:
    """What the first router does.

    Attributes:
        router: The daemon, or qdiscs before its link `servers`.
        around: Places of the clients whose packets do not come to its queue.
    """

    router: RouterJob | QdiscJob
    around: Sequence[int]

    @property
    def marks_behind(self) -> bool:
        """Whether packets are marked behind its link, for which the second router has a name."""
        return isinstance(self.router, QdiscJob) and self.router.marks_behind


@dataclass(frozen=True)
class RowJob(Job):
    """A run with two routers; `router` is the second one.

    Attributes:
        first: The first one.
    """

    first: First


@dataclass(frozen=True)
class Behind(HostOutcome):
    """What came of the clients' job, and of the first router's.

    Attributes:
        router: As in `Outcome`.
        seen: Likewise.
    """

    router: str
    seen: Sequence[Seen] = field(default_factory=list)
