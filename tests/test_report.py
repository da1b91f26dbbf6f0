"""Reports: text, tables, plots and pages."""

import io
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest
from matplotlib import rc_context
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont
from matplotlib.text import Text
from rich.console import Console

import sluicegate as sg
from sluicegate import store
from sluicegate.estimate import Measure, student
from sluicegate.report import figure as plot
from sluicegate.report import plots
from sluicegate.report.drop_functions import drop_function_figure, drop_function_table
from sluicegate.report.folder import write_report
from sluicegate.report.glossary import MEANINGS
from sluicegate.report.narrow import narrow
from sluicegate.report.page import TEXT_COLOUR, Page
from sluicegate.report.seen import in_words
from sluicegate.report.tables import comparison_rows, difference_rows
from sluicegate.report.terminal import numeric_columns, terminal_table
from sluicegate.report.text import measure_text, value_text

VOID = {"meta", "br", "hr", "img", "link"}


class Reader(HTMLParser):
    """Collects what a test asks about, and fails on tags that do not close."""

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
        # a link within a text is a part of it
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


# --- text


@pytest.mark.parametrize(
    ("value", "half_width", "text"),
    [
        (64.71, 0.93, "64.7 ± 0.9"),
        (64.71, 0.96, "64.7 ± 1.0"),
        (64.71, 1.23, "64.7 ± 1.2"),
        (64.71, 23.0, "60 ± 20"),
        (131_375.2, 1234.0, "131400 ± 1200"),
        (0.0324, 0.00115, "0.0324 ± 0.0011"),
        (249.5005, 0.0007, "249.50 ± 0.01"),
        (3.2e-6, 4e-7, "(3.2 ± 0.4)e-06"),
        (0.0, 1.5e-7, "(0.0 ± 1.5)e-07"),
        (-5.43, 0.21, "-5.4 ± 0.2"),
        (0.0, 0.0, "0"),
        (5.0, None, "5"),
        (5.43219, None, "5.432"),
        (1_091_234.5, None, "1091234"),
        (2.0911e-8, None, "2.091e-08"),
        (float("nan"), None, "n/a"),
    ],
)
def test_a_value_stops_where_its_interval_begins(value, half_width, text):
    assert measure_text(Measure(value, half_width, "")) == text


def test_a_shown_half_width_is_never_under_two_thirds_of_the_true_one():
    for half_width in np.geomspace(1e-6, 100, 997):
        shown = measure_text(Measure(50.0, float(half_width), "")).rpartition("± ")[2]
        assert float(shown) > 0.66 * half_width


def test_values_are_written_as_a_scenario_would():
    assert [value_text(value) for value in (True, 2e6, 0.1, "ewma", 3)] == [
        "true",
        "2e+06",
        "0.1",
        "ewma",
        "3",
    ]


def test_columns_of_numbers_are_told_from_words():
    rows = [["red", "1 ± 2", "", "3"], ["nlred", "n/a", "(1 ± 2)e-6", "x"]]
    assert numeric_columns(["a", "b", "c", "d"], rows) == [False, True, True, False]
    assert numeric_columns(["a"], []) == [False]


def test_no_number_is_cut_off_where_there_is_no_room():
    screen = Console(width=30)
    with screen.capture() as shown:
        screen.print(terminal_table(["name"] * 4, [["1.735e-18", "681466", "0.0004103", "word"]]))
    lines = shown.get().splitlines()
    assert max(map(len, lines)) <= 30
    # what has no room beside the rest stands below, again with the first column
    assert [line.split() for line in lines if "1.735e-18" in line] == [
        ["1.735e-18", "681466", "0.0004103"],
        ["1.735e-18", "word"],
    ]


def test_a_table_fits_any_width_with_its_numbers_whole():
    header = ["discipline", "mean sojourn\n(slots)", "link busy\n(%)", "mean queue\n(packets)"]
    rows = [["drop_tail (slotted)", "250 ± 20", "99.80 ± 0.05", "122 ± 10"]]
    below = {"minus:": [["red", "-1.2 ± 0.5", "n/a", "0"]]}
    for width in range(34, 80):
        screen = Console(width=width)
        with screen.capture() as shown:
            screen.print(terminal_table(header, rows, below=below))
        lines = shown.get().splitlines()
        assert max(map(len, lines)) <= width
        words = re.split(r" {2,}|\n", shown.get())
        assert {*rows[0], *below["minus:"][0]} <= {word.strip() for word in words}


