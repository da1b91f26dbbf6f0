"""The options of the figure that a sweep's results are drawn into."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

FigureFile = Annotated[
    Path | None,
    typer.Option(
        "--figure",
        metavar="FILE",
        help="Draw the results into this .pdf, .svg or .png.",
        show_default=False,
    ),
]
Upwards = Annotated[
    str | None,
    typer.Option(
        "--y",
        metavar="NAME",
        help="Vertical axis: a measure (see sluice measures); for a heat map, what varies. If not "
        "given: sojourn_p99.",
        show_default=False,
    ),
]
Rightwards = Annotated[
    str | None,
    typer.Option(
        "--x",
        metavar="NAME",
        help="Horizontal axis: what varies, or a measure. If not given, the first that varies.",
        show_default=False,
    ),
]
Colour = Annotated[
    str | None,
    typer.Option(
        metavar="MEASURE", help="Draw a heat map of this measure instead.", show_default=False
    ),
]
Width = Annotated[
    float, typer.Option(min=1, metavar="INCHES", help="Width of the figure; 3.5 is one column.")
]
XLabel = Annotated[
    str | None,
    typer.Option(
        "--xlabel",
        metavar="TEXT",
        help="Text beside the horizontal axis. If not given: what it shows, and its unit.",
        show_default=False,
    ),
]
YLabel = Annotated[
    str | None,
    typer.Option(
        "--ylabel", metavar="TEXT", help="Likewise for the vertical axis.", show_default=False
    ),
]
XScale = Annotated[
    Literal["linear", "log"] | None,
    typer.Option(
        "--xscale",
        help="Scale of the horizontal axis. If not given: linear, but for values that are spread "
        "over two decades by equal ratios.",
        show_default=False,
    ),
]
YScale = Annotated[
    Literal["linear", "log"] | None,
    typer.Option(
        "--yscale",
        help="Scale of the vertical axis. If not given: linear.",
        show_default=False,
    ),
]
