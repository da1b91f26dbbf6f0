"""What people feel of the applications of a real run, counted by the network world's own code."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from sluicegate._engine import Applications, ClassCounts
from sluicegate.testbed.applications import applications
from sluicegate.testbed.job import Drawn
from sluicegate.testbed.outcome import FRAME, SENT, SHOWN, SUPPLIED, Outcome


def felt(drawn: Drawn | None, outcome: Outcome, cuts_ns: Sequence[int]) -> list[list[ClassCounts]]:
    """What was counted of each class of flows up to each of some times, since the one before.

    The hosts' applications did what these do again when they are told the same; so the counts begin
    and end where those of the network world do.

    Args:
        drawn: From what the hosts drew them; None if there were none.
        outcome: Of the testbed.
        cuts_ns: The times, since the start of the run, rising; the last one is its end.
    """
    if drawn is None:
        return [[] for _ in cuts_ns]
    told = applications(drawn)
    calls = np.concatenate([host.calls for host in outcome.hosts])
    calls = calls[np.argsort(calls[:, 0], kind="stable")]
    start = 0
    # each application over TCP is on one side
    left = [deque(host.sent.events.tolist()) for host in outcome.hosts]
    found = []
    for cut_ns in cuts_ns:
        for events in left:
            while events and events[0][0] < cut_ns:
                time_ns, flow, what = events.popleft()
                if what == SUPPLIED:
                    told.supply(flow, time_ns)
                else:
                    told.arrived(flow, time_ns)
        end = int(np.searchsorted(calls[:, 0], cut_ns))
        for row in calls[start:end].tolist():
            _pass_on(told, *row)
        start = end
        found.append(told.take(cut_ns, cut_ns == cuts_ns[-1]))
    return found


def _pass_on(told: Applications, time_ns: int, call: int, what: int, *values: int) -> None:
    """What happened to a call."""
    if what == FRAME:
        told.make_frame(call, time_ns)
    elif what == SENT:
        told.send_video(call, time_ns)
    elif what == SHOWN:
        told.count_arrival(call, time_ns, values[0])
    else:
        highest, arrived_ns, received, marked = values
        told.learn(call, time_ns, (highest, arrived_ns, received, marked))
