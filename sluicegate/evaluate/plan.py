"""The plan of an evaluation: which runs it consists of, checked before anything is run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from importlib.metadata import version
from typing import Any

from sluicegate import _engine, store
from sluicegate.errors import SluiceError
from sluicegate.evaluate.case import SEEDS, Case, Fitted
from sluicegate.evaluate.profile import Profile
from sluicegate.evaluate.suite import Suite
from sluicegate.evaluate.work import NETWORK, Run
from sluicegate.registry import Aqm
from sluicegate.scenario import Discipline, NetworkScenario
from sluicegate.sweeps.folder import FORMAT, Folder
from sluicegate.worlds import world as world_class
from sluicegate.worlds.network.simulate import describe

# what RFC 7928 compares everything with
DROP_TAIL = "drop_tail"
# and, where the profile has another buffer, this (section 1.2)
ONE_BDP = Discipline(aqm=DROP_TAIL, label="drop_tail of one BDP")
_MADE_BY = "sluicegate.evaluate.work"
# a scenario's seed has 64 bits
_MOST_SEED = (2**64 - 1) // SEEDS - 1


class EvaluationFolder(Folder):
    """The results folder of an evaluation; disciplines, sections and replications can be added."""

    about_name = "evaluation.json"
    what = "evaluation"
    needed = ("format", "profile", "seed")


@dataclass(frozen=True)
class Plan:
    """All runs of an evaluation.

    Attributes:
        suite: Where the scenarios come from.
        profile: The path.
        disciplines: Those that are compared, drop-tail first. `ONE_BDP` has a buffer of its own.
        cases: The scenarios, in the order of the suite.
        replications: Of each.
        seed: Of everything that is drawn.
        world: In which they are made; scenarios that it cannot do are left out.
        of_sections: Replications of the sections that have another number of them.
        references: Names of the disciplines that are only there for others to be compared with.
    """

    suite: Suite
    profile: Profile
    disciplines: Sequence[Discipline]
    cases: Sequence[Case]
    replications: int
    seed: int
    world: str = NETWORK
    of_sections: Mapping[str, int] = field(default_factory=dict)
    references: Sequence[str] = ()

    @classmethod
    def of(
        cls,
        suite: Suite,
        profile: Profile,
        disciplines: Sequence[Discipline],
        sections: Sequence[str] | None,
        replications: int | None,
        seed: int,
        world: str = NETWORK,
        references: Sequence[Discipline] = (),
    ) -> Plan:
        """Plan an evaluation; see `sluicegate.evaluate`.

        Raises:
            SluiceError: If there is no discipline or no section, if two disciplines have one name,
                if the suite has no scenario in a section, if the seed or the number of replications
                is out of its range, or if nothing that is judged has a scenario that the world can
                do.
        """
        if not disciplines:
            raise SluiceError("disciplines must have one AQM at least")
        if sections is not None and not sections:
            raise SluiceError("sections must have one at least")
        plain = Discipline(aqm=DROP_TAIL)
        if any(each.name == DROP_TAIL and each != plain for each in disciplines):
            raise SluiceError(
                f"a discipline is called {DROP_TAIL} and is another: give it another label"
            )
        given = [each for each in disciplines if each.name != DROP_TAIL]
        beside = [each for each in references if each.name != DROP_TAIL and each not in given]
        names = [each.name for each in (*given, *beside)]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise SluiceError(f"two disciplines are called {twice}: give one another label")
        count = profile.replications if replications is None else replications
        if not 2 <= count <= SEEDS:
            raise SluiceError(
                f"replications = {count} must lie between 2 and {SEEDS}: intervals need two, and "
                "the next seed has the others"
            )
        if not 0 <= seed <= _MOST_SEED:
            raise SluiceError(f"seed = {seed} must lie between 0 and {_MOST_SEED}")
        plan = cls(
            suite,
            profile,
            [plain, *given, *beside],
            suite.chosen(sections),
            count,
            seed,
            world,
            references=[each.name for each in beside],
        )
        for case in plan.cases:
            for name, fitted in plan.fitted[case.name].items():
                if isinstance(fitted, Fitted):
                    plan._check(case, name, fitted)
        tried = [by_name[each] for by_name in plan.fitted.values() for each in plan.judged]
        if all(isinstance(each, str) for each in tried):
            raise SluiceError(f"there is nothing to run: {tried[0]}")
        return plan

    def _check(self, case: Case, name: str, fitted: Fitted) -> None:
        discipline = fitted.discipline
        aqm = discipline.configured
        try:
            scenario = self._first(case, name, fitted)
            if isinstance(aqm, Aqm) and aqm.of.coupled:
                # it is held against its buffer, and `ecn`, when a run begins
                _engine.NetworkSession(scenario.handle, discipline.handle)
        except SluiceError as error:
            raise SluiceError(f"{name} in section {case.section}: {error}") from error

    @property
    def names(self) -> list[str]:
        """Of the disciplines, drop-tail first."""
        return [each.name for each in self.disciplines]

    @property
    def judged(self) -> list[str]:
        """Of the disciplines but drop-tail and references, or drop-tail if there is no other."""
        return [each for each in self.names[1:] if each not in self.references] or self.names[:1]

    @cached_property
    def fitted(self) -> dict[str, dict[str, Fitted | str]]:
        """By case and name, the discipline as the case has it, or why it has none."""
        return {
            case.name: {each.name: self._fitted(case, each) for each in self.disciplines}
            for case in self.cases
        }

    @cached_property
    def _firsts(self) -> dict[tuple[str, str], NetworkScenario]:
        return {}

    def _first(self, case: Case, name: str, fitted: Fitted) -> NetworkScenario:
        """The scenario of the first replication. To make one takes milliseconds: it is kept."""
        key = case.name, name
        if key not in self._firsts:
            self._firsts[key] = case.scenario(self.profile, fitted, 0, self.seed)
        return self._firsts[key]

    def _fitted(self, case: Case, discipline: Discipline) -> Fitted | str:
        fitted = case.fitted(discipline)
        if discipline == ONE_BDP and isinstance(fitted, Fitted):
            fitted = replace(fitted, limit=self.profile.bdp_packets)
        if self.world == NETWORK or not isinstance(fitted, Fitted):
            return fitted
        scenario = self._first(case, discipline.name, fitted)
        try:
            world_class(self.world)().check(scenario, fitted.discipline)
        except SluiceError as error:
            return f"{self.world}: {str(error).splitlines()[0]}"
        return fitted

    @cached_property
    def runs(self) -> list[Run]:
        """Every run, case by case, so that the first result is there soon."""
        return [
            run
            for case in self.cases
            for name, fitted in self.fitted[case.name].items()
            if isinstance(fitted, Fitted)
            for run in self._replications(case, name, fitted)
        ]

    @cached_property
    def runs_of(self) -> dict[tuple[str, str], list[Run]]:
        """The runs by case and discipline."""
        found: dict[tuple[str, str], list[Run]] = {}
        for run in self.runs:
            found.setdefault((run.case, run.name), []).append(run)
        return found

    @cached_property
    def _machine(self) -> Mapping[str, str]:
        return world_class(self.world)().machine

    def _replications(self, case: Case, name: str, fitted: Fitted) -> list[Run]:
        # what is read of a run depends on the case; the others follow from the first scenario, the
        # code, which the identity has, and their number
        described = {
            **describe(self._first(case, name, fitted), fitted.discipline),
            "case": case.name,
            "world": self.world,
            **self._machine,
        }
        return [
            Run(
                store.identity({**described, "replication": number}, _MADE_BY),
                case.name,
                name,
                fitted,
                number,
            )
            for number in range(self.replications_of(case))
        ]

    def replications_of(self, case: Case) -> int:
        """How many replications of a case there are to be."""
        return self.of_sections.get(case.section, self.replications)

    def told_replications(self) -> str:
        """How many replications there are to be, in words."""
        numbers = {self.replications_of(case) for case in self.cases}
        least, most = min(numbers), max(numbers)
        return f"{most} replications" if least == most else f"{least} to {most} replications"

    def about(self) -> dict[str, Any]:
        """What the results folder says of the evaluation, as types that JSON has."""
        return {
            "format": FORMAT,
            "sluicegate": version("sluicegate"),
            "build": store.build(_MADE_BY),
            # as JSON has it, with lists for tuples
            "profile": json.loads(json.dumps(asdict(self.profile))),
            "seed": self.seed,
        }
