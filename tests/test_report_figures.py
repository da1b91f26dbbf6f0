"""Figures of reports: curves, contrast of colours, letters, narrow forms."""

import io
import re
from itertools import pairwise

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont
from matplotlib.lines import Line2D
from matplotlib.text import Text
from pages import Never, comparison

import sluicegate as sg
from sluicegate.report import figure as plot
from sluicegate.report import plots
from sluicegate.report.drop_function_table import drop_function_table
from sluicegate.report.drop_functions import drop_function_figure, same_curves
from sluicegate.report.narrow import narrow
from sluicegate.report.page import TEXT_COLOUR, Page


def test_every_name_is_in_the_legend():
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


def labelled(text):
    drawn = plot.Figure(figsize=(3, 2))
    drawn.subplots().set_xlabel(text)
    return drawn


def test_letters_are_taken_from_another_font_that_has_them(monkeypatch, tmp_path):
    """Uses a second font of matplotlib; a system's font for Chinese is found in the same way."""
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


def test_a_label_is_drawn_from_right_to_left_where_its_letters_are():
    """Its letters in the opposite order, with the sign that puts them from left to right."""

    def drawn(text):
        made = Figure(figsize=(3, 1))
        made.text(0.1, 0.5, text)
        canvas = FigureCanvasAgg(made)
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())

    label, reversed_ = "תור קצר", "\u202dרצק רות\u202c"
    assert np.array_equal(drawn(label), drawn(reversed_))
    assert not np.array_equal(drawn(label), drawn(label[::-1]))
    records = comparison({"aqm": "red", "label": label}, {"aqm": "drop_tail"}).records
    made = Page("Title")
    made.figure(plots.overview_figure(records), "sojourn")
    assert label in made.html()


def test_letters_of_no_font_are_reported_once(monkeypatch, tmp_path):
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
    # the text stays in the page: the reader's browser may have a font for it
    assert "队列" in page.html()


def test_a_drop_function_table_spans_the_function():
    averages, probabilities = drop_function_table(sg.aqm("red", min_th=10, max_th=30, max_p=0.1))
    assert (averages[0], probabilities[0]) == (0, 0)
    assert averages[-1] > 30
    assert probabilities[-1] == 1
    assert probabilities[list(averages).index(20.0)] == pytest.approx(0.05)


def test_drop_functions_are_drawn_for_aqms_that_have_one():
    red = sg.aqm("red")
    drawn = drop_function_figure({"never": sg.aqm(Never), "red": red})
    (line,) = drawn.axes[0].lines
    averages, probabilities = line.get_data()
    np.testing.assert_array_equal(probabilities, red.drop_probability(averages))
    assert drop_function_figure({"never": sg.aqm(Never)}) is None


def luminance(colour):
    """Return the relative luminance (WCAG 2.2) of a colour: 0 to 1, shape (3,)."""
    linear = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def over(colour, alpha, ground):
    """Return the colour that is seen if a transparent colour lies on a ground."""
    return alpha * np.array(to_rgb(colour)) + (1 - alpha) * ground


def test_every_text_of_a_page_can_be_read(root):
    """WCAG 2.2, 1.4.3: a contrast of 4.5, with colours mixed by the rules in the page."""
    assert "50%" in TEXT_COLOUR
    template = (root / "sluicegate" / "report" / "page.html").read_text()
    names = ("paper", "ink", "faint", "shade")
    schemes = zip(*(re.findall(rf"--{name}: (#\w+)", template) for name in names), strict=True)
    used = {*plots.colours([str(k) for k in range(8)]).values(), plots.GREY}
    for paper, ink, faint, shade in (map(np.array, map(to_rgb, each)) for each in schemes):
        # coloured text is outside of axes: see the test of a network's figures
        pairs = [((np.array(to_rgb(colour)) + ink) / 2, paper) for colour in used]
        pairs += [(faint, paper), (ink, paper), (ink, shade)]
        # symbols within axes can be on a band on the shaded warm-up
        warm_up = over(plots.GREY, 0.12, paper)
        pairs += [(ink, over(colour, 0.3, warm_up)) for colour in used]
        for text, ground in pairs:
            low, high = sorted(map(luminance, (text, ground)))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (text, ground)


