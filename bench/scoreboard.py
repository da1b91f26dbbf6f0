"""Makes the scoreboard of docs/background/scoreboard.md: its table, and docs/images/scoreboard.png.

    .venv/bin/python bench/scoreboard.py FOLDER [REPLICATIONS]

FOLDER keeps the runs of each profile; what it does not have is made first.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from matplotlib.axes import Axes

from sluicegate.cli.evaluate import disciplines
from sluicegate.errors import SluiceError
from sluicegate.evaluate import Evaluation, evaluate
from sluicegate.evaluate.plan import DROP_TAIL
from sluicegate.evaluate.short import sections_beside
from sluicegate.evaluate.suite import RFC7928, case_named
from sluicegate.evaluate.words import section_word, text
from sluicegate.registry import aqms
from sluicegate.report.figure import Figure
from sluicegate.report.plots import GREY, plain_ticks

PROFILES = ("default", "home")
REPLICATIONS = 3
# section 8.3 changes the parameters
SECTIONS = [each for each in RFC7928.sections if each != "8.3"]
# what has schedulers, queues or marks of its own; all others have their defaults
GIVEN = {
    "cake": "cake:ecn=true,victim=front",
    "dualpi2": "dualpi2:ecn=true",
    "fq_codel": "codel:label=fq_codel,victim=front,scheduler=fq",
    "fq_pie": "pie:label=fq_pie,like=linux,delay=timestamps,scheduler=fq",
}
# a section counts as one that a discipline does best only if it keeps this share of the goodput
KEPT = 0.98
VERDICTS = ("better", "a trade", "worse", "no difference")
MEASURES = {"queueing_delay": "queueing delay", "goodput_bps": "goodput"}
# what people feel in the mix of section 9.1
MIX = "9-1"
FELT = {"voice.mos": "MOS", "web.page_mean": "page (ms)", "rpm": "RPM"}
PICTURE = Path(__file__).parent.parent / "docs" / "images" / "scoreboard.png"
COLOURS = {"default": "#1277b8", "home": "#d55e00"}
Boards = Mapping[str, Evaluation]


def listed() -> list[str]:
    """Every discipline, as on a command line; drop-tail is beside each of them anyway."""
    names = [name for name in aqms() if name != DROP_TAIL]
    return [GIVEN.get(name, name) for name in dict.fromkeys([*names, *GIVEN])]


def ratios(found: Evaluation, name: str, measure: str) -> dict[str, float]:
    """How many times a measure is that of drop-tail, by section."""
    rows = {each: found.ratio(each, name, DROP_TAIL, measure) for each in found.sections}
    return {section: ratio for section, ratio in rows.items() if ratio is not None}


def best_and_worst(found: Evaluation, name: str) -> tuple[str, str]:
    """The section of the shortest delay that keeps the goodput, and that of the least goodput."""
    delays, goodputs = (ratios(found, name, measure) for measure in MEASURES)
    kept = {each: delays[each] for each in delays if goodputs.get(each, 1.0) >= KEPT}
    best = min(kept, key=kept.__getitem__, default=None)
    worst = min(goodputs, key=goodputs.__getitem__)
    return (
        "none" if best is None else f"{best}: {kept[best]:.2f}",
        f"{worst}: {goodputs[worst]:.2f}",
    )


def shorter_and_less(found: Evaluation, name: str) -> tuple[int, int]:
    """In how many sections delay is shorter than drop-tail's, and in how many goodput is less."""
    rows = sections_beside(found, name, DROP_TAIL)
    return (
        sum(each.delay.word == "better" for each in rows),
        sum(each.goodput.word == "worse" for each in rows),
    )


