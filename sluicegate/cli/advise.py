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
from sluicegate.report.terminal import terminal_table

if TYPE_CHECKING:
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
        str | None, _rate("The same, of a link into which the hosts here send.")
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
        str, typer.Option(metavar="NAME", help="Congestion control of TCP: cubic, reno or dctcp.")
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
    json: options.Json = None,
    fresh: options.Fresh = False,
) -> None:
    """Recommend an AQM and its parameters for a link, with the commands that set it.

    The link is simulated under TCP, with few and many flows, short and long round trips. Answers
    are kept: the same question is answered at once. After Ctrl-C the same command goes on.
    """
    # numpy and what depends on it take long to import
    from sluicegate.advice import advise as run
    from sluicegate.advice import rows
    from sluicegate.advice.page import advice_page
    from sluicegate.advice.replay import replay_cells

    asked, recorded = _question(
        capture, _one_rate(rate, upload, download), rtt, flows, ecn, packet_bytes
    )
    asked = asked.with_(control=control, prefer=prefer, seed=seed)
    with progress(1) as watch:
        found = run(asked, aqms=aqm, packets=packets, workers=workers, watch=watch, fresh=fresh)
        replayed = None if recorded is None else replay_cells(found, recorded)
    if json is not None:
        write_json(json, "advice", rows.summary(found))
    _print(found)
    page = out / "advice.html"
    advice_page(found, recorded, replayed).write(page)
    console().print(f"report: {escape(str(page))}")


def _one_rate(
    rate: str | None, upload: str | None, download: str | None
) -> tuple[float, str | None]:
    """The rate that was given, bits/s, and its direction."""
    from sluicegate.advice.reading import rate_bps

    given = {"rate": rate, "upload": upload, "download": download}
    found = [(name, text) for name, text in given.items() if text is not None]
    if len(found) != 1:
        raise UsageError("give one of --rate, --upload and --download: the rate of the slow link")
    name, text = found[0]
    return rate_bps(text, f"--{name}"), None if name == "rate" else name


def _question(
    capture: Path | None,
    rate: tuple[float, str | None],
    rtt: str | None,
    flows: str | None,
    ecn: bool | None,
    packet_bytes: int | None,
) -> tuple[Question, Recorded | None]:
    """The question that the options ask, and the capture that it is about."""
    from sluicegate.advice import Question, Recorded, question_of, reading
    from sluicegate.traffic import Capture

    rate_bps, direction = rate
    rtts_s = None if rtt is None else reading.rtts_s(rtt)
    counts = None if flows is None else reading.flows(flows)
    recorded = None
    if capture is not None:
        recorded = Recorded(Capture.read(capture))
        asked = question_of(recorded, rate_bps, rtts_s, counts, ecn)
    elif rtts_s is None or counts is None:
        raise UsageError("give --rtt and --flows, such as --rtt 20..120ms --flows 5..50")
    else:
        asked = Question(rate_bps=rate_bps, rtts_s=rtts_s, flows=counts, ecn=bool(ecn))
    return asked.with_(direction=direction, packet_bytes=packet_bytes), recorded


def _print(advice: Advice) -> None:
    from sluicegate.advice import rows, words
    from sluicegate.advice.lines import lines

    screen = console()
    screen.print(terminal_table(rows.HEADER, rows.setting_cells(advice)))
    for sentence in (words.score_sentence(advice.question.prefer), words.COLUMNS, words.NAMES):
        screen.print(escape(sentence), style="dim")
    screen.print()
    cases = [rows.case_cells(row, advice.factor) for row in rows.case_rows(advice)]
    screen.print(terminal_table(rows.CASE_HEADER, cases))
    screen.print()
    prefers = [rows.prefer_cells(row) for row in rows.prefer_rows(advice)]
    screen.print(terminal_table(rows.PREFER_HEADER, prefers))
    screen.print()
    screen.print(escape(words.verdict(advice)))
    for each in advice.worth_having:
        found = lines(each, advice.question)
        screen.print(f"\n[bold]{escape(each.name)}[/]")
        for line in (found.sluiced, *found.tc):
            # to be copied
            screen.print(f"  {escape(line)}", soft_wrap=True)
        if found.why_no_tc:
            screen.print(f"  no tc commands: {escape(found.why_no_tc)}", soft_wrap=True)
    screen.print()
    for sentence in (words.DEVICE, *words.assumptions(advice)):
        screen.print(escape(sentence), style="dim")
