"""The requirements of RFC 7928, section 13, and what an evaluation shows of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    # evaluations know suites, and these the requirements
    from sluicegate.evaluate.evaluation import Evaluation

State = Literal["met", "not met: not run", "not met: run in part", "discuss"]


@dataclass(frozen=True)
class Requirement:
    """A row of the RFC's table 4.

    Attributes:
        what: The scenario.
        section: Of the RFC.
        weight: How much it is asked for, in the RFC's words.
        cases: Sections whose scenarios show it; empty: words do.
    """

    what: str
    section: str
    weight: str
    cases: tuple[str, ...]


REQUIREMENTS = [
    Requirement("interaction with ECN", "4.5", "must be discussed if supported", ("4.5",)),
    Requirement("interaction with scheduling", "4.6", "should be discussed", ("4.6",)),
    Requirement("TCP-friendly sender", "5.1", "must be considered", ("5.1.1", "5.1.2")),
    Requirement("aggressive sender", "5.2", "must be considered", ("5.2",)),
    Requirement("unresponsive sender", "5.3", "must be considered", ("5.3",)),
    Requirement("less-than-best-effort sender", "5.4", "may be considered", ("5.4",)),
    Requirement("round-trip time fairness", "6.2", "must be considered", ("6.2",)),
    Requirement("burst absorption", "7.2", "must be considered", ("7.2",)),
    Requirement("stability: congestion that varies", "8.2.5", "must be considered", ("8.2.5",)),
    Requirement("stability: capacity that varies", "8.2.6", "must be considered", ("8.2.6",)),
    Requirement("parameter sensitivity and stability", "8.3", "should be discussed", ("8.3",)),
    Requirement("traffic mix", "9.1", "recommended", ("9.1",)),
    Requirement("two-way traffic", "9.2", "may be considered", ("9.2",)),
    Requirement("several AQMs", "10.2", "may be considered", ("10.2",)),
    Requirement("implementation cost", "11", "should be discussed", ()),
    Requirement("operator control", "12", "should be discussed", ()),
]


def state(found: Evaluation, requirement: Requirement) -> State:
    """Whether an evaluation considers what is asked for: not how well a discipline does in it.

    It is met when all scenarios of its sections have been run.

    What the RFC asks to be discussed is `discuss`: the page has the facts, its reader the words.
    """
    run = [each for each in requirement.cases if each in found.sections and found.was_run(each)]
    if len(run) < len(requirement.cases) or not all(map(found.is_complete, run)):
        return "not met: run in part" if run else "not met: not run"
    return "discuss" if "discussed" in requirement.weight else "met"


def rows(found: Evaluation) -> list[list[str]]:
    """The table: requirement, section, weight, state, where on the page."""
    return [
        [
            each.what,
            each.section,
            each.weight,
            state(found, each),
            " and ".join(f"section {section}" for section in each.cases) or "What it costs",
        ]
        for each in found.plan.suite.requirements
    ]