# --- pages


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


def test_figures_take_the_pages_colours_and_no_names_of_their_own():
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


def test_every_word_of_the_glossary_leads_to_its_meaning():
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
    # in a table's cells only what is linked nowhere else, and not twice
    cells = Page("Title")
    cells.text("A flow.")
    cells.table(["x"], [["a flow and its victim"], ["victim = front"]])
    html = cells.html()
    assert '<td class="word">a flow and its <a href="#word-victim">victim</a></td>' in html
    assert '<td class="word">victim = front</td>' in html
    # the meaning of a queue has a link in it
    assert "word-link" in places
    assert f"{MEANINGS['queue']}." in shown.text
    assert "Words" not in Page("Title").html()


def test_pages_explain_words_as_the_documentation_does(root):
    glossary = (root / "docs" / "reference" / "glossary.md").read_text()
    rows = [line.split("|") for line in glossary.splitlines() if line.count("|") >= 3]
    told = {row[1].strip(" `"): re.sub("[`*]", "", row[2]).strip() for row in rows}
    assert MEANINGS.items() <= told.items()


def luminance(colour):
    """Relative luminance (WCAG 2.2) of a colour from 0 to 1, shape (3,)."""
    linear = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def over(colour, alpha, ground):
    """What is seen of a colour that lets the ground through."""
    return alpha * np.array(to_rgb(colour)) + (1 - alpha) * ground


def test_every_text_of_a_page_can_be_read(root):
    """WCAG 2.2, 1.4.3: a contrast of 4.5; the colours mix as the page tells the browser."""
    assert "50%" in TEXT_COLOUR
    template = (root / "sluicegate" / "report" / "template.html").read_text()
    names = ("paper", "ink", "faint", "shade")
    schemes = zip(*(re.findall(rf"--{name}: (#\w+)", template) for name in names), strict=True)
    used = {*plots.colours([str(k) for k in range(8)]).values(), plots.GREY}
    for paper, ink, faint, shade in (map(np.array, map(to_rgb, each)) for each in schemes):
        # coloured text stands outside of axes: see the test of a network's figures
        pairs = [((np.array(to_rgb(colour)) + ink) / 2, paper) for colour in used]
        pairs += [(faint, paper), (ink, paper), (ink, shade)]
        # marks within axes may lie on a band that lies on the shaded warm-up
        warm_up = over(plots.GREY, 0.12, paper)
        pairs += [(ink, over(colour, 0.3, warm_up)) for colour in used]
        for text, ground in pairs:
            low, high = sorted(map(luminance, (text, ground)))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (text, ground)


@pytest.mark.parametrize("draw", [plots.queue_figure, plots.sojourn_tail_figure])
def test_text_of_a_figure_in_a_file_can_be_read(draw, tmp_path):
    """WCAG 2.2, 1.4.3, on white paper; behind it the figure has its own colours again."""
    drawn = draw(comparison({"aqm": "drop_tail"}, {"aqm": "red"}, {"aqm": "nlred"}).records)
    with rc_context({"svg.fonttype": "none"}):
        page = Page("Title")
        page.figure(drawn, "One")
        page.save_figures(tmp_path, "svg")
        before = page.html()
    text = (tmp_path / "one.svg").read_text()
    colours = set(re.findall(r"<text [^>]*fill: (#[0-9a-f]{6})", text))
    assert len(colours) >= 2
    assert all(1.05 / (luminance(np.array(to_rgb(each))) + 0.05) >= 4.5 for each in colours)
    assert plots.colours(["drop_tail"])["drop_tail"] in before


