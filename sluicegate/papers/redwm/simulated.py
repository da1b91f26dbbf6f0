"""Domanska et al. 2014: REDwM, whose average is a difference equation; the simulated part.

"A RED modified weighted moving average for soft real-time application", International Journal
of Applied Mathematics and Computer Science 24(3), section 5, figures 2 to 7. The published
scores are in `scores.csv`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from sluicegate.estimate import Measure, paired
from sluicegate.papers import model
from sluicegate.papers.campaign import Campaign
from sluicegate.papers.comparison import Plot, Reproduction, Row, row_of
from sluicegate.papers.drop_from_front.source import SEARCH_SLOTS, self_similar
from sluicegate.papers.figures import Panel, delay_figure, queue_figure
from sluicegate.papers.redwm.optimisation import BEST, CLASSIC, PAPERS, Optimum, optimise
from sluicegate.papers.redwm.setting import DRAWN, PLACES, Setting, published
from sluicegate.record import Record
from sluicegate.scenario import SelfSimilarArrivals
from sluicegate.tuning.plots import landscape_figure
from sluicegate.worlds import Watch
from sluicegate.worlds.chain.world import Chain
from sluicegate.worlds.slotted.world import Slotted

PAPER = (
    "REDwM: Domanska et al., International Journal of Applied Mathematics and Computer Science "
    "24(3), 2014"
)
_SLOTS = 20_000_000
_MUS = (0.25, 0.5)
# step of the average in the chain, packets
_GRID = 2.0

Scores = Mapping[tuple[str, Setting], Record]


def reproduce(
    *,
    threads: int | None = None,
    watch: Watch | None = None,
    fresh: bool = False,
    full: bool = False,
) -> Reproduction:
    """Run every setting under every reading of equation (5), and repeat the optimisation.

    Args:
        threads: Threads to use; all cores if None.
        watch: Called now and then; see `sluicegate.compare`.
        fresh: Run again even what the store has.
        full: Whether the optimisation starts from all of the paper's 1000 places, not from 8.

    Raises:
        InterruptError: After Ctrl-C; the next call goes on from what is finished.
    """
    settings = published()
    # with the optimum at both loads
    of_scores = (len(PLACES) * len(settings) + len(_MUS)) * _SLOTS * model.REPLICATIONS
    slots = SEARCH_SLOTS + of_scores + len(_MUS) * Chain.SLOTS_OF_THE_SAME_TIME
    campaign = Campaign("redwm", slots, threads=threads, watch=watch, fresh=fresh)
    source = self_similar(campaign)
    scores = {
        (reading, setting): campaign.run(
            model.scenario(source, setting.mu, setting.discipline(reading), _SLOTS), Slotted()
        )
        for reading in PLACES
        for setting in settings
    }
    exact = {mu: _exact(campaign, source, mu) for mu in _MUS}
    optimum = optimise(source, full=full, workers=threads, watch=_named(watch), fresh=fresh)
    ours = {
        mu: campaign.run(
            model.scenario(source, mu, optimum.setting.discipline(DRAWN), _SLOTS), Slotted()
        )
        for mu in _MUS
    }
    return Reproduction(
        paper=PAPER,
        rows=[*_rows(scores), *_exact_rows(exact), *_our_rows(optimum, ours, scores)],
        findings=[*_findings(scores), *_against_exact(exact, scores), *optimum.findings()],
        choices=_choices(source.a),
        plots=[*_plots(scores), *_landscape(optimum)],
    )


def _named(watch: Watch | None) -> Watch | None:
    """Reports the optimisation under the name of the reproduction."""
    if watch is None:
        return None

    def told(_: str, done: float, total: float, stage: str = "", /) -> None:
        watch("redwm", done, total, f"optimisation: {stage}")

    return told


def _exact(campaign: Campaign, source: SelfSimilarArrivals, mu: float) -> Record:
    """Classic RED solved as a chain, which remembers one average and so has no a2 and b1."""
    scenario = model.scenario(source, mu, model.red({"w": CLASSIC[0]}), _SLOTS)
    return campaign.run(scenario, Chain(grid=_GRID))


def _exact_rows(exact: Mapping[float, Record]) -> Iterator[Row]:
    for mu, record in exact.items():
        (score,) = (each.score for each in published() if each.mu == mu and each.weights == CLASSIC)
        yield row_of(
            f"exact chain: classic RED, mu {mu:g}", "delay_mean", score, record["delay_mean"]
        )


def _our_rows(optimum: Optimum, ours: Mapping[float, Record], scores: Scores) -> Iterator[Row]:
    """Our best score at both loads, and how far the paper's settings lie above it."""
    for mu, record in ours.items():
        case = f"{DRAWN}: our best {optimum.setting.name}, mu {mu:g}"
        yield row_of(case, "delay_mean", None, record["delay_mean"])
        for setting in published():
            if setting.mu == mu and setting.weights in (CLASSIC, PAPERS[BEST]):
                theirs = scores[DRAWN, setting]
                more = paired(theirs.values("delay_mean"), record.values("delay_mean"))
                assert more is not None
                quantity = f"delay_mean of {setting.name} minus ours"
                yield row_of(case, quantity, None, more, measure="delay_mean")


