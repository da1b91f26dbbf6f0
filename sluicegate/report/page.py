"""One self-contained HTML page: text, tables and figures, nothing to load from anywhere."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from pathlib import Path

import jinja2
import matplotlib
from matplotlib.figure import Figure

from sluicegate.files import write_whole
from sluicegate.report.terminal import numeric_columns

_TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader("sluicegate.report", "."),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))


@dataclass(frozen=True)
class _Text:
    paragraph: str
    kind: str = "text"


@dataclass(frozen=True)
class _Section:
    title: str
    kind: str = "section"


@dataclass(frozen=True)
class _Table:
    header: list[str]
    rows: list[list[str]]
    caption: str
    kind: str = "table"

    @property
    def alignment(self) -> list[str]:
        """`number` for each column of numbers, `word` for the others."""
        numeric = numeric_columns(self.header, self.rows)
        return ["number" if column else "word" for column in numeric]


@dataclass(frozen=True)
class _Figure:
    svg: str
    title: str
    caption: str
    kind: str = "figure"


class Page:
    """A page that is put together from top to bottom, then written.

    What it is given is shown as it is: markup in a text appears as text.
    """

    def __init__(self, title: str, subtitle: str = "") -> None:
        self.title = title
        self.subtitle = subtitle
        self._parts: list[_Text | _Section | _Table | _Figure] = []

    def section(self, title: str) -> None:
        """Start a section."""
        self._parts.append(_Section(title))

    def text(self, paragraph: str) -> None:
        """Add a paragraph."""
        self._parts.append(_Text(paragraph))

    def table(self, header: list[str], rows: list[list[str]], caption: str = "") -> None:
        """Add a table; every row has as many cells as the header."""
        self._parts.append(_Table(header, rows, caption))

    def figure(self, figure: Figure, title: str, caption: str = "") -> None:
        """Add a figure; title and caption also describe it to those who cannot see it.

        Black takes the colour of the page's text and white that of its paper, so that a figure
        suits a dark page as well.
        """
        self._parts.append(_Figure(_inline(figure), title, caption))

    def html(self) -> str:
        """The whole page."""
        template = _TEMPLATES.get_template("template.html")
        return template.render(title=self.title, subtitle=self.subtitle, parts=self._parts)

    def write(self, path: str | Path) -> None:
        """Write the page; its folder is made if it is missing.

        Raises:
            OSError: If the file cannot be written.
        """
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, self.html())


def _inline(figure: Figure) -> str:
    """The figure as an SVG element that may stand in a page beside others."""
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "sluicegate"}):
        figure.savefig(buffer, format="svg", transparent=True, metadata=_NO_METADATA)
    text = buffer.getvalue()
    svg = text[text.index("<svg") :]
    svg = svg.replace("#000000", "currentColor").replace("#ffffff", "var(--paper)")
    # names like axes_1 are those of every figure, and nothing refers to them
    return re.sub(r'<g id="[^"]*"', "<g", svg)
