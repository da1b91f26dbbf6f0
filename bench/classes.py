"""Differentiated service: LRED in the classes beside RED, for `docs/guides/classes.md`.

Prints the page's table: `python bench/classes.py`. Ten seeds; a few minutes.
"""

from __future__ import annotations

from typing import Any

from sluicegate import network

# the link, the buffer and the senders of the guide; flows of three classes, all TCP
_BASE: dict[str, Any] = {
    "title": "Differentiated service",
    "topology": {
        "kind": "dumbbell",
        "rate_bps": 10e6,
        "client_delays_s": [0.02, 0.04, 0.06],
    },
    "queue": {"limit": 300},
    "flows": [
        {"kind": "tcp", "label": label, "count": count, "dscp": dscp, "spread_s": 10.0}
        for label, count, dscp in [("gold", 6, 10), ("silver", 12, 18), ("rest", 24, 0)]
    ],
    "duration_s": 100.0,
    "replications": 10,
}
_LRED: dict[str, Any] = {"aqm": "lred", "params": {"q_ref": 30, "beta": 0.01}}
_RED: dict[str, Any] = {"aqm": "red", "params": {"min_th": 15, "max_th": 45, "max_p": 0.1}}
_QUANTA = {"gold": 6000, "silver": 3000, "rest": 1500}
# committed rates, in one queue: packets within them are AF11, those beyond AF12 or AF13
_COMMITTED_BPS = {"gold": 5e6, "silver": 2.5e6, "rest": 1.25e6}
_RIO: dict[str, Any] = {"aqm": "rio", "label": "RIO, markers"}
_CLASSES = [{"dscp": [10]}, {"dscp": [18]}, {}]


def _disciplines() -> list[dict[str, Any]]:
    """Each AQM in one queue, in the classes of ETS, and in those of strict priority."""
    shares = [
        {**own, "quantum_bytes": quantum}
        for own, quantum in zip(_CLASSES, _QUANTA.values(), strict=True)
    ]
    found = []
    for aqm in (_LRED, _RED):
        name = aqm["aqm"].upper()
        found += [
            {**aqm, "label": f"{name}, one queue"},
            {**aqm, "label": f"{name}, ETS", "scheduler": {"kind": "ets"}, "classes": shares},
            {**aqm, "label": f"{name}, prio", "scheduler": {"kind": "prio"}, "classes": _CLASSES},
        ]
    # the paper's gain, for a queue of 100 packets: it corrects too little where few packets come
    slow = {**_LRED, "params": {"q_ref": 30}}
    return [*found, {**found[1], **slow, "label": "LRED, ETS, beta = 0.001"}]


def _marked() -> dict[str, Any]:
    """The scenario, whose groups have markers in place of classes."""
    flows = [
        {
            **group,
            "dscp": 10,
            "marker": {
                "kind": "srtcm",
                "cir_bps": _COMMITTED_BPS[group["label"]],
                "cbs_bytes": 15000,
                "ebs_bytes": 15000,
            },
        }
        for group in _BASE["flows"]
    ]
    return {**_BASE, "flows": flows}


def main() -> None:
    """Print the table, with 95 % intervals."""
    print("| discipline | class | sojourn (ms) | loss (%) | goodput (Mbit/s) |")
    print("| --- | --- | --- | --- | --- |")
    runs = [(_BASE, each) for each in _disciplines()] + [(_marked(), _RIO)]
    for base, discipline in runs:
        record = network.simulate(
            network.NetworkScenario.parse({**base, "disciplines": [discipline]})
        )
        for label in _QUANTA:
            cells = [
                _cell(record, f"{label}.{measure}", scale)
                for measure, scale in [
                    ("sojourn_mean", 1e3),
                    ("loss_ratio", 1e2),
                    ("goodput_bps", 1e-6),
                ]
            ]
            print(f"| {discipline['label']} | {label} | {' | '.join(cells)} |")


def _cell(record: network.NetworkRecord, name: str, scale: float) -> str:
    measure = record.measures.get(name)
    if measure is None:
        return "none sent"
    if measure.bound is not None:
        sign = "<" if measure.bound >= measure.value else ">"
        return f"{sign} {measure.bound * scale:.2f}"
    if measure.half_width is None:
        return f"{measure.value * scale:.2f} (no interval)"
    return f"{measure.value * scale:.2f} ± {measure.half_width * scale:.2f}"


if __name__ == "__main__":
    main()
