"""A reader of HTML pages for tests, and a short comparison to fill pages with."""

import re
from html.parser import HTMLParser

import sluicegate as sg

TABLE = {
    "title": "Small & quick",
    "slots": 2e4,
    "replications": 2,
    "arrivals": {"kind": "geometric", "rate": 0.5},
    "service": {"kind": "geometric", "mu": 0.5},
    "queue": {"limit": 30},
}

VOID = {"meta", "br", "hr", "img", "link"}


def without_links(html: str) -> str:
    """Return a page without its links, so that a text is in one piece."""
    return re.sub(r"</?a\b[^>]*>", "", html)


class Reader(HTMLParser):
    """Collects tags, attributes and text of a page; fails on tags that are not closed."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.text, self.attributes = [], [], [], []
        self.before, self.in_text = "", False

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.in_text = tag == "a"
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.in_text = tag == "a"

    def handle_data(self, data):
        # the text of a link belongs to the text around it
        if self.in_text and self.text:
            data = self.before + data
            self.text.pop()
        self.before, self.in_text = data, False
        self.text.append(data.strip())


def read(html):
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


def comparison(*disciplines, **changes):
    table = TABLE | {"disciplines": list(disciplines)} | changes
    return sg.compare(sg.Scenario.parse(table))


class Never:
    """An AQM that never drops."""

    def arrive(self, view):
        return sg.ADMIT
