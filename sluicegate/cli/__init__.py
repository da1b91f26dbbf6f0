"""The command `sluice`."""

from __future__ import annotations

import os
import re
import sys
import warnings
from importlib import import_module
from typing import Annotated

import typer
from typer.exceptions import TyperException

from sluicegate import python_aqm
from sluicegate.cli import once
from sluicegate.errors import InterruptError, SluiceError, UsageError
from sluicegate.extras import EXTRAS, lacking
from sluicegate.interrupt import end_at_once, raise_again

_NO_MEMORY = (
    "not enough memory: this machine, or a limit such as `ulimit -v`, gives too little; fewer "
    "threads or workers, or a shorter run, need less"
)
# command: the module here that has it, and the examples in its help
_COMMANDS = {
    "aqms": ("aqms", ["sluice aqms"]),
    "aqm": (
        "aqms",
        [
            "sluice aqm red",
            "sluice aqm dsred --set gamma=0.3 --plot dsred.svg",
            "sluice aqm my_idea.h",
        ],
    ),
    "measures": ("measures", ["sluice measures", "sluice measures | grep delay"]),
    "scenarios": ("scenarios", ["sluice scenarios", "sluice scenarios --out ."]),
    "simulate": (
        "simulate",
        [
            "sluice simulate scenarios/overload.toml --aqm red:w=0.07,max_p=0.2",
            "sluice simulate --arrivals geometric:rate=0.5 --service geometric:mu=0.5 "
            "--aqm red --slots 1e7",
            "sluice simulate scenarios/network/dumbbell.toml --aqm pi --packets run.pcapng",
        ],
    ),
    "compare": (
        "compare",
        [
            "sluice compare scenarios/gateway.toml",
            "sluice compare scenarios/light.toml --aqm drop_tail --aqm red:w=0.07 "
            "--aqm red:w=0.07,victim=front --out victims",
            "sluice compare scenarios/light.toml --aqm my_idea.h --aqm red --slots 1e8",
            "sluice compare scenarios/light.toml --aqm drop_tail --world slotted --world chain",
            "sluice compare scenarios/network/dumbbell.toml --duration 60 --aqm pi "
            "--aqm codel:victim=front,scheduler=fq",
        ],
    ),
    "page": (
        "page",
        [
            "sluice page scenarios/network/dumbbell.toml --out queue.html",
            "sluice page scenarios/network/gate.toml --aqm codel --aqm pie:target=5ms",
        ],
    ),
    "sweep": (
        "sweep",
        [
            "sluice sweep scenarios/network/dumbbell.toml --vary flows.0.count=5,20,100 "
            "--vary seed=1..5 --duration 30 --replications 1 --out walk",
            "sluice sweep scenarios/light.toml --vary red.max_p=0.01..1:7:log --figure max_p.pdf",
        ],
    ),
    "tune": (
        "tune",
        [
            "sluice tune scenarios/light.toml --vary red.max_p=0.01..1:log --vary red.w=all "
            "--discipline 'RED, w = 0.002' --constraint 'loss_ratio<=0.001'",
            "sluice tune scenarios/network/dumbbell.toml --aqm pie --duration 20 "
            "--vary pie.target=0.001..0.1:log --score 'sojourn_p99 - 1e-5*goodput'",
        ],
    ),
    "results": (
        "results",
        [
            "sluice results walk",
            "sluice results walk --figure walk.pdf --y sojourn_p99 --x utilization",
            "sluice results walk --sql 'SELECT discipline, max(loss_ratio) FROM runs GROUP BY ALL'",
        ],
    ),
    "evaluate": (
        "evaluate",
        [
            "sluice evaluate codel",
            "sluice evaluate my_idea.h --sections 5,6 --reference pie",
            "sluice evaluate codel:victim=front,scheduler=fq dualpi2 --profile home --out both",
        ],
    ),
    "advise": (
        "advise",
        [
            "sluice advise --rate 50M --rtt 20..120ms --flows 5..50",
            "sluice advise captures/gateway.pcap --rate 2M",
            "sluice advise --upload 2M --rtt 20..80ms --flows 1..10 --prefer delay --ecn",
        ],
    ),
    "chain": (
        "chain",
        [
            "sluice chain scenarios/light.toml --aqm drop_tail",
            "sluice chain scenarios/light.toml --limit "
            "--aqm red:w=0.07,spacing=independent,idle_decay=false",
        ],
    ),
    "frontier": (
        "frontier",
        [
            "sluice frontier scenarios/deadline.toml --objectives loss,in_time --deadline 10",
            "sluice frontier scenarios/light.toml --at 2 --header best.h",
        ],
    ),
    "stability": (
        "stability",
        [
            "sluice stability scenarios/network/dumbbell.toml --aqm lred --aqm pi",
            "sluice stability --aqm lred:beta=0.001 --flows 300 --rtt 0.35 --rate 10e6",
        ],
    ),
    "fit": (
        "fit",
        [
            "sluice fit captures/gateway.pcap --html traffic.html",
            "sluice fit captures/gateway.pcap --bin 0.01 --json traffic.json",
        ],
    ),
    "trace": ("trace", ["sluice trace out.tr", "sluice trace out.tr --html trace.html"]),
    "decisions": ("decisions", ["sluice decisions slotted.csv network.csv"]),
    "flent": (
        "flent",
        ["sluice flent link.toml --world network --world gate --beside office.flent.gz"],
    ),
    "records": ("records", ["sluice records router.jsonl --parquet router.parquet"]),
    "testbed": (
        "testbed",
        [
            "sluice testbed --check",
            "sluice testbed scenarios/network/gate.toml --aqm codel --duration 10",
            "sluice testbed scenarios/network/gate.toml --aqm drop_tail --congestion-control bbr",
        ],
    ),
    "lab": (
        "lab",
        [
            "sluice lab --check",
            "sluice lab --fetch",
            "sluice lab --program tc --module sch_red 'modprobe sch_red && tc qdisc show'",
        ],
    ),
    "lesson": (
        "lesson",
        [
            "sluice lesson bufferbloat",
            "sluice lesson bufferbloat --student 17 --out 17",
            "sluice lesson bufferbloat --grade 17/answers.toml",
        ],
    ),
    "reproduce": (
        "reproduce",
        [
            "sluice reproduce drop-from-front --json rows.json",
            "sluice reproduce redwm --out redwm",
        ],
    ),
}


