"""`sluice fit`: what a capture's traffic is like, and a source that imitates it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from sluicegate.cli.screen import console, write_json
from sluicegate.extras import require
from sluicegate.report.numbers import number_text
from sluicegate.report.terminal import terminal_table
from sluicegate.traffic import Capture, TrafficFit, fit_capture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sluicegate.report.page import Page

# text for those who cannot see a figure: for each, the rows that describe it
_SEEN = {
    "rate": ("rate_pps", "peak_to_mean"),
    "variance_time": ("hurst_variance_time",),
    "rescaled_range": ("hurst_rescaled_range",),
    "wavelet": ("hurst_wavelet",),
    "gaps": ("interarrival_scv",),
}


def fit(
    capture: Annotated[
        Path,
        typer.Argument(
            metavar="CAPTURE",
            help="A pcap or pcapng file; it may be compressed (.gz, .zst).",
            show_default=False,
        ),
    ],
    bin_s: Annotated[
        float | None,
        typer.Option(
            "--bin",
            metavar="SECONDS",
            help="Length of the bins in which packets are counted. If not given, it follows from "
            "the capture.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[
        Path | None,
        typer.Option(
            "--json",
            metavar="FILE",
            help="Write the figures to this file as JSON.",
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
    """Describe a capture's traffic, and fit the self-similar source to it.

    Shows rate, burstiness, dispersion, and the Hurst parameter by three estimators.

    Ends with the table of a scenario whose source has the same mean and variance over time.
    """
    if html is not None:
        require("matplotlib", "--html")
    found = fit_capture(Capture.read(capture), bin_s)
    screen = console()
    rows = [[row.name, number_text(row.value), row.unit, row.meaning] for row in found.rows()]
    screen.print(terminal_table(["figure", "value", "unit", "meaning"], rows))
    for note in found.capture.notes:
        screen.print(escape(f"{note}."))
    if json is not None:
        write_json(json, "fit", {"figures": [row._asdict() for row in found.rows()]})
    if html is not None:
        _page(found, rows).write(html)
        screen.print(f"\npage: {escape(str(html))}")
    _print_arrivals(screen, found)


def _page(found: TrafficFit, rows: list[list[str]]) -> Page:
    # matplotlib takes a second to import
    from sluicegate.report.page import Page
    from sluicegate.traffic.plots import fit_figures

    page = Page(f"Traffic of {found.capture.path.name}", f"in bins of {found.bin_s:g} s")
    page.section("In pictures")
    for name, figure in fit_figures(found).items():
        title, _, caption = _take_title(figure).partition("\n")
        told = [", ".join(filter(None, row)) for row in rows if row[0] in _SEEN[name]]
        page.figure(figure, title, caption, f"{'; '.join(told)}.")
    page.section("In numbers")
    caption = "The capture's traffic, and the source that imitates it."
    page.table(["figure", "value", "unit", "meaning"], rows, caption)
    return page


def _take_title(figure: Figure) -> str:
    """Remove the figure's title and return it: the page has it as text."""
    if title := figure.get_suptitle():
        figure.suptitle("")
        return title
    title = figure.axes[0].get_title()
    figure.axes[0].set_title("")
    return title


def _print_arrivals(screen: Console, found: TrafficFit) -> None:
    """What to paste into a scenario; its `slot_s` belongs above all tables."""
    lines = ["", "For a scenario:", ""]
    if found.source is None:
        lines += [f"# no source fits: {found.source_problem}", "slot_s = 1e-5", "", "[arrivals]"]
        lines += ['kind = "replay"', f'capture = "{found.capture.path.as_posix()}"']
    else:
        modulator = found.source.modulator
        lines += [f"slot_s = {found.source.slot_s:.6g}", "", "[arrivals]", 'kind = "self-similar"']
        lines += [f"rate = {modulator.mean:.6g}", f"a = {modulator.a:.6g}"]
        lines += [f"states = {modulator.states}"]
    screen.print("\n".join(map(escape, lines)), soft_wrap=True)
