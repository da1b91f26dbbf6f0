"""Writes JSON Schemas of the `--json` output of commands: `make outputs`.

They are in `docs/reference/outputs`. The rows of tables are derived from their classes and columns.
"""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import polars as pl

from sluicegate.advice.question import Direction, Question
from sluicegate.advice.rows import CaseRow, PreferRow, SettingRow
from sluicegate.advice.score import COSTS
from sluicegate.estimate import Measure
from sluicegate.evaluate.choices import Choice
from sluicegate.evaluate.profile import Profile
from sluicegate.evaluate.suite import SUITES
from sluicegate.evaluate.verdict import Word
from sluicegate.measures import DEFINITIONS
from sluicegate.papers.claims import Claim
from sluicegate.router_records import SCHEMA as ROUTER
from sluicegate.router_records import UNKNOWN
from sluicegate.stability.rows import EquilibriumRow, LoopRow, RecommendedRow
from sluicegate.trace.trace import FLOW_COLUMNS, LINK_COLUMNS
from sluicegate.traffic.fit import Row

Schema = dict[str, Any]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"

# a number that is not finite is written as null
_NAMES: dict[Any, list[str]] = {
    str: ["string"],
    int: ["integer"],
    bool: ["boolean"],
    float: ["number", "null"],
    types.NoneType: ["null"],
}


def _type(of: Any, meaning: str = "") -> Schema:
    """Return the schema of a plain type, or of a union such as `float | None`."""
    told = {"description": meaning} if meaning else {}
    if get_origin(of) is Literal:
        return {"enum": list(get_args(of)), **told}
    parts = get_args(of) if get_origin(of) in (Union, types.UnionType) else (of,)
    names = list(dict.fromkeys(name for part in parts for name in _NAMES[part]))
    return {"type": names[0] if len(names) == 1 else names, **told}


def _object(meaning: str, required: Mapping[str, Schema], **optional: Schema) -> Schema:
    return {
        **({"description": meaning} if meaning else {}),
        "type": "object",
        "properties": {**required, **optional},
        "required": list(required),
        "additionalProperties": False,
    }


def _list(of: Schema, meaning: str) -> Schema:
    told = {"description": meaning} if meaning else {}
    return {**told, "type": "array", "items": of}


def _row(of: type, meaning: str) -> Schema:
    """Return the schema of a row with the fields of a class."""
    return _object(meaning, {name: _type(each) for name, each in get_type_hints(of).items()})


def _columns(of: Mapping[str, type], meaning: str) -> Schema:
    """Return the schema of a row with these columns; a number may be null."""
    return _object(
        meaning,
        {name: _type(each | None if each is float else each) for name, each in of.items()},
    )


_MEASURE = _object(
    "A value and what is known of its error.",
    {
        "value": _type(float, "What was measured."),
        "half_width": _type(float, "Half width of the 95 % interval; null where there is none."),
        "unit": _type(str, "Unit of all three; empty for a share."),
        "bound": _type(float, "A one-sided 95 % bound, instead of an interval."),
    },
)
assert {field.name for field in fields(Measure)} == set(_MEASURE["properties"])


def _measures(meaning: str) -> Schema:
    return {"description": meaning, "type": "object", "additionalProperties": _MEASURE}


