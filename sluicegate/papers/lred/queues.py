"""Queues in time, LRED and its rivals in one picture."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.papers.comparison import Plot
from sluicegate.papers.lred.measured import ALL, Records
from sluicegate.worlds.network.series import queue_series_figure, reading


def queue_plot(
    records: Records,
    case: float | str,
    title: str,
    caption: str,
    *,
    port: int = 0,
    changes_s: Sequence[float] = (),
) -> Plot:
    """The queue of LRED, PI*, PI and REM against time in one case.

    Args:
        records: By case and discipline.
        case: Which case.
        title: Of the figure.
        caption: What the paper's text says of it.
        port: Place of the port in the records.
        changes_s: Times to be marked.
    """
    shown = [records[case, name] for name in ALL]
    figure = queue_series_figure(shown, port=port, changes_s=changes_s)
    return Plot(figure, title, f"{caption} {reading(shown[0])}")
