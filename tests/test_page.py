"""Pages: parts, links, words of the glossary, narrow forms of figures."""

import re

import numpy as np
import pytest
from matplotlib.figure import Figure
from pages import read

from sluicegate.report.glossary import MEANINGS, found_first
from sluicegate.report.page import Page
from sluicegate.report.seen import in_words


def figure():
    drawn = Figure(figsize=(3, 2))
    ax = drawn.subplots()
    ax.plot([1, 2], [3, 4])
    ax.set_xlabel("packets & bytes")
    return drawn


def test_a_page_shows_what_it_is_given_and_loads_nothing():
    page = Page("A <b>title</b>", "below")
    page.section("First & last")
    page.text("if a < b")
    page.table(["name", "value"], [["x", "1"], ["<y>", "2"]], "caption")
    page.figure(figure(), 'The "figure"', "how to read it", "from 3 to 4")
    html = page.html()
    shown = read(html)
    for text in ("A <b>title</b>", "below", "First & last", "if a < b", "<y>", "caption"):
        assert text in shown.text
    assert "packets & bytes" in shown.text  # of the figure: text stays text
    assert ("aria-label", 'The "figure". from 3 to 4') in shown.attributes
    assert ("class", "number") in shown.attributes
    assert not {"script", "link", "img", "iframe"} & set(shown.tags)
    loads = [value for name, value in shown.attributes if name in ("src", "href", "action")]
    assert loads == []
    assert "@import" not in html
    assert "url(http" not in html


def test_figures_take_the_pages_colours_and_have_no_fixed_ids():
    page = Page("Title")
    page.figure(figure(), "one")
    page.figure(figure(), "two")
    html = page.html()
    assert "currentColor" in html
    assert "#000000" not in html.partition("</style>")[2]
    groups = [value for name, value in read(html).attributes if name == "id"]
    assert not any(name.startswith(("figure", "axes")) for name in groups)


def test_a_page_is_the_same_each_time():
    def page():
        made = Page("Title")
        made.figure(figure(), "one")
        return made.html()

    assert page() == page()


def test_a_long_page_lists_its_parts_and_headers_lead_to_terms():
    page = Page("Title")
    for _ in range(5):
        page.section("Part & more")
    page.table(["name", "lost"], [["x", "1"]], terms=["", "loss_ratio"])
    page.terms({"loss_ratio": "packets lost"})
    shown = read(page.html())
    links = [value[1:] for name, value in shown.attributes if name == "href"]
    places = [value for name, value in shown.attributes if name == "id"]
    assert links == ["part-more", *(f"part-more-{k}" for k in (2, 3, 4, 5)), "term-loss_ratio"]
    assert links == places


def test_every_word_of_the_glossary_links_to_its_meaning():
    page = Page("Title")
    page.text("Two flows & their <queues>; a flow may wait.")
    page.table(["Delay (ms)"], [["1"]], "Behind ± stands an interval.")
    html = page.html()
    assert (
        '<p>Two <a href="#word-flow">flows</a> &amp; their &lt;<a href="#word-queue">queues</a>'
        in html
    )
    assert '<a href="#word-delay">Delay</a> (ms)</th>' in html
    shown = read(html)
    links = [value[1:] for name, value in shown.attributes if name == "href"]
    places = [value for name, value in shown.attributes if name == "id"]
    assert set(links) == set(places) - {"words"}
    # a table's cells have a link only for words that are linked nowhere else, and only once
    cells = Page("Title")
    cells.text("A flow.")
    cells.table(["x"], [["a flow and its victim"], ["victim = front"]])
    html = cells.html()
    assert '<td class="name">a flow and its <a href="#word-victim">victim</a></td>' in html
    assert '<td class="name">victim = front</td>' in html
    # the meaning of a term has a link itself
    assert "word-link" in places
    assert f"{MEANINGS['queue']}." in shown.text
    assert "Words" not in Page("Title").html()


@pytest.mark.parametrize(
    "code",
    [
        "captures/gateway.pcap",
        "/srv/queue/delay.html",
        "./flow",
        "--aqm red --flows 5..50",
        "sluice trace out.tr",
        "sluiced capture",
        "queue.limit",
        "flows.0.count",
        "victim = front",
        "capture=a.pcap",
        "queue_mean",
        "mean_queue",
        "delay.toml",
    ],
)
def test_words_in_commands_paths_and_fields_are_not_linked(code):
    assert [term for _, term in found_first(f"See {code} there.", set()) if term] == []
    page = Page("Title", code)
    page.text(f"See {code}.")
    page.table([code], [[f"({code})"]], code)
    assert "href" not in page.html()


def test_words_beside_signs_are_linked():
    for text in (
        "a (queue), b",
        "the queue: c",
        "“queue”",
        "queue.",
        "queue; d",
        "queue's",
        "Queues.",
    ):
        assert [term for _, term in found_first(text, set()) if term] == ["queue"], text
    # the words of a term may be joined by a hyphen
    assert [term for _, term in found_first("after the warm-up", set()) if term] == ["warm-up"]


def test_pages_explain_words_as_the_documentation_does(root):
    glossary = (root / "docs" / "reference" / "glossary.md").read_text()
    rows = [line.split("|") for line in glossary.splitlines() if line.count("|") >= 3]
    told = {row[1].strip(" `"): re.sub("[`*]", "", row[2]).strip() for row in rows}
    assert MEANINGS.items() <= told.items()


def test_a_figure_without_a_description_names_its_curves():
    drawn = Figure()
    left, right = drawn.subplots(1, 2)
    left.plot([0, 1, 2], [1, 4, 2], label="red")
    left.errorbar([0, 1], [5, 6], yerr=[1, 1], label="blue")
    left.set_xlabel("time (s)")
    left.set_ylabel("queue")
    left.set_title("Here", loc="left")
    right.pcolormesh([[1.0, np.nan], [2.5, 2.0]])
    assert in_words(drawn) == (
        "Here, queue against time (s): red from 1 at 0 to 2 at 2, at most 4 at 1; "
        "blue from 5 at 0 to 6 at 1. colours from 1 to 2.5."
    )
    page = Page("Title")
    page.figure(drawn, "One")
    assert 'aria-label="One. Here, queue against' in page.html()


def test_coloured_text_is_mixed_with_the_colour_of_text():
    drawn = figure()
    drawn.axes[0].set_ylabel("up", color="#4aaee6")
    page = Page("Title")
    page.figure(drawn, "one")
    texts = re.findall(r"<text [^>]*>", page.html())
    assert any("color-mix(in srgb, #4aaee6 50%, var(--ink))" in text for text in texts)


def test_a_page_makes_its_folder(tmp_path):
    path = tmp_path / "new" / "page.html"
    Page("Grüße").write(path)
    assert "Grüße" in path.read_text(encoding="utf-8")