def test_a_narrow_figure_has_its_panels_one_below_the_other():
    records = comparison({"aqm": "drop_tail"}, {"aqm": "red"}).records
    drawn = plots.overview_figure(records)
    before = drawn.get_size_inches().tolist()
    small = narrow(drawn)
    FigureCanvasSVG(small).print_svg(io.BytesIO())
    above, below = (ax.get_position() for ax in small.axes)
    assert (above.x0, above.x1) == pytest.approx((below.x0, below.x1))
    assert above.y0 > below.y1
    assert [text.get_text() for text in small.axes[1].get_yticklabels()] == ["red", "drop_tail"]
    edge = small.bbox
    for text in small.findobj(Text):
        box = text.get_window_extent()
        assert not text.get_text() or (box.x0 >= edge.x0 - 1 and box.x1 <= edge.x1 + 1)
    # the wide one is as before
    assert drawn.get_size_inches().tolist() == before
    assert drawn.axes[0].get_subplotspec().colspan != drawn.axes[1].get_subplotspec().colspan


def test_a_figure_without_words_of_its_own_tells_what_its_curves_show():
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


def test_coloured_text_takes_the_colour_of_text():
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


# --- comparisons

TABLE = {
    "title": "Small & quick",
    "slots": 2e4,
    "replications": 2,
    "arrivals": {"kind": "geometric", "rate": 0.5},
    "service": {"kind": "geometric", "mu": 0.5},
    "queue": {"limit": 30},
}


def comparison(*disciplines, **changes):
    table = TABLE | {"disciplines": list(disciplines)} | changes
    return sg.compare(sg.Scenario.parse(table))


class Never:
    def arrive(self, view):
        return sg.ADMIT


def test_a_report_holds_every_discipline_and_measure(tmp_path):
    compared = comparison({"aqm": "red"}, {"aqm": "red", "ecn": True}, {"aqm": Never})
    path = write_report(compared, str(tmp_path / "out"))
    shown = read(path.read_text(encoding="utf-8"))
    header, rows = comparison_rows(compared)
    assert "marked\n(%)" in header
    for text in ("Small & quick", "red ECN", "Never", rows[0][1], "queue_deviation"):
        assert text in shown.text
    # each for wide and for narrow screens
    assert shown.tags.count("svg") == 2 * 5
    measures = pl.read_parquet(path.parent / "measures.parquet")
    assert measures.equals(compared.frame())
    distributions = pl.read_parquet(path.parent / "distributions.parquet")
    sums = distributions.group_by("discipline", "distribution").agg(pl.col("probability").sum())
    assert sums.height == 9
    assert sums["probability"].to_list() == pytest.approx([1] * 9)


def test_a_page_of_the_same_results_is_not_drawn_again(tmp_path, monkeypatch):
    compared = comparison({"aqm": "drop_tail"}, {"aqm": "red"})
    path = write_report(compared, tmp_path, figures="svg")
    assert {file.suffix for file in (tmp_path / "figures").iterdir()} == {".svg"}
    assert (tmp_path / "figures" / "how-long-the-queue-is.svg").stat().st_size > 1000
    monkeypatch.setattr("sluicegate.report.comparison.comparison_page", None)
    before = path.read_text()
    assert write_report(compared, tmp_path).read_text() == before
    # in another folder it comes from the store, the same to the byte, or is drawn if damaged there
    elsewhere = write_report(compared, tmp_path / "elsewhere")
    assert elsewhere.read_bytes() == path.read_bytes()
    (kept,) = store.folder().glob("*.html.gz")
    kept.write_bytes(kept.read_bytes()[:-100])
    with pytest.raises(TypeError):
        write_report(compared, tmp_path / "damaged")
    other = comparison({"aqm": "drop_tail"}, {"aqm": "red", "label": "RED"})
    with pytest.raises(TypeError):
        write_report(other, tmp_path)
    with pytest.raises(sg.SluiceError, match="figures = gif must be one of pdf, svg, png"):
        write_report(compared, tmp_path, figures="gif")


