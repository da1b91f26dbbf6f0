"""Why RED is hard to tune: one setting, more and more flows.

Feng, Kandlur, Saha & Shin, "A self-configuring RED gateway", INFOCOM 1999, section II, made the
point: which max_p is right depends on the number of flows. The load of n flows of TCP of round trip
R is met by a loss of about (1.22 n / (C R))^2, C the link's rate in packets (Mathis et al. 1997,
equation 1 without delayed ACKs), and RED must give that loss at the average queue that is wanted.
"""

from __future__ import annotations

from sluicegate.lessons.draw import bars, queues
from sluicegate.lessons.lesson import (
    Drawn,
    Lesson,
    Question,
    Records,
    Values,
    measured,
    scenario,
)
from sluicegate.scenario import NetworkScenario


def _label(flows: float, max_p: float) -> str:
    return f"{flows:.0f} flows, max_p = {max_p:g}"


def _cases(values: Values) -> list[tuple[float, float]]:
    few, many = values["few"], values["many"]
    return [(flows, values[name]) for name in ("gentle", "harsh") for flows in (few, many)]


def _runs(values: Values) -> dict[str, NetworkScenario]:
    base = scenario("red")
    return {
        _label(flows, max_p): base.replace(
            {"flows.0.count": int(flows), "disciplines.0.params.max_p": max_p}
        )
        for flows, max_p in _cases(values)
    }


def _figures(values: Values, records: Records) -> list[Drawn]:
    return [
        Drawn(
            figure=queues(records),
            title="The queue and its average in time",
            caption="RED wants the average between min_th = 15 and max_th = 45. Beyond max_th it "
            "drops every packet; below min_th none.",
        ),
        Drawn(
            figure=bars(records, "queue_mean", "mean queue (packets)"),
            title="The mean queue",
            caption="The same setting gives another queue to each number of flows.",
        ),
        Drawn(
            figure=bars(records, "loss_ratio", "packets lost (%)", 100.0),
            title="What is lost",
            caption="More flows need more losses to slow down; the setting cannot change that.",
        ),
    ]


def _questions(values: Values, records: Records) -> list[Question]:
    few, many = values["few"], values["many"]
    names = {
        "gentle_few": (few, values["gentle"]),
        "gentle_many": (many, values["gentle"]),
        "harsh_few": (few, values["harsh"]),
        "harsh_many": (many, values["harsh"]),
    }
    asked = [
        Question(
            name=f"queue_{name}",
            text=f"What is the mean queue with {flows:.0f} flows and max_p = {max_p:g}?",
            unit="packets",
            **measured(records[_label(flows, max_p)], "queue_mean"),
            why="The average settles where RED's drop probability is the loss that the flows need; "
            "more flows need more, so the average is longer.",
        )
        for name, (flows, max_p) in names.items()
    ]
    more, less = (records[_label(flows, values["gentle"])]["loss_ratio"] for flows in (many, few))
    asked.append(
        Question(
            name="loss_times",
            text=f"With max_p = {values['gentle']:g}: how many times more is lost with {many:.0f} "
            f"flows than with {few:.0f}?",
            unit="",
            answer=more.value / less.value,
            tolerance=0.2,
            why="By Mathis's formula the loss that n flows need rises as the square of n while the "
            "round trip stays; it rises less, as the queue makes the round trip longer, and least "
            "where time-outs set in.",
        )
    )
    return asked


LESSON = Lesson(
    name="red",
    title="Why RED is hard to tune",
    text=[
        "RED drops with a probability that rises from 0 at min_th to max_p at max_th, over the "
        "average of the queue. Which max_p is right?",
        "The same link, with few flows and with many, behind RED with two settings. An operator "
        "does not know the number of flows, and it changes all the time.",
    ],
    given={"few": 4, "many": 60, "gentle": 0.02, "harsh": 0.2},
    choices={
        "few": (3, 4, 5),
        "many": (50, 55, 60, 65, 70),
        "gentle": (0.02, 0.025, 0.03),
        "harsh": (0.2, 0.25),
    },
    runs=_runs,
    figures=_figures,
    questions=_questions,
    discuss=[
        "Which setting would you take for few flows, which for many? What does the other do?",
        "What does RED do if the average is beyond max_th, and how do the flows answer?",
        "How would you let RED find max_p itself? (The command sluice aqm ared shows one way.)",
        "PIE and CoDel have a target instead. What is still to be chosen?",
    ],
)
