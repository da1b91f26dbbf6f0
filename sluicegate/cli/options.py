"""The options that several commands have, and the scenario that they make."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from sluicegate.checked import explained
from sluicegate.cli import syntax
from sluicegate.comparison import AnyWorld
from sluicegate.errors import SluiceError
from sluicegate.network import NetworkScenario
from sluicegate.scenario import Scenario, read_toml
from sluicegate.worlds import AnyScenario, Network, Slotted

ScenarioFile = Annotated[
    Path, typer.Argument(metavar="SCENARIO.toml", help="The scenario.", show_default=False)
]
Aqms = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME:KEY=VALUE,...",
        help="A discipline; may be repeated. Those given replace the scenario's. "
        "victim=, ecn=, scheduler= (fifo, sfq, drr or fq) and label= set the queue's part and "
        "the name.",
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
    typer.Option(
        metavar="S", help="Simulated seconds of a network's replication.", show_default=False
    ),
]
Json = Annotated[
    Path | None,
    typer.Option(
        "--json", metavar="FILE", help="Write the measures here as JSON.", show_default=False
    ),
]
REPORT = Path("sluice-report")
Out = Annotated[Path, typer.Option(metavar="FOLDER", help="Where the report and its data go.")]
Decisions = Annotated[
    Path | None,
    typer.Option(
        "--decisions",
        metavar="FILE",
        help="Write what the AQM decides about each packet here, of one discipline and one "
        "replication: see sluice decisions.",
        show_default=False,
    ),
]
Fresh = Annotated[
    bool,
    typer.Option("--fresh", help="Run again even what was run before."),
]


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
            table[name] = syntax.law(text, f"--{name}")
    if aqm:
        table["disciplines"] = [syntax.discipline(text) for text in aqm]
    return table


def logged(world: AnyWorld, decisions: Path | None) -> AnyWorld:
    """The world, made to write its decision log where a file is given for it.

    Raises:
        SluiceError: If the world has none.
    """
    if decisions is None:
        return world
    if not isinstance(world, Slotted | Network):
        raise SluiceError(
            f"--decisions: world = {world.name} decides about no packets; it must be "
            f"{Slotted.name} or {Network.name}"
        )
    return replace(world, decisions=decisions)


def scenario(path: Path, changed: dict[str, Any]) -> AnyScenario:
    """The scenario of a file, some of its fields replaced; see `parsed`."""
    return parsed(read_toml(path), changed, path.parent, str(path))


def parsed(
    table: dict[str, Any], changed: dict[str, Any], folder: Path = Path(), origin: str = ""
) -> AnyScenario:
    """The scenario of a table, a network's if there is a topology, some of its fields replaced.

    Raises:
        SluiceError: If a field of `changed` is none of such a scenario, or if it is refused.
    """
    kind: type[AnyScenario] = NetworkScenario if "topology" in table else Scenario
    with explained(origin):
        for name in changed:
            if name not in kind.model_fields:
                others = "network scenarios" if kind is Scenario else "scenarios without [topology]"
                raise SluiceError(f"--{name.removesuffix('_s')} is for {others} only")
    return kind.parse(table | changed, folder, origin)