def test_a_cached_comparison_draws_nothing(tmp_path):
    """Its page is the same to the byte as one that is drawn afresh, in another process."""
    compared = comparison({"aqm": "drop_tail"}, {"aqm": "red"})
    page = write_report(compared, tmp_path).read_bytes()
    path = tmp_path / "small.toml"
    path.write_text(
        'title = "Small & quick"\nslots = 2e4\nreplications = 2\nqueue = { limit = 30 }\n'
        'arrivals = { kind = "geometric", rate = 0.5 }\n'
        'service = { kind = "geometric", mu = 0.5 }\n'
        '[[disciplines]]\naqm = "drop_tail"\n[[disciplines]]\naqm = "red"\n'
    )
    code = (
        "import sys; from sluicegate.cli import main\n"
        "for out in sys.argv[2:]:\n"
        "    before = set(sys.modules)\n"
        "    main(['compare', sys.argv[1], '--out', out])\n"
        "    print('drawn' if 'matplotlib' in set(sys.modules) - before else 'kept')"
    )

    def reports(*names):
        folders = [str(tmp_path / name) for name in names]
        command = [sys.executable, "-c", code, str(path), *folders]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return [line for line in done.stdout.splitlines() if line in ("drawn", "kept")]

    assert reports("one") == ["kept"]
    assert (tmp_path / "one" / "report.html").read_bytes() == page
    for kept in store.folder().glob("*.html.gz"):
        kept.unlink()
    assert reports("two") == ["drawn"]
    assert (tmp_path / "two" / "report.html").read_bytes() == page


def test_differences_are_of_pairs_that_see_the_same_arrivals(tmp_path):
    compared = comparison({"aqm": "drop_tail"}, {"aqm": "red"}, replications=4)
    one, other = compared.records
    found = compared.differences().filter(measure="queue_mean").row(0, named=True)
    assert (found["discipline"], found["other"]) == ("red", "drop_tail")
    pairs = other.values("queue_mean") - one.values("queue_mean")
    wanted = student(pairs)
    assert (found["value"], found["half_width"]) == (wanted.value, wanted.half_width)
    # what the arrivals do to both drops out
    assert found["half_width"] < student(one.values("queue_mean")).half_width
    header, _ = comparison_rows(compared)
    ((first, ((name, *cells),)),) = difference_rows(compared).items()
    assert (name, first) == ("red", "drop_tail")
    text = cells[header.index("mean queue\n(packets)") - 1]
    assert text == measure_text(wanted)
    shown = repr(compared).splitlines()
    below = shown[shown.index("minus drop_tail, replication by replication:") + 1 :]
    assert len(below) == 1
    assert text in below[0]
    assert below[0].startswith("red ")
    assert len(below[0]) == len(shown[2])  # in one column, to the right
    write_report(compared, tmp_path)
    assert pl.read_csv(tmp_path / "differences.csv").height == compared.differences().height


def test_times_are_shown_in_ms_where_slots_have_a_duration():
    header, rows = comparison_rows(comparison({"aqm": "red"}, slot_s=1e-3))
    assert header[1] == "mean sojourn\n(ms)"
    assert "marked\n(%)" not in header
    assert float(rows[0][1].partition(" ")[0]) > 1


@pytest.mark.parametrize(
    ("disciplines", "changes"),
    [
        ([{"aqm": "drop_tail"}], {"arrivals": {"kind": "geometric", "rate": 0}}),
        ([{"aqm": "drop_tail"}], {"arrivals": {"kind": "geometric", "rate": 1}, "slots": 1000}),
        ([{"aqm": "drop_tail"}], {"slots": 1000, "replications": 1}),
        ([{"aqm": Never}], {}),
        ([{"aqm": "red", "label": f"{k} $\\frac$ &<\n" + 9 * "long "} for k in range(12)], {}),
    ],
    ids=["nothing arrives", "always full", "short", "no drop function", "many, oddly named"],
)
def test_whatever_is_compared_can_be_reported(disciplines, changes, tmp_path):
    path = write_report(comparison(*disciplines, **changes), tmp_path)
    read(path.read_text(encoding="utf-8"))


def test_every_name_stands_in_the_legend():
    assert [plots.label(name) for name in ("red", "_mine", "$x")] == ["red", " _mine", r"\$x"]


