r"""Tables for LaTeX, as `booktabs` sets them: units below headings, intervals as $64.7 \pm 0.9$."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sluicegate.report.terminal import numeric_columns

_NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?"
# what `measure_text` and `number_text` write
_FIGURE = re.compile(
    rf"{_NUMBER}(?: ± {_NUMBER})?|\({_NUMBER} ± {_NUMBER}\)e[-+]\d+"
    rf"|[<>] {_NUMBER}|{_NUMBER} \([<>] {_NUMBER}\)"
)
_POWER = re.compile(r"e([-+]?\d+)")
_ESCAPED = str.maketrans(
    {
        **{letter: rf"\{letter}" for letter in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "±": r"$\pm$",
    }
)


def latex_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A `tabular` with the text of a table, which a document takes by its command input.

    Args:
        header: The headings; a unit in parentheses at their end is set below them.
        rows: The cells below them.
    """
    numeric = numeric_columns(list(header), [list(row) for row in rows])
    heads = [_split(cell) for cell in header]
    lines = [
        r"% needs \usepackage{booktabs}",
        rf"\begin{{tabular}}{{{''.join('r' if each else 'l' for each in numeric)}}}",
        r"\toprule",
        _line([_text(name) for name, _ in heads]),
    ]
    if any(unit for _, unit in heads):
        lines.append(_line([_text(unit) for _, unit in heads]))
    lines += [r"\midrule", *(_line([*map(_cell, row)]) for row in rows)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _split(heading: str) -> tuple[str, str]:
    """A heading, and its unit with parentheses."""
    found = re.fullmatch(r"(.+?)\s+(\([^()]*\))", heading, re.DOTALL)
    return (found[1], found[2]) if found else (heading, "")


def _line(cells: Sequence[str]) -> str:
    line = " & ".join(cells)
    # behind the line before, these would be arguments of its end
    return f"{'{}' if line.startswith(('[', '*')) else ''}{line} \\\\"


def _cell(text: str) -> str:
    return _figure(text) if _FIGURE.fullmatch(text) else _text(text)


def _figure(text: str) -> str:
    powers = _POWER.sub(lambda found: rf" \times 10^{{{int(found[1])}}}", text)
    for sign, command in (("±", r"\pm"), (",", "{,}"), (" (", r"\ (")):
        powers = powers.replace(sign, command)
    return f"${powers}$"


def _text(text: str) -> str:
    return " ".join(text.split()).translate(_ESCAPED)