def _against_exact(exact: Mapping[float, Record], scores: Scores) -> Iterator[str]:
    simulated = {
        setting.mu: record["delay_mean"]
        for (reading, setting), record in scores.items()
        if reading == DRAWN and setting.weights == CLASSIC
    }
    told = [
        f"{record['delay_mean'].value:.2f} at mu = {mu:g} (simulated: {_plain(simulated[mu])})"
        for mu, record in exact.items()
    ]
    yield (
        f"Classic RED as an exact chain, its average in steps of {_GRID:g} packets: "
        f"{', '.join(told)}. The chain remembers one average and no queue, so that it has no REDwM."
    )


def _plain(measure: Measure) -> str:
    return f"{measure:.2f}"


def _landscape(optimum: Optimum) -> Iterator[Plot]:
    figure = landscape_figure(optimum.tuning)
    assert figure is not None
    yield Plot(
        figure,
        "The score's landscape",
        f"Candidates of the search at mu = 0.25, reading '{DRAWN}'; the diamond is the best one.",
    )


def _rows(scores: Scores) -> list[Row]:
    return [
        row_of(
            f"{reading}: {setting.name}, mu {setting.mu:g}",
            "delay_mean",
            setting.score,
            record["delay_mean"],
        )
        for (reading, setting), record in scores.items()
    ]


def _findings(scores: Scores) -> list[str]:
    orders = {reading: _order(reading, scores) for reading in PLACES}
    supported = [f"'{reading}'" for reading, (holds, _) in orders.items() if holds]
    return [
        *(sentence for _, sentence in orders.values()),
        f"The published order at both loads comes out under {' and '.join(supported) or 'none'}. "
        "The paper's scores, accurate to 5 %, cannot distinguish more.",
    ]


def _order(reading: str, scores: Scores) -> tuple[bool, str]:
    """Whether a reading gives the published order at both loads, beyond the intervals."""
    parts, always = [], True
    for mu in _MUS:
        delays = [
            record["delay_mean"]
            for (name, setting), record in scores.items()
            if name == reading and setting.mu == mu and setting.score is not None
        ]
        falls = all(
            before.value - after.value > (before.half_width or 0) + (after.half_width or 0)
            for before, after in itertools.pairwise(delays)
        )
        values = (" > " if falls else ", ").join(f"{delay.value:.1f}" for delay in delays)
        verdict = "the published order" if falls else "no order beyond the intervals"
        parts.append(f"{verdict} at mu = {mu:g} ({values})")
        always = always and falls
    places = ", ".join(f"{weight} weighs {place}" for weight, place in PLACES[reading].items())
    return always, f"Reading '{reading}' ({places}): {' and '.join(parts)}."


def _choices(a: float) -> list[str]:
    return [
        "Equation (5) says that a1 weighs A(n-1) and that [a1, 0, 0] is classic RED; classic RED "
        "with w = 0.002, though, weighs Q(n) with 0.002. The readings below put the weights at "
        "different places of equation (3).",
        f"The source is that of drop-from-front, a = {a:g} fitted to a loss which that paper "
        "prints; no figure of this paper was used. The average is updated in every slot, as there.",
        "The scores are mean delays: times in the system, service included. The paper gives them "
        "an accuracy of 5 %.",
    ]


def _plots(scores: Scores) -> Iterator[Plot]:
    """Figures 2 to 7 under one of the readings that give the published order."""
    of = {
        (setting.mu, setting.name): record
        for (reading, setting), record in scores.items()
        if reading == DRAWN
    }
    red, first = "[0.002, 0, 0]", "[0.004, 0.009, 0]"
    best, near = "[0.08, 0.0014, 0.001]", "[0.08, 0.002, 0]"
    shown: Sequence[tuple[int, float, tuple[str, str]]] = (
        (2, 0.25, (first, red)),
        (4, 0.25, (near, best)),
        (6, 0.5, (best, red)),
    )
    for number, mu, names in shown:
        records = {name: of[mu, name] for name in names}
        title = f"mu = {mu:g}, reading '{DRAWN}'"
        queues = {name: record.queue_distribution for name, record in records.items()}
        delays = {name: record.delay_distribution for name, record in records.items()}
        yield Plot(
            queue_figure([Panel(title, queues)]),
            f"Figure {number}: the queue",
            "By [a1, a2, b1]. Where the queue is empty the curves are cut off.",
        )
        yield Plot(
            delay_figure([Panel(title, delays)]),
            f"Figure {number + 1}: the delay",
            "By [a1, a2, b1].",
        )
