"""`sluice aqms` and `sluice aqm`: what there is, and what one of them does."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape

from sluicegate.catalogue import FAMILIES, entry
from sluicegate.cli import syntax
from sluicegate.cli.options import aqm_names
from sluicegate.cli.screen import console
from sluicegate.errors import SluiceError, UsageError
from sluicegate.files import write_whole
from sluicegate.headers import headers_folder
from sluicegate.registry import Aqm, Param, aqm_class, schedulers
from sluicegate.registry import aqms as all_aqms
from sluicegate.report.drop_function_table import drop_function_table
from sluicegate.report.terminal import terminal_table
from sluicegate.report.text import value_text

_PLOTS = (".svg", ".png", ".pdf")


def aqms(
    *,
    headers: Annotated[
        bool,
        typer.Option(
            "--headers",
            help="Only print the folder of the C headers that an AQM of your own includes (aqm.h, "
            "fixed.h, ...), for editors and cc -I.",
        ),
    ] = False,
) -> None:
    """List the AQMs that come with Sluicegate."""
    if headers:
        console().print(escape(str(headers_folder())), soft_wrap=True)
        return
    screen = console()
    screen.print(terminal_table(["name", "what it is", "source"], [], below=_by_family()))
    screen.print(
        "\nThe schedulers sfq, drr and fq put an AQM into each of many queues: "
        "FQ-CoDel is --aqm codel:victim=front,scheduler=fq. With prio and ets, which stand in a "
        "scenario, each class of service has one of its own."
    )


def _by_family() -> dict[str, list[list[str]]]:
    """A row for each AQM and scheduler, below a line for its family."""
    found: dict[str, list[list[str]]] = {name: [] for name in FAMILIES}
    for each in [*all_aqms().values(), *schedulers().values()]:
        found[entry(each.name).family].append([each.name, each.title, each.source])
    return {f"\n{name}": rows for name, rows in found.items() if rows}


def aqm(
    name: Annotated[
        str,
        typer.Argument(
            autocompletion=aqm_names,
            metavar="NAME|HEADER.h",
            help="An AQM's name, or a C header of your own.",
            show_default=False,
        ),
    ],
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Set a parameter; may be repeated.",
            show_default=False,
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw the drop function into this .svg, .png or .pdf.",
            show_default=False,
        ),
    ] = None,
    bpf: Annotated[
        bool,
        typer.Option(
            "--bpf",
            help="Only check whether this kernel's BPF verifier accepts the AQM; needs root and "
            "clang.",
        ),
    ] = False,
) -> None:
    """Explain an AQM: its parameters with units, ranges and sources, and its drop function."""
    if bpf:
        console().print(escape(_verified(name)))
        return
    params = dict(syntax.assignment(text, "--set") for text in set_ or [])
    chosen = aqm_class(name)(**params)
    if plot is not None:
        _draw_drop_function(chosen, plot)
    screen = console()
    _print_head(screen, chosen)
    _print_parameters(screen, chosen)
    if chosen.has_drop_function:
        _print_drop_function(screen, chosen)
    if plot is not None:
        screen.print(f"\nplot: {escape(str(plot))}")


def _verified(name: str) -> str:
    """What the kernel's verifier says for the AQM.

    Raises:
        SluiceError: What it says against it, or what is missing here.
    """
    from sluicegate.daemon import GET_PROGRAM, NO_PROGRAM, program

    sluiced = program()
    if sluiced is None:
        raise SluiceError(f"--bpf needs the daemon sluiced: {NO_PROGRAM}: {GET_PROGRAM}")
    done = subprocess.run([sluiced, "verify", name], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SluiceError(done.stderr.removeprefix("sluiced: ").strip())
    return done.stdout.strip()


def _print_head(screen: Console, chosen: Aqm) -> None:
    of = chosen.of
    screen.print(f"[bold]{escape(of.title)}[/]")
    screen.print(f"{escape(of.summary)} ({escape(of.source)})")
    if of.base is not None:
        screen.print(f"{of.name} is {of.base} with defaults of its own.")
    screen.print(f"called at: {', '.join(of.functions)}")


def _print_parameters(screen: Console, chosen: Aqm) -> None:
    """Those that apply first, then the others by what they wait for."""
    groups: dict[str, list[Param]] = {}
    for param in chosen.of.params:
        applies = chosen.of.applies(param, chosen.params)
        title = "parameters" if applies else f"only with {param.when.replace('|', ' or ')}"
        groups.setdefault(title, []).append(param)
    header = ["name", "value", "range", "meaning", "source"]
    for title in sorted(groups, key=lambda title: title != "parameters"):
        rows = [_parameter_row(chosen, param) for param in groups[title]]
        screen.print()
        screen.print(terminal_table(header, rows, title))


def _parameter_row(chosen: Aqm, param: Param) -> list[str]:
    value = chosen.params[param.name]
    shown = f"{value_text(value)} {param.unit}".rstrip()
    if value != param.default:
        shown += f" (default {value_text(param.default)})"
    return [param.name, shown, param.range, param.help, param.source]


def _print_drop_function(screen: Console, chosen: Aqm) -> None:
    averages, probabilities = drop_function_table(chosen)
    if np.ptp(probabilities) == 0:
        screen.print(f"\nThe drop probability is {probabilities[0]:g} at every average queue.")
        return
    rows = [
        [f"{average:g}", f"{p:.4g}"] for average, p in zip(averages, probabilities, strict=True)
    ]
    screen.print("\n[bold]drop function[/]")
    screen.print(terminal_table(["average queue (packets)", "drop probability"], rows))


def _draw_drop_function(chosen: Aqm, path: Path) -> None:
    from sluicegate.report.drop_functions import (
        drop_function_figure,
    )  # matplotlib takes a second to import

    if path.suffix not in _PLOTS:
        raise UsageError(f"--plot: {path} must end in {', '.join(_PLOTS)}")
    figure = drop_function_figure({chosen.name: chosen})
    if figure is None:
        raise SluiceError(
            f"--plot: {chosen.name} has no drop function that depends on an average alone"
        )
    content = io.BytesIO()
    figure.savefig(content, format=path.suffix[1:])
    write_whole(path, content.getvalue())
