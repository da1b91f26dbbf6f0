"""`sluice trace`: what an ns-2 trace says of flows, links and queues."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from sluicegate.cli.screen import console, write_json
from sluicegate.report.terminal import terminal_table
from sluicegate.trace import Trace

_MOST_ROWS = 20


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
        write_json(json, summary)
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
    return header, [[_text(value) for value in record.values()] for record in records]


def _text(value: float | int | str | None) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _write_page(found: Trace, summary: dict[str, Any], path: Path) -> None:
    # matplotlib takes a second to import
    from sluicegate.report.page import Page
    from sluicegate.trace.plots import queue_figure, throughput_figure

    page = Page(f"Trace {found.path.name}", _lines(found))
    page.figure(queue_figure(found), "Queues", "Packets that wait, without the one being sent.")
    page.figure(throughput_figure(found), "Throughput", "Bits that came to the destination.")
    for title, records in (("Flows", summary["flows"]), ("Links", summary["links"])):
        page.section(title)
        page.table(*_cells(records))
    page.write(path)
