"""`sluice chain`: `sluice compare --world chain` with the chain's own settings."""

from __future__ import annotations

from typing import Annotated

import typer

from sluicegate.cli import options
from sluicegate.cli.compare import show
from sluicegate.extras import require
from sluicegate.worlds.chain import Method
from sluicegate.worlds.chain.world import Chain


def chain(
    scenario: options.ScenarioFile,
    aqm: options.Aqms = None,
    grid: Annotated[
        float,
        typer.Option(
            metavar="PACKETS", help="Step of the average queue, whose values are on a grid."
        ),
    ] = 0.25,
    method: Annotated[
        Method,
        typer.Option(
            help="direct: full relative accuracy, for thousands of states; iterative: for "
            "millions; auto: direct where that takes about a second."
        ),
    ] = "auto",
    limit: Annotated[
        bool,
        typer.Option(
            "--limit",
            help="Extrapolate to an infinitely fine grid; the figure after ± is the error that "
            "remains.",
        ),
    ] = False,
    front_times: Annotated[
        bool,
        typer.Option(
            "--front-times",
            help="With drop from front, also compute the distributions of the packets' times.",
        ),
    ] = False,
    measures: options.Measures = None,
    out: options.Out = options.REPORT,
    json: options.Json = None,
    fresh: options.Fresh = False,
) -> None:
    """Solve each discipline's Markov chain: exact measures, without any noise.

    The same as sluice compare --world chain, with the chain's own settings.

    Slots, replications and seed of the scenario have no meaning here.
    """
    require("matplotlib", "the page of its results")
    changed = options.changes(aqm=aqm or [], slots=None, replications=None, seed=None)
    world = Chain(grid=grid, method=method, limit=limit, front_times=front_times)
    chosen = options.scenario(scenario, changed)
    columns = options.measures(measures, chosen.parts())
    show(chosen, [world], out, json, measures=columns, fresh=fresh)
