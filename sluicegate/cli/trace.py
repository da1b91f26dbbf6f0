"""`sluice trace`: what an ns-2 trace says of flows, links and queues."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from sluicegate.cli.screen import console, write_json
from sluicegate.files import write_whole
from sluicegate.report.numbers import number_text
from sluicegate.report.terminal import terminal_table
from sluicegate.trace import Trace

_MOST_ROWS = 20
_MOST_ROWS_OF_PAGE = 200
_ACK = "ack"


def trace(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A trace in ns-2's 12 fields (`trace-all`).", show_default=False
        ),
    ],
    json: Annotated[
        Path | None,
        typer.Option(
            "--json", metavar="FILE", help="Write all figures here as JSON.", show_default=False
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="FILE", help="Write a page with plots here.", show_default=False
        ),
    ] = None,
) -> None:
    """Sum up a packet trace: each flow's throughput, delay, loss and jitter, each link's queue."""
    found = Trace.read(file)
    summary = found.summary()
    screen = console()
    for title, records in (("Flows", summary["flows"]), ("Links", summary["links"])):
        screen.print(f"[bold]{title}[/]")
        screen.print(terminal_table(*_cells(records[:_MOST_ROWS])))
        if len(records) > _MOST_ROWS:
            screen.print(f"and {len(records) - _MOST_ROWS} more: see --json")
    screen.print(escape(_lines(found)))
    if json is not None:
        write_json(json, "trace", summary)
    if html is not None:
        _write_page(found, summary, html)
        screen.print(f"page: {escape(str(html))}")


def _lines(found: Trace) -> str:
    text = f"{found.lines:,} lines, from {found.start_s:g} to {found.end_s:g} s"
    return f"{text}; the last line is cut off and does not count" if found.cut_off else text


def _cells(records: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Header and rows; without records, neither."""
    # at a space a header may be broken
    header = [name.replace("_", " ") for name in records[0]] if records else []
    return header, [[number_text(value) for value in record.values()] for record in records]


def _write_page(found: Trace, summary: dict[str, Any], path: Path) -> None:
    # matplotlib takes a second to import
    from sluicegate.report.page import Page
    from sluicegate.trace.plots import queue_figure, throughput_figure

    flows, links = summary["flows"], summary["links"]
    acks = [place for place, flow in enumerate(flows) if flow["type"] == _ACK]
    data = found.heaviest(set(range(len(flows))) - set(acks))
    page = Page(f"Trace {found.path.name}", _lines(found))
    page.figure(
        queue_figure(found),
        "Queues",
        "Packets that wait, without the one being sent, of the links whose queues are longest.",
    )
    page.figure(
        throughput_figure(found, data),
        "Throughput",
        "Bits that came to the destination, of the flows that received most; without ACKs.",
    )
    tables = [
        ("Flows of data", [flows[place] for place in data]),
        ("Flows of ACKs", [flows[place] for place in found.heaviest(acks)]),
        ("Links", sorted(links, key=lambda link: -link["arrivals"])),
    ]
    for title, records in tables:
        if records:
            page.section(title)
            page.table(*_cells(records[:_MOST_ROWS_OF_PAGE]), _caption(records, path))
    if len(flows) > _MOST_ROWS_OF_PAGE:
        write_whole(_rest(path), found.flows.write_csv())
    page.write(path)


def _caption(records: list[dict[str, Any]], path: Path) -> str:
    shown = "Times in seconds, throughput in bits/s, the heaviest first."
    if len(records) <= _MOST_ROWS_OF_PAGE:
        return shown
    return f"{shown} The first {_MOST_ROWS_OF_PAGE} of {len(records):,}; all in {_rest(path).name}."


def _rest(path: Path) -> Path:
    """The file of all flows, beside a page that shows the heaviest."""
    return path.with_name(f"{path.stem}-flows.csv")
