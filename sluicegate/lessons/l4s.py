"""L4S in one picture: a scalable flow beside a classic one, in one queue and in DualPI2's two.

RFC 9330 has the architecture, RFC 9332 the queue; the scalable sender is TCP Prague.
"""

from __future__ import annotations

from sluicegate.lessons.draw import bars, queues
from sluicegate.lessons.lesson import (
    NETWORK,
    Drawn,
    Lesson,
    Question,
    Records,
    Values,
    measured,
    scenario,
)
from sluicegate.scenario import Discipline, NetworkScenario, Queue

_MS = 1000.0
_DISCIPLINES = {
    "drop-tail": Discipline(aqm="drop_tail"),
    "CoDel": Discipline(aqm="codel"),
    "DualPI2": Discipline(aqm="dualpi2"),
}


def _runs(values: Values) -> dict[str, NetworkScenario]:
    base = scenario("l4s").replace(
        {"topology.rate_bps": values["rate_bps"], "topology.delay_s": values["rtt_s"] / 2}
    )
    return {
        name: base.replace(
            disciplines=(discipline,), queue=Queue(limit=400, ecn=name != "drop-tail")
        )
        for name, discipline in _DISCIPLINES.items()
    }


def _figures(values: Values, records: Records) -> list[Drawn]:
    return [
        Drawn(
            figure=queues(records),
            title="The queue in time",
            caption="Of all packets. With DualPI2 nearly all that wait are classic.",
        ),
        Drawn(
            figure=bars(
                records, "scalable.sojourn_mean", "mean wait of the scalable packets (ms)", _MS
            ),
            title="How long the scalable flow's packets wait",
            caption="Good is short: below 1 ms nobody notices it.",
        ),
        Drawn(
            figure=bars(
                records, "classic.sojourn_mean", "mean wait of the classic packets (ms)", _MS
            ),
            title="How long the classic flow's packets wait",
            caption="A classic sender needs a queue of about its round trip to keep the link busy.",
        ),
        Drawn(
            figure=bars(
                records, "scalable.goodput_bps", "goodput of the scalable flow (Mbit/s)", 1e-6
            ),
            title="What the scalable flow gets",
            caption=f"Half of the link is {values['rate_bps'] / 2e6:g} Mbit/s.",
        ),
    ]


def _questions(values: Values, records: Records) -> list[Question]:
    dual, codel = records["DualPI2"], records["CoDel"]
    return [
        Question(
            name="scalable_wait_ms",
            text="How long do the scalable flow's packets wait on average behind DualPI2?",
            unit="ms",
            **measured(dual, "scalable.sojourn_mean", _MS),
            tolerance=0.2,
            why="They have a lane of their own, whose packets are marked as soon as one waits "
            "1 ms; Prague answers each mark a little, so the lane stays nearly empty.",
        ),
        Question(
            name="classic_wait_ms",
            text="And those of the classic flow?",
            unit="ms",
            **measured(dual, "classic.sojourn_mean", _MS),
            tolerance=0.15,
            why="The PI controller holds the classic lane near its target of 15 ms.",
        ),
        Question(
            name="codel_wait_ms",
            text="How long do the scalable flow's packets wait on average behind CoDel?",
            unit="ms",
            **measured(codel, "scalable.sojourn_mean", _MS),
            tolerance=0.2,
            why="In one queue all wait alike, and the classic flow fills it.",
        ),
        Question(
            name="scalable_mbps",
            text="What does the scalable flow get behind DualPI2?",
            unit="Mbit/s",
            **measured(dual, "scalable.goodput_bps", 1e-6),
            tolerance=0.15,
            why="Scalable packets are marked with k p where classic ones are dropped with p^2, "
            "which gives both kinds of sender similar rates (RFC 9332, section 2.1).",
        ),
    ]


LESSON = Lesson(
    name="l4s",
    # how long each class waits, which a real router does not count
    worlds=(NETWORK,),
    title="L4S in one picture",
    text=[
        "A classic sender (CUBIC) learns of congestion by losses, which are rare and halve its "
        "window or nearly so. A scalable one (Prague) gets many marks and answers each a little, "
        "so it can live with a queue of one millisecond.",
        "Both share a link: behind drop-tail, behind CoDel with marks, and behind DualPI2, which "
        "has a lane for each kind and couples their signals.",
    ],
    given={"rate_bps": 40e6, "rtt_s": 0.01},
    choices={
        "rate_bps": (40e6, 45e6, 50e6, 55e6, 60e6),
        "rtt_s": (0.008, 0.009, 0.01, 0.011, 0.012, 0.013, 0.015),
    },
    runs=_runs,
    figures=_figures,
    questions=_questions,
    discuss=[
        "Why can the classic flow not live with a queue of 1 ms?",
        "Who would lose if scalable packets were only given priority, without coupled signals?",
        "How does the router know which packets are scalable? What if a sender lies?",
    ],
)