_PORT = _object(
    "One queue of a network.",
    {
        "name": _type(str, "Name of the simplex link before which it is."),
        "time_bin_s": _type(float, "Width of the bins of its distributions of times, s."),
        "sample_s": _type(float, "Time between two samples of its series, s."),
        "own_discipline": _type(
            str | None, "The discipline of the link's own; null: the compared one."
        ),
        "measures": _measures("Measures after the warm-up, by name."),
        "whole": _measures("Measures of the whole run, by name."),
    },
)
_WIRE = _object(
    "A link whose wire loses, delays or reorders packets, apart from any queue.",
    {
        "name": _type(str, "Name of the simplex link."),
        "measures": _measures("Measures of the wire after the warm-up, by name."),
    },
)
_RECORD = {
    "identity": _type(str, "Hash of everything that determines the run."),
    "discipline": _type(str, "Its name."),
    "world": _type(str, "The world that gave it."),
    "run": {
        "description": "What was run: the fields of the scenario, the AQM with all its parameters, "
        "world, seed and version.",
        "type": "object",
    },
    "done": _type(float, "Share of the run that was finished: 1 unless it was interrupted."),
    "method": _type(str, "How the intervals were computed."),
    "time_unit": _type(str, "`slots` or `s`, of everything that is a time."),
    "time_bin": _type(float, "Width of the bins of the distributions of times."),
    "resolution": _type(float, "Probabilities below are chance, or the solution's error."),
    "measures": _measures("Measures by name; see their list."),
    "unknown": {
        "description": "What the world cannot know: names of measures, with `*` for any text, and "
        "why.",
        "type": "object",
        "additionalProperties": {"type": "string"},
    },
}
_OF_SOME_WORLDS = {
    "slots": _type(int, "Slotted world: slots simulated, warm-up included."),
    "warm_up_slots": _type(int, "Slotted world: slots left out at the start of each replication."),
    "wires": _list(_WIRE, "Network world: links whose wires lose, delay or reorder packets."),
    "whole": _measures("Network world and gate: the same of the whole run, warm-up included."),
    "ports": _list(
        _PORT,
        "Network world and gate: every queue; the first with the compared discipline that sent "
        "anything is `measures`.",
    ),
}
# a row also has a column for each path that varies
_RUN = {
    **_object(
        "A finished run: what varies, and what was measured.",
        {
            "run": _type(int, "Its number in the plan."),
            "discipline": _type(str, "Its name."),
            "world": _type(str, "The world of the run."),
            "identity": _type(str, "Hash of everything that determines the run."),
            "time_unit": _type(str, "`slots` or `s`, of everything that is a time."),
        },
        **{
            f"{name}{kind}": _type(float | None)
            for name in DEFINITIONS
            for kind in ("", "_half_width", "_bound")
        },
    ),
    "additionalProperties": {"type": ["number", "string", "boolean"]},
}
_PUBLISHED = {
    "row": _type(str, "Which case."),
    "quantity": _type(str, "What is compared, named as in records."),
    "published": _type(float, "The paper's figure; null where it prints none."),
    "measured": _type(float, "Ours."),
    "half_width": _type(float, "Half width of our 95 % interval."),
    "difference": _type(float, "How far ours is above the published figure, as a share of it."),
}
_PREDICTED = _type(float, "Our figure of another world, as a prediction of the measured one.")
_JUDGED = {
    "spread": _type(float, "Standard deviation of the published figure; null where it has none."),
    "verdict": _type(str, "`agrees` or `differs`; empty where there is nothing to judge."),
}

_VALUES = {"type": "object", "additionalProperties": {"type": "number"}}
_SETTING = _object(
    "A setting, under fresh random numbers, which the search did not use.",
    {
        "name": _type(str, "`tuned`, `scenario` or `default`."),
        "values": {"description": "By parameter.", **_VALUES},
        "score": _MEASURE,
        "measures": _measures("By name."),
        "keeps": _type(bool, "Whether it keeps every constraint, in the mean."),
        "surely": _type(bool, "Whether the 95 % intervals of all constraints say so."),
        "runs": _type(int, "Number of runs from which its figures follow."),
    },
    minus_tuned=_MEASURE,
)


def _beside_parameters(required: Mapping[str, Schema], meaning: str) -> Schema:
    """Return the schema of a row that also has a column for each parameter."""
    return {**_object(meaning, required), "additionalProperties": {"type": "number"}}


_TRIAL = _beside_parameters(
    {
        "number": _type(int, "Its number, in the order of the search."),
        "runs": _type(int, "Number of runs that judged it."),
        "score": _type(float, "Their mean."),
        "half_width": _type(float, "Half width of its 95 % interval."),
        "violation": _type(float, "By how much it breaks the constraints; 0: it keeps them."),
        "stopped": _type(bool, "Whether it was stopped early, since it could not win."),
        "refused": _type(str, "Why the scenario cannot be run with it; empty if it can."),
    },
    "A candidate of the search, with its parameters.",
)
_FRONT = _beside_parameters(
    {
        f"{name}{kind}": _type(float | None)
        for name in ("delay_mean", "loss_ratio")
        for kind in ("", "_half_width")
    },
    "A setting of the front, with its parameters.",
)
_SENSITIVITY = _object(
    "One parameter moved, the others as tuned.",
    {
        "parameter": _type(str, "Which."),
        "value": _type(float, "To where."),
        "change": _type(float, "Change of the score."),
        "half_width": _type(float, "Half width of its 95 % interval."),
    },
)


