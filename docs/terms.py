"""Links the first use of a term on a page to the glossary; its tooltip shows the meaning."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx

from sluicegate.report.glossary import MEANINGS, anchor, found_first

GLOSSARY = "reference/glossary"
# text in code, links and headings is not linked
_LEFT = (nodes.Titular, nodes.literal, nodes.FixedTextElement, nodes.reference, nodes.raw)


def link_terms(app: Sphinx, page: nodes.document, name: str) -> None:
    """Link the terms of a page; in the glossary, give each term's row the target of the links."""
    if name == GLOSSARY:
        for row in page.findall(nodes.row):
            term = row.children[0].astext()
            if term in MEANINGS:
                row["ids"].append(anchor(term))
        return
    to = app.builder.get_relative_uri(name, GLOSSARY)
    told: set[str] = set()
    for text in [*page.findall(nodes.Text)]:
        if not any(isinstance(node, _LEFT) for node in _around(text)):
            parts = [
                _link(words, term, to) if term else nodes.Text(words)
                for words, term in found_first(text.astext(), told)
            ]
            text.parent.replace(text, parts)


def _link(words: str, term: str, to: str) -> nodes.Node:
    link = f"{to}#{anchor(term)}"
    return nodes.reference(words, words, refuri=link, reftitle=MEANINGS[term], internal=True)


def _around(node: nodes.Node) -> list[nodes.Node]:
    """Return all ancestors of a node."""
    parent = node.parent
    return [parent, *_around(parent)] if parent is not None else []
