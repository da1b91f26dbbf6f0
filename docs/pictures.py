"""Pictures of the catalogue, drawn from what the engine does: a run of each, and drop functions."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import sluicegate as sg
from sluicegate.registry import schedulers
from sluicegate.report.drop_functions import drop_function_figure
from sluicegate.report.figure import Figure
from sluicegate.scenario import NetworkScenario
from sluicegate.worlds.network.record import NetworkRecord
from sluicegate.worlds.network.series import queue_series_figure
from sluicegate.worlds.network.simulate import simulate

_LIMIT, _SECONDS = 250, 20.0
# senders of L4S, and of a marker, for the AQMs that tell them apart
_TCP = {"like": "linux", "congestion_control": "cubic"}
_CUBIC = [{"kind": "tcp", "count": 10, "tcp": _TCP | {"ecn": True}}]
_PRAGUE = _TCP | {"congestion_control": "prague", "ecn": True, "accurate_ecn": True}
_L4S = [{"kind": "tcp", "count": 5, "tcp": tcp} for tcp in (_TCP, _PRAGUE)]
_LEVELS = [{"kind": "tcp", "count": 5, "tcp": _TCP, "dscp": dscp} for dscp in (10, 14)]
_FLOWS = {
    **dict.fromkeys(("step", "pi2", "dualpi2"), ("5 of CUBIC and 5 of Prague", _L4S)),
    **dict.fromkeys(("gred", "rio", "wred"), ("5 of CUBIC in AF11 and 5 in AF13", _LEVELS)),
}
_USUAL = ("10 of CUBIC", _CUBIC)
# groups of datagrams that ask for more than the link, 10 Mbit/s, has: rate, bytes, DSCP
_GROUPS = {"EF": (1e6, 200, 46), "AF11": (4e6, 1500, 10), "best-effort": (9e6, 1500, 0)}
_CLASSES = [{"dscp": [46]}, {"dscp": [10]}, {}]


def write(name: str, folder: Path) -> list[tuple[str, str]]:
    """Draw an AQM or a scheduler; the files below `folder`, each with its caption."""
    drawn = _of_scheduler(name) if name in schedulers() else _of_aqm(name)
    found = []
    for place, (figure, caption) in enumerate(drawn):
        file = f"{name}-{place}.svg"
        figure.savefig(folder / file)
        found.append((file, caption))
    return found


def _of_aqm(name: str) -> list[tuple[Figure, str]]:
    flows, _ = _FLOWS.get(name, _USUAL)
    caption = (
        f"The queue before a link of 10 Mbit/s with TCP flows, {flows}, and base round trips of 20 "
        f"to 60 ms; defaults, a buffer of {_LIMIT} packets."
    )
    records = [_run(flows, each) for each in dict.fromkeys(("drop_tail", name))]
    found = [(queue_series_figure(records), caption)]
    curve = drop_function_figure({name: sg.aqm(name)})
    return found if curve is None else [*found, (curve, "Its drop function, with its defaults.")]


@cache
def _run(flows: str, name: str) -> NetworkRecord:
    """A run of one AQM with the flows of that description."""
    groups = next(own for told, own in (*_FLOWS.values(), _USUAL) if told == flows)
    victim = "front" if name == "cake" else "tail"
    return _simulated(groups, {"aqm": name, "label": name, "victim": victim, "ecn": True})


def _simulated(flows: list[dict[str, Any]], discipline: dict[str, Any]) -> NetworkRecord:
    scenario = NetworkScenario.parse(
        {
            "topology": {
                "kind": "dumbbell",
                "rate_bps": 10e6,
                "client_delays_s": [0.002, 0.007, 0.012, 0.017, 0.022],
            },
            "flows": flows,
            "queue": {"limit": _LIMIT},
            "disciplines": [discipline],
            "duration_s": _SECONDS,
            "warm_up_s": 2.0,
            "sample_s": 0.02,
            "replications": 1,
        }
    )
    return simulate(scenario)


def _of_scheduler(name: str) -> list[tuple[Figure, str]]:
    """What comes through of each group, beside what came in and what one queue lets through."""
    flows = [
        {"kind": "datagrams", "label": label, "rate_bps": rate, "packet_bytes": size, "dscp": dscp}
        for label, (rate, size, dscp) in _GROUPS.items()
    ]
    scheduler: dict[str, Any] = {"aqm": "drop_tail", "scheduler": {"kind": name}}
    by_classes = {param.name for param in schedulers()[name].params if param.when == "classes"}
    if by_classes:
        scheduler["classes"] = _CLASSES
    if "strict" in by_classes:
        # strict, then two that share three to one
        quanta = [{}, {"quantum_bytes": 4500}, {"quantum_bytes": 1500}]
        scheduler["classes"] = [a | b for a, b in zip(_CLASSES, quanta, strict=True)]
    alone = _simulated(flows, {"aqm": "drop_tail"})
    runs = {"one queue": alone, name: _simulated(flows, scheduler)}
    figure = Figure(figsize=(6.5, 2.6), layout="constrained")
    ax = figure.subplots()
    columns = {"sent": [rate / 1e6 for rate, _, _ in _GROUPS.values()]}
    for told, record in runs.items():
        columns[told] = [record[f"{label}.goodput_bps"].value / 1e6 for label in _GROUPS]
    for place, (told, heights) in enumerate(columns.items()):
        ax.bar(np.arange(len(_GROUPS)) + 0.27 * (place - 1), heights, 0.25, label=told)
    ax.set_xticks(range(len(_GROUPS)), list(_GROUPS))
    ax.set_ylabel("Mbit/s")
    ax.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False)
    caption = (
        "Three streams of datagrams that do not react, 14 Mbit/s together, before a link of 10 "
        "Mbit/s: what is sent, and what comes through."
    )
    return [(figure, caption)]
