"""The options that several commands have, and the scenario that they make."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sluicegate.cli import syntax
from sluicegate.scenario import Scenario, read_toml

ScenarioFile = Annotated[
    Path, typer.Argument(metavar="SCENARIO.toml", help="The scenario.", show_default=False)
]
Aqms = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME:KEY=VALUE,...",
        help="A discipline; may be repeated. Those given replace the scenario's. "
        "victim=, ecn= and label= set the queue's part and the name.",
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
Json = Annotated[
    Path | None,
    typer.Option(
        "--json", metavar="FILE", help="Write the measures here as JSON.", show_default=False
    ),
]
REPORT = Path("sluice-report")
Out = Annotated[Path, typer.Option(metavar="FOLDER", help="Where the report and its data go.")]
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
    arrivals: str | None = None,
    service: str | None = None,
) -> dict[str, Any]:
    """The fields of a scenario that options replace."""
    table: dict[str, Any] = {}
    for name, text in (("slots", slots), ("replications", replications), ("seed", seed)):
        if text is not None:
            table[name] = syntax.value(text)
    for name, text in (("arrivals", arrivals), ("service", service)):
        if text is not None:
            table[name] = syntax.law(text, f"--{name}")
    if aqm:
        table["disciplines"] = [syntax.discipline(text) for text in aqm]
    return table


def scenario(path: Path, changed: dict[str, Any]) -> Scenario:
    """The scenario of a file, some of its fields replaced."""
    return Scenario.parse(read_toml(path) | changed, path.parent, str(path))
