"""Figures whose labels may be in any script, if a font for it is installed, and can be read.

matplotlib's own font has Latin, Greek and Cyrillic letters. What it lacks, such as Chinese, is
taken from one of the fonts that systems bring for it.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from matplotlib import figure, font_manager
from matplotlib.axis import Axis
from matplotlib.colors import to_rgb
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator

# fonts of Linux, macOS and Windows; the first that has a letter is used
_OTHERS = (
    *(f"Noto Sans CJK {place}" for place in ("SC", "TC", "JP", "KR", "HK")),
    *(f"Source Han Sans {place}" for place in ("SC", "TC", "CN")),
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
    "PingFang SC",
    "Hiragino Sans GB",
    "Apple SD Gothic Neo",
    "Microsoft YaHei",
    "Malgun Gothic",
    "Yu Gothic",
    "Arial Unicode MS",
)
_MOST_SHOWN = 8
# of figures in notebooks: pixels of the page per inch, and dots for each of these
_SHOWN_DPI, _FINER = 96, 2


class Figure(figure.Figure):
    """A figure that looks for other fonts when it is drawn, and darkens its text in files."""

    def savefig(self, *args: Any, **kwargs: Any) -> None:
        """Save it, as matplotlib does; text in the colour of a line is darkened, for white paper.

        A page does that by itself, for its dark form, too.
        """
        with _darker_text(self):
            super().savefig(*args, **kwargs)

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """The picture that a notebook shows, and its width and height there, in pixels.

        Figures of pyplot are shown by matplotlib itself; these are made without it.
        """
        content = io.BytesIO()
        self.savefig(content, format="png", dpi=_FINER * _SHOWN_DPI)
        width, height = (round(_SHOWN_DPI * inches) for inches in self.get_size_inches())
        return content.getvalue(), {"width": width, "height": height}

    def draw(self, renderer: Any) -> None:
        """Draw it; warns once of letters that no font has."""
        missing = take_fonts(self)
        if missing:
            warnings.warn(missing_note(missing), stacklevel=2)
        with warnings.catch_warnings():
            # we print one note for all that are missing
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            super().draw(renderer)


@contextmanager
def _darker_text(drawn: figure.Figure) -> Iterator[None]:
    """Texts half way to black: the colours of lines are too pale for letters."""
    before = [(text, text.get_color()) for text in _texts(drawn)]
    for text, colour in before:
        red, green, blue = to_rgb(colour)
        text.set_color((red / 2, green / 2, blue / 2))
    try:
        yield
    finally:
        for text, colour in before:
            text.set_color(colour)


def take_fonts(drawn: figure.Figure) -> set[str]:
    """Give every text of a figure the fonts that it needs; return the letters that no font has."""
    missing: set[str] = set()
    for text in _texts(drawn):
        families, lacking = fonts_for(text.get_text())
        missing |= lacking
        usual = [name for name in text.get_fontfamily() if name not in families]
        if families:
            text.set_fontfamily([*usual, *families])
    return missing


def _texts(drawn: figure.Figure) -> Iterator[Text]:
    """All but numeric ticks, which `findobj` would create only to look at them."""
    # a second axis is a part of the axes that it belongs to
    axes = [part for ax in drawn.axes for part in (ax, *ax.child_axes)]
    for part in (drawn, *axes):
        for child in part.get_children():
            if isinstance(child, Text):
                yield child
            elif isinstance(child, Legend):
                yield from child.findobj(Text)
            elif isinstance(child, Axis):
                yield child.label
                if isinstance(child.get_major_locator(), FixedLocator):
                    yield from child.get_ticklabels()


def missing_note(letters: Iterable[str]) -> str:
    """What to tell of letters that no font has."""
    shown = sorted(letters)
    some = "".join(shown[:_MOST_SHOWN]) + ("…" if len(shown) > _MOST_SHOWN else "")
    return (
        f"No font found for {some}: figures have boxes in their place. Install one that has them; "
        "for Chinese, Japanese and Korean: fonts-noto-cjk (Debian, Ubuntu), "
        "google-noto-sans-cjk-fonts (Fedora)."
    )


def fonts_for(text: str) -> tuple[list[str], set[str]]:
    """Fonts with letters of a text that the usual font lacks, and the letters that no font has."""
    if text.isascii():
        return [], set()
    missing = {letter for letter in text if letter.isprintable() and not letter.isspace()}
    missing -= _letters(font_manager.findfont("DejaVu Sans"))
    chosen = []
    for name, path in _installed().items() if missing else ():
        found = missing & _letters(path)
        if found:
            chosen.append(name)
            missing -= found
    return chosen, missing


@cache
def _letters(path: str) -> frozenset[str]:
    return frozenset(map(chr, font_manager.get_font(path).get_charmap()))


@cache
def _installed() -> dict[str, str]:
    """Those of `_OTHERS` that are installed, and their files."""
    fonts = font_manager.fontManager
    known = {font.fname for font in fonts.ttflist}
    # matplotlib's list is as old as its first use
    for path in set(font_manager.findSystemFonts()) - known:
        try:
            fonts.addfont(path)
        except (OSError, RuntimeError):  # a file that it cannot read
            continue
    files = {font.name: str(font.fname) for font in fonts.ttflist}
    return {name: files[name] for name in _OTHERS if name in files}