@pytest.mark.parametrize("draw", [plots.queue_figure, plots.sojourn_tail_figure])
def test_text_of_a_figure_in_a_file_can_be_read(draw, tmp_path):
    """WCAG 2.2, 1.4.3, on white paper; afterwards the figure has its own colours again."""
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
    # the wide form is unchanged
    assert drawn.get_size_inches().tolist() == before
    assert drawn.axes[0].get_subplotspec().colspan != drawn.axes[1].get_subplotspec().colspan


def test_a_narrow_figure_has_the_names_of_its_legend_one_below_the_other():
    drawn = Figure(figsize=(8, 3), layout="constrained")
    names = [f"a discipline with a long name, {k}" for k in range(3)]
    for k, name in enumerate(names):
        drawn.subplots().plot([0, 1], [0, k], color=f"C{k}", label=name)
    drawn.legend(loc="outside upper center", ncols=3, labelcolor="linecolor", frameon=False)
    small = narrow(drawn)
    FigureCanvasSVG(small).print_svg(io.BytesIO())
    (legend,) = small.legends
    boxes = [text.get_window_extent() for text in legend.get_texts()]
    assert [text.get_text() for text in legend.get_texts()] == names
    assert all(above.y0 >= below.y1 for above, below in pairwise(boxes))
    assert all(box.x1 <= small.bbox.x1 for box in boxes)
    (wide,) = drawn.legends
    colours = [[text.get_color() for text in each.get_texts()] for each in (legend, wide)]
    assert colours[0] == colours[1]


def test_a_narrow_legend_has_the_symbols_of_error_bars():
    drawn = Figure(figsize=(8, 3), layout="constrained")
    ax = drawn.subplots()
    for name, marker, dashes in (("points", "o", "none"), ("dashed", "s", "--")):
        ax.errorbar([0, 1], [0, 1], yerr=0.1, marker=marker, linestyle=dashes, label=name)
    drawn.legend(loc="outside lower center", ncols=2, handlelength=3.2)
    small = narrow(drawn)
    FigureCanvasSVG(small).print_svg(io.BytesIO())

    def symbols(legend):
        lines = legend.findobj(Line2D)
        return [(line.get_marker(), line.get_linestyle(), line.get_xdata()) for line in lines]

    (wide,), (below,) = drawn.legends, small.legends
    assert {("o", "None"), ("s", "None"), ("none", "--")} <= {each[:2] for each in symbols(below)}
    # as long, too
    assert str(symbols(below)) == str(symbols(wide))


def test_a_legend_without_entries_is_left_out():
    drawn = Figure(layout="constrained")
    drawn.subplots().plot([0, 1], [0, 1])
    drawn.legend([], [], loc="outside right upper")
    assert narrow(drawn).legends == []


def test_drop_functions_that_lie_on_each_other_are_named(root):
    bursty = sg.load(root / "scenarios" / "bursty.toml")
    configured = {each.name: each.configured for each in bursty.disciplines}
    assert same_curves(configured) == [["RED", "RED, drop from front", "REDwM"]]
    assert same_curves({"DSRED": configured["DSRED"]}) == []


def test_ticks_of_a_logarithmic_axis_are_powers_of_ten():
    found = [plots.power_text(share) for share in (1.0, 0.1, 1e-5, 1e-15)]
    assert found == ["1", "10⁻¹", "10⁻⁵", "10⁻¹⁵"]


@pytest.mark.parametrize(
    ("width_in", "limits", "ticks"),
    [
        # as many as have room, and two at least
        (2.9, (0.2, 60), [0.2, 0.5, 1, 2, 5, 10, 20, 50]),
        (1.2, (0.2, 60), [0.3, 1, 3, 10, 30]),
        (1.2, (0.0025, 1), [0.01, 0.1, 1]),
        (1.2, (1e-9, 1e9), [1e-9, 1e-3, 1e3, 1e9]),
        # less than a decade
        (2.9, (2.1, 4.9), [2.5, 3, 3.5, 4, 4.5]),
        (1.2, (21, 95), [40, 60, 80]),
        (2.9, (0.6, 0.7), [0.6, 0.62, 0.64, 0.66, 0.68, 0.7]),
    ],
)
def test_logarithmic_axes_have_the_ticks_that_have_room(width_in, limits, ticks):
    figure = Figure(figsize=(width_in + 1, 2), layout="constrained")
    ax = figure.subplots()
    ax.set_xscale("log")
    plots.plain_ticks(ax.xaxis, (1, 2, 5))
    ax.set_xlim(limits)
    figure.canvas.draw()
    shown = [each for each in ax.get_xticks() if limits[0] <= each <= limits[1]]
    assert shown == pytest.approx(ticks)
