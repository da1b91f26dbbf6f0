"""A short path, and disciplines, for tests of evaluations."""

from dataclasses import replace

import sluicegate as sg
from sluicegate.evaluate import PROFILES

DROP_TAIL, CODEL = sg.Discipline(aqm="drop_tail"), sg.Discipline(aqm="codel")
# a short path: runs of milliseconds
BRIEF = replace(
    PROFILES["default"],
    name="brief",
    rate_bps=2e6,
    reverse_rate_bps=2e6,
    rtt_s=0.02,
    buffer_s=0.1,
    duration_s=3.0,
    warm_up_s=1.0,
    phase_s=0.5,
    replications=3,
)