def _application(arguments: list[str]) -> typer.Typer:
    """The command that is called, or all of them: the imports of the others would take a second."""
    app = typer.Typer(
        invoke_without_command=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(
        epilog=_examples(
            "sluice scenarios --out .",
            "sluice compare scenarios/overload.toml",
            "sluice aqm red",
        )
    )(_sluice)
    called = [name for name in arguments[:1] if name in _COMMANDS]
    if not called and _is_completing():
        for name in _COMMANDS:
            app.command(name)(_nothing)
        return app
    for name in called or _COMMANDS:
        module, examples = _COMMANDS[name]
        function = getattr(import_module(f"sluicegate.cli.{module}"), name)
        app.command(cls=once.Command, epilog=_examples(*examples))(function)
    return app


def _examples(*lines: str) -> str:
    # a blank line between them keeps each on a line of its own
    return "\n\n".join(["[bold]Examples[/]", *(line.replace("[", r"\[") for line in lines)])


def _print_version(asked: bool) -> None:
    if asked:
        from sluicegate import __version__

        typer.echo(f"sluice {__version__}")
        raise typer.Exit


def _print_citation(asked: bool) -> None:
    if asked:
        from sluicegate.citation import bibtex

        typer.echo(bibtex())
        typer.echo("% cite the paper of each AQM that you use, too: sluice aqm NAME names it")
        raise typer.Exit


def _sluice(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    cite: Annotated[
        bool,
        typer.Option(
            "--cite", callback=_print_citation, is_eager=True, help="Print how to cite, as BibTeX."
        ),
    ] = False,
) -> None:
    """Compare queue disciplines: in a slotted queue, as a Markov chain, in networks with TCP."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _plain(message: str) -> str:
    """The command line's words without the names of types."""
    for kind, words in (("int", "a whole number"), ("float", "a number")):
        message = re.sub(rf"' is not a valid {kind}( range)?\.", f"' is not {words}.", message)
    return message


def _example(message: str, words: list[str]) -> str:
    """How a command is used, where it was called without what it needs."""
    if not message.startswith("Missing argument") or words[0] not in _COMMANDS:
        return ""
    _, examples = _COMMANDS[words[0]]
    return f"\nfor example: {examples[0]}\nsluice {words[0]} --help tells more"


def main(arguments: list[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: Those of the command line if None.

    Returns:
        The exit status: 0; 1 where something cannot be done, such as a scenario that is wrong or a
        file that cannot be written; 2 where the command line itself is wrong; 130 after Ctrl-C.
    """
    words = sys.argv[1:] if arguments is None else arguments
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        return _run(words)


def _run(words: list[str]) -> int:
    try:
        end_at_once()
        application = _application(words or _words_to_complete())
        raise_again()
        code = application(args=words, prog_name="sluice", standalone_mode=False)
    except InterruptError as error:
        return _fail(str(error), 130)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", 130)
    except UsageError as error:
        return _fail(str(error), 2)
    except SluiceError as error:
        told = python_aqm.no_verdict(str(error), python_aqm.loaded())
        return _fail(told or str(error))
    except MemoryError:
        return _fail(_NO_MEMORY)
    except OSError as error:
        # not every library names the file
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in EXTRAS:
            raise
        return _fail(str(lacking(module, f"sluice {words[0]}")))
    except TyperException as error:
        message = _plain(error.format_message())
        return _fail(message + _example(message, words), error.exit_code)
    except Exception as error:
        # a Python AQM may raise anything; all else is a fault of ours
        if (said := python_aqm.told(error, python_aqm.loaded())) is None:
            raise
        return _fail(said)
    finally:
        raise_again()
    return int(code or 0)


def _is_completing() -> bool:
    """Whether a shell asks for completions of a line."""
    return os.environ.get("_SLUICE_COMPLETE", "").startswith("complete_")


def _words_to_complete() -> list[str]:
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    return line.split()[1:] if _is_completing() else []


def _nothing() -> None:
    """Takes the place of a command of which only the name is needed."""


def _show_warning(message: Warning | str, *_where: object, **_more: object) -> None:
    print(f"warning: {message}", file=sys.stderr)


def _fail(message: str, code: int = 1) -> int:
    if "No such file" in message:
        from sluicegate.cli.scenarios import hint

        message += hint(message)
    print(f"error: {message}", file=sys.stderr)
    return code
