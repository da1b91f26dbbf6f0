"""`sluice testbed`: one discipline before real packets, or what is missing for that."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.markup import escape

from sluicegate.cli import options
from sluicegate.cli.progress import progress
from sluicegate.cli.screen import console, write_json
from sluicegate.comparison import until_interrupted
from sluicegate.errors import SluiceError
from sluicegate.report.tables import record_rows
from sluicegate.report.terminal import terminal_table
from sluicegate.scenario import NetworkScenario
from sluicegate.testbed.check import congestion_controls, needs
from sluicegate.worlds.gate.record import GateRecord


@options.of_worlds(one_run=True, names=["gate"])
def testbed(
    scenario: Annotated[
        Path | None,
        typer.Argument(metavar="SCENARIO.toml", help="The scenario.", show_default=False),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Show what is missing on this machine, and how to get it."),
    ] = False,
    aqm: Annotated[
        str | None,
        typer.Option(
            metavar="NAME:KEY=VALUE,...",
            help="The discipline, instead of the scenario's.",
            show_default=False,
        ),
    ] = None,
    replications: options.Replications = "1",
    seed: options.Seed = None,
    duration: options.Duration = None,
    measures: options.Measures = None,
    json: options.Json = None,
    *,
    settings: options.Settings,
) -> None:
    """Run one discipline in a real router: client, router and server on this machine.

    They are network namespaces, which are gone when this command ends. Root is not needed where
    ordinary users may have namespaces. Replications are real runs, one after the other.
    """
    if check or scenario is None:
        _check(settings["ipv6"])
        return
    aqms = [] if aqm is None else [aqm]
    changed = options.changes(
        aqm=aqms, slots=None, replications=replications, seed=seed, duration=duration
    )
    chosen = options.scenario(scenario, changed)
    shown = options.measures(measures, chosen.parts())
    if not isinstance(chosen, NetworkScenario):
        raise SluiceError(f"{scenario}: the gate takes scenarios with a [topology]")
    if (count := len(chosen.disciplines)) > 1:
        raise SluiceError(
            f"{scenario}: there are {count} disciplines; choose with --aqm, or use "
            "sluice compare --world gate"
        )
    with progress(1) as watch:
        (world,) = options.worlds(["gate"], chosen, settings)
        comparison = until_interrupted(chosen, world=world, watch=watch)
    (record,) = comparison.records
    assert isinstance(record, GateRecord)
    _print(record, world.in_short(chosen), shown)
    if json is not None:
        write_json(json, "record", record.summary())
    if notes := comparison.notes():
        console(stderr=True).print(escape("\n".join(notes)), soft_wrap=True)
    if record.interrupted:
        raise typer.Exit(130)


def _check(ipv6: bool) -> None:
    screen = console()
    lacking = False
    for need in needs(ipv6):
        lacking |= bool(need.missing)
        found = f"missing: {need.missing}\n    {need.remedy}" if need.missing else "there"
        screen.print(escape(f"{need.name}: {found}"))
    screen.print(f"congestion control of TCP: {', '.join(congestion_controls())}")
    if lacking:
        raise typer.Exit(1)


def _print(record: GateRecord, done: str, measures: list[str]) -> None:
    screen = console()
    screen.print(f"[bold]{escape(record.discipline)}[/]")
    screen.print(terminal_table(*record_rows(record, measures)))
    screen.print(f"{record.method}; {done}")
    looks = record.connections.filter(pl.col("time_s") >= record.run["duration_s"] / 2)
    if len(looks):
        cwnd, rtt_s = (looks[name].to_numpy().mean() for name in ("cwnd", "rtt_s"))
        screen.print(f"TCP in the second half: window {cwnd:.1f} packets, RTT {rtt_s * 1e3:.1f} ms")
    for row in record.lateness.rows(named=True):
        times = {"mean": "mean_s", "p99": "p99_s", "at most": "max_s"}
        late = ", ".join(f"{name} {1e3 * row[column]:.3f}" for name, column in times.items())
        screen.print(f"lateness, {row['of']} ({row['count']}): {late} ms", style="dim")
    for machine in record.run["machine"]:
        load = f"load {machine['load_before']:.1f} before, {machine['load_after']:.1f} after"
        screen.print(escape(f"machine: {load}{_trouble(machine)}"), style="dim")


def _trouble(machine: dict[str, object]) -> str:
    """What went wrong in a run, if anything."""
    counts = {
        "datagrams that found no room at the receiver": machine["receiver_overruns"],
        "packets of calls that the kernel did not take": machine["unsent_call_packets"],
        "broken connections": machine["broken_connections"],
    }
    told = [f"{count} {what}" for what, count in counts.items() if count]
    uncounted = machine["uncounted"]
    assert isinstance(uncounted, list)
    told += [f"{count} {name} at the router" for link in uncounted for name, count in link.items()]
    return "".join(f"; {each}" for each in told)
