"""One self-contained HTML page: text, tables and figures, nothing to load from anywhere."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import jinja2
import matplotlib
from markupsafe import escape
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from sluicegate.files import make_folder, write_whole
from sluicegate.report.figure import missing_note, take_fonts
from sluicegate.report.glossary import Glossary
from sluicegate.report.narrow import narrow
from sluicegate.report.seen import in_words
from sluicegate.report.terminal import numeric_columns

_TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader("sluicegate.report", "."),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
FORMATS = ("pdf", "svg", "png")
# half way to the colour of the page's text, which has the greatest contrast
TEXT_COLOUR = r"color-mix(in srgb, \2 50%, var(--ink))"
# a page of fewer parts has no list of them
_FEWEST_LISTED = 5
# a longer list is closed until it is asked for: what the page says comes first
_MOST_OPEN = 12
# letters: a column with a longer cell is not squeezed; the first one has the names of rows
_LONG, _NAME = 40, 12
_MANY_COLUMNS = 8


@dataclass(frozen=True)
class _Text:
    paragraph: str
    kind: str = "text"


@dataclass(frozen=True)
class _Points:
    sentences: Sequence[str]
    kind: str = "points"


@dataclass(frozen=True)
class _Commands:
    lines: Sequence[str]
    kind: str = "commands"


@dataclass(frozen=True)
class _Section:
    title: str
    anchor: str
    kind: str = "section"


@dataclass(frozen=True)
class _Heading:
    title: str
    kind: str = "heading"


@dataclass(frozen=True)
class _Terms:
    meanings: dict[str, str]
    kind: str = "terms"


@dataclass(frozen=True)
class _Table:
    header: list[str]
    rows: list[list[str]]
    caption: str
    terms: Sequence[str]
    kind: str = "table"

    @property
    def links(self) -> list[str]:
        """The term of each column, or nothing."""
        return [*self.terms, *[""] * (len(self.header) - len(self.terms))]

    @property
    def alignment(self) -> list[str]:
        """`number` for each column of numbers; `name`, `word` or `long` for the others."""
        numeric = numeric_columns(self.header, self.rows)
        return ["number" if is_number else self._kind(k) for k, is_number in enumerate(numeric)]

    def _kind(self, column: int) -> str:
        """Of a column of words: those with long cells are not squeezed by the others."""
        longest = max((len(row[column]) for row in self.rows), default=0)
        if column == 0:
            return "name" if longest > _NAME else "word"
        return "long" if longest > _LONG else "word"

    @property
    def is_dense(self) -> bool:
        """Whether it has so many columns that they need smaller letters to be side by side."""
        return len(self.header) > _MANY_COLUMNS


@dataclass(frozen=True)
class _Figure:
    drawn: Figure
    title: str
    caption: str
    shows: str
    anchor: str
    kind: str = "figure"

    @property
    def wide(self) -> str:
        """The figure as it was drawn, an SVG element."""
        return _inline(self.drawn, self.anchor)

    @property
    def narrow(self) -> str:
        """The figure drawn again for narrow screens."""
        return _inline(narrow(self.drawn), f"{self.anchor} narrow")


class Page:
    """A page that is put together from top to bottom, then written.

    What it is given is shown as it is: markup in a text appears as text.
    """

    def __init__(self, title: str, subtitle: str = "", mark: str = "") -> None:
        self.title = title
        self.subtitle = subtitle
        self.mark = mark
        self._parts: list[
            _Text | _Points | _Commands | _Section | _Heading | _Table | _Figure | _Terms
        ] = []

    def section(self, title: str) -> None:
        """Start a section."""
        self._parts.append(_Section(title, self._anchor(title)))

    def heading(self, title: str) -> None:
        """Start a part of a section."""
        self._parts.append(_Heading(title))

    def text(self, paragraph: str) -> None:
        """Add a paragraph."""
        self._parts.append(_Text(paragraph))

    def points(self, sentences: Sequence[str]) -> None:
        """Add a list of sentences."""
        self._parts.append(_Points(sentences))

    def commands(self, lines: Sequence[str]) -> None:
        """Add lines to be copied."""
        self._parts.append(_Commands(lines))

    def table(
        self,
        header: list[str],
        rows: list[list[str]],
        caption: str = "",
        terms: Sequence[str] = (),
    ) -> None:
        """Add a table; every row has as many cells as the header.

        Args:
            header: The headings.
            rows: The cells below them.
            caption: Text under the table.
            terms: For each column the name of the term that it links to (see `terms`), or nothing.
        """
        self._parts.append(_Table(header, rows, caption, terms))

    def terms(self, meanings: dict[str, str]) -> None:
        """Add a list of terms and what they mean."""
        self._parts.append(_Terms(meanings))

    def figure(self, figure: Figure, title: str, caption: str = "", shows: str = "") -> None:
        """Add a figure, which the page draws twice: for wide and for narrow screens.

        Black takes the colour of the page's text and white that of its paper, so that a figure
        suits a dark page as well; coloured text gets closer to the colour of the page's text.

        Args:
            figure: What to draw.
            title: Text above it.
            caption: Text below it.
            shows: For those who cannot see it: what it shows, in figures; if not given, what its
                curves show.
        """
        told = shows or in_words(figure)
        self._parts.append(_Figure(figure, title, caption, told, self._anchor(title)))

    def figure_files(self, suffix: str) -> list[str]:
        """Names of the files that `save_figures` writes."""
        return [f"{part.anchor}.{suffix}" for part in self._parts if isinstance(part, _Figure)]

    def save_figures(self, folder: Path, suffix: str) -> None:
        """Save every figure to a file of its own, named after its title.

        Args:
            folder: Made if it is missing.
            suffix: One of `FORMATS`.

        Warns once of letters that no font here has.

        Raises:
            OSError: If a file cannot be written.
        """
        make_folder(folder)
        metadata = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(suffix)
        missing: set[str] = set()
        for part in self._parts:
            if isinstance(part, _Figure):
                missing |= take_fonts(part.drawn)
                content = io.BytesIO()
                with warnings.catch_warnings(action="ignore", category=UserWarning):
                    part.drawn.savefig(content, format=suffix, dpi=200, metadata=metadata)
                write_whole(folder / f"{part.anchor}.{suffix}", content.getvalue())
        if missing:
            warnings.warn(missing_note(missing), stacklevel=2)

    def html(self) -> str:
        """The whole page."""
        glossary = Glossary()
        listed = [part for part in self._parts if isinstance(part, _Section | _Figure)]
        return _TEMPLATES.get_template("page.html").render(
            title=self.title,
            subtitle=self.subtitle,
            mark=self.mark,
            parts=self._parts,
            listed=listed if len(listed) >= _FEWEST_LISTED else [],
            listed_open=len(listed) <= _MOST_OPEN,
            linked=glossary.linked,
            linked_once=glossary.linked_once,
            anchored=True,
            # called after all that uses terms
            words=glossary.meanings,
        )

    def cell(self) -> str:
        """The same as a part of another page, as the cell of a notebook has it: without links."""
        return _TEMPLATES.get_template("cell.html").render(
            title=self.title,
            subtitle=self.subtitle,
            parts=self._parts,
            linked=escape,
            linked_once=escape,
            anchored=False,
        )

    def _repr_html_(self) -> str:
        return self.cell()

    def write(self, path: str | Path) -> None:
        """Write the page; its folder is made if it is missing.

        Raises:
            OSError: If the file cannot be written.
        """
        path = Path(path)
        make_folder(path.parent)
        write_whole(path, self.html())

    def _anchor(self, title: str) -> str:
        """A name that no other part has, for links and files."""
        stem = re.sub(r"\W+", "-", title.lower()).strip("-") or "part"
        taken = {part.anchor for part in self._parts if isinstance(part, _Section | _Figure)}
        names = (stem if k == 1 else f"{stem}-{k}" for k in count(1))
        return next(name for name in names if name not in taken)


def _inline(figure: Figure, name: str) -> str:
    """The figure as an SVG element that can be in a page with others that have other names."""
    buffer = io.StringIO()
    # the page's paper is behind it
    for patch in (figure.patch, *(ax.patch for ax in figure.axes)):
        patch.set_visible(False)
    # the browser may have letters that no font here has; ids follow from the salt
    with (
        matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}),
        warnings.catch_warnings(action="ignore", category=UserWarning),
    ):
        # `savefig` would draw it twice
        canvas: Any = FigureCanvasSVG(figure)  # its types are not declared
        canvas.print_svg(buffer, metadata=_NO_METADATA)
    text = buffer.getvalue()
    svg = text[text.index("<svg") :]
    svg = svg.replace("#000000", "currentColor").replace("#ffffff", "var(--paper)")
    # a line's colour is too pale for text, on white or on black
    svg = re.sub(r"(<text [^>]*?)fill: (#[0-9a-f]{6})", rf"\1fill: {TEXT_COLOUR}", svg)
    # every figure has names like axes_1, and nothing refers to them
    return re.sub(r'<g id="[^"]*"', "<g", svg)
