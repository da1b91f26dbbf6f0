"""Figures for narrow screens: panels one below the other, legends below all."""

from __future__ import annotations

from copy import deepcopy

from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec

# inches: what a telephone shows with text that can be read
_WIDTH = 3.8
_LEGEND_LINE = 0.2


def narrow(figure: Figure) -> Figure:
    """A copy of a figure in the form for a narrow screen."""
    drawn = deepcopy(figure)
    height = drawn.get_figheight() * _stack(drawn)
    # the columns of a legend are fixed when it is made
    wide, drawn.legends = drawn.legends, []
    for legend in wide:
        rows = zip(legend.legend_handles, legend.get_texts(), strict=True)
        # an entry without a handle is one that matplotlib could not draw
        handles, texts = zip(*(row for row in rows if row[0] is not None), strict=True)
        small = drawn.legend(
            handles,
            [text.get_text() for text in texts],
            loc="outside lower left",
            ncols=1,
            title=legend.get_title().get_text() or None,
            frameon=legend.get_frame_on(),
            fontsize=texts[0].get_fontsize(),
        )
        for text, before in zip(small.get_texts(), texts, strict=True):
            text.set_color(before.get_color())
        height += _LEGEND_LINE * (len(texts) + 1)
    drawn.set_size_inches(_WIDTH, height)
    return drawn


def _stack(figure: Figure) -> int:
    """Put panels that are side by side below each other; return how many times as high it is."""
    places = [
        (ax, place)
        for ax in figure.axes
        # what is beside a panel, such as a colour scale, has no place of its own
        if ax.get_visible() and (place := ax.get_subplotspec()) is not None
    ]
    beside = {place.colspan.start for _, place in places}
    rows = {place.rowspan.start for _, place in places}
    if len(beside) < 2:
        return 1
    grid = GridSpec(len(places), 1, figure=figure)
    for k, (ax, _) in enumerate(places):
        ax.set_subplotspec(grid[k])
        # of panels that share an axis, only the first or the last has labels at its ticks
        if not ax.yaxis.get_tick_params().get("labelleft", True):
            ax.tick_params(labelleft=True)
    return -(-len(places) // len(rows))