def row(boards: Boards, name: str) -> list[str]:
    """A row of the table; in each cell the profiles in their order."""

    def cell(of: Sequence[str]) -> str:
        return " / ".join(of)

    middles = [
        cell([f"{median(ratios(found, name, measure).values()):.2f}" for found in boards.values()])
        for measure in MEASURES
    ]
    verdicts = []
    for found in boards.values():
        words = [section_word(found, section, name, DROP_TAIL) for section in found.sections]
        verdicts.append(", ".join(str(words.count(each)) for each in VERDICTS))
    sides = cell([", ".join(map(str, shorter_and_less(found, name))) for found in boards.values()])
    ends = zip(*(best_and_worst(found, name) for found in boards.values()), strict=True)
    case = case_named(MIX)
    felt = [
        cell([text(each, found.mean(case, name, each), units=False) for found in boards.values()])
        for each in FELT
    ]
    return [f"`{_plain(name)}`", *middles, sides, cell(verdicts), *map(cell, ends), *felt]


def _plain(name: str) -> str:
    """A name without what is told of its marks and its victim."""
    return name.split()[0]


def header() -> list[str]:
    """The heads of the columns."""
    return [
        *("discipline", "delay", "goodput", "shorter delay, less goodput", ", ".join(VERDICTS)),
        *(f"shortest delay at {100 * KEPT:g} % of the goodput", "least goodput"),
        *(f"{said} in 9.1" for said in FELT.values()),
    ]


def in_order(boards: Boards) -> list[str]:
    """The disciplines, the shortest delay of the first profile first, drop-tail left out."""
    first = next(iter(boards.values()))

    def delay(name: str) -> float:
        return median(ratios(first, name, "queueing_delay").values())

    return sorted((name for name in first.plan.names if name != DROP_TAIL), key=delay)


def picture(boards: Boards, names: Sequence[str]) -> Figure:
    """Draw the median over the sections, and a line from the least to the greatest section."""
    figure = Figure(figsize=(10, 1.2 + 0.36 * len(names)), layout="constrained")
    axes = list(figure.subplots(1, len(MEASURES), sharey=True))
    for ax, (measure, said), better in zip(axes, MEASURES.items(), ("left", "right"), strict=True):
        for beside, (profile, found) in zip((-0.17, 0.17), boards.items(), strict=True):
            for place, name in enumerate(names):
                _line(ax, place + beside, ratios(found, name, measure), COLOURS[profile], profile)
        ax.axvline(1, color=GREY, lw=1, ls=":")
        ax.set_xlabel(f"{said} over that of drop-tail: {better} is better")
        ax.grid(axis="x", color=GREY, alpha=0.25, lw=0.6)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0)
    axes[0].set_xscale("log")
    # step drops nearly all: its line goes on to the left
    axes[0].set_xlim(left=0.01)
    plain_ticks(axes[0].xaxis, (1, 2, 5))
    axes[0].set_yticks(range(len(names)), map(_plain, names))
    axes[0].set_ylim(len(names) - 0.5, -0.5)
    handles, labels = axes[0].get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    figure.legend(
        unique.values(),
        [f"{each}: median, and the sections with the least and the most" for each in unique],
        loc="outside lower left",
        frameon=False,
        fontsize=9,
    )
    return figure


def _line(ax: Axes, y: float, values: Mapping[str, float], colour: str, profile: str) -> None:
    ends = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
    ax.plot([values[each] for each in ends], [y, y], color=colour, lw=1)
    ax.plot([median(values.values())], [y], "o", ms=4, color=colour, label=profile)
    for section, side, away in zip(ends, ("right", "left"), (-3, 3), strict=True):
        ax.annotate(
            section,
            (values[section], y),
            xytext=(away, 0),
            textcoords="offset points",
            ha=side,
            va="center",
            fontsize=6,
            color=GREY,
        )


def main(folder: Path, replications: int) -> None:
    """Make what is missing, print the table, draw the picture."""
    judged = disciplines(listed())
    boards = {
        profile: evaluate(
            judged,
            folder / profile,
            profile=profile,
            sections=SECTIONS,
            replications=replications,
        )
        for profile in PROFILES
    }
    names = in_order(boards)
    for each in (header(), ["---"] * len(header()), *(row(boards, name) for name in names)):
        print(f"| {' | '.join(each)} |")
    picture(boards, names).savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="keeps the runs; what it does not have is made")
    parser.add_argument("replications", type=int, nargs="?", default=REPLICATIONS)
    given = parser.parse_args()
    try:
        main(given.folder, given.replications)
    except (SluiceError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
