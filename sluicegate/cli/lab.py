"""`sluice lab`: a command in a Linux in virtual time."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sluicegate.errors import UsageError
from sluicegate.lab import dualpi2, image, kernel, machine
from sluicegate.lab.check import missing_to_fetch, missing_to_run


def lab(
    command: Annotated[
        str | None,
        typer.Argument(
            metavar="COMMAND",
            help="A command line for the shell of that Linux.",
            show_default=False,
        ),
    ] = None,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Download Debian's current kernel (38 MB).")
    ] = False,
    build_dualpi2: Annotated[
        bool,
        typer.Option(
            "--dualpi2",
            help="Build Linux's own DualPI2, which that kernel lacks, out of Debian's packages "
            "(260 MB are fetched, 1 MB is kept), and fetch a tc that knows it.",
        ),
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Show what is installed and what is missing.")
    ] = False,
    program: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|FILE",
            help="A program of this machine that the command needs; may be repeated.",
            show_default=False,
        ),
    ] = None,
    module: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A kernel module that modprobe needs to find; may be repeated.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            max=2**32 - 1,
            help="Seed of everything that is random in that Linux.",
        ),
    ] = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIRECTORY",
            help="Folder for the files that the command writes into /out.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Boot a Linux in virtual time, run a command in it, and print what it prints.

    The same seed gives the same result, byte for byte, whatever else this machine does. Nothing is
    installed, and root is not needed. That Linux has busybox and what --program names.
    """
    if (command is not None) + fetch + build_dualpi2 + check != 1:
        raise UsageError(
            "give one of COMMAND, --fetch, --dualpi2 and --check: see sluice lab --help"
        )
    if check:
        _check()
        return
    if build_dualpi2:
        _describe_dualpi2(dualpi2.build())
        return
    if command is None:
        _describe(kernel.fetch())
        return
    linux = kernel.ready()
    booted = image.build(linux, command + "\n", programs=program or [], modules=module or [])
    result = machine.run(linux, booted, seed=seed)
    if out is not None:
        _keep(result.files, out)
    sys.stdout.buffer.write(result.stdout)
    sys.stdout.flush()
    sys.stderr.buffer.write(result.stderr)
    raise typer.Exit(result.status)


def _check() -> None:
    linux = kernel.find()
    lacking = missing_to_run()
    if linux is None:
        print("kernel: missing: sluice lab --fetch (38 MB)")
        lacking += missing_to_fetch()
    else:
        _describe(linux)
        if (built := dualpi2.find(linux)) is not None:
            _describe_dualpi2(built)
    packages = " ".join(sorted(set(lacking)))
    print(f"programs: missing: apt install {packages}" if packages else "programs: there")
    if lacking or linux is None:
        raise typer.Exit(1)


def _describe(linux: kernel.Kernel) -> None:
    print(f"kernel: Linux {linux.release}, in {linux.folder}")
    for name, sha256 in linux.packages.items():
        print(f"    {name} sha256 {sha256}")


def _describe_dualpi2(built: dualpi2.DualPi2) -> None:
    print(f"dualpi2: in {built.folder}, sha256 {built.contents}")


def _keep(files: dict[str, bytes], folder: Path) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
