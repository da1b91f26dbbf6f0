"""Pages in windows of 1200 and of 390 pixels: what is shown has room."""

import browser
import pytest

from sluicegate.report.page import Page

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(browser.NO_BROWSER), reason=browser.NO_BROWSER),
]
# a desktop's window, with its scroll bar, and a telephone's
WIDE, NARROW = 1200, 390


def page() -> Page:
    """Return a page like that of a comparison under ECN with all kinds of flows."""
    made = Page("All kinds of flows")
    units = ("ms", "ms", "packets", "packets", "%", "%", "packets/s", "", "s", "%")
    names = ("mean sojourn", "p99 sojourn", "mean queue", "deviation", "lost", "marked")
    names += ("goodput", "fairness", "completion", "link busy")
    header = ["discipline", *(f"{name}\n({unit})" for name, unit in zip(names, units, strict=True))]
    figures = ["294 ± 5", "140 ± 30", "560 ± 40", "10.0 ± 1.8", "0.3 (< 0.6)", "0.7 ± 0.4"]
    figures += ["2100 ± 400", "0.746 ± 0.003", "0.37 ± 0.10", "99.4 ± 0.2"]
    rows = [[name, *figures] for name in ("FQ-CoDel", "RED with a long name", "drop_tail")]
    made.table(header, rows, "A caption.")
    made.table(["measure", "value", "unit"], [["retransmission_rate", "201 ± 14", "packets/s"]])
    made.commands(["tc qdisc replace dev DEV root handle 1: tbf rate 20000000bit burst 3000 " * 2])
    return made


def test_on_a_desktop_nothing_is_cut(tmp_path):
    assert browser.cut({"page": page().html()}, WIDE, tmp_path) == {"page": []}


def test_on_a_telephone_only_a_table_of_many_columns_moves(tmp_path):
    (found,) = browser.cut({"page": page().html()}, NARROW, tmp_path).values()
    assert [what for what, _ in found] == ["wide"]


@pytest.mark.parametrize("window", [WIDE, NARROW])
def test_a_label_that_is_one_long_word_is_broken(window, tmp_path):
    made, label = Page("Title"), "x" * 200
    made.section(label)
    made.heading(label)
    made.table(["discipline", "AQM"], [[label, "red"]])
    assert browser.cut({"page": made.html()}, window, tmp_path) == {"page": []}


def test_names_in_the_first_column_are_not_squeezed(tmp_path):
    name = "red min_th=5, max_th=20, max_p=0.1, w=0.07"
    made = Page("Title")
    made.table(["discipline", "AQM"], [[name, "red"], ["drop_tail", "drop_tail"]])
    assert '<td class="name">red min_th=5' in made.html()
    assert '<table class="dense">' in page().html()
    assert '<table class="dense">' not in made.html()
