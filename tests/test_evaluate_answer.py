"""The sentences that an evaluation begins with."""

from dataclasses import replace

import numpy as np
import pytest
from evaluations import BRIEF

from sluicegate.evaluate import evaluate
from sluicegate.evaluate.answer import Section, Side, answer, share
from sluicegate.evaluate.evaluation import Evaluation
from sluicegate.evaluate.page import _side
from sluicegate.evaluate.plan import Plan
from sluicegate.evaluate.short import _delay_line, how_sure, in_short, rest, sections_frame
from sluicegate.evaluate.suite import RFC7928
from sluicegate.evaluate.verdict import compared, together
from sluicegate.evaluate.words import heading
from sluicegate.report.csv import csv_text
from sluicegate.scenario import Discipline

SHORT, LONG = ["better"], ["worse"]
SAME, PARTLY, UNKNOWN = ["no difference"], ["a trade"], ["unknown"]


def sections(delays, goodputs, ratios=(None, None)):
    """Return a section for each pair of verdicts, all with the same ratios."""
    return [
        Section(
            f"5.{k}",
            together([each for each in words if each is not None]),
            *(Side(word, ratio) for word, ratio in zip(words, ratios, strict=True)),
            [],
            [],
        )
        for k, words in enumerate(zip(delays, goodputs, strict=True))
    ]


@pytest.mark.parametrize(
    ("delays", "goodputs", "said"),
    [
        (SHORT * 3, SHORT * 3, "Better than x in all sections."),
        (SAME * 3, SAME * 3, "No difference from x in all sections."),
        (
            SHORT * 2 + LONG,
            LONG * 2 + SHORT,
            "A trade beside x: in most sections queues are shorter and goodput is less.",
        ),
        (
            LONG * 3,
            SHORT * 2 + PARTLY,
            "A trade beside x: in most sections queues are longer and goodput is more.",
        ),
        (
            SHORT * 3,
            SHORT + SAME + LONG,
            "Mostly better than x: in most sections queues are shorter and goodput is not less.",
        ),
        (
            SAME * 2 + LONG,
            SHORT * 2 + LONG,
            "Mostly better than x: in most sections queues are no different and goodput is more.",
        ),
        # goodput is not judged
        (
            SHORT * 2 + LONG,
            [None] * 3,
            "Mostly better than x: in most sections queues are shorter.",
        ),
        (
            LONG * 2 + SHORT,
            LONG * 2 + [None],
            "Mostly worse than x: in most sections queues are longer and goodput is less.",
        ),
        (
            LONG * 3,
            SHORT + SAME + LONG,
            "Mostly worse than x: in most sections queues are longer and goodput is not more.",
        ),
        (
            SAME * 3 + LONG,
            SAME * 3 + SHORT,
            "Much like x: in most sections queues are no different and goodput is no different.",
        ),
        # "not less" is not true of most sections
        (
            SHORT * 18,
            LONG * 9 + PARTLY * 5 + SAME * 4,
            "Mixed beside x: queues are shorter in 18 of 18 sections; goodput is less in 9 of 18 "
            "sections, partly more and partly less in 5, no different in 4.",
        ),
        (
            SHORT * 18,
            LONG * 8 + PARTLY * 8 + SAME * 2,
            "Mixed beside x: queues are shorter in 18 of 18 sections; goodput is less in 8 of 18 "
            "sections, partly more and partly less in 8, no different in 2.",
        ),
        (
            LONG * 9 + PARTLY * 9,
            SHORT * 18,
            "Mixed beside x: queues are longer in 9 of 18 sections, partly shorter and partly "
            "longer in 9; goodput is more in 18 of 18 sections.",
        ),
        # as many are better as worse
        (
            SHORT * 9 + LONG * 9,
            SHORT * 9 + LONG * 9,
            "Mixed beside x: queues are shorter in 9 of 18 sections, longer in 9; goodput is more "
            "in 9 of 18 sections, less in 9.",
        ),
        (
            PARTLY * 18,
            PARTLY * 18,
            "Mixed beside x: queues are partly shorter and partly longer in 18 of 18 sections; "
            "goodput is partly more and partly less in 18 of 18 sections.",
        ),
        (
            UNKNOWN * 3 + SHORT,
            SAME * 4,
            "Not known if better or worse than x: queues are shorter in 1 of 4 sections, not known "
            "in 3; goodput is no different in 4 of 4 sections.",
        ),
    ],
)
def test_the_answer_follows_from_most_sections(delays, goodputs, said):
    assert answer(sections(delays, goodputs), "x", is_all=False) == said


