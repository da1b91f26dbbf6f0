"""`sluice advise`: which AQM, with which parameters, for a link or a capture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from sluicegate.cli import options
from sluicegate.cli.progress import progress
from sluicegate.cli.screen import console, write_json
from sluicegate.errors import UsageError
from sluicegate.extras import require
from sluicegate.report.terminal import terminal_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sluicegate.advice import Advice, Question, Recorded


def _families() -> list[str]:
    """What a shell may complete."""
    from sluicegate.advice.settings import FAMILIES

    return list(FAMILIES)


def _rate(help: str) -> object:
    return typer.Option(metavar="BITS/S", help=help, show_default=False)


def advise(
    capture: Annotated[
        Path | None,
        typer.Argument(
            metavar="CAPTURE",
            help="A capture of the link: flows, round trips and datagrams are taken from it where "
            "no option gives them.",
            show_default=False,
        ),
    ] = None,
    rate: Annotated[str | None, _rate("Rate of the link, such as 50M, 10G or 2e6.")] = None,
    upload: Annotated[
        str | None,
        _rate("The same, of a link into which the hosts here send; may be given with --download."),
    ] = None,
    download: Annotated[
        str | None,
        _rate(
            "The same, of a link from which the hosts here receive: the tc commands shape "
            "arriving packets."
        ),
    ] = None,
    rtt: Annotated[
        str | None,
        typer.Option(
            metavar="LOW..HIGH",
            help="Round trips of the empty path, such as 20..120ms.",
            show_default=False,
        ),
    ] = None,
    flows: Annotated[
        str | None,
        typer.Option(
            metavar="LOW..HIGH",
            help="Number of long-lived TCP flows at a time, such as 5..50.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        str | None,
        typer.Option(
            metavar="PACKETS|capture",
            help="The buffer of today, drop-tail, such as 1000, which the advice is compared with; "
            "capture: as the slowest handshakes of the capture tell. If not given: the usual one, "
            "rate times the longest round trip.",
            show_default=False,
        ),
    ] = None,
    linux: Annotated[
        bool, typer.Option("--linux", help="Compare only what Linux has as a qdisc.")
    ] = False,
    ecn: Annotated[
        bool | None,
        typer.Option(
            "--ecn/--no-ecn",
            help="Whether hosts and queue mark instead of dropping (ECN). If not given: as in the "
            "capture, or no.",
            show_default=False,
        ),
    ] = None,
    control: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Congestion control of TCP: cubic, reno, dctcp, or prague, that of L4S.",
        ),
    ] = "cubic",
    packet_bytes: Annotated[
        int | None,
        typer.Option(
            metavar="BYTES", help="Size of a data packet. If not given: as in the capture, or 1500."
        ),
    ] = None,
    prefer: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="What matters most: balanced, delay, loss or throughput."
        ),
    ] = "balanced",
    aqm: Annotated[
        list[str] | None,
        typer.Option(
            autocompletion=_families,
            metavar="NAME",
            help="Compare only this one; may be repeated. "
            "The names are those in the guide, such as red, pie or fq_codel.",
            show_default=False,
        ),
    ] = None,
    packets: Annotated[
        float,
        typer.Option(
            metavar="N",
            help="Packets to simulate in all runs together: more take longer.",
            show_default="30e6",
        ),
    ] = 30e6,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of every random stream.")] = 1,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Processes to use; all cores if not given.", show_default=False
        ),
    ] = None,
    out: options.Out = options.REPORT,
    figure: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw the picture of before and after into this .pdf, .svg or .png.",
            show_default=False,
        ),
    ] = None,
    json: options.Json = None,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh",
            help="Search again, even if the answer is kept; single runs that are kept are not "
            "made again.",
        ),
    ] = False,
) -> None:
    """Recommend an AQM and its parameters for a link, with the commands that set it.

    The link is simulated under TCP, with few and many flows, short and long round trips. With
    --upload and --download both directions of a line are answered, on one page. Answers are kept:
    the same question is answered at once. After Ctrl-C the same command goes on.
    """
    require("matplotlib", "the page of its results")
    # numpy and what depends on it take long to import
    from sluicegate.advice import advise as run
    from sluicegate.advice import rows
    from sluicegate.advice.page import advice_page
    from sluicegate.advice.plots import change_figure
    from sluicegate.advice.replay import replay_cells
    from sluicegate.report.figure_file import check_format, save

    if figure is not None:
        check_format(figure)
    questions, recorded = _questions(
        capture, _rates(rate, upload, download), rtt, flows, limit, ecn, packet_bytes
    )
    questions = [
        each.with_(control=control, prefer=prefer, seed=seed, linux=linux) for each in questions
    ]
    with progress(len(questions)) as watch:
        found = [
            run(each, aqms=aqm, packets=packets, workers=workers, watch=watch, fresh=fresh)
            for each in questions
        ]
        replayed = None if recorded is None else replay_cells(found[0], recorded)
    if json is not None:
        told = [rows.summary(each) for each in found]
        if len(told) > 1:
            write_json(json, "advices", {"directions": told})
        else:
            write_json(json, "advice", told[0])
    _print(found)
    page = out / "advice.html"
    advice_page(found, recorded, replayed).write(page)
    console().print(f"report: {escape(str(page))}")
    if figure is not None:
        save(change_figure(found), figure)
        console().print(f"figure: {escape(str(figure))}")


def _rates(
    rate: str | None, upload: str | None, download: str | None
) -> list[tuple[float, str | None]]:
    """The rates that were given, bits/s, each with its direction."""
    from sluicegate.advice.reading import rate_bps

    given = {"rate": rate, "upload": upload, "download": download}
    found = [(name, text) for name, text in given.items() if text is not None]
    if len(found) > 1 and rate is not None:
        raise UsageError(
            f"give --rate or --{found[1][0]}, not both: --rate is of a link without a direction"
        )
    if not found:
        raise UsageError(
            "give --rate, the rate of the slow link, or --upload, --download or both of these"
        )
    return [(rate_bps(text, f"--{name}"), None if name == "rate" else name) for name, text in found]


def _questions(
    capture: Path | None,
    rates: Sequence[tuple[float, str | None]],
    rtt: str | None,
    flows: str | None,
    limit: str | None,
    ecn: bool | None,
    packet_bytes: int | None,
) -> tuple[list[Question], Recorded | None]:
    """The question of each direction that the options ask, and the capture that it is about."""
    from sluicegate.advice import Question, Recorded, question_of, reading
    from sluicegate.traffic import Capture

    rtts_s = None if rtt is None else reading.rtts_s(rtt)
    counts = None if flows is None else reading.flows(flows)
    packets = None if limit is None else reading.limit(limit)
    recorded = None
    if capture is not None:
        if len(rates) > 1:
            raise UsageError("a capture tells of one direction: give --upload or --download")
        recorded = Recorded(Capture.read(capture))
        ((rate_bps, _),) = rates
        asked = [question_of(recorded, rate_bps, rtts_s, counts, ecn)]
        if limit is not None and packets is None:
            packets = recorded.limit(rate_bps)
    elif rtts_s is None or counts is None:
        raise UsageError("give --rtt and --flows, such as --rtt 20..120ms --flows 5..50")
    elif limit is not None and packets is None:
        raise UsageError("--limit capture: give a capture, or the number of packets")
    else:
        asked = [
            Question(rate_bps=rate_bps, rtts_s=rtts_s, flows=counts, ecn=bool(ecn))
            for rate_bps, _ in rates
        ]
    return [
        each.with_(direction=direction, packet_bytes=packet_bytes, limit=packets)
        for each, (_, direction) in zip(asked, rates, strict=True)
    ], recorded


def _print(advices: Sequence[Advice]) -> None:
    from sluicegate.advice import rows, words

    screen = console()
    for advice in advices:
        if len(advices) > 1:
            screen.print(f"[bold]{escape(words.link_name(advice.question))}[/]")
        screen.print(terminal_table(rows.HEADER, rows.setting_cells(advice)))
        screen.print()
        cases = [rows.case_cells(row, advice.factor) for row in rows.case_rows(advice)]
        screen.print(terminal_table(rows.CASE_HEADER, cases))
        screen.print()
        prefers = [rows.prefer_cells(row) for row in rows.prefer_rows(advice)]
        screen.print(terminal_table(rows.PREFER_HEADER, prefers))
        screen.print()
    links = [each.question for each in advices]
    for sentence in (words.score_sentence(links[0].prefer), words.COLUMNS, words.NAMES):
        screen.print(escape(sentence), style="dim")
    for advice in advices:
        _print_answer(advice, alone=len(advices) == 1)
    screen.print()
    if len(links) > 1:
        screen.print(escape(words.both(*links)))
    said: list[str] = []
    for advice in advices:
        said += [each for each in words.assumptions(advice) if each not in said]
    for sentence in said:
        screen.print(escape(sentence), style="dim")


def _print_answer(advice: Advice, *, alone: bool) -> None:
    """What to take, what it changes, and the lines that set it."""
    from sluicegate.advice import words
    from sluicegate.advice.lines import lines
    from sluicegate.advice.reasons import reasons

    screen = console()
    screen.print()
    if not alone:
        screen.print(f"[bold]{escape(words.link_name(advice.question))}[/]")
    screen.print(escape(words.verdict(advice)))
    screen.print(escape(words.change(advice)))
    screen.print(escape(words.device(advice.question)))
    screen.print(escape(words.PLACES[advice.question.direction]))
    undo: Sequence[str] = ()
    linux = advice.best_of_linux or advice.choice
    few = dict.fromkeys([advice.choice, *advice.equally_good, linux])
    for each in advice.worth_having if alone else few:
        found = lines(each, advice.question)
        screen.print(f"\n[bold]{escape(each.name)}[/]")
        for line in filter(None, (found.sluiced, *found.tc)):
            # to be copied
            screen.print(f"  {escape(line)}", soft_wrap=True)
        if found.why_no_tc:
            screen.print(f"  no tc commands: {escape(found.why_no_tc)}", soft_wrap=True)
        if found.tc:
            undo = found.undo
    screen.print(f"\nWhy {escape(advice.choice.name)} is set so:", style="dim")
    for param, why in reasons(advice.choice, advice.question):
        screen.print(f"  {escape(param)}: {escape(why)}", style="dim")
    if not alone:
        screen.print("\nThe page has the lines of the others.", style="dim")
    if undo:
        screen.print(f"\n{escape(words.UNDO)}")
        for line in undo:
            screen.print(f"  {escape(line)}", soft_wrap=True)
