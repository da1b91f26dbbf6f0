"""Domanska et al. 2014: REDwM, whose average is a difference equation; the simulated part.

"A RED modified weighted moving average for soft real-time application", International Journal
of Applied Mathematics and Computer Science 24(3), section 5, figures 2 to 7. The published
scores stand in `scores.csv`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

import polars as pl

from sluicegate.papers import model
from sluicegate.papers.campaign import Campaign
from sluicegate.papers.comparison import Plot, Reproduction, Row, row_of
from sluicegate.papers.drop_from_front.source import SEARCH_SLOTS, self_similar
from sluicegate.papers.figures import Panel, delay_figure, queue_figure
from sluicegate.record import Record
from sluicegate.scenario import Discipline
from sluicegate.worlds import Watch
from sluicegate.worlds.slotted.world import Slotted

PAPER = (
    "Domanska et al., International Journal of Applied Mathematics and Computer Science 24(3), 2014"
)
# where the weights of [a1, a2, b1] stand in equation (3); what is left of 1 takes the fourth place
_PLACES = {
    "literal": {"a1": "A(n-1)", "a2": "A(n-2)", "b1": "Q(n-1)", "rest": "Q(n)"},
    "all swapped": {"a1": "Q(n)", "a2": "Q(n-1)", "b1": "A(n-2)", "rest": "A(n-1)"},
    "only a1 swapped": {"a1": "Q(n)", "a2": "A(n-2)", "b1": "Q(n-1)", "rest": "A(n-1)"},
}
# equation (3) as the parameters of red have it; Q(n) gets what they leave
_PARAMS = {"A(n-1)": "a1", "A(n-2)": "a2", "Q(n-1)": "b1"}
# that of the preset redwm
_DRAWN = "only a1 swapped"
_SLOTS = 20_000_000


@dataclass(frozen=True)
class Setting:
    """A setting of the paper at one load, with its score (mean delay, slots) if it prints one."""

    mu: float
    a1: float
    a2: float
    b1: float
    score: float | None

    @property
    def name(self) -> str:
        """As the paper writes it."""
        return f"[{self.a1:g}, {self.a2:g}, {self.b1:g}]"

    def discipline(self, reading: str) -> Discipline:
        """What the setting runs under a reading of equation (5)."""
        weights = {"a1": self.a1, "a2": self.a2, "b1": self.b1}
        weights["rest"] = 1 - sum(weights.values())
        by_place = {place: weights[weight] for weight, place in _PLACES[reading].items()}
        params = {param: by_place[place] for place, param in _PARAMS.items()}
        return model.red({"average": "difference", **params})


Scores = Mapping[tuple[str, Setting], Record]


def published() -> list[Setting]:
    """The paper's settings, in the order of the scores it prints at each load."""
    text = files(__package__ or "").joinpath("scores.csv").read_bytes()
    table = pl.read_csv(text, comment_prefix="#", infer_schema_length=None)
    return [Setting(**row) for row in table.cast(pl.Float64).iter_rows(named=True)]


def reproduce(
    *, threads: int | None = None, watch: Watch | None = None, fresh: bool = False
) -> Reproduction:
    """Run every setting under every reading of equation (5), with the self-similar source.

    Args:
        threads: Threads to use; all cores if None.
        watch: Called now and then; see `sluicegate.compare`.
        fresh: Run again even what the store has.

    Raises:
        InterruptError: After Ctrl-C; the next call goes on from what is finished.
    """
    settings = published()
    of_scores = len(_PLACES) * len(settings) * _SLOTS * model.REPLICATIONS
    slots = SEARCH_SLOTS + of_scores
    campaign = Campaign("redwm", slots, threads=threads, watch=watch, fresh=fresh)
    source = self_similar(campaign)
    scores = {
        (reading, setting): campaign.run(
            model.scenario(source, setting.mu, setting.discipline(reading), _SLOTS), Slotted()
        )
        for reading in _PLACES
        for setting in settings
    }
    return Reproduction(
        paper=PAPER,
        rows=_rows(scores),
        findings=_findings(scores),
        choices=_choices(source.a),
        plots=list(_plots(scores)),
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
    orders = {reading: _order(reading, scores) for reading in _PLACES}
    supported = [f"'{reading}'" for reading, (holds, _) in orders.items() if holds]
    return [
        *(sentence for _, sentence in orders.values()),
        f"The published order at both loads comes out under {' and '.join(supported) or 'none'}. "
        "The accuracy of 5 % that the paper gives its scores tells no finer.",
    ]


def _order(reading: str, scores: Scores) -> tuple[bool, str]:
    """Whether a reading gives the published order at both loads, beyond the intervals."""
    parts, always = [], True
    for mu in (0.25, 0.5):
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
    places = ", ".join(f"{weight} weighs {place}" for weight, place in _PLACES[reading].items())
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
        if reading == _DRAWN
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
        title = f"mu = {mu:g}, reading '{_DRAWN}'"
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
