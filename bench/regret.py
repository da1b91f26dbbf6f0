"""Regret of every AQM of the registry on six sources, and of the rows of two papers' tables.

`python bench/regret.py run` measures what `bench/regret.jsonl` has not; with `page` it
writes the tables into docs/background/regret.md. `make regret` does both.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import sluicegate as sg
from sluicegate.errors import SluiceError
from sluicegate.estimate import Measure, student
from sluicegate.frontier.admission import admission
from sluicegate.frontier.clairvoyant import clairvoyant
from sluicegate.frontier.classes import Classes
from sluicegate.frontier.front import Front
from sluicegate.frontier.objectives import pair
from sluicegate.frontier.places import late_share
from sluicegate.frontier.source import of_scenario
from sluicegate.papers import model
from sluicegate.papers.drop_from_front import tables
from sluicegate.papers.redwm import setting
from sluicegate.report.text import measure_text

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "bench" / "regret.jsonl"
PAGE = ROOT / "docs" / "background" / "regret.md"
_SLOTS, _RUNS = 500_000, 8
_LIMIT, _DEADLINE = 40, 10
_CLASSES = Classes(share=0.3, weight=3)
_RED = {"min_th": 2, "max_th": 8, "w": 0.07}
# no source sets a codepoint: all packets are of the level `others`, the third
_LEVEL = {"min_th_3": 2, "max_th_3": 8, "max_p_3": 0.5, "w": 0.07}
# by name; others have their defaults. All aim at a queue of about 4 packets
_PARAMS: dict[str, dict[str, Any]] = {
    "red": {**_RED, "max_p": 0.5},
    "gentle_red": {**_RED, "max_p": 0.5},
    "dsred": _RED,
    "nlred": {**_RED, "max_p": 0.5},
    "redwm": {"min_th": 2, "max_th": 8, "max_p": 0.5},
    "lpf_oda": {**_RED, "max_p": 0.5},
    "ared": _RED,
    "self_configuring_red": _RED,
    "choke": {**_RED, "max_p": 0.5},
    "fred": {"min_th": 2, "max_th": 8, "w": 0.07, "max_p": 0.5},
    "pi": {"q_ref": 4, "a": 1.822e-3, "b": 1.816e-3},
    "rem": {"q_ref": 4},
    "lred": {"q_ref": 4},
    "pie": {"target": 0.005},
    "pi2": {"target": 0.005},
    "sfb": {"bin_size": 4, "bin_max": 5},
    "gred": _LEVEL,
    "rio": _LEVEL,
    "wred": _LEVEL,
    "step": {"of": "packets", "threshold_packets": 4},
}
_GEOMETRIC = {
    "independent": sg.GeometricArrivals(rate=0.4),
    "near saturation": sg.GeometricArrivals(rate=0.49),
    "self-similar": sg.SelfSimilarArrivals(rate=0.4, a=31, states=5),
    "on-off": sg.SelfSimilarArrivals(rate=0.4, a=31, states=2),
}
_SOURCES = [*_GEOMETRIC, "two classes", "a recording"]


def disciplines() -> list[sg.Discipline]:
    """Every AQM of the registry; coupled disciplines judge lanes, not one queue."""
    names = [name for name, aqm in sg.aqms().items() if not aqm.coupled]
    return [sg.Discipline(aqm=name, params=_PARAMS.get(name, {}), label=name) for name in names]


def slotted(arrivals: Any, *, seed: int = 1) -> sg.Scenario:
    """The queue of the table."""
    return sg.Scenario(
        arrivals=arrivals,
        service=sg.GeometricService(mu=0.5),
        queue=sg.Queue(limit=_LIMIT),
        disciplines=[sg.Discipline(aqm="drop_tail")],
        slots=_SLOTS,
        replications=1,
        seed=seed,
    )


# --- the table of sources ---


def best(source: str) -> dict[str, Front]:
    """The fronts with which a source's AQMs are compared."""
    own = _GEOMETRIC.get(source, _GEOMETRIC["near saturation"])
    process = of_scenario(slotted(own))
    if source == "two classes":
        both = admission(process, _LIMIT, classes=_CLASSES)
        return {"loss": Front(both, pair("queue", "weighted"), corners=2)}
    return {
        "loss": Front(admission(process, _LIMIT), pair("queue", "loss"), corners=2),
        "in_time": Front(admission(process, _LIMIT, _DEADLINE), pair("loss", "in_time"), corners=2),
    }


