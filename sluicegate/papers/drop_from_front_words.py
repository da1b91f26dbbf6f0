"""What the reproduction of drop-from-front shows, in words that follow from its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sluicegate.papers.comparison import Row

if TYPE_CHECKING:
    from sluicegate.papers.drop_from_front import Case

_LITTLE_TOLERANCE = 0.01
_VARIANCE_TOLERANCE = 0.02


def implied_queue_mean(case: Case) -> float:
    """The mean queue that follows from the row's own loss and mean wait by Little's law.

    N + P(busy) = lambda W, with lambda the packets admitted per slot and P(busy) = lambda / mu.
    """
    admitted = 0.5 * (1 - case.loss)
    return admitted * (case.wait_mean - 1 / case.mu)


def implied_wait_variance(case: Case) -> float:
    """The variance of the wait that follows from the row's own queue under overload.

    A wait is N + 1 geometric services, where N is the queue that the packet finds; with the
    server always busy and geometric arrivals this N is distributed nearly as at any time:
    Var W = (E N + 1) (1 - mu) / mu^2 + Var N / mu^2.
    """
    services = (case.queue_mean + 1) * (1 - case.mu)
    return (services + case.queue_variance) / case.mu**2


def misprints(cases: Sequence[Case]) -> list[tuple[Case, str, float]]:
    """The published figures that contradict others of their own row.

    Returns:
        Row, quantity and the value that the row's other figures imply.
    """
    found = []
    for case in cases:
        if case.source != "geometric":
            continue
        if abs(case.queue_mean / (implied := implied_queue_mean(case)) - 1) > _LITTLE_TOLERANCE:
            found.append((case, "queue_mean", implied))
        if case.mu < 0.5:
            implied = implied_wait_variance(case)
            if abs(case.wait_variance / implied - 1) > _VARIANCE_TOLERANCE:
                found.append((case, "wait_variance", implied))
    return found


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
            f"figures of its own row, which imply {implied:.4g}; we measure {row.measured:.4g}. "
            "We take it for a misprint and leave it out of the deviations above."
        )
    sentences.append(_gains(cases, by_name))
    return sentences


def _agreement(rows: dict[tuple[str, str], Row]) -> str:
    quantities = ("queue_mean", "queue_variance", "loss", "wait_mean", "wait_variance")
    parts = []
    for quantity in quantities:
        deviations = [
            row.deviation
            for (_, name), row in rows.items()
            if name == quantity and row.deviation is not None
        ]
        parts.append(f"{quantity} {100 * max(deviations, key=abs):+.2f} %")
    return "the largest deviations from the published figures are " + ", ".join(parts)


def _gains(cases: Sequence[Case], rows: dict[tuple[str, str], Row]) -> str:
    def span(mu: float, source: str, w: float | None = None) -> str:
        gains = [
            100 * rows[case.name, "gain"].measured
            for case in cases
            if (case.mu, case.source) == (mu, source) and w in (None, case.w)
        ]
        return f"{min(gains):.2f} to {max(gains):.2f} %"

    return (
        "Dropping from the front shortens the mean wait by "
        f"{span(0.5, 'geometric')} (geometric, mu = 0.5; the paper: 0.7, 0.8 and about 1 %), "
        f"{span(0.5, 'self-similar', 0.07)} (self-similar, mu = 0.5, w = 0.07; 16.4 and 18.1 %), "
        f"{span(0.25, 'geometric')} and {span(0.25, 'self-similar')} (mu = 0.25; half)."
    )


def choices(cases: Sequence[Case], a: float) -> list[str]:
    """What the paper leaves open, and what we took."""
    relabelled = sorted({(case.gamma_printed, case.gamma) for case in cases if case.gamma_printed})
    labels = ", ".join(f"{printed:g} is taken for {gamma:g}" for printed, gamma in relabelled)
    return [
        "The average is updated at the end of every slot, not at every arrival: the paper says "
        "the latter, but the variances of its geometric rows at mu = 0.25, and of nearly all "
        "rows at w = 0.002, come out only with the former.",
        f"The source's a is not printed. a = {a:g} was fitted to one figure, the loss of RED "
        "with the self-similar source at mu = 0.5 and w = 0.07; all others are predictions. "
        "The paper's mean 0.5 and 5 states fix q.",
        "Two rows with different figures are printed with the same gamma, at either mu; the text "
        f"names 0.15, 0.5 and 0.85. In the first of the two {labels}.",
        "The text does not say to which gamma the gains 0.8 and 18.1 % belong; they stand beside "
        "all three. Figures 3 to 7 have no legible captions; which case each shows is a guess.",
        "The published wait is the time in the system, service included; the queue is without "
        "the packet in service. Both follow from Little's law on the published figures.",
    ]
