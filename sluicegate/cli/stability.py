"""`sluice stability`: whether TCP behind an AQM comes to rest, by the fluid model."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from sluicegate._engine import quantity, scenario_kind
from sluicegate.cli import options, syntax
from sluicegate.cli.progress import progress
from sluicegate.cli.screen import console, write_json
from sluicegate.errors import SluiceError, UsageError
from sluicegate.extras import require
from sluicegate.report.terminal import terminal_table
from sluicegate.scenario import Discipline, NetworkScenario, load

if TYPE_CHECKING:
    from sluicegate.stability.assessment import Assessment
    from sluicegate.stability.plots import Spot
    from sluicegate.worlds import Watch

_ASSUMED = (
    "Models: reduced is LRED's equations 7 and 8; constant is its equations 4 and 5, with "
    "nothing left out and a constant round trip; in full the round trip follows the "
    "queue, as in simulations."
)


def stability(
    scenario: Annotated[
        Path | None,
        typer.Argument(
            metavar="SCENARIO.toml",
            help="A dumb-bell with TCP flows, from which N, R and C are taken; without it give "
            "--flows, --rtt and --rate.",
            show_default=False,
        ),
    ] = None,
    aqm: options.Aqms = None,
    flows: Annotated[
        float | None,
        typer.Option(
            min=1, metavar="N", help="Number of long-lived TCP flows.", show_default=False
        ),
    ] = None,
    rtt: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            help="Round trip in s, including the wait in the queue that the AQM holds.",
            show_default=False,
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            metavar="BITS/S", help="Rate of the bottleneck, such as 10M.", show_default=False
        ),
    ] = None,
    packet_bytes: Annotated[
        int, typer.Option(min=1, metavar="BYTES", help="Size of a packet, for --rate.")
    ] = 500,
    simulate: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="K",
            help="Number of networks to simulate on each map, half of them on its stable side.",
        ),
    ] = 0,
    out: options.Out = options.REPORT,
    json: options.Json = None,
) -> None:
    """Say whether TCP behind an AQM is stable: equilibrium, margins, boundaries, recommendations.

    For LRED, PI, REM, PIE and RED (with its family), by the fluid model of many long-lived flows.
    """
    require("matplotlib", "the page of its results")
    # the figures take seconds to import
    from sluicegate.stability import rows
    from sluicegate.stability.assessment import assess
    from sluicegate.stability.model import FluidNetwork
    from sluicegate.stability.of_scenario import network_of
    from sluicegate.stability.page import stability_page
    from sluicegate.stability.recommended import recommended

    given = [Discipline(**syntax.discipline(text)) for text in aqm or []]
    if scenario is not None:
        if (flows, rtt, rate) != (None, None, None):
            raise UsageError(
                "--flows, --rtt and --rate must not be given with a scenario, which has them"
            )
        if scenario_kind(scenario) != "NetworkScenario":
            raise SluiceError(f"{scenario}: must be a scenario of the network world")
        whole = load(scenario)
        assert isinstance(whole, NetworkScenario)
        disciplines = given or list(whole.disciplines)
        assessments = [assess(each, network_of(whole, each)) for each in disciplines]
    else:
        if flows is None or rtt is None or rate is None or not given:
            raise UsageError("give a scenario, or --aqm, --flows, --rtt and --rate")
        disciplines = given
        network = FluidNetwork(flows, _rate_bps(rate) / 8 / packet_bytes, rtt)
        assessments = [assess(each, network) for each in disciplines]
    loops = rows.loop_rows(assessments)
    first = assessments[0]
    recommendations = [
        rows.recommended_row(each, first.network)
        for each in recommended(first.network, first.queue)
    ]
    spots = _spots(assessments, disciplines, simulate)
    page = out / "stability.html"
    stability_page(assessments, loops, recommendations, spots).write(page)
    equilibria = [rows.equilibrium_row(each) for each in assessments]
    if json is not None:
        write_json(json, "stability", rows.summary(loops, equilibria, recommendations))
    screen = console()
    cells = [rows.equilibrium_cells(row) for row in equilibria]
    screen.print(terminal_table(rows.EQUILIBRIUM_HEADER, cells))
    screen.print()
    screen.print(terminal_table(rows.LOOP_HEADER, [rows.loop_cells(row) for row in loops]))
    screen.print()
    screen.print(
        "Recommended for at least so many flows and at most such a round trip (verdict of the "
        "full model):"
    )
    for row in recommendations:
        # one line each, to be copied
        screen.print(
            escape(f"--aqm {row.option}  # {rows.verdict(row)}; {row.rule}"), soft_wrap=True
        )
    screen.print(f"\n{_ASSUMED}")
    for name, found in spots.items():
        right = sum(spot.stable != spot.oscillates for spot in found)
        screen.print(
            f"{escape(name)}: {right} of {len(found)} simulated networks behave as full says"
        )
    screen.print(f"report: {escape(str(page))}")


def _rate_bps(text: str) -> float:
    value = quantity(text, "bits/s")
    if value is None:
        raise UsageError(f"--rate: {text!r} must be a number (bits/s), or have a unit as '20M'")
    return value


def _spots(
    assessments: list[Assessment], disciplines: list[Discipline], count: int
) -> dict[str, list[Spot]]:
    """Simulated networks on each map."""
    if not count:
        return {}
    from sluicegate.stability.page import map_axes
    from sluicegate.stability.spots import spots

    made: dict[str, list[Spot]] = {}
    with progress(len(assessments)) as watch:
        for found, discipline in zip(assessments, disciplines, strict=True):
            name = found.discipline
            flows, rtts_s = map_axes(found.network)
            made[name] = spots(
                found,
                discipline,
                (float(flows[0]), float(flows[-1])),
                (float(rtts_s[0]), float(rtts_s[-1])),
                count,
                on_progress=partial(_report_progress, watch, name, count),
            )
    return made


def _report_progress(watch: Watch, name: str, count: int, done: int) -> None:
    watch(name, done, count, f"network {done} of {count}")