@pytest.mark.parametrize(
    ("delays", "goodputs", "said"),
    [
        (SHORT, SAME, "Better than x."),
        (SAME, SAME, "No difference from x."),
        (SHORT, LONG, "A trade beside x: queues are shorter and goodput is less."),
    ],
)
def test_of_one_section_there_are_no_most(delays, goodputs, said):
    rows = sections(delays, goodputs)
    assert answer(rows, "x", is_all=True) == said
    # others were run, and could not be compared
    named = said.replace(" x", f" x in {rows[0].section}, the only section compared")
    assert answer(rows, "x", is_all=False) == named


def test_one_section_may_be_mixed():
    delay, goodput = Side("a trade", None), Side("better", None)
    assert answer([Section("5", "a trade", delay, goodput, [], [])], "x", is_all=True) == (
        "Mixed beside x: queues are partly shorter and partly longer; goodput is more."
    )


def test_a_trade_tells_its_size():
    rows = sections(SHORT * 3, LONG * 3, (0.25, 0.99))
    assert answer(rows, "x", is_all=True) == (
        "A trade beside x: in most sections queues are shorter (median 25 % as long) and goodput "
        "is less (median 99 % as much)."
    )
    assert answer(rows[:1], "x", is_all=True) == (
        "A trade beside x: queues are shorter (25 % as long) and goodput is less (99 % as much)."
    )
    # longer in one of its scenarios, and shorter in the mean
    delay, goodput = Side("worse", 0.98), Side("better", 1.0)
    assert answer([Section("5", "a trade", delay, goodput, [], [])], "x", is_all=True) == (
        "A trade beside x: queues are partly longer (98 % as long) and goodput is more (100 % as "
        "much)."
    )


def test_the_answer_without_queues_and_goodput_is_that_of_the_sections():
    none = Side(None, None)
    rows = [Section("5", word, none, none, [], []) for word in ("better", "worse")]
    assert (
        answer(rows, "x", is_all=True)
        == "Mixed beside x: it is better in 1 of 2 sections, worse in 1."
    )


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        (0.003, "below 1 %"),
        (0.012, "1 %"),
        (0.264, "26 %"),
        (0.9968, "99.7 %"),
        (1.0, "100 %"),
        (1.994, "199 %"),
        (1.996, "2 times"),
        (2.0, "2 times"),
        (2.34, "2.3 times"),
        (9.96, "10 times"),
        (99.6, "100 times"),
        (123.4, "123 times"),
    ],
)
def test_ratios_are_said_in_plain_numbers(ratio, said):
    assert share(ratio) == said


def test_a_ratio_that_goes_the_other_way_is_of_a_part():
    """One scenario is longer, and the mean over all is not."""
    sides = [Side("worse", 0.98), Side("worse", 1.5), Side("better", 1.02), Side("better", 0.5)]
    assert [_side(each, "shorter", "longer").replace("\u00a0", " ") for each in sides] == [
        *("partly longer: 98 %", "longer: 150 %", "partly shorter: 102 %", "shorter: 50 %")
    ]
    assert _side(Side("worse", 1.02), "more", "less").startswith("partly less: 102")
    assert _side(Side("worse", None), "more", "less") == "less"


def test_phases_are_named_in_words():
    assert heading("slow.queueing_delay") == "queueing delay of the slow phase"
    assert heading("mild-again.queueing_delay") == "queueing delay of the second mild phase"
    assert heading("after.queueing_delay") == "queueing delay of the time after"


