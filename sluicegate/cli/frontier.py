"""`sluice frontier`: the best that any AQM could reach, and each AQM's distance from it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from sluicegate.cli import options
from sluicegate.cli.progress import progress
from sluicegate.cli.screen import console, write_json
from sluicegate.errors import SluiceError, UsageError
from sluicegate.extras import require
from sluicegate.files import make_folder, write_whole
from sluicegate.report.terminal import terminal_table
from sluicegate.scenario import ReplayArrivals, Scenario

if TYPE_CHECKING:
    from sluicegate.frontier import Frontier
    from sluicegate.frontier.classes import Classes
    from sluicegate.frontier.front import Point

_MOST_ROWS = 8


def frontier(
    scenario: options.ScenarioFile,
    aqm: options.Aqms = None,
    objectives: Annotated[
        str,
        typer.Option(
            metavar="X,Y",
            help="The two objectives: queue (mean packets), sojourn (mean slots), late (share of "
            "the packets served that waited too long) or runs (packets lost in a row), with loss; "
            "queue, late or loss with in_time (share of the packets that arrive and are served in "
            "time); with --classes queue, sojourn or late with weighted, or loss_first with "
            "loss_second.",
        ),
    ] = "queue,loss",
    deadline: Annotated[
        int | None,
        typer.Option(
            metavar="SLOTS",
            help="For late and in_time: slots within which a packet's service must start.",
            show_default=False,
        ),
    ] = None,
    bound: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME<=VALUE",
            help="Only policies that keep this, such as late<=0.01 or in_time>=0.9; may be "
            "repeated.",
            show_default=False,
        ),
    ] = None,
    points: Annotated[
        int, typer.Option(metavar="N", help="Corners of the frontier to find at most.")
    ] = 100,
    at_head: Annotated[
        bool,
        typer.Option(
            "--at-head",
            help="Policies that drop the packet at the head, by the time it waited (as CoDel), "
            "instead of arrivals.",
        ),
    ] = False,
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE,WEIGHT",
            help="Two classes of packets: the share of the second, and what its loss counts beside "
            "1 of the first. A header knows the second by ECT(1).",
            show_default=False,
        ),
    ] = None,
    at: Annotated[
        float | None,
        typer.Option(
            metavar="VALUE",
            help="Also show the best policy whose first objective is as good as this.",
            show_default=False,
        ),
    ] = None,
    header: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.h",
            help="Write the policy of --at as an AQM that runs in every world.",
            show_default=False,
        ),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", metavar="FILE", help="Write the points and AQMs to this file."),
    ] = None,
    out: options.Out = options.REPORT,
    slots: options.Slots = None,
    replications: options.Replications = None,
    seed: options.Seed = None,
    json: options.Json = None,
    fresh: options.Fresh = False,
) -> None:
    """Say how good any AQM could be: the exact frontier of two objectives, and each AQM's regret.

    For independent arrivals a short drop-tail is itself the frontier of mean queue and loss. An AQM
    can win packets in time: try --objectives loss,in_time --deadline 10.

    On a recording with known service times it computes, for a --deadline, how many packets could be
    in time if all arrivals were known ahead.

    AQMs without an exact chain are simulated; finished runs are kept, and after Ctrl-C the same
    command goes on.
    """
    require("matplotlib", "the page of its results")
    from sluicegate.frontier import frontier as compute
    from sluicegate.frontier.header import header_name, write_header
    from sluicegate.frontier.page import frontier_page
    from sluicegate.frontier.rows import title
    from sluicegate.report.csv import csv_text

    if header is not None:
        if at is None:
            raise UsageError("--header needs --at: the point whose policy is written")
        header_name(header)
    changed = options.changes(aqm=aqm or [], slots=slots, replications=replications, seed=seed)
    chosen = options.scenario(scenario, changed)
    if not isinstance(chosen, Scenario):
        raise SluiceError(
            f"{scenario}: must be a scenario of the slotted queue, with arrivals and service: "
            "under TCP senders react, and no frontier is known"
        )
    make_folder(out)
    if isinstance(chosen.arrivals, ReplayArrivals):
        from sluicegate.cli.recording import recording

        if bound or at_head or classes or at is not None or objectives != "queue,loss":
            raise UsageError(
                "a recording has a clairvoyant bound only: of these options it takes --deadline"
            )
        recording(chosen, deadline, out=out, json=json, csv=csv, fresh=fresh)
        return
    with progress(1 + len(chosen.disciplines)) as watch:
        found = compute(
            chosen,
            [name.strip() for name in objectives.split(",")],
            deadline=deadline,
            bounds=dict(map(_bound, bound or [])),
            points=points,
            at_head=at_head,
            classes=None if classes is None else _classes(classes),
            watch=watch,
            fresh=fresh,
        )
    point = None if at is None else found.at(at)
    _print(found, point)
    page = out / "frontier.html"
    frontier_page(found, point).write(page)
    if json is not None:
        write_json(json, "frontier", found.summary())
    if csv is not None:
        write_whole(csv, csv_text(found.frame()))
    if header is not None and point is not None:
        policy, what = found.policy(point), title(found, point)
        write_header(header, policy, what, slot_ns=chosen.slot_ns)
        console().print(f"header: {escape(str(header))}", soft_wrap=True)
    console().print(f"report: {escape(str(page))}", soft_wrap=True)


def _classes(text: str) -> Classes:
    from sluicegate.frontier.classes import Classes

    try:
        share, weight = map(float, text.split(","))
    except ValueError:
        raise UsageError(f"--classes: {text} must be SHARE,WEIGHT, such as 0.3,2") from None
    return Classes(share, weight)


def _bound(text: str) -> tuple[str, float]:
    for sign in ("<=", ">="):
        name, found, number = text.partition(sign)
        if not found:
            continue
        try:
            value = float(number)
        except ValueError:
            raise UsageError(f"--bound: {text}: {number!r} must be a number") from None
        if not math.isfinite(value):
            raise UsageError(f"--bound: {text}: {number!r} must be a finite number")
        more = name.strip() == "in_time"
        if (sign == ">=") != more:
            raise UsageError(
                f"--bound: {text}: only in_time is bounded from below, all else from above"
            )
        return name.strip(), value
    raise UsageError(f"--bound: {text} must be NAME<=VALUE, such as late<=0.01")


def _print(found: Frontier, point: Point | None) -> None:
    from sluicegate.frontier import rows

    screen = console()
    if found.scenario.title:
        screen.print(f"[bold]{escape(found.scenario.title)}[/]")
    screen.print(
        terminal_table(
            rows.place_header(found), [rows.place_cells(each, found.pair) for each in found.places]
        )
    )
    screen.print()
    shown = rows.spread(found.points, _MOST_ROWS) if point is None else [point]
    screen.print(
        terminal_table(rows.point_header(found), [rows.point_cells(found, each) for each in shown])
    )
    screen.print(
        f"The frontier is exact for every policy that {found.process.told}; "
        f"{len(found.points)} points of it are known.",
        style="dim",
    )
    if {each.name for each in found.pair} <= {"queue", "sojourn", "loss"}:
        screen.print(rows.LESSON, style="dim")