def measure_source(source: str, names: list[str]) -> Iterator[dict[str, Any]]:
    """A line for each AQM on a source: queue, loss and share in time of each run."""
    if source == "a recording":
        gateway = sg.load(ROOT / "scenarios" / "gateway.toml")
        chosen = [each for each in disciplines() if each.name in names]
        for place in clairvoyant(gateway.replace(disciplines=chosen), 4999).places:
            regret = {"in_time_regret": [place.regret.value]}
            yield {"source": source, "aqm": place.name, **regret, "loss": [place.loss.value]}
        return
    own = _GEOMETRIC.get(source, _GEOMETRIC["near saturation"])
    for discipline in disciplines():
        if discipline.name not in names:
            continue
        runs: dict[str, list[float]] = {"queue": [], "loss": [], "in_time": []}
        for seed in range(1, _RUNS + 1):
            record = sg.simulate(slotted(own, seed=seed), discipline)
            loss = record["loss_ratio"].value
            runs["queue"].append(record["queue_mean"].value)
            runs["loss"].append(loss)
            runs["in_time"].append((1 - loss) * (1 - late_share(record, _DEADLINE, 1.0)))
        yield {"source": source, "aqm": discipline.name, **runs}


def judged(source: str, lines: list[dict[str, Any]]) -> None:
    """Add the regrets to the lines of a source."""
    fronts = best(source)
    for line in lines:
        line["loss_regret"] = regrets(fronts["loss"], line["queue"], line["loss"])
        if "in_time" in fronts:
            top = max(corner.y for corner in fronts["in_time"].corners)
            line["in_time_regret"] = [top - value for value in line["in_time"]]


def regrets(front: Front, across: list[float], up: list[float]) -> list[float]:
    """What the best would have saved in each run, along the tangent at the runs' mean."""
    x, y = np.array(across), np.array(up)
    try:
        point = front.at(float(x.mean()))
    except SluiceError:
        return [math.nan] * len(x)
    slope = 0.0 if math.isnan(point.slope) or point.is_corner else point.slope
    found: list[float] = (y - point.y - slope * (x - x.mean())).tolist()
    return found


# --- the papers' tables ---


def paper_rows() -> Iterator[tuple[str, str, sg.Scenario]]:
    """Paper, row, and scenario."""
    sources = {
        "geometric": model.GEOMETRIC,
        "self-similar": sg.SelfSimilarArrivals(rate=model.RATE, a=31, states=5),
    }
    for case in tables.published():
        arrivals = sources[case.source]
        yield (
            "drop-from-front",
            case.name,
            model.scenario(arrivals, case.mu, case.discipline("tail"), 1_000_000, replications=1),
        )
    for row in setting.published():
        yield (
            "REDwM",
            f"{row.name}, mu {row.mu:g}",
            model.scenario(
                model.GEOMETRIC, row.mu, row.discipline(setting.DRAWN), 1_000_000, replications=1
            ),
        )