def test_a_discipline_has_one_colour_in_every_plot():
    compared = comparison({"aqm": "drop_tail"}, {"aqm": "red"}, {"aqm": "nlred"})
    names = [record.discipline for record in compared.records]
    expected = plots.colours(names)
    assert len(set(expected.values())) == 3
    for drawn in (
        plots.queue_tail_figure(compared.records),
        plots.sojourn_tail_figure(compared.records),
    ):
        lines = {line.get_label(): line.get_color() for line in drawn.axes[0].lines}
        assert {name: lines[name] for name in names} == expected


def test_the_overview_puts_the_shortest_sojourn_first():
    overload = {"arrivals": {"kind": "geometric", "rate": 0.9}}
    compared = comparison({"aqm": "drop_tail"}, {"aqm": "red"}, **overload)
    ax = plots.overview_figure(compared.records).axes[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["red", "drop_tail"]
    assert ax.yaxis_inverted()


def test_the_tail_figure_shows_the_distribution():
    (record,) = comparison({"aqm": "red"}).records
    line = plots.queue_tail_figure([record]).axes[0].lines[0]
    at, shares = line.get_data()
    np.testing.assert_allclose(shares[0], 1)
    for k, share in zip(at[:10].astype(int), shares[:10], strict=True):
        assert share == pytest.approx(record.queue_distribution[k:].sum())


# --- letters


def labelled(text):
    drawn = plot.Figure(figsize=(3, 2))
    drawn.subplots().set_xlabel(text)
    return drawn


def test_letters_of_another_font_are_found_there(monkeypatch, tmp_path):
    """matplotlib brings a second font; what a system has for Chinese is taken the same way."""
    stix = findfont("STIXGeneral")
    letters = sorted(plot._letters(stix) - plot._letters(findfont("DejaVu Sans")))
    text = next(letter for letter in letters if letter.isalpha() and letter.isprintable())
    monkeypatch.setattr(plot, "_installed", lambda: {"STIXGeneral": stix})
    drawn = labelled(f"queue {text}")
    # a warning would be an error here
    for suffix in ("png", "pdf", "svg"):
        drawn.savefig(tmp_path / f"figure.{suffix}")
    assert b"STIXGeneral" in (tmp_path / "figure.pdf").read_bytes()
    assert drawn.axes[0].xaxis.label.get_fontfamily()[-1] == "STIXGeneral"
    records = comparison({"aqm": "red", "label": text}, {"aqm": "drop_tail"}).records
    for many in (plots.overview_figure, plots.queue_figure, plots.queue_tail_figure):
        drawn = many(records)
        drawn.savefig(tmp_path / "figure.pdf")
        assert b"STIXGeneral" in (tmp_path / "figure.pdf").read_bytes()


def test_letters_of_no_font_are_told_once(monkeypatch, tmp_path):
    monkeypatch.setattr(plot, "_installed", dict)
    page = Page("Title")
    for title, text in (("one", "队列"), ("two", "丢弃")):
        page.figure(labelled(text), title)
    with pytest.warns(UserWarning, match="No font found for 丢列弃队: figures have boxes") as told:
        page.save_figures(tmp_path, "png")
    assert len(told) == 1
    with pytest.warns(UserWarning, match="No font found for 队") as told:
        labelled("队").savefig(tmp_path / "figure.pdf")
    assert len(told) == 1
    # the reader's browser may have it
    assert "队列" in page.html()


# --- drop functions


def test_a_drop_function_table_spans_the_function():
    averages, probabilities = drop_function_table(sg.aqm("red", min_th=10, max_th=30, max_p=0.1))
    assert (averages[0], probabilities[0]) == (0, 0)
    assert averages[-1] > 30
    assert probabilities[-1] == 1
    assert probabilities[list(averages).index(20.0)] == pytest.approx(0.05)


def test_drop_functions_are_drawn_for_those_that_have_one():
    red = sg.aqm("red")
    drawn = drop_function_figure({"never": sg.aqm(Never), "red": red})
    (line,) = drawn.axes[0].lines
    averages, probabilities = line.get_data()
    np.testing.assert_array_equal(probabilities, red.drop_probability(averages))
    assert drop_function_figure({"never": sg.aqm(Never)}) is None
