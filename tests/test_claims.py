"""Claims of papers: verdicts on constructed values, and outputs that show them."""

import dataclasses
import io
import json

import numpy as np
import pytest
from rich.console import Console

from sluicegate.papers.claims import against, judge, less, more, ratio_of_means, within
from sluicegate.papers.lpf_oda import open_loop

pytestmark = pytest.mark.slow

SEEDS = np.arange(10.0)


# the mean of SEEDS is 4.5 and its 95 % interval 4.5 +- 2.17
@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0, 10, "holds"),
        (2.3, 6.7, "holds"),
        (2.4, 6.7, "undecided"),
        (2.3, 6.6, "undecided"),
        (6.6, 10, "undecided"),
        (6.7, 10, "fails"),
        (0, 2.3, "fails"),
    ],
)
def test_a_check_asks_where_the_whole_interval_lies(low, high, verdict):
    found = within("queue (packets)", SEEDS, low, high)
    assert found.verdict == verdict
    assert found.evidence == "queue (packets) 4 ± 2"


def test_runs_are_compared_seed_by_seed():
    # the seeds differ by far more than the disciplines, but always in the same direction
    assert less("wait", SEEDS, SEEDS + 0.1 + 0.01 * (SEEDS % 2)).verdict == "holds"
    assert less("wait", SEEDS + 0.1, SEEDS).verdict == "fails"
    assert less("wait", SEEDS, SEEDS).verdict == "undecided"
    assert less("wait", SEEDS, SEEDS[::-1].copy()).verdict == "undecided"
    gain = more("goodput, A against B", SEEDS + 1, SEEDS)
    assert gain.verdict == "holds"
    assert gain.evidence == "goodput, A against B: 6 ± 2 against 4 ± 2"
    assert more("goodput", SEEDS, SEEDS + 1).verdict == "fails"


def test_a_ratio_of_means_has_the_interval_of_its_jackknife():
    sevenfold = ratio_of_means(7 * SEEDS, SEEDS)
    assert (sevenfold.value, sevenfold.half_width) == pytest.approx((7, 0))
    # the mean of SEEDS is 4.5; against a constant the ratio's interval is that of the mean
    third = ratio_of_means(SEEDS, np.full(10, 3.0))
    assert third.value == pytest.approx(1.5)
    assert third.half_width == pytest.approx(2.166 / 3, rel=1e-3)
    assert np.isnan(ratio_of_means(SEEDS, np.zeros(10)).value)


def test_one_discipline_is_compared_with_each_other_one():
    waits = {"A": SEEDS, "B": SEEDS + 1, "C": SEEDS - 1}
    one, other = against(less, "wait", waits.__getitem__, "A", ["B", "C"])
    assert (one.verdict, other.verdict) == ("holds", "fails")
    assert one.evidence.startswith("wait, A against B: ")


@pytest.mark.parametrize("values", [[1.0], [1.0, np.inf, 2.0], [np.nan, 1.0]])
def test_values_without_an_interval_are_undecided(values):
    assert within("wait", values, 0, 10).verdict == "undecided"


def test_a_claim_holds_with_all_and_fails_with_one():
    yes = within("a", SEEDS, 0)
    no = within("b", SEEDS, 10)
    unknown = within("c", SEEDS, 4)
    assert judge("text", "where", [yes, yes]).verdict == "holds"
    assert judge("text", "where", [yes, unknown]).verdict == "undecided"
    assert judge("text", "where", [yes, unknown, no]).verdict == "fails"
    told = judge("text", "where", [yes, no], "A note.").evidence
    assert told == "a 4 ± 2; b 4 ± 2. A note."


def test_evidence_names_the_comparisons_that_do_not_hold():
    checks = [within("a", SEEDS, 0)] * 9 + [within("b", SEEDS, 10)]
    assert judge("text", "where", checks).evidence == ("9 of 10 comparisons hold; fails: b 4 ± 2.")


def test_evidence_names_the_closest_of_many_that_hold():
    # 2.17 is the half width of SEEDS: the bounds 1 and 2.2 are ever closer to the interval's end
    checks = [within("a", SEEDS, 1)] * 5 + [within("b", SEEDS, 2.2)] + [less("c", SEEDS, SEEDS + 1)]
    told = judge("text", "where", checks).evidence
    assert told == "7 of 7 comparisons hold; the closest: b 4 ± 2."


def test_claims_are_on_the_page_in_the_terminal_and_in_the_json():
    claim = judge("the queue is <short>", "section 6", [within("queue", SEEDS, 0)])
    found = dataclasses.replace(open_loop.reproduce(), claims=[claim])
    assert json.loads(json.dumps(found.summary()))["claims"] == [
        {
            "text": "the queue is <short>",
            "where": "section 6",
            "verdict": "holds",
            "evidence": "queue 4 ± 2.",
            "ours": False,
        }
    ]
    html = found.page().html()
    assert "Claims of the text" in html
    # the word before `is` is a link to the glossary
    assert "is &lt;short&gt;" in html
    assert "<short>" not in html
    screen = Console(width=120, file=io.StringIO())
    screen.print(found.claims_table())
    assert "holds" in screen.file.getvalue()
    assert "Claims of the text" not in open_loop.reproduce().page().html()
