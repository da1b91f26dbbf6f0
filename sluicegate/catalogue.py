"""What the headers do not say of each AQM and scheduler: its family, where it is used, and Linux's.

Title, summary and parameters come from the descriptors of a header, origin and rule from the
comment at its top. The terminal and the pages take all of it from these two places.

Versions of Linux follow from the dates of the commits that brought a file of `net/sched` (its
Makefile's history: DRR 2008-11-20, CHOKe 2011-02-02, SFB 2011-02-23, CoDel 2012-05-10, FQ-CoDel
2012-05-12, `fq` 2013-08-29, PIE 2014-01-06, CAKE 2018-07-10, ETS 2019-12-18, FQ-PIE 2020-01-23) or
an option (adaptive RED 2011-12-08, `ce_threshold` 2015-05-10, its selector 2021-10-15); DualPI2 is
of the series of 2025-07-22. That history begins in 2005: what is older is said to be so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sluicegate.registry import schedulers

FAMILIES = (
    "a full buffer, and nothing else",
    "RED and its kin: by an average queue",
    "controllers: by a target, a rate or losses",
    "delay of packets that leave",
    "thresholds",
    "flows, without a queue for each",
    "drop precedence",
    "several queues that are judged together",
    "schedulers, with an AQM in each queue",
    "your own",
)


@dataclass(frozen=True)
class Entry:
    """One AQM or scheduler.

    Attributes:
        family: What it goes by, one of `FAMILIES`.
        deployed: Where it is in use and since when, with the source; empty: nowhere that we know
            of.
        linux: Linux's name of it, and what is different there.
    """

    family: str
    deployed: str = ""
    linux: str = "Linux has none."


_FULL, _RED, _CONTROL, _DELAY, _STEP, _FLOWS, _LEVELS, _COUPLED, _SCHEDULER, _OWN = FAMILIES
_NO_RED = "Linux has none; its `red` goes from `max_p` to 1 at `max_th`."
_RED_LINUX = (
    "`tc qdisc ... red`. Thresholds and limit are in bytes, and `w` is a power of 1/2. Beyond "
    "`max_th` it "
    "marks what can be marked, unless `harddrop` is set."
)

ENTRIES: Mapping[str, Entry] = {
    "drop_tail": Entry(
        _FULL,
        "Most links. Linux's own default is `pfifo_fast` (its documentation of "
        "`net.core.default_qdisc`, a setting since 3.12, 2013), though systemd sets `fq_codel`.",
        "`pfifo`, and `pfifo_head_drop` with drops from the front.",
    ),
    "red": Entry(
        _RED,
        "Routers of most makers, mostly as WRED (such as the guides of Extreme's SLX-OS and of "
        "3Com's "
        "Router 3000; no dates found); Linux, since before its history in git (2005).",
        _RED_LINUX,
    ),
    "gentle_red": Entry(_RED, "ns-2 has it switched on by default (`gentle_`).", _NO_RED),
    "dsred": Entry(_RED),
    "nlred": Entry(_RED),
    "redwm": Entry(_RED),
    "lpf_oda": Entry(_RED),
    "ared": Entry(
        _RED,
        "Linux, `red ... adaptive`, since 3.3 (2012).",
        f"`red ... adaptive`, which moves `max_p` twice a second, as here. {_RED_LINUX}",
    ),
    "self_configuring_red": Entry(_RED),
    "pi": Entry(_CONTROL),
    "rem": Entry(_CONTROL),
    "avq": Entry(_CONTROL),
    "lred": Entry(_CONTROL),
    "blue": Entry(_CONTROL),
    "pie": Entry(
        _CONTROL,
        "Cable modems from DOCSIS 3.1 on (RFC 8034, 2017); Comcast found 15 to 30 ms under load "
        "with "
        "it, and 250 ms without (Flickinger et al. 2021, millions of modems). Linux, since 3.14 "
        "(2014). FreeBSD, since 11 (`sys/netpfil/ipfw/dn_aqm_pie.c`, May 2016: "
        "caia.swin.edu.au/freebsd/aqm).",
        '`pie`, in a queue of its own, and `fq_pie`; `like = "linux"` has their rules.',
    ),
    "pi2": Entry(
        _CONTROL,
        "As the controller of DualPI2.",
        "Linux has it only within `dualpi2`.",
    ),
    "codel": Entry(
        _DELAY,
        "Linux, since 3.5 (2012), and FreeBSD, since 11 "
        "(`sys/netpfil/ipfw/dn_aqm_codel.h`, "
        "May 2016: caia.swin.edu.au/freebsd/aqm), mostly in the queues of `fq`.",
        '`codel`, and `fq_codel` in the queues of `fq`; `like = "linux"` has their rules.',
    ),
    "cobalt": Entry(
        _DELAY,
        "Within CAKE, since Linux 4.19 (2018).",
        'Linux has it only within `cake`; `like = "linux"` has its rules.',
    ),
    "step": Entry(
        _STEP,
        "Switches of data centres, for DCTCP (RFC 8257, section 3.1, 2017). Linux's "
        "`ce_threshold`: "
        "since 4.2 (2015) in CoDel; for a choice of codepoints since 5.16 (2022).",
        "`ce_threshold` of `fq`, `codel` and `fq_codel`, which never drops.",
    ),
    "choke": Entry(_FLOWS, "Linux, since 2.6.39 (2011).", "`choke`, with thresholds in packets."),
    "fred": Entry(_FLOWS),
    "sred": Entry(_FLOWS),
    "sfb": Entry(
        _FLOWS,
        "Linux, since 2.6.39 (2011); Apple's systems had it (`bsd/net/classq/classq_sfb.c` of XNU, "
        "not there any more: `classq_fq_codel.c` is).",
        "`sfb`, which marks whatever can be marked. What else differs is at the end of the rule.",
    ),
    "gred": Entry(
        _LEVELS,
        "Linux, since before its history in git (2005).",
        "`gred` with four of its 16 levels, and a filter that gives each packet its level.",
    ),
    "rio": Entry(
        _LEVELS,
        "ALTQ of the BSDs (`sys/net/altq/altq_rio.c`); Linux, as a mode of `gred`. No dates found.",
        "`gred ... grio`, with a priority for each level.",
    ),
    "wred": Entry(
        _LEVELS,
        "Routers and switches, such as Extreme's (SLX-OS) and Arista's (their guides to WRED; no "
        "dates found); Linux, as a mode of `gred`.",
        "`gred ... grio`, with the same priority for all levels.",
    ),
    "dualpi2": Entry(
        _COUPLED,
        "Linux, since 6.17 (2025). Cable modems with Low Latency DOCSIS have another dual queue "
        "that is "
        "coupled, too "
        "(RFC 9332, draft-white-tsvwg-lld); Comcast began with it in January 2025 (Light "
        "Reading, 29 January).",
        '`dualpi2`; `like = "linux"` has its rules. What is left out is at the end of the rule.',
    ),
    "cake": Entry(
        _COUPLED,
        "Home routers: OpenWrt's SQM (`layer_cake.qos`, `piece_of_cake.qos`); Linux, since 4.19 "
        "(2018).",
        "`cake`. What differs is at the end of the rule.",
    ),
    "sfq": Entry(
        _SCHEDULER,
        "Linux, since before its history in git (2005).",
        "`sfq`, with drop-tail in each queue, and 127 packets of a flow at most.",
    ),
    "drr": Entry(
        _SCHEDULER,
        "Linux, since 2.6.29 (2009).",
        "`drr` has classes and no flows of its own: filters choose them, and each has a qdisc.",
    ),
    "fq": Entry(
        _SCHEDULER,
        "With CoDel, as FQ-CoDel: Linux, since 3.5 (2012); the default of systemd "
        "(`sysctl.d/50-default.conf`, the date was not found) and of OpenWrt (its patch of the "
        "kernel, "
        "2017); Apple's systems (`bsd/net/classq/classq_fq_codel.c` of XNU). With PIE, as FQ-PIE: "
        "Linux, since 5.6 (2020). FreeBSD has both, since 11 (May 2016).",
        "`fq_codel` and `fq_pie`; `fq` with the step AQM, where it does not pace.",
    ),
    "prio": Entry(
        _SCHEDULER,
        "Linux, since before its history in git (2005), and most switches.",
        "`prio`, with a limit for each band.",
    ),
    "ets": Entry(
        _SCHEDULER,
        "Switches of data centres (IEEE 802.1Qaz, now in 802.1Q); Linux, since 5.6 (2020).",
        "`ets`, with a limit for each band.",
    ),
    "wf2q": Entry(
        _SCHEDULER,
        "FreeBSD (`sys/netpfil/ipfw/dn_sched_wf2q.c`; no date found).",
        "Linux has none; its `qfq` approximates it in constant time.",
    ),
}


def entry(name: str) -> Entry:
    """What is known of an AQM or a scheduler.

    Of one that is not of the package, and of a scheduler without an entry, that is its family.
    """
    return ENTRIES.get(name, Entry(_SCHEDULER if name in schedulers() else _OWN))
