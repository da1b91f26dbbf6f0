"""The options that several commands have, and the scenario that they make."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from sluicegate._engine import scenario_kind
from sluicegate.cli import syntax
from sluicegate.errors import SluiceError, UsageError
from sluicegate.measures import check_classes, check_names
from sluicegate.registry import aqms
from sluicegate.scenario import load
from sluicegate.worlds import (
    NAMES,
    AnyScenario,
    AnyWorld,
    Option,
    of_scenario,
    takers,
    with_settings,
)
from sluicegate.worlds import options as options_of
from sluicegate.worlds import world as world_class

ScenarioFile = Annotated[
    Path, typer.Argument(metavar="SCENARIO.toml", help="The scenario.", show_default=False)
]


def aqm_names() -> list[str]:
    """What a shell may complete as the name of an AQM."""
    return list(aqms())


Aqms = Annotated[
    list[str] | None,
    typer.Option(
        autocompletion=aqm_names,
        metavar="NAME:KEY=VALUE,...",
        help="A discipline, instead of the scenario's; may be repeated. NAME is an AQM's, the path "
        "of a C header, or that of a Python file (mine.py, or mine.py:Class). Keys are the AQM's "
        "parameters, and victim=, ecn=, scheduler= (fifo, sfq, drr or fq) and label= (its "
        "name).",
        show_default=False,
    ),
]
Slots = Annotated[
    str | None,
    typer.Option(metavar="N", help="Slots of one replication, such as 1e7.", show_default=False),
]
Replications = Annotated[
    str | None,
    typer.Option(metavar="N", help="Independent replications.", show_default=False),
]
Seed = Annotated[
    str | None,
    typer.Option(metavar="N", help="Seed of every random stream.", show_default=False),
]
Threads = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Threads to use; all cores if not given.", show_default=False
    ),
]
Duration = Annotated[
    str | None,
    typer.Option(metavar="S", help="Length of a replication of a network.", show_default=False),
]
Json = Annotated[
    Path | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Write the measures to this file as JSON.",
        show_default=False,
    ),
]
Measures = Annotated[
    str | None,
    typer.Option(
        "--measures",
        metavar="NAME,...",
        help="The measures that tables show, such as sojourn_p99,loss_ratio, instead of the usual "
        "ones; sluice measures lists them. A measure of a class of flows has the class before it: "
        "calls.delay_p99.",
        show_default=False,
    ),
]
REPORT = Path("sluice-report")
Out = Annotated[
    Path,
    typer.Option(
        metavar="FOLDER", help="Folder for the report and its data; a report there is replaced."
    ),
]
_WORLDS = (
    "slotted simulates, chain solves exactly. For scenarios with a topology: network simulates, "
    "gate measures with real packets, kernel measures our qdisc in a Linux in virtual time, twin "
    "measures Linux's own qdisc there. If not given: slotted or network."
)
World = Annotated[
    str | None,
    typer.Option(
        autocompletion=lambda: list(NAMES), metavar="NAME", help=_WORLDS, show_default=False
    ),
]
Worlds = Annotated[
    list[str] | None,
    typer.Option(
        autocompletion=lambda: list(NAMES),
        metavar="NAME",
        help=f"{_WORLDS} May be repeated.",
        show_default=False,
    ),
]
# of worlds, as they were given: see `of_worlds`
Settings: TypeAlias = Mapping[str, Any]
Decisions = Annotated[
    Path | None,
    typer.Option(
        "--decisions",
        metavar="FILE",
        help="Write to this file what the AQM decides about each packet, in one replication of one "
        "discipline: see sluice decisions.",
        show_default=False,
    ),
]
Fresh = Annotated[
    bool,
    typer.Option("--fresh", help="Run everything again, even what is kept."),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="Show and draw only the runs with this value of what varies, or of discipline or "
        "world; may be repeated: the same name twice means either value.",
        show_default=False,
    ),
]


def of_worlds(
    *, one_run: bool, names: Sequence[str] = NAMES
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options that worlds declare; it takes their values as `settings`.

    Args:
        one_run: Whether it runs each discipline once: it then has options that name a file, too.
        names: The worlds that it can use.
    """
    offered = {
        name: (option, able)
        for name, (option, able) in options_of(names).items()
        if one_run or not option.of_one_run
    }

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def command(**given: Any) -> None:
            settings = {name: given.pop(name) for name in offered}
            function(**given, settings=settings)

        own = inspect.signature(function, eval_str=True).parameters.values()
        command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                *(each for each in own if each.name != "settings"),
                *(
                    _parameter(name, option, able if len(names) > 1 else [])
                    for name, (option, able) in offered.items()
                ),
            ]
        )
        return command

    return decorate


def _parameter(name: str, option: Option, worlds: Sequence[str]) -> inspect.Parameter:
    """The parameter of a command that Typer makes an option of."""
    help = option.help[0].upper() + option.help[1:]
    if worlds:
        *others, last = worlds
        told = f"worlds {', '.join(others)} and {last}" if others else f"world {last}"
        help = f"For the {told}: {option.help}"
    flag = f"--{name.replace('_', '-')}"
    is_flag = option.kind is bool
    kind: Any = bool if is_flag else option.kind | None
    info = typer.Option(flag, metavar=option.metavar or None, help=help, show_default=False)
    return inspect.Parameter(
        name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=False if is_flag else None,
        annotation=Annotated[kind, info],
    )


