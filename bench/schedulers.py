"""Packets per second of CPU time with each scheduled discipline, beside FQ-CoDel in one run.

    .venv/bin/python bench/schedulers.py

Forty flows of datagrams, of four codepoints, offer 5 % more than a link of 100 Mbit/s takes, in the
network world, on one thread. Disciplines are run in turns, so that other load affects all. Each is
run at two lengths and the difference is taken, so what a run needs once is not counted. Time is
user CPU time; the ratio to FQ-CoDel's is of the same turn. Prints a table in Markdown.
"""

from __future__ import annotations

import resource
from typing import Any

import sluicegate as sg
from sluicegate import network
from sluicegate.estimate import student
from sluicegate.report.text import measure_text

REFERENCE = "FQ-CoDel"
RATE_BPS = 100e6
SHORT_S, LONG_S, TURNS = 1.0, 41.0, 8
# DSCP, share of the link, codepoint of ECN, bytes
_GROUPS = [(0, 0.5, 0, 1500), (10, 0.25, 0, 1000), (34, 0.2, 1, 1500), (46, 0.1, 0, 200)]
_CLASSES: list[dict[str, Any]] = [
    {"dscp": [46], "aqm": "drop_tail"},
    {"dscp": [10], "aqm": "red"},
    {"aqm": "codel"},
]
_SHARES = [_CLASSES[0], *({**each, "quantum_bytes": 3000} for each in _CLASSES[1:])]
_FQ = {"scheduler": {"kind": "fq"}}
_LINUX_PIE = {"aqm": "pie", "params": {"like": "linux", "delay": "timestamps"}}
_CAKE: dict[str, Any] = {"aqm": "cake", "victim": "front"}
DISCIPLINES: dict[str, dict[str, Any]] = {
    REFERENCE: {"aqm": "codel", **_FQ},
    "drop-tail": {"aqm": "drop_tail"},
    "CoDel": {"aqm": "codel"},
    "COBALT": {"aqm": "cobalt"},
    "PIE": _LINUX_PIE,
    "SFB": {"aqm": "sfb"},
    "GRED": {"aqm": "gred"},
    "RIO": {"aqm": "rio"},
    "WRED": {"aqm": "wred"},
    "step": {"aqm": "step"},
    "PI2": {"aqm": "pi2"},
    "strict priority": {"aqm": "drop_tail", "scheduler": {"kind": "prio"}, "classes": _CLASSES},
    "ETS": {"aqm": "drop_tail", "scheduler": {"kind": "ets"}, "classes": _SHARES},
    "DualPI2": {"aqm": "dualpi2"},
    "FQ-PIE": {**_LINUX_PIE, **_FQ},
    "CAKE without a rate": {**_CAKE, "params": {"diffserv": "diffserv4"}},
    "CAKE at 95 Mbit/s": {**_CAKE, "params": {"diffserv": "diffserv4", "rate_bps": 95e6}},
}


def scenario(discipline: dict[str, Any], duration_s: float) -> sg.scenario.NetworkScenario:
    """The link with a discipline before it."""
    count = 10
    flows = [
        {
            "kind": "datagrams",
            "count": count,
            "dscp": dscp,
            "ecn": bool(ecn),
            "ect1": bool(ecn),
            "gaps": "exponential",
            "rate_bps": share * RATE_BPS / count,
            "packet_bytes": packet_bytes,
        }
        for dscp, share, ecn, packet_bytes in _GROUPS
    ]
    return network.NetworkScenario.parse(
        {
            "topology": {"kind": "dumbbell", "rate_bps": RATE_BPS},
            "flows": flows,
            "queue": {"limit": 300, "ecn": True},
            "disciplines": [discipline],
            "duration_s": duration_s,
            "warm_up_s": 0.0,
            "replications": 1,
        }
    )


def packets(discipline: dict[str, Any], duration_s: float) -> float:
    """Run once; return how many packets come to the link in this time, in the mean."""
    network.simulate(scenario(discipline, duration_s), threads=1, fresh=True)
    return duration_s * sum(share * RATE_BPS / 8 / size for _, share, _, size in _GROUPS)


def timed(discipline: dict[str, Any], duration_s: float) -> tuple[float, float]:
    """Packets of a run, and its user CPU time, s."""
    before_s = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    count = packets(discipline, duration_s)
    return count, resource.getrusage(resource.RUSAGE_SELF).ru_utime - before_s


def speed(discipline: dict[str, Any]) -> float:
    """Packets per second of user CPU time."""
    less, short_s = timed(discipline, SHORT_S)
    more, long_s = timed(discipline, LONG_S)
    return (more - less) / (long_s - short_s)


def main() -> None:
    """Time, and print a table."""
    turns = [{name: speed(each) for name, each in DISCIPLINES.items()} for _ in range(TURNS + 1)]
    # the first turn warms up
    del turns[0]
    print("| discipline | million packets per CPU second | over FQ-CoDel's |")
    print("|---|---:|---:|")
    for name in DISCIPLINES:
        own = student([turn[name] for turn in turns]).times(1e-6)
        ratio = student([turn[name] / turn[REFERENCE] for turn in turns])
        print(f"| {name} | {measure_text(own, digits=3)} | {measure_text(ratio, digits=3)} |")


if __name__ == "__main__":
    main()
