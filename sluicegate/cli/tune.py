"""`sluice tune`: the settings of an AQM that make a score least."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from sluicegate.cli import options
from sluicegate.cli.progress import progress
from sluicegate.cli.screen import console, write_json
from sluicegate.errors import UsageError
from sluicegate.extras import require
from sluicegate.report.terminal import terminal_table
from sluicegate.tuning import tune as run
from sluicegate.tuning.methods import METHODS
from sluicegate.tuning.tables import in_short, search_text, sensitivity_rows, settings_table

_FIELDS: dict[str, tuple[type, ...]] = {
    "vary": (dict, list),
    "score": (str, dict),
    "constraints": (list,),
    "method": (str,),
    "discipline": (str,),
    "evaluations": (int,),
    "precision": (float, int),
}


@options.of_worlds(one_run=False)
def tune(
    scenario: options.ScenarioFile,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=RANGE",
            help="A parameter to tune and its range; may be repeated: red.max_p=0.01..0.5, "
            "red.w=1e-4..0.1:log, or red.w=all. A count, as in 0.01..0.5:3, is the number of "
            "values from which searches start. If not given: every number of the AQM.",
            show_default=False,
        ),
    ] = None,
    score: Annotated[
        str | None,
        typer.Option(
            metavar="SUM",
            help="What to minimise: a measure or a sum, such as 'delay_mean + 2000*loss_ratio'. If "
            "not given: delay_mean.",
            show_default=False,
        ),
    ] = None,
    constraint: Annotated[
        list[str] | None,
        typer.Option(
            metavar="BOUND",
            help="A constraint, such as 'loss_ratio<=0.01'; may be repeated.",
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=lambda: list(METHODS),
            help=f"One of {', '.join(METHODS)}; {next(iter(METHODS))} if not given.",
            show_default=False,
        ),
    ] = None,
    discipline: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL",
            help="The discipline to tune, if there are several.",
            show_default=False,
        ),
    ] = None,
    evaluations: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Greatest number of candidates.", show_default=False),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Half width of a score's 95 % interval, relative to it; 0.05 if not given.",
            show_default=False,
        ),
    ] = None,
    aqm: options.Aqms = None,
    world: options.World = None,
    slots: options.Slots = None,
    replications: Annotated[
        int, typer.Option(min=3, metavar="N", help="Greatest number of runs of a candidate.")
    ] = 64,
    seed: options.Seed = None,
    duration: options.Duration = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Processes to use; all cores if not given.", show_default=False
        ),
    ] = None,
    measures: options.Measures = None,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER",
            help="Folder for the page, the tuned scenario and every run. An unfinished tuning "
            "there is continued.",
        ),
    ] = Path("sluice-tune"),
    json: options.Json = None,
    *,
    settings: options.Settings,
) -> None:
    """Search the settings of an AQM that minimise a score, and judge the best with new runs.

    What to tune is in the scenario's table tune, or in the options.

    Finished runs are kept: however the command ended, the same one goes on.
    """
    require("matplotlib", "the page of its results")
    changed = options.changes(
        aqm=aqm or [], slots=slots, replications=None, seed=seed, duration=duration
    )
    chosen = options.scenario(scenario, changed)
    columns = options.measures(measures, chosen.parts())
    given = {
        "vary": dict(map(_range, vary)) if vary else None,
        "score": score,
        "constraints": constraint,
        "method": method,
        "discipline": discipline,
        "evaluations": evaluations,
        "precision": precision,
    }
    asked = options.table(scenario, "tune", _FIELDS) | {
        name: value for name, value in given.items() if value is not None
    }
    (where,) = options.worlds([world] if world else None, chosen, settings)
    with progress(1) as watch:
        found = run(
            chosen,
            **asked,
            world=where,
            workers=workers,
            replications=replications,
            out=out,
            watch=watch,
        )
    found = found.showing(*columns)
    found.write(out)
    if json is not None:
        write_json(json, "tuning", found.summary())
    screen = console()
    screen.print(settings_table(found))
    screen.print()
    screen.print(terminal_table(*sensitivity_rows(found)))
    for sentence in (in_short(found), search_text(found), *found.notes):
        screen.print(f"\n{escape(sentence)}")
    screen.print(f"\nscenario: {escape(str(out / 'tuned.toml'))}")
    screen.print(f"report: {escape(str(out / 'report.html'))}")


def _range(text: str) -> tuple[str, str]:
    name, equals, values = text.partition("=")
    if not (name.strip() and equals and values.strip()):
        raise UsageError(f"--vary: {text!r} must be NAME=RANGE, such as red.max_p=0.01..0.5")
    return name.strip(), values.strip()