def _question() -> Schema:
    """Return the schema of the question: every field, ranges as lists of two."""
    pairs = {"rtts_s": float, "flows": int}
    found = {
        name: _list(_type(pairs[name]), "From, to.") if name in pairs else _type(each)
        for name, each in get_type_hints(Question).items()
        if name != "direction"
    }
    direction = {"enum": [*get_args(Direction), None]}
    return _object("What was asked.", {**found, "direction": direction})


_ADVICE = {
    "question": _question(),
    "choice": _type(str, "The setting with the least score."),
    "worth_having": _list(
        _type(str),
        "The choice and the next best AQMs, one setting of each, with the best that Linux has.",
    ),
    "baseline": _type(str, "Drop-tail with the buffer of today, or with the usual one."),
    "weights": _object("Weight of each cost in the score.", dict.fromkeys(COSTS, _type(float))),
    "factor": _type(float, "How many times slower the simulated link is than the real one."),
    "duration_s": _type(float, "Simulated time of a run, s."),
    "runs": _type(int, "Number of runs."),
    "settings": _list(_row(SettingRow, "A setting that was judged."), "The best first."),
    "scenarios": _list(_row(CaseRow, "A scenario, and what is best in it."), "All."),
    "preferences": _list(
        _row(PreferRow, "What would be chosen if something else mattered."), "All."
    ),
    "assumptions": _list(_type(str), "Sentences for a reader."),
}

