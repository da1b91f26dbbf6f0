"""`sluice trace`: what an ns-2 trace says of flows, links and queues."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
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
_MOST_TOLD = 8
_ACK = "ack"
# what a column means where its name alone is unclear; the glossary describes a single queue
_TERMS = {
    "lost": "Packets of the flow that were dropped, anywhere.",
    "loss ratio": "Of a flow: share of the packets sent that were lost. Of a link: share of the "
    "arrivals that were dropped.",
    "throughput bps": "Of a flow: bits received, from the first packet sent to the last received. "
    "Of a link: bits sent, over the whole trace.",
    "delay": "From the source to the destination, propagation included.",
    "jitter s": "Mean absolute difference of the times that successive packets took (RFC 3393).",
    "corrupted": "Packets that were lost on the link itself.",
    "queue mean": "Packets that wait, over time, without the one being sent.",
}


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
            "--json",
            metavar="FILE",
            help="Write all figures to this file as JSON.",
            show_default=False,
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="Write a page with plots to this file.",
            show_default=False,
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
    # a header may be broken at a space
    header = [name.replace("_", " ") for name in records[0]] if records else []
    return header, [[number_text(value) for value in record.values()] for record in records]


def _write_page(found: Trace, summary: dict[str, Any], path: Path) -> None:
    # matplotlib takes a second to import
    from sluicegate.report.csv import csv_text
    from sluicegate.report.page import Page
    from sluicegate.trace.plots import queue_figure, throughput_figure

    flows, links = summary["flows"], summary["links"]
    acks = [place for place, flow in enumerate(flows) if flow["type"] == _ACK]
    data = found.heaviest(set(range(len(flows))) - set(acks))
    page = Page(f"Trace {found.path.name}", _lines(found))
    page.section("In time")
    page.figure(
        queue_figure(found),
        "Queues",
        "Packets that wait, without the one being sent, of the links whose queues are longest.",
        _seen(
            f"{link['from']} to {link['to']}: mean {number_text(link['queue_mean'])} packets, "
            f"at most {link['queue_max']}"
            for link in sorted(links, key=lambda link: -(link["queue_mean"] or 0))
        ),
    )
    page.figure(
        throughput_figure(found, data),
        "Throughput",
        "Bits that reached the destination, of the flows that received most; without ACKs.",
        _seen(
            f"{flow['type']} {flow['id']}: {number_text(flow['throughput_bps'])} bits/s"
            for flow in (flows[place] for place in data)
        ),
    )
    tables = [
        ("Flows of data", [flows[place] for place in data]),
        ("Flows of ACKs", [flows[place] for place in found.heaviest(acks)]),
        ("Links", sorted(links, key=lambda link: -link["arrivals"])),
    ]
    for title, records in tables:
        if records:
            page.section(title)
            header, rows = _cells(records[:_MOST_ROWS_OF_PAGE])
            page.table(header, rows, _caption(records, path), list(map(_term, header)))
    page.section("What the columns are")
    page.terms(_TERMS)
    if len(flows) > _MOST_ROWS_OF_PAGE:
        write_whole(_rest(path), csv_text(found.flows))
    page.write(path)


def _seen(told: Iterable[str]) -> str:
    """What a figure shows of the first few."""
    return f"{'; '.join(islice(told, _MOST_TOLD))}."


def _caption(records: list[dict[str, Any]], path: Path) -> str:
    shown = "Times in seconds, rates in bits/s, the heaviest first."
    if len(records) <= _MOST_ROWS_OF_PAGE:
        return shown
    return f"{shown} The first {_MOST_ROWS_OF_PAGE} of {len(records):,}; all in {_rest(path).name}."


def _term(column: str) -> str:
    """The name of what a column means, or nothing."""
    named = "delay" if column.startswith("delay") else column.replace("queue max", "queue mean")
    return named if named in _TERMS else ""


def _rest(path: Path) -> Path:
    """The file of all flows, beside a page that shows the heaviest."""
    return path.with_name(f"{path.stem}-flows.csv")
