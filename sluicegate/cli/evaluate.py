"""`sluice evaluate`: an AQM judged by the scenarios of RFC 7928, or by those of L4S."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from sluicegate.cli import options, syntax
from sluicegate.cli.progress import progress
from sluicegate.cli.screen import console, write_json
from sluicegate.errors import SluiceError, UsageError
from sluicegate.extras import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sluicegate.evaluate import Evaluation
    from sluicegate.evaluate.suite import Suite
    from sluicegate.scenario import Discipline

# a discipline is checked as a part of some scenario
_ANY = {"topology": {"kind": "dumbbell"}, "flows": [{"kind": "tcp"}], "duration_s": 1.0}


def _worlds() -> list[str]:
    """What a shell may complete as a world: those that take networks."""
    from sluicegate.evaluate.run import WORLDS

    return list(WORLDS)


def evaluate(
    aqm: Annotated[
        list[str],
        typer.Argument(
            autocompletion=options.aqm_names,
            metavar="AQM...",
            help="What is judged: NAME:KEY=VALUE,... as in --aqm of sluice compare. NAME is an "
            "AQM's, the path of a C header, or that of a Python file.",
            show_default=False,
        ),
    ],
    l4s: Annotated[
        bool,
        typer.Option(
            "--l4s",
            help="The scenarios of L4S in place of those of RFC 7928: round trips, bursts, queues "
            "of RFC 3168, overload, video calls. Each AQM marks.",
        ),
    ] = False,
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The path: default, home, cellular, datacentre, satellite, l4s, or ns3. If not "
            "given: default, and l4s with --l4s.",
            show_default=False,
        ),
    ] = None,
    world: Annotated[
        str,
        typer.Option(
            autocompletion=_worlds,
            metavar="NAME",
            help="Where the runs are made: network, gate (a real router, in real time), kernel "
            "(our qdisc in a Linux in virtual time), or twin (Linux's own qdisc there). Scenarios "
            "that a world cannot do are left out.",
        ),
    ] = "network",
    sections: Annotated[
        str | None,
        typer.Option(
            metavar="N,...",
            help="Only these sections, such as 5,6.2. If not given: all.",
            show_default=False,
        ),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="AQM",
            help="A good known discipline with which all are compared, too, written like AQM. If "
            "not given: codel, with --l4s dualpi2; where that is judged alone pie, with --l4s "
            "codel; in worlds of real packets none. drop_tail: no further one.",
            show_default=False,
        ),
    ] = None,
    replications: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="N",
            help="Replications of each scenario. If not given: those of the profile.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of everything drawn.")] = 1,
    out: Annotated[
        str,
        typer.Option(
            metavar="FOLDER",
            help="Folder for the results and the page, or a URL that fsspec knows. An evaluation "
            "there is continued; other AQMs and sections are added.",
        ),
    ] = "sluice-evaluation",
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Processes to use; all cores if not given.", show_default=False
        ),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="A Dask scheduler whose workers make the runs, such as tcp://host:8786.",
            show_default=False,
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="K/N",
            help="Make only part K of N, in one of N jobs of a batch system.",
            show_default=False,
        ),
    ] = None,
    json: options.Json = None,
    report: Annotated[
        bool, typer.Option("--report/--no-report", help="Whether to write the page report.html.")
    ] = True,
) -> None:
    """Judge AQMs by the scenarios of RFC 7928 or of L4S, beside drop-tail with the same buffer.

    RFC 7928 asks for drop-tail with a buffer of one BDP: where the profile's buffer is another,
    this is beside them, too.

    Prints a verdict for each scenario as soon as it is known, then writes the page.

    Finished runs are kept: however the command ended, the same one makes the others.
    """
    if report:
        require("matplotlib", "the page of its results (left out with --no-report)")
    from sluicegate.evaluate import evaluate as run
    from sluicegate.evaluate.plan import DROP_TAIL, ONE_BDP
    from sluicegate.evaluate.profile import profile as profile_named
    from sluicegate.evaluate.suite import L4S, RFC7928
    from sluicegate.evaluate.words import case_lines
    from sluicegate.evaluate.work import NETWORK

    suite = L4S if l4s else RFC7928
    chosen = profile_named(profile or suite.profile)
    given = disciplines(aqm)
    listed = None if sections is None else _listed(sections)
    suite.chosen(listed)
    part = options.shard(shard)
    references = disciplines([reference]) if reference is not None else []
    if reference is None and world == NETWORK:
        references = usual_reference(given, suite)
    if not l4s and chosen.bdp_packets != chosen.buffer_packets:
        references.append(ONE_BDP)
    others = list(dict.fromkeys([DROP_TAIL, *(each.name for each in references)]))
    screen = console()
    screen.print(f"{suite.title}, profile {chosen.name}: {escape(chosen.told())}", soft_wrap=True)

    def on_section(found: Evaluation, section: str) -> None:
        for case in found.cases(section):
            screen.print(f"[bold]{case.section}[/] {escape(case.title)}", soft_wrap=True)
            for line in case_lines(found, case, others):
                screen.print(f"  {escape(line)}", soft_wrap=True)

    with progress(1) as watch:
        found = run(
            given,
            out,
            suite=suite,
            profile=chosen,
            world=world,
            references=references,
            sections=listed,
            replications=replications,
            seed=seed,
            workers=workers,
            dask=dask,
            shard=part,
            watch=watch,
            on_section=on_section,
        )
    _end(found, others, out, json, report)


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def usual_reference(given: Sequence[Discipline], suite: Suite) -> list[Discipline]:
    """The first well-known AQM that is not judged alone, and whose name is not another's."""
    for name in suite.references:
        (found,) = disciplines([name])
        if list(given) != [found] and all(each == found for each in given if each.name == name):
            return [found]
    return []


def disciplines(texts: Sequence[str]) -> list[Discipline]:
    """Disciplines as they are written on a command line."""
    from sluicegate.scenario import NetworkScenario

    tables = [syntax.discipline(text, "AQM") for text in texts]
    try:
        return list(NetworkScenario.parse({**_ANY, "disciplines": tables}).disciplines)
    except SluiceError as error:
        told = re.sub(r"^disciplines\.\d+(\.\w+)*:", "AQM:", str(error), flags=re.MULTILINE)
        raise UsageError(told) from error


def _end(
    found: Evaluation, others: Sequence[str], out: str, json: Path | None, report: bool
) -> None:
    """Write what is asked for, and say where it is."""
    from sluicegate.evaluate.everything import everything
    from sluicegate.evaluate.files import write_files
    from sluicegate.evaluate.short import in_short

    screen = console()
    screen.print(f"{found.done:,} of {len(found.plan.runs):,} runs, results: {escape(out)}")
    shown = everything(found, out)
    if more := shown.done - found.done:
        screen.print(f"with {more:,} more runs, which the folder has")
    for title, lines in in_short(shown, others):
        screen.print(f"[bold]{escape(title)}[/]", soft_wrap=True)
        for line in lines:
            screen.print(f"  {escape(line)}", soft_wrap=True)
    if json is not None:
        write_json(json, "evaluation", shown.summary(others))
    if report and found.done:
        page = write_files(shown, others, out)
        screen.print(f"report: {escape(page)}", soft_wrap=True)
    if notes := shown.notes():
        console(stderr=True).print(escape("\n".join(notes)), soft_wrap=True)