# name: description, required fields, optional fields
_OUTPUTS: dict[str, tuple[str, dict[str, Schema], dict[str, Schema]]] = {
    "comparison": (
        "`sluice compare` and `sluice chain`: disciplines on one scenario.",
        {
            "title": _type(str, "Title of the scenario."),
            "records": _list(
                _object("One discipline in one world.", _RECORD, **_OF_SOME_WORLDS),
                "One for each discipline and world that was finished.",
            ),
        },
        {},
    ),
    "record": ("`sluice simulate` and `sluice testbed`: one run.", _RECORD, _OF_SOME_WORLDS),
    "sweep": (
        "`sluice results`: all finished runs of a sweep.",
        {
            "title": _type(str, "Title of the scenario."),
            "paths": _list(_type(str), "What varies: columns of the runs."),
            "planned": _type(int, "Number of runs of the whole sweep."),
            "runs": _list(_RUN, "The finished runs, in the plan's order."),
        },
        {},
    ),
    "tuning": (
        "`sluice tune`: the settings that make a score least.",
        {
            "format": _type(int, "Format of the folder that keeps its runs."),
            "build": _type(str, "Hash of the code that makes its runs."),
            "title": _type(str, "Title of the scenario."),
            "discipline": _type(str, "The discipline that was tuned."),
            "world": _type(str, "The world in which it was judged, with its settings."),
            "axes": {
                "description": "Ranges by parameter.",
                "type": "object",
                "additionalProperties": {"type": "string"},
            },
            "score": _type(str, "The score that was minimised."),
            "constraints": _list(_type(str), "The constraints."),
            "scenario": {"description": "Its fields, and the AQM's parameters.", "type": "object"},
            "seed": _type(int, "Seed of all random numbers."),
            "method": _type(str, "Method of the search."),
            "settings": _list(_SETTING, "The tuned one first."),
            "trials": _list(_TRIAL, "All candidates of the search."),
            "front": _list(
                _FRONT, "Settings that no other beats in both delay and loss, by rising delay."
            ),
            "sensitivity": _list(_SENSITIVITY, "Each parameter a tenth of its range aside."),
            "runs": _type(int, "Number of runs of the search."),
            "fresh_runs": _type(int, "Number of runs under fresh random numbers."),
            "notes": _list(_type(str), "What a reader must know."),
        },
        {},
    ),
    "evaluation": (
        "`sluice evaluate`: disciplines on the scenarios of RFC 7928, or on those of L4S.",
        {
            "suite": {
                "description": "Where the scenarios come from.",
                "enum": [each.title for each in SUITES],
            },
            "profile": _object(
                "The path on which they are judged.",
                {
                    **{
                        name: _type(each)
                        for name, each in get_type_hints(Profile).items()
                        if name != "flows"
                    },
                    "flows": {
                        "description": "Flows of mild, medium and heavy congestion; null: by the "
                        "RFC's formula.",
                        "type": ["array", "null"],
                        "items": {"type": "integer"},
                    },
                },
            ),
            "world": _type(str, "Where the runs were made."),
            "seed": _type(int, "Of everything that is drawn."),
            "replications": _type(int, "Of each scenario."),
            "disciplines": _list(_type(str), "Drop-tail first."),
            "judged": _list(
                _type(str), "Those that are judged; the others are there to compare with."
            ),
            "runs": _type(int, "Number of runs of the whole evaluation."),
            "done": _type(int, "Number of those that are finished."),
            "choices": _list(_row(Choice, "What the suite leaves open."), "All of them."),
            "measures": _list(
                _columns(
                    {
                        **dict.fromkeys(("section", "case", "discipline", "measure"), str),
                        **dict.fromkeys(("value", "half_width"), float),
                        "replications": int,
                    },
                    "A measure, in units of SI; missing ones have no row.",
                ),
                "Of every scenario and discipline.",
            ),
            "verdicts": _list(
                _object(
                    "A measure of one discipline beside another.",
                    {
                        **{
                            name: _type(str)
                            for name in ("section", "case", "discipline", "other", "measure")
                        },
                        "verdict": {"enum": list(get_args(Word))},
                        **{
                            name: _type(float | None)
                            for name in ("value", "other_value", "difference", "half_width")
                        },
                    },
                ),
                "Of every scenario.",
            ),
        },
        {},
    ),
    "fit": (
        "`sluice fit`: what a capture's traffic is like.",
        {"figures": _list(_row(Row, "One figure; low and high end its interval."), "All of them.")},
        {},
    ),
    "advice": (
        "`sluice advise`: an AQM and its parameters for a link.",
        _ADVICE,
        {},
    ),
    "advices": (
        "`sluice advise` of both directions of a line.",
        {"directions": _list(_object("One of them.", _ADVICE), "The upload, then the download.")},
        {},
    ),
    "frontier": (
        "`sluice frontier`: the best that any AQM could reach, and each AQM's regret.",
        {
            "title": _type(str, "Of the scenario."),
            "scenario": {"description": "The fields of the scenario.", "type": "object"},
            "objectives": _list(
                _object(
                    "Of one axis.",
                    {
                        "name": _type(str, "As on the command line."),
                        "unit": _type(str, "Empty for a share."),
                        "more_is_better": _type(bool, "Whether it is maximised."),
                    },
                ),
                "That of x, then that of y.",
            ),
            "deadline_slots": _type(int | None, "Of late and in_time."),
            "bounds": {"description": "On further objectives, by name.", **_VALUES},
            "decides": _type(str, "What the policies do and see."),
            "points": _list(
                _object(
                    "A policy on the frontier.",
                    {
                        "x": _type(float, "The first objective."),
                        "y": _type(float, "The second."),
                        "slope": _type(float, "dy/dx along the frontier."),
                        "corner": _type(bool, "Whether it is a corner: a policy without chance."),
                        "drops": _list(
                            _list(_type(float), "By packets in the system, or slots waited."),
                            "Probability of a drop: one row; two, after an admission and after a "
                            "loss, or of the first class and of the second.",
                        ),
                    },
                ),
                "The best of the first objective first.",
            ),
            "disciplines": _list(
                _object(
                    "An AQM of the scenario.",
                    {
                        "discipline": _type(str, "Its name."),
                        "how": {"enum": ["exact", "simulated"]},
                        "breaks": _list(_type(str), "The bounds that it does not keep."),
                        "x": _MEASURE,
                        "y": _MEASURE,
                        "regret_x": _MEASURE,
                        "regret_y": _MEASURE,
                    },
                ),
                "In the scenario's order.",
            ),
        },
        {},
    ),
    "clairvoyant": (
        "`sluice frontier` on a recording: who knows all arrivals ahead, and each AQM's regret.",
        {
            "title": _type(str, "Of the scenario."),
            "deadline_slots": _type(int, "Within which a packet's service must start."),
            "packets": _type(int, "Of the recording."),
            "in_time": _type(float, "The greatest share of packets in time."),
            "disciplines": _list(
                _object(
                    "An AQM of the scenario.",
                    {
                        "discipline": _type(str, "Its name."),
                        "in_time": _MEASURE,
                        "loss": _MEASURE,
                        "regret": _MEASURE,
                    },
                ),
                "In the scenario's order.",
            ),
        },
        {},
    ),
    "stability": (
        "`sluice stability`: whether TCP behind AQMs comes to rest, by a fluid model.",
        {
            "equilibria": _list(_row(EquilibriumRow, "Where an AQM holds the network."), "All."),
            "loops": _list(_row(LoopRow, "An AQM in one linearisation."), "All."),
            "recommended": _list(
                _row(RecommendedRow, "Coefficients by a rule, for the first AQM's network."),
                "All of them.",
            ),
        },
        {},
    ),
    "trace": (
        "`sluice trace`: what an ns-2 trace says of flows and links.",
        {
            "trace": _type(str, "The file."),
            "lines": _type(int, "Lines read."),
            "cut_off": _type(bool, "Whether the file ends within a line, which does not count."),
            "start_s": _type(float, "Time of the first line, s."),
            "end_s": _type(float, "Time of the last line, s."),
            "flows": _list(_columns(FLOW_COLUMNS, "A flow."), "In the order of first packets."),
            "links": _list(_columns(LINK_COLUMNS, "A direction of a link."), "All of them."),
        },
        {},
    ),
    "reproduction": (
        "`sluice reproduce`: a paper's figures beside ours.",
        {
            "rows": _list(
                _object(
                    "A published figure and ours.", _PUBLISHED, predicted=_PREDICTED, **_JUDGED
                ),
                "All of them.",
            ),
            "claims": _list(_row(Claim, "A sentence of the paper, and its verdict."), "All."),
        },
        {},
    ),
}


