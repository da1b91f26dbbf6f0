"""What was run, as the rows of a page's tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sluicegate.network import NetworkScenario
from sluicegate.registry import Aqm
from sluicegate.report.tables import value_text
from sluicegate.scenario import Discipline, Scenario
from sluicegate.worlds import AnyScenario

Rows = list[list[str]]


def setting_rows(scenario: AnyScenario) -> Rows:
    """Parts of a scenario and how they were set."""
    rows = _slotted(scenario) if isinstance(scenario, Scenario) else _network(scenario)
    return [list(row) for row in rows]


def _slotted(scenario: Scenario) -> Iterator[tuple[str, str]]:
    yield "arrivals", _assignments(scenario.arrivals.model_dump())
    yield "service", _assignments(scenario.service.model_dump())
    yield "queue", _assignments(scenario.queue.model_dump())
    no_duration = scenario.slot_s is None
    yield "slot", "no duration: times are in slots" if no_duration else f"{scenario.slot_s} s"
    yield "packet size (where not a capture's)", f"{scenario.packet_bytes} bytes"


def _network(scenario: NetworkScenario) -> Iterator[tuple[str, str]]:
    yield "topology", _assignments(scenario.topology.model_dump())
    for number, flows in enumerate(scenario.flows):
        yield f"flows {number}", _assignments(flows.model_dump())
    yield "queue", _assignments(scenario.queue.model_dump())
    yield "time left out at the start", f"{scenario.warm_up:g} s"
    yield "time between samples", f"{scenario.sample_s:g} s"


def discipline_rows(scenario: AnyScenario) -> Rows:
    """Each discipline, its AQM, and the parameters that apply."""
    return [[each.name, each.configured.name, _applying(each)] for each in scenario.disciplines]


def _applying(discipline: Discipline) -> str:
    """The parameters that have a meaning with the present choices, and the queue's part."""
    fields: dict[str, object] = {}
    if isinstance(aqm := discipline.configured, Aqm):
        params = [p for p in aqm.of.params if aqm.of.applies(p, aqm.params)]
        fields = {param.name: aqm.params[param.name] for param in params}
    fields |= {"victim": discipline.victim, "ecn": discipline.ecn}
    if discipline.scheduler.kind != "fifo":
        fields["scheduler"] = discipline.scheduler.model_dump()
    return _assignments(fields)


def _assignments(fields: Mapping[str, object]) -> str:
    """Fields as TOML has them in one line, without those that say nothing."""
    return ", ".join(
        f"{name} = {_text(value)}" for name, value in fields.items() if value is not None
    )


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return f"{{ {_assignments(value)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return value_text(value)
