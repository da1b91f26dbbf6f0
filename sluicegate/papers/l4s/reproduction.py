"""All cases run, and each figure beside the published one, with a verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from sluicegate.errors import SluiceError
from sluicegate.estimate import Measure
from sluicegate.papers.campaign import Campaign
from sluicegate.papers.comparison import Reproduction, Row
from sluicegate.papers.l4s import l4s_bursts, l4s_tests, l4steam, pam2025
from sluicegate.papers.l4s.case import Case
from sluicegate.worlds import Watch
from sluicegate.worlds.network.record import NetworkRecord
from sluicegate.worlds.network.world import Network

_PAPER = (
    "L4S measured by others: L4S-PAM2025 (F. Sarpkaya et al., PAM 2025), the L4S team's runs "
    "(IETF 109, re-run, overload; 2020), l4s-tests (P. Heist, J. Morton, 2021)"
)
_SETS: Sequence[Callable[[Path], Iterator[Case]]] = (
    pam2025.cases,
    l4steam.iccrg,
    l4steam.rerun,
    l4steam.overload,
    l4s_tests.cases,
    l4s_bursts.cases,
)
TABLES = (
    pam2025.ONE,
    pam2025.MANY,
    l4steam.ICCRG,
    l4steam.RERUN,
    l4steam.OVERLOAD,
    l4s_tests.S1,
    l4s_tests.S6,
    l4s_bursts.BURSTY,
    l4s_bursts.SKYPE,
)
_SPREAD = (
    "Published: the mean, and ± the standard deviation over the trials where there were several. "
    "Ours: ± the half width of the 95 % confidence interval. A figure agrees if it is within three "
    "published standard deviations or within 10 %."
)
_CHOICES = (
    "Each set has the Prague of its time. That of 2020-04 and of 2020-08 (the re-run, overload, S1 "
    "and S6 of l4s-tests) is prague_2020, whose rate depends on the round trip, however short it "
    "is. That of IETF 109 and of 2021-06 (bursty links, Skype) is prague_2021: after 500 rounds "
    "round trips below 25 ms count as 25 ms. That of L4S-PAM2025 is prague_2024: small windows "
    "follow from a rate. The fallback where the queue seems to be a classic one is on in the "
    "re-run and in one set of L4S-PAM2025; in the latter it is that of its kernel, 5.15, which "
    "takes every queue for a classic one.",
    "Round trips of L4S-PAM2025 and IETF 109 are means of what TCP itself held for them, read by "
    "iperf3 once a second, and so are ours. Those of the re-run have quantiles of such readings, "
    "ours are those of packets.",
    "Bursty links are imitated as their authors do elsewhere (S2): slots 0.8 to 5 ms apart, of at "
    "most 16 packets, before the queue. What their radio did is not stated. Skype is 30 frames a "
    "second of packets of 1200 bytes at the stated rate; their frames are not stated, either. "
    "Their table of video services is left out: it does not say how these services send.",
    "Left out, too: qdiscs that mark at a threshold only packets with ECT(1), fq with a threshold, "
    "BBRv2, BBRv3 that answers marks, RED whose thresholds tc chose, cnq_codel_af, and the parts "
    "of the re-run in which links vary.",
    "Rates are those of htb, which counts Ethernet headers: 1514 bytes for a packet of 1500. "
    "L4S-PAM2025 switched segmentation offload off at its devices; Linux's TCP makes bursts all "
    "the same, which are cut before the device, so here it is on. Flows that start together start "
    "within 0.1 s, so that trials differ.",
)


def reproduce(
    *,
    published: Path,
    threads: int | None = None,
    watch: Watch | None = None,
    fresh: bool = False,
) -> Reproduction:
    """Run the cases of all tables that are there.

    Args:
        published: Folder with the published tables, at least one of `TABLES`.
        threads: Threads to use; all cores if None.
        watch: Called now and then; see `sluicegate.compare`.
        fresh: Run again even what the store has.

    Raises:
        SluiceError: If there is no table, or if one is not what it should be.
        InterruptError: After Ctrl-C; the next call goes on from what is finished.
    """
    cases = list(chain.from_iterable(each(published) for each in _SETS))
    if not cases:
        raise SluiceError(
            f"{published}: there is none of the published tables {', '.join(TABLES)}; "
            "docs/background/senders.md says where to get them, and their columns"
        )
    world = Network()
    cost = sum(world.cost(case.scenario) for case in cases)
    campaign = Campaign("l4s", cost, threads=threads, watch=watch, fresh=fresh)
    of_cases = [
        (case.group, row)
        for case in cases
        for row in _rows(case, campaign.run(case.scenario, world))
    ]
    return Reproduction(
        paper=_PAPER,
        rows=[row for _, row in of_cases],
        findings=[_agreement(of_cases)],
        choices=_CHOICES,
        plots=[],
        units={},
        spread=_SPREAD,
    )


def _rows(case: Case, record: NetworkRecord) -> Iterator[Row]:
    for figure in case.figures:
        found: Measure = figure.of(record)
        yield Row(
            case.name,
            figure.quantity,
            figure.published,
            found.value,
            found.half_width,
            spread=figure.spread,
            bar=figure.bar,
        )


def _agreement(of_cases: Sequence[tuple[str, Row]]) -> str:
    by_set: Counter[str] = Counter()
    agree: Counter[str] = Counter()
    for group, row in of_cases:
        by_set[group] += 1
        agree[group] += row.verdict == "agrees"
    told = ", ".join(f"{name} {agree[name]} of {count}" for name, count in by_set.items())
    return f"Figures that agree: {told}; in all {agree.total()} of {by_set.total()}."
