"""What a discipline costs, and what an operator can set (RFC 7928, sections 11 and 12)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from sluicegate.evaluate.evaluation import Evaluation
from sluicegate.registry import Aqm, Param
from sluicegate.scenario import Discipline

_NOTHING = "n/a"
# parameters that an AQM changes while it works: what an operator gives is where it starts from, or
# is scaled. Of all others of the package none does
TUNED: dict[str, Sequence[str]] = {
    # max_p, until the average is half-way between the thresholds (Floyd et al. 2001)
    "ared": ("max_p",),
    # max_p, whenever the average leaves the range of the thresholds (Feng et al. 1999)
    "self_configuring_red": ("max_p",),
    # both gains are scaled by the probability (RFC 8033, section 4.2)
    "pie": ("alpha", "beta"),
    # slow tins have longer ones (Linux, sch_cake.c: cake_set_rate)
    "cake": ("target", "rtt"),
}

COST_HEADER = [
    *("discipline", "called at", "timer"),
    *("state of a queue (bytes)", "config (bytes)"),
    *("instructions per packet", "instructions per tick"),
]
COST_CAPTION = (
    "Section 11. State and calls are those of the header. Instructions are those of the AQM alone, "
    "without the queue: its calls for a packet, as `cc -O2` compiles them for x86-64, counted by "
    "valgrind on the calls of aqm/vectors/. n/a: not counted, as for headers of your own, Python "
    "classes, and disciplines with queues of their own. A tick is a timer."
)
CONTROL_HEADER = ["discipline", "parameter", "value", "range", "what it is", "who sets it"]
CONTROL_CAPTION = (
    "Section 12: every parameter that has an effect here; all are exposed, and what is not listed "
    "is fixed in the header. Itself: the AQM changes it while it works, from this value on. sluice "
    "stability says whether the queue oscillates, for the AQMs that it knows."
)


@cache
def _counted() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(
        (Path(__file__).parent / "costs.json").read_text()
    )
    return found


def cost_rows(found: Evaluation) -> list[list[str]]:
    """A row for each discipline."""
    return [_cost(each) for each in found.plan.disciplines]


def _cost(discipline: Discipline) -> list[str]:
    aqm = discipline.configured
    if not isinstance(aqm, Aqm):
        return [discipline.name, "a Python class", *[_NOTHING] * 5]
    of = aqm.of
    # a user's header may have the name of an AQM of the package
    counted = {} if of.library else _counted().get(of.name, {})
    return [
        discipline.name,
        ", ".join(of.functions),
        "yes" if "tick" in of.functions else "none",
        str(of.state_bytes),
        str(of.config_bytes),
        str(counted.get("per_packet", _NOTHING)),
        str(counted.get("per_tick", _NOTHING)) if "tick" in of.functions else "none",
    ]


def control_rows(found: Evaluation) -> list[list[str]]:
    """A row for each parameter of each discipline that has an effect."""
    rows = []
    for discipline in found.plan.disciplines:
        aqm = discipline.configured
        if isinstance(aqm, Aqm):
            tuned = () if aqm.of.library else TUNED.get(aqm.of.name, ())
            rows += [
                [
                    discipline.name,
                    param.name,
                    _value(param, aqm.params[param.name]),
                    param.range,
                    param.help,
                    "itself" if param.name in tuned else "operator",
                ]
                for param in aqm.of.params
                if aqm.of.applies(param, aqm.params)
            ]
    return rows


def _value(param: Param, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    shown = f"{value:g}" if isinstance(value, int | float) else str(value)
    return f"{shown} {param.unit}".rstrip()
