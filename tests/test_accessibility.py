"""axe-core finds nothing in pages."""

import browser
import pytest
from matplotlib.figure import Figure

from sluicegate.cli import main
from sluicegate.report.page import Page

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(browser.MISSING), reason=browser.MISSING)]


def page_of_every_part() -> Page:
    """Return a page with every kind of part."""
    page = Page("Every part", "of a page, with a victim", "mark")
    for title in ("Result", "Figures"):
        page.section(title)
        page.heading("RED")
        page.text("The sojourn of a packet in the queue.")
        page.commands(["sluiced run --fail open --rate 2e+06 --aqm pie"])
        page.table(["AQM", "queue"], [["RED", "3.4"], ["a longer name " * 5, "12"]], "A caption.")
        page.table(["part", "setting"], [["queue", "20 packets"]])
    page.terms({"queue": "Waiting packets.", "mean sojourn": "Of those that got through."})
    for title in ("One", "Two", "Three"):
        figure = Figure()
        figure.subplots().plot([1, 2], [3, 4], label="RED")
        page.figure(figure, title, "What is seen.")
    return page


def test_axe_finds_nothing_in_pages(tmp_path, root, capsys):
    dumbbell = str(root / "scenarios" / "network" / "dumbbell.toml")
    light = str(root / "scenarios" / "light.toml")
    short = ["--slots", "20000", "--replications", "2", "--aqm", "drop_tail"]
    worlds = ["--world", "slotted", "--world", "chain"]
    assert main(["compare", light, *short, *worlds, "--out", str(tmp_path)]) == 0
    assert main(["flent", dumbbell, "--duration", "3", "--aqm", "pie", "--out", str(tmp_path)]) == 0
    trace = str(root / "tests" / "data" / "ns2.tr")
    assert main(["trace", trace, "--html", str(tmp_path / "trace.html")]) == 0
    pages = {path.stem: path.read_text() for path in tmp_path.glob("*.html")}
    assert set(pages) == {"report", "flent", "trace"}
    pages["every part"] = page_of_every_part().html()
    assert browser.violations(pages, tmp_path) == {}


def test_axe_finds_what_is_wrong(tmp_path):
    html = Page("A page").html()
    wrong = html.replace("</main>", '<p style="color: #777; background: #888">grey</p><img></main>')
    found = browser.violations({"wrong": wrong}, tmp_path)
    assert {rule for rule, *_ in found["wrong, on white"]} == {"color-contrast", "image-alt"}
    assert {rule for rule, *_ in found["wrong, on black"]} == {"color-contrast"}
