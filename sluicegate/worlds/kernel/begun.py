"""When the transmissions of packets began that a qdisc keeps until these end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sluicegate.testbed.outcome import Seen
from sluicegate.worlds.kernel.seen import sources
from sluicegate.worlds.real.varying import Rates


def begun(seen: Seen, rates: Rates, start_ns: int) -> Seen:
    """The same, with packets that leave as their transmission begins, as from any other qdisc.

    The qdisc sees a change of the rate up to a millisecond late, so a time is off by as much. None
    is before the packet's arrival, nor before the end of the packet before it.

    Args:
        seen: What was seen of the link.
        rates: How the link's rate varies.
        start_ns: When the run started.
    """
    ended_ns = seen.left["time_ns"] - start_ns
    took_ns = rates.took_ns(ended_ns, seen.left["bytes"].astype(np.int64))
    earliest_ns = seen.came["time_ns"][sources(seen)]
    earliest_ns[1:] = np.maximum(earliest_ns[1:], seen.left["time_ns"][:-1])
    left = seen.left.copy()
    left["time_ns"] = np.maximum(seen.left["time_ns"] - took_ns, earliest_ns)
    return replace(seen, left=left)
