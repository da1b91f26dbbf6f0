"""Compares the choices of `sluice advise` with an exhaustive grid on the same links.

`run` asks the command about six cases and times it with an empty store. It then runs every setting
of a grid that is finer and wider than the command's own, and judges the best of them and the choice
under fresh seeds. Fast links are judged once more on a link that is scaled down less. Each case is
kept as a line of `bench/advise.jsonl`, and each run in the store, so the command can be interrupted
and started again. `page` writes the tables into the page of the documentation.

    .venv/bin/python bench/advise.py run
    .venv/bin/python bench/advise.py page
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sluicegate.advice import Question, Recorded, question_of, settings
from sluicegate.advice.advice import PACKETS, simulated
from sluicegate.advice.runs import Runs
from sluicegate.advice.score import weights
from sluicegate.advice.settings import FAMILIES, Family, Setting
from sluicegate.estimate import Measure, paired, student
from sluicegate.report.text import measure_text
from sluicegate.scenario import Drr
from sluicegate.sweeps.workers import here_or_beside
from sluicegate.traffic import Capture

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "bench" / "advise.jsonl"
PAGE = ROOT / "docs" / "background" / "advise.md"
MARKERS = ("<!-- table: begin -->", "<!-- table: end -->")

CASES = {
    "gateway.pcap, 2 Mbit/s": ["captures/gateway.pcap", "--rate", "2M", "--rtt", "20..80ms"],
    "DSL upload, 2 Mbit/s": ["--upload", "2M", "--rtt", "20..80ms", "--flows", "1..10"],
    "cable, 20 Mbit/s": ["--download", "20M", "--rtt", "20..120ms", "--flows", "3..30"],
    "office, 100 Mbit/s": ["--rate", "100M", "--rtt", "10..100ms", "--flows", "5..100"],
    "campus, 1 Gbit/s": ["--rate", "1G", "--rtt", "10..80ms", "--flows", "50..500"],
    "backbone, 10 Gbit/s": ["--rate", "10G", "--rtt", "5..50ms", "--flows", "500..5000"],
}
# the grid's targets, as shares of the longest round trip, and its values of the second parameter
SHARES = tuple(float(share) for share in np.geomspace(1 / 64, 2, 10))
SECOND = {
    "red": (0.02, 0.1, 0.3, 1.0),
    "gentle_red": (0.02, 0.1, 0.3),
    "fred": (0.02, 0.1),
    "choke": (0.02, 0.1, 0.5),
    "codel": (0.25, 0.5, 1.0, 2.0),
    "fq_codel": (0.25, 0.5, 1.0, 2.0),
    "blue": (0.0025, 0.02),
    "avq": (0.98, 0.95, 0.9, 0.8),
}
# seeds of the grid, and of the judgement; the command's own seeds are 1 to 12
GRID, JUDGED = [101], list(range(201, 209))
BEST = 10
# fast links are judged again on a link with this many times the rate of the simulated one
LESS_SCALED = 5.0


def widen() -> None:
    """Add finer values to the families, and two families that the command does not have."""
    known: dict[str, Family] = FAMILIES  # type: ignore[assignment]
    for name, values in SECOND.items():
        known[name] = replace(known[name], second=(known[name].second[0], values))

    known["sred"] = Family("sred", "sred", lambda *_: {}, is_limit=True)
    known["drr"] = Family(
        "drr", "drop_tail", lambda *_: {}, scheduler=Drr(quantum_bytes=1514), is_limit=True
    )


def asked(words: Sequence[str]) -> tuple[dict[str, Any], float, float]:
    """Return the command's answer, and its wall and CPU time (s) with an empty store."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "advice.json"
        before, start_s = _cpu_s(), time.monotonic()
        subprocess.run(
            [
                *(sys.executable, "-m", "sluicegate", "advise", *words),
                *("--json", str(out), "--out", folder),
            ],
            check=True,
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            env=os.environ | {"SLUICE_RUNS": f"{folder}/runs"},
        )
        took_s, cpu_s = time.monotonic() - start_s, _cpu_s() - before
        return json.loads(out.read_text()), took_s, cpu_s


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def question(words: Sequence[str], answer: dict[str, Any]) -> Question:
    """Return the question that the command answered."""
    table = dict(answer["question"])
    table["rtts_s"], table["flows"] = tuple(table["rtts_s"]), tuple(table["flows"])
    found = Question(**table)
    if words[0].endswith(".pcap"):
        recorded = Recorded(Capture.read(ROOT / words[0]))
        expected = question_of(recorded, found.rate_bps, found.rtts_s)
        assert found == expected, (found, expected)
    return found


def make(runs: Runs, found: Sequence[Setting], seeds: Sequence[int], name: str) -> None:
    """Make the runs that are missing, on all cores."""

    def watch(_name: str, done: float, total: float, stage: str = "", /) -> None:
        if sys.stderr.isatty():
            print(f"\r{name}: {done:,.0f} of {total:,.0f}", end="", file=sys.stderr)

    keys = runs.missing(found, seeds)
    if keys:
        with here_or_beside(2) as workers:
            runs.make(keys, workers, watch, len(runs.measured) + len(keys))


