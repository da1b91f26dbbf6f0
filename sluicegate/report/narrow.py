"""Figures for narrow screens: panels one below the other, legends below all."""

from __future__ import annotations

from copy import deepcopy

from matplotlib.artist import Artist
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
    artists = _artists(drawn)
    for legend in wide:
        texts = legend.get_texts()
        if not texts:
            continue
        names = [text.get_text() for text in texts]
        # what the wide legend shows: of an error bar it has the bar alone, without its symbol
        shown = [handle for handle in legend.legend_handles if handle is not None]
        small = drawn.legend(
            [artists.get(name, handle) for name, handle in zip(names, shown, strict=True)],
            names,
            loc="outside lower left",
            ncols=1,
            title=legend.get_title().get_text() or None,
            frameon=legend.get_frame_on(),
            fontsize=texts[0].get_fontsize(),
            handlelength=legend.handlelength,
        )
        for text, before in zip(small.get_texts(), texts, strict=True):
            text.set_color(before.get_color())
        height += _LEGEND_LINE * (len(texts) + 1)
    drawn.set_size_inches(_WIDTH, height)
    return drawn


def _artists(figure: Figure) -> dict[str, Artist]:
    """What is drawn, by its label; the first where several have the same."""
    found: dict[str, Artist] = {}
    for ax in figure.axes:
        for artist, name in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(name, artist)
    return found


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