def _column(of: Any) -> Schema:
    """Return the schema of a column's values."""
    match of:
        case pl.Struct(fields=parts):
            return _object("", {each.name: _column(each.dtype) for each in parts})
        case pl.List(inner=inner):
            return _list(_column(inner), "")
        case _:
            return {"type": {pl.Int64: "integer", pl.Float64: "number", pl.String: "string"}[of]}


def _or_null(of: pl.DataType) -> Schema:
    """Return the schema of a column that may have no value."""
    if isinstance(of, pl.Struct | pl.List):
        found = _column(of)
        return {**found, "type": [found["type"], "null"]}
    return _type(of.to_python() | None)


def _router() -> Schema:
    """Return the schema of a line of `sluiced run --jsonl`; `--json` has no intervals."""
    columns: dict[str, Schema] = {
        name: _or_null(of) if name in UNKNOWN else _column(of) for name, of in ROUTER.items()
    }
    columns["version"] = {"description": "Of this schema.", "const": 1}
    interval = columns.pop("interval")
    return _object(
        "`sluiced run --jsonl`: what a link has counted since the start, and in an interval. The "
        "fields are those of `Line` in gate/src/telemetry/record.rs, which says what each is.",
        columns,
        interval=interval,
    )


def schemas() -> dict[str, Schema]:
    """Return the schema of each kind of output, by its name: the output's field `schema`."""
    made = {"router": {"$schema": _DIALECT, "title": "Sluicegate: router", **_router()}}
    for name, (meaning, required, optional) in _OUTPUTS.items():
        head = {
            "sluicegate": _type(str, "The version that wrote it."),
            "schema": {"description": "Which schema this is.", "const": name},
        }
        made[name] = {
            "$schema": _DIALECT,
            "title": f"Sluicegate: {name}",
            **_object(meaning, {**head, **required}, **optional),
        }
    return made


def write(folder: Path) -> None:
    """Write every schema to `<name>.schema.json` in a folder."""
    for name, schema in schemas().items():
        (folder / f"{name}.schema.json").write_text(json.dumps(schema, indent=2) + "\n")


if __name__ == "__main__":
    write(Path(__file__).parent / "reference" / "outputs")