def measure_papers(known: set[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    """A line for each row: queue and loss of our runs."""
    for paper, row, scenario in paper_rows():
        if (paper, row) in known:
            continue
        (discipline,) = scenario.disciplines
        runs = [
            sg.simulate(scenario.replace(seed=seed), discipline) for seed in range(1, _RUNS + 1)
        ]
        yield {
            "source": paper,
            "aqm": row,
            "queue": [record["queue_mean"].value for record in runs],
            "loss": [record["loss_ratio"].value for record in runs],
        }


def judged_papers(lines: dict[tuple[str, str], dict[str, Any]]) -> None:
    """Add what the best loses at each row's queue, and its queue at the row's loss."""
    fronts: dict[str, Front] = {}
    for paper, row, scenario in paper_rows():
        line = lines[paper, row]
        key = repr((scenario.arrivals, scenario.service))
        if key not in fronts:
            process = admission(of_scenario(scenario), 250)
            fronts[key] = Front(process, pair("queue", "loss"), corners=2)
        line["loss_regret"] = regrets(fronts[key], line["queue"], line["loss"])
        try:
            line["best_queue"] = fronts[key].where(float(np.mean(line["loss"]))).x
        except SluiceError:
            line["best_queue"] = math.nan


# --- what is kept, and the page ---


def kept() -> list[dict[str, Any]]:
    """All lines."""
    return [json.loads(line) for line in KEPT.read_text().splitlines()] if KEPT.exists() else []


def run() -> None:
    """Measure what is missing."""
    known = {(line["source"], line["aqm"]) for line in kept()}
    with KEPT.open("a") as file:

        def keep(lines: Iterator[dict[str, Any]]) -> None:
            for line in lines:
                file.write(json.dumps(line) + "\n")
                file.flush()
                print(line["source"], line["aqm"], flush=True)

        for source in _SOURCES:
            names = [n for n in (d.name for d in disciplines()) if (source, n) not in known]
            if names:
                keep(measure_source(source, names))
        keep(measure_papers(known))


def page() -> None:
    """Write the tables into the page."""
    text = PAGE.read_text()
    lines = {(line["source"], line["aqm"]): line for line in kept()}
    for source in _SOURCES[:-1]:
        judged(source, [line for line in lines.values() if line["source"] == source])
    judged_papers(lines)
    parts = {
        "loss": _table(lines, "loss_regret", [s for s in _SOURCES if s != "a recording"]),
        "in time": _table(lines, "in_time_regret", [s for s in _SOURCES if s != "two classes"]),
        "drop-from-front": _paper(lines, "drop-from-front"),
        "REDwM": _paper(lines, "REDwM"),
    }
    for name, table in parts.items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, after = text.partition(begin)[0], text.partition(end)[2]
        text = f"{before}{begin}\n\n" + "\n".join(table) + f"\n\n{end}{after}"
    PAGE.write_text(text)


def _table(lines: dict[tuple[str, str], Any], measure: str, sources: list[str]) -> list[str]:
    rows = [f"| AQM | {' | '.join(sources)} |", f"|---|{'---:|' * len(sources)}"]
    for discipline in disciplines():
        cells = [_cell(lines.get((source, discipline.name)), measure) for source in sources]
        rows.append(f"| {discipline.name} | {' | '.join(cells)} |")
    return rows


def _cell(line: dict[str, Any] | None, measure: str) -> str:
    if line is None:
        return ""
    return measure_text(_measure(line[measure]).times(100), digits=3)


def _measure(values: list[float]) -> Measure:
    return student(np.array(values), "") if len(values) > 1 else Measure(values[0], None, "")


def _paper(lines: dict[tuple[str, str], Any], paper: str) -> list[str]:
    rows = [
        "| row | queue | lost (%) | regret: lost at this queue (%) | least queue at this loss | "
        "of the possible (%) |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for (source, row), line in lines.items():
        if source != paper:
            continue
        queue, loss = _measure(line["queue"]), _measure(line["loss"])
        regret = _measure(line["loss_regret"]).times(100)
        best_queue = line["best_queue"]
        known = not math.isnan(best_queue)
        cells = [
            measure_text(queue, digits=4),
            measure_text(loss.times(100), digits=4),
            measure_text(regret, digits=3),
            f"{best_queue:.4g}" if known else "-",
            f"{100 * best_queue / queue.value:.3g}" if known else "-",
        ]
        rows.append(f"| {row} | {' | '.join(cells)} |")
    return rows


if __name__ == "__main__":
    if sys.argv[1:] not in (["run"], ["page"]):
        sys.exit("usage: bench/regret.py run | page")
    run() if sys.argv[1] == "run" else page()
