"""Numbers and tables of reports, as text."""

import re

import numpy as np
import pytest
from rich.console import Console

from sluicegate.estimate import Measure
from sluicegate.measures import DEFINITIONS
from sluicegate.report.tables import Column, label
from sluicegate.report.terminal import numeric_columns, terminal_table
from sluicegate.report.text import measure_text, value_text


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
def test_a_value_has_the_digits_that_its_interval_allows(value, half_width, text):
    assert measure_text(Measure(value, half_width, "")) == text


def test_a_shown_half_width_is_never_under_two_thirds_of_the_true_one():
    for half_width in np.geomspace(1e-6, 100, 997):
        shown = measure_text(Measure(50.0, float(half_width), "")).rpartition("± ")[2]
        assert float(shown) > 0.66 * half_width


def test_values_are_written_as_a_scenario_would():
    assert [value_text(value) for value in (True, 2e6, 0.1, "ewma", 3)] == [
        "true",
        "2e6",
        "0.1",
        "ewma",
        "3",
    ]


def test_columns_of_numbers_are_distinguished_from_words():
    rows = [["red", "1 ± 2", "", "3"], ["nlred", "n/a", "(1 ± 2)e-6", "x"]]
    assert numeric_columns(["a", "b", "c", "d"], rows) == [False, True, True, False]
    assert numeric_columns(["a"], []) == [False]


def test_a_narrow_terminal_cuts_no_number():
    screen = Console(width=30)
    with screen.capture() as shown:
        screen.print(terminal_table(["name"] * 4, [["1.735e-18", "681466", "0.0004103", "word"]]))
    lines = shown.get().splitlines()
    assert max(map(len, lines)) <= 30
    # columns without room are below the others, with the first column repeated
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


def test_bits_per_second_are_shown_as_mbit_per_second_everywhere():
    assert label("throughput_bps", "s") == "throughput (Mbit/s)"
    cell = Column("bulk.goodput_bps", "s").text({"bulk.goodput_bps": Measure(20e6, 20e3, "bits/s")})
    assert cell == "20.00 ± 0.02"
    # what is stored stays in bits/s
    assert DEFINITIONS["throughput_bps"].unit.of("s") == "bits/s"


@pytest.mark.parametrize(
    ("measure", "text"),
    [
        (Measure(0.008137864344636932, 0.000312, "s"), "8.1 ± 0.3 ms"),
        (Measure(1.2044, 0.03, "s"), "1200 ± 30 ms"),
        (Measure(20e6, 20e3, "bits/s"), "20.00 ± 0.02 Mbit/s"),
        (Measure(0.0, None, "", bound=3e-6), "< 3e-06"),
        (Measure(12.5, None, "packets"), "12.5 packets"),
    ],
)
def test_a_measure_alone_reads_as_in_tables(measure, text):
    assert str(measure) == f"{measure}" == text
    assert measure._repr_html_() == text.replace("<", "&lt;")
    assert f"{Measure(0.5, 0.25, 's'):.3f}" == "0.500 ± 0.250"
