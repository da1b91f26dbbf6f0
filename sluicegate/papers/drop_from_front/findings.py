"""What the reproduction of drop-from-front shows, in words that follow from its rows."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.papers.comparison import Row
from sluicegate.papers.drop_from_front.tables import Case, misprints


def findings(cases: Sequence[Case], rows: Sequence[Row]) -> list[str]:
    """What the rows show."""
    by_name = {(row.row, row.quantity): row for row in rows}
    wrong = misprints(cases)
    doubtful = {(case.name, quantity) for case, quantity, _ in wrong}
    sentences = []
    for source in ("geometric", "self-similar"):
        for w in (0.07, 0.002):
            names = [case.name for case in cases if (case.source, case.w) == (source, w)]
            kept = {key: by_name[key] for key in by_name if key[0] in names and key not in doubtful}
            sentences.append(f"{source.capitalize()} source, w = {w:g}: {_agreement(kept)}.")
    for case, quantity, implied in wrong:
        row = by_name[case.name, quantity]
        sentences.append(
            f"{case.name}: the published {quantity} {row.published:g} contradicts the other "
            f"figures of its own row, which imply {implied:.4g}; ours is {row.measured:.4g}. "
            "We regard it as a misprint and leave it out of the differences above."
        )
    twice = [case for case in cases if case.loss_bracketed is not None]
    apart = max(abs(case.loss / case.loss_bracketed - 1) for case in twice if case.loss_bracketed)
    sentences.append(
        f"{len(twice)} rows print a second loss in brackets (loss_bracketed), without a word about "
        f"it; the two differ by up to {100 * apart:.1f} %, so that ours can agree with one only."
    )
    return [*sentences, _gains(cases, by_name)]


def _agreement(rows: dict[tuple[str, str], Row]) -> str:
    quantities = (
        "queue_mean",
        "queue_variance",
        "loss",
        "loss_bracketed",
        "delay_mean",
        "delay_variance",
    )
    parts = []
    for quantity in quantities:
        differences = [
            row.difference
            for (_, name), row in rows.items()
            if name == quantity and row.difference is not None
        ]
        if differences:
            parts.append(f"{quantity} {100 * max(differences, key=abs):+.2f} %")
    return "the largest differences from the published figures are " + ", ".join(parts)


def _gains(cases: Sequence[Case], rows: dict[tuple[str, str], Row]) -> str:
    def span(mu: float, source: str, w: float | None = None) -> str:
        gains = [
            100 * rows[case.name, "gain"].measured
            for case in cases
            if (case.mu, case.source) == (mu, source) and w in (None, case.w)
        ]
        return f"{min(gains):.2f} to {max(gains):.2f} %"

    return (
        "Dropping from the front shortens the mean delay by "
        f"{span(0.5, 'geometric')} (geometric, mu = 0.5; the paper: 0.7, 0.8 and about 1 %), "
        f"{span(0.5, 'self-similar', 0.07)} (self-similar, mu = 0.5, w = 0.07; 16.4 and 18.1 %), "
        f"{span(0.25, 'geometric')} and {span(0.25, 'self-similar')} (mu = 0.25; half)."
    )


def choices(cases: Sequence[Case], a: float) -> list[str]:
    """What the paper leaves open, and what we took."""
    relabelled = {(case.gamma_printed, case.gamma) for case in cases if case.gamma_printed}
    labels = ", ".join(f"{printed:g} is read as {gamma:g}" for printed, gamma in relabelled)
    return [
        "The average is updated at the end of every slot, not at every arrival: the paper says "
        "the latter, but the variances of its geometric rows at mu = 0.25, and of nearly all "
        "rows at w = 0.002, come out only with the former.",
        f"The source's a is not printed. a = {a:g} was fitted to one figure, the loss of RED "
        "with the self-similar source at mu = 0.5 and w = 0.07; all others are predictions. "
        "The paper's mean 0.5 and 5 states fix q.",
        "Two rows with different figures are printed with the same gamma, at either mu; the text "
        f"names 0.15, 0.5 and 0.85. In the first of the two, {labels}.",
        "The text does not say to which gamma the gains 0.8 and 18.1 % belong; they stand beside "
        "all three. Which cases figures 4 to 7 show is taken from the text around them.",
        "The published waiting time is the delay: the time in the system, service included. The "
        "queue is without the packet in service. Both follow from Little's law on the published "
        "figures.",
    ]