def case(name: str, words: Sequence[str]) -> dict[str, Any]:
    """Ask the command, run the grid, judge both; return the case's line."""
    answer, took_s, cpu_s = asked(words)
    link = question(words, answer)
    rows = {row["setting"]: row for row in answer["settings"]}
    row = rows[answer["choice"]]
    choice = Setting(row["family"], row["target_s"], row["second"])
    factor, seconds = simulated(link, PACKETS)
    widen()
    runs = Runs(link.scaled(factor), seconds)
    grid = [each for each in settings(link, shares=SHARES) if each.is_possible(runs.link)]
    make(runs, grid, GRID, name)
    weight = weights(link.prefer)
    order = sorted(grid, key=lambda each: float(runs.scores(each, GRID, weight).mean()))
    found = judged(runs, choice, order[:BEST], JUDGED, link, name)
    told = {
        "case": name,
        "choice": choice.name,
        "factor": factor,
        "took_s": took_s,
        "cpu_s": cpu_s,
        "runs": answer["runs"],
        "grid": len(grid),
        "grid_runs": len(grid) * len(GRID) * len(runs.cases),
        **found,
    }
    if factor > 1:
        told["larger"] = less_scaled(link, factor, seconds, choice, order[: BEST // 2], name)
    return told


def less_scaled(
    link: Question,
    factor: float,
    seconds: float,
    choice: Setting,
    others: Sequence[Setting],
    name: str,
) -> dict[str, Any]:
    """Compare the choice with others on a link five times as fast as the simulated one.

    The link is not made faster than the real one.
    """
    runs = Runs(link.scaled(at_less(factor)), seconds)
    return judged(runs, choice, others, JUDGED, link, f"{name}, larger")


def at_less(factor: float) -> float:
    """Return the factor by which a link is scaled down in the second judgement."""
    return max(1.0, factor / LESS_SCALED)


def larger(name: str) -> None:
    """Judge a kept case on a link that is scaled down less, and add the result to its line."""
    rows = [json.loads(line) for line in KEPT.read_text().splitlines()]
    row = next(each for each in rows if each["case"] == name)
    answer, *_ = asked(CASES[name])
    link = question(CASES[name], answer)
    assert answer["choice"] == row["choice"], "the command chooses something else today"
    _, seconds = simulated(link, PACKETS)
    widen()
    known = {each.name: each for each in settings(link, shares=SHARES)}
    own = next(each for each in answer["settings"] if each["setting"] == answer["choice"])
    choice = Setting(own["family"], own["target_s"], own["second"])
    others = [known[each] for each in row["order"] if each in known][: BEST // 2]
    row["larger"] = less_scaled(link, row["factor"], seconds, choice, others, name)
    KEPT.write_text("".join(f"{json.dumps(each)}\n" for each in rows))


def judged(
    runs: Runs,
    choice: Setting,
    others: Sequence[Setting],
    seeds: Sequence[int],
    link: Question,
    name: str,
) -> dict[str, Any]:
    """Compare the choice with the best (least mean score) of others under fresh seeds."""
    make(runs, [choice, *others], seeds, name)
    scores = {each: runs.scores(each, seeds, weights(link.prefer)) for each in {choice, *others}}
    best = min(others, key=lambda each: float(scores[each].mean()))
    own, least = student(scores[choice]), student(scores[best])
    behind = paired(scores[choice], scores[best])
    assert behind is not None
    return {
        "score": [own.value, own.half_width],
        "best": best.name,
        "best_score": [least.value, least.half_width],
        "behind": [behind.value, behind.half_width],
        "order": [
            each.name for each in sorted(scores, key=lambda each: float(scores[each].mean()))
        ],
    }


def run(names: Sequence[str]) -> None:
    """Run the cases that are not kept yet."""
    kept = (
        [json.loads(line)["case"] for line in KEPT.read_text().splitlines()]
        if KEPT.exists()
        else []
    )
    for name in CASES:
        if name in kept or (names and not any(each in name for each in names)):
            continue
        # in a separate process, because the grid changes the families
        done = subprocess.run(
            [sys.executable, __file__, "case", name], check=True, stdout=subprocess.PIPE, text=True
        )
        with KEPT.open("a") as file:
            file.write(done.stdout)
        print(done.stdout, end="", flush=True)


def table() -> str:
    """Return the tables of the page."""
    rows = [json.loads(line) for line in KEPT.read_text().splitlines()]
    rows.sort(key=lambda row: list(CASES).index(row["case"]))
    lines = [
        "| case | choice | its score | best of the grid | its score | choice behind | "
        "settings of the grid | time, s (CPU) |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        cells = [
            row["case"],
            row["choice"],
            _text(row["score"]),
            row["best"],
            _text(row["best_score"]),
            _behind(row),
            f"{row['grid']}",
            f"{row['took_s']:.0f} ({row['cpu_s']:.0f})",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "| case | scaled down by | judged at | best there | choice behind |"]
    lines += ["| --- | --- | --- | --- | --- |"]
    for row in rows:
        if "larger" in row:
            cells = [
                row["case"],
                f"{row['factor']:.3g}",
                f"{at_less(row['factor']):.3g}",
                row["larger"]["best"],
                _behind(row["larger"]),
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _text(pair: Sequence[float]) -> str:
    return measure_text(Measure(pair[0], pair[1], ""))


def _behind(row: dict[str, Any]) -> str:
    value, half_width = row["behind"]
    within = "within" if value - half_width <= 0 else "**beyond**"
    return f"{_text(row['behind'])}, {within} ({value / row['best_score'][0]:+.1%})"


def page() -> None:
    """Write the tables into the page."""
    text = PAGE.read_text()
    before, _, rest = text.partition(MARKERS[0])
    after = rest.partition(MARKERS[1])[2]
    PAGE.write_text(f"{before}{MARKERS[0]}\n\n{table()}\n\n{MARKERS[1]}{after}")


def main() -> None:
    """Run, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "page", "case", "larger"])
    parser.add_argument("names", nargs="*", help="parts of the names of cases")
    given = parser.parse_args()
    if given.what == "run":
        run(given.names)
    elif given.what == "page":
        page()
    elif given.what == "larger":
        larger(given.names[0])
    else:
        print(json.dumps(case(given.names[0], CASES[given.names[0]])))


if __name__ == "__main__":
    main()