def test_the_beginning_has_the_figures_of_the_sections(sixth):
    found, _ = sixth
    (title, lines), (_, kept) = in_short(found, ["drop_tail"])
    assert title == "codel beside drop_tail"
    shares = [
        f"{100 * found.ratio(section, 'codel', 'drop_tail', 'queueing_delay'):.0f} %"
        for section in found.sections
    ]
    # the queue of five round trips is shorter in both sections, and the sizes are told
    assert lines[1].startswith("Queueing delay: shorter in 2 of 2 sections. In the median section ")
    # once, if they are the same in words
    assert len(set(shares)) == 1
    assert lines[1].endswith(f"{shares[0]} of that of drop_tail.")
    first, second = found.sections
    sides = {first: Side("better", 0.2), second: Side("better", 0.4)}
    headed = [found.plan.suite.headed(each) for each in found.sections]
    assert _delay_line(found, sides, "x").endswith(
        f"30 % of that of x; from 20 % ({headed[0]}) to 40 % ({headed[1]})."
    )
    waits = [found.mean(case, "codel", "sojourn_mean").value for case in found.plan.cases]
    held = sum(wait <= 0.005 for wait in waits)
    assert f"at most {1e3 * max(waits):.3g} ms" in kept[1]
    assert f"5 ms: the mean was at most its target there in {held} of 2 scenarios." in kept[1]
    # drop-tail has none
    assert "target" not in kept[0]
    # of a few figures none is expected to differ by chance
    assert how_sure(found, ["drop_tail"]).endswith("(of a time also above 0.1 ms).")
    figures = sum(len(found.compared(case, "codel")) for case in found.plan.cases)
    assert how_sure(found, ["drop_tail"] * 10).endswith(
        f"Of {10 * figures} figures that are compared at most about {figures / 2:.0f} would seem "
        "to differ even if none did."
    )
    # the rest is said with the section in which it differs most
    fair = compared_pair("goodput_fairness", 0.8, 1.0)
    less = compared_pair("goodput_fairness", 0.9, 1.0)
    sides = Side("no difference", None), Side("no difference", None)
    rows = [
        Section("4.4", "worse", *sides, [], [less]),
        Section("6.2", "worse", *sides, [], [fair]),
    ]
    assert rest(rows) == [
        "Also worse: Jain's fairness of goodputs (4.4, 6.2; 0.8 against 1 in 6.2)."
    ]


def compared_pair(measure, value, other):
    """Return the comparison of two constants."""
    return compared(measure, np.full(3, value), np.full(3, other))


def test_a_target_that_a_section_changes_is_told(tmp_path):
    path = replace(BRIEF, flows=(2, 4, 6))
    found = evaluate(["codel"], tmp_path, profile=path, sections=["8.2.3", "8.3"], workers=1)
    (_, kept) = in_short(found, ["drop_tail"])[-1]
    waits = [found.mean(case, "codel", "sojourn_mean").value for case in found.plan.cases]
    held = sum(wait <= of for wait, of in zip(waits, (0.005, 0.0025, 0.01), strict=True))
    assert [case.name for case in found.plan.cases] == ["8-2-3-medium", "8-3-halved", "8-3-doubled"]
    assert kept[1].endswith(
        "Its target is 5 ms, in some scenarios 2.5 to 10 ms: the mean was at most its target there "
        f"in {held} of 3 scenarios."
    )


def test_tables_without_a_row_have_their_columns():
    """Nothing was run yet, and drop-tail has nothing beside it."""
    plan = Plan.of(RFC7928, BRIEF, [Discipline(aqm="drop_tail")], ["5.1.1"], None, 1)
    found = Evaluation(plan, {})
    others = ["drop_tail"]
    assert csv_text(sections_frame(found, others)).split() == [
        "section,discipline,other,verdict,queueing_delay,queueing_delay_ratio,goodput,goodput_ratio"
    ]
    assert csv_text(found.verdicts(others)).split() == [
        "section,case,discipline,other,measure,verdict,value,other_value,difference,half_width"
    ]


def test_references_are_told_from_what_is_judged():
    pie, codel = (Discipline(aqm=name) for name in ("pie", "codel"))
    plan = Plan.of(RFC7928, BRIEF, [codel], ["5.1.1"], None, 1, references=[pie])
    told = Evaluation(plan, {}).summary(["drop_tail", "pie"])
    assert told["disciplines"] == ["drop_tail", "codel", "pie"]
    assert told["judged"] == ["codel"]