def worlds(
    named: Sequence[str] | None, scenario: AnyScenario, settings: Settings
) -> list[AnyWorld]:
    """The worlds that were named, or else the usual one of the scenario, with their settings.

    Raises:
        SluiceError: If there is no such world, or if none of them has a setting that is given.
    """
    kinds = [world_class(name) for name in named or []] or of_scenario(scenario)[:1]
    return with_settings(kinds, settings)


def measures(text: str | None, classes: Sequence[str] | None = None) -> list[str]:
    """What `--measures` was given; empty if nothing.

    Args:
        text: As given.
        classes: Names of the scenario's classes of flows; None: they are not known.

    Raises:
        UsageError: If there is no such measure, or no such class.
    """
    names = [] if text is None else [name.strip() for name in text.split(",")]
    try:
        names = check_names(names, "--measures")
        if classes is not None:
            check_classes(names, classes, "--measures")
        return names
    except SluiceError as error:
        raise UsageError(str(error)) from error


def shard(text: str | None) -> tuple[int, int]:
    """What `--shard` was given: part K of N; the whole if nothing."""
    if text is None:
        return 1, 1
    found = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text)
    if found is None:
        raise UsageError(f"--shard: {text!r} must be K/N, such as 2/8")
    return int(found[1]), int(found[2])


def conditions(where: list[str] | None) -> dict[str, object]:
    """What `--where` was given: for each name all its values."""
    found: dict[str, list[object]] = {}
    for text in where or []:
        name, value = syntax.assignment(text, "--where")
        found.setdefault(name, []).append(value)
    return dict(found)


def changes(
    *,
    aqm: list[str],
    slots: str | None,
    replications: str | None,
    seed: str | None,
    duration: str | None = None,
    arrivals: str | None = None,
    service: str | None = None,
) -> dict[str, Any]:
    """The fields of a scenario that options replace."""
    table: dict[str, Any] = {}
    numbers = {"slots": slots, "replications": replications, "seed": seed, "duration_s": duration}
    for name, text in numbers.items():
        if text is not None:
            table[name] = syntax.value(text)
    for name, text in (("arrivals", arrivals), ("service", service)):
        if text is not None:
            table[name] = syntax.distribution(text, f"--{name}")
    if aqm:
        table["disciplines"] = [syntax.discipline(text) for text in aqm]
    return table


def scenario(path: Path, changed: dict[str, Any]) -> AnyScenario:
    """The scenario of a file, some of its fields replaced.

    Raises:
        UsageError: If a field of `changed` is none of such a scenario, or if it is refused.
    """
    refuse_others(scenario_kind(path), changed)
    with named(changed, path):
        return load(path, changed)


@contextmanager
def named(changed: dict[str, Any], path: Path | None = None) -> Iterator[None]:
    """Name options, in errors, in place of the fields of a scenario that they replace.

    Raises:
        UsageError: In place of another error, if it concerns an option.
    """
    try:
        yield
    except SluiceError as error:
        lines = str(error).splitlines()
        told = [_named(line.removeprefix(f"{path}: "), changed) or line for line in lines]
        if told == lines:
            raise
        raise UsageError("\n".join(told)) from error


def _named(problem: str, changed: dict[str, Any]) -> str | None:
    """The problem with the option before it; nothing if it is of none."""
    for name in changed:
        option = "--aqm" if name == "disciplines" else f"--{name.removesuffix('_s')}"
        if problem.startswith(f"{name} = "):
            return option + problem.removeprefix(name)
        if part := re.match(rf"{name}(\.\d+)?(\.aqm(?=: ))?(: |\.| )", problem):
            return f"{option}: {problem[part.end() :]}"
    return None


_WORDS = {dict: "a table", float: "a number", int: "a whole number", list: "a list", str: "text"}


def table(path: Path, name: str, fields: Mapping[str, tuple[type, ...]]) -> dict[str, Any]:
    """The table of that name in a scenario's file, for one command alone; empty if there is none.

    Args:
        path: The file.
        name: Of the table.
        fields: What it may have, each with its types.

    Raises:
        SluiceError: If it has something else.
    """
    found = tomllib.loads(path.read_text(encoding="utf-8-sig")).get(name, {})
    if not isinstance(found, dict):
        raise SluiceError(f"{path}: {name} must be a table")
    for field, value in found.items():
        if field not in fields:
            raise SluiceError(f"{path}: {name} has no field {field}; it has {', '.join(fields)}")
        # TOML's booleans are integers in Python
        if isinstance(value, bool) or not isinstance(value, fields[field]):
            words = " or ".join(_WORDS[each] for each in fields[field])
            raise SluiceError(f"{path}: {name}.{field} = {value!r} must be {words}")
    return found


def refuse_others(kind: str, changed: dict[str, Any]) -> None:
    """Refuse options that scenarios of a class, whose name is given, lack.

    Raises:
        UsageError: If there is one.
    """
    for name in changed:
        worlds = takers(name)
        if all(world.takes.__name__ != kind for world in worlds):
            able = " or ".join(world.name for world in worlds)
            option = name.removesuffix("_s")
            raise UsageError(f"--{option} is for scenarios of the {able} world only")
