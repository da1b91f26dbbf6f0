"""Suites: the scenarios of RFC 7928, and those of L4S."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sluicegate.errors import SluiceError
from sluicegate.evaluate.case import Case
from sluicegate.evaluate.cases import CASES, TOPICS
from sluicegate.evaluate.choices import CHOICES, Choice
from sluicegate.evaluate.l4s import L4S_CASES, L4S_CHOICES, L4S_TOPICS
from sluicegate.evaluate.requirements import REQUIREMENTS, Requirement


@dataclass(frozen=True)
class Suite:
    """Scenarios that are judged together.

    Attributes:
        title: Where they come from.
        profile: Name of the path on which they are judged if no other is given.
        cases: The scenarios, in their order.
        choices: What their source leaves open.
        references: Well-known AQMs: the first that is not judged alone is the usual reference.
        topics: What each section is about, for readers who do not know its number.
        requirements: What it asks for; empty: it has no such list.
        marks: Whether all AQMs mark, so that the page shows marks and the tails of classes.
    """

    title: str
    profile: str
    cases: Sequence[Case]
    choices: Sequence[Choice]
    references: Sequence[str]
    topics: Mapping[str, str]
    requirements: Sequence[Requirement] = ()
    marks: bool = False

    @property
    def sections(self) -> list[str]:
        """Its sections, in their order."""
        return list(dict.fromkeys(case.section for case in self.cases))

    def headed(self, section: str) -> str:
        """A section with what it is about."""
        return f"{section}: {self.topics[section]}"

    def chosen(self, sections: Sequence[str] | None) -> Sequence[Case]:
        """The cases of these sections; all if None.

        Args:
            sections: Such as `6.2`, or `5` for all below it.

        Raises:
            SluiceError: If there is no scenario in one.
        """
        if sections is None:
            return self.cases
        for each in sections:
            if not any(_is_in(case, each) for case in self.cases):
                raise SluiceError(
                    f"sections = {each}: {self.title} has no scenario there; there are "
                    f"{', '.join(self.sections)}"
                )
        return [case for case in self.cases if any(_is_in(case, each) for each in sections)]


def _is_in(case: Case, section: str) -> bool:
    return f"{case.section}.".startswith(f"{section}.")


RFC7928 = Suite("RFC 7928", "default", CASES, CHOICES, ("codel", "pie"), TOPICS, REQUIREMENTS)
L4S = Suite("L4S", "l4s", L4S_CASES, L4S_CHOICES, ("dualpi2", "codel"), L4S_TOPICS, marks=True)
SUITES = (RFC7928, L4S)
_BY_NAME = {case.name: case for suite in SUITES for case in suite.cases}


def case_named(name: str) -> Case:
    """The case of that name."""
    return _BY_NAME[name]
