"""From a scenario's wire to Linux's `netem`, in the words of `tc`."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sluicegate.scenario import (
    Bernoulli,
    Constant,
    Exponential,
    GilbertElliott,
    NetworkScenario,
    Pareto,
    Policer,
    Uniform,
    Wire,
)
from sluicegate.testbed import job
from sluicegate.testbed.addresses import Side
from sluicegate.worlds.real.varying import LINKS

# entries of a table, of which two have room in what tc tells the kernel at once (32 kB), and the
# steps of one: from -32767 on, where 8192 are one unit of the jitter (net/sched/sch_netem.c:
# NETEM_DIST_SCALE)
_ENTRIES, _STEPS, _SCALE = 8000, 32_767, 8192
# the kernel cuts a longer jitter to this (get_slot, netem_change: INT_MAX)
_MOST_UNIT_NS = 2**31 - 1
# packets do not overtake each other where netem has a rate: each leaves after the one before
# (netem_enqueue); this one takes a tenth of a microsecond
_IN_ORDER = "rate 100gbit"
_NS_PER_S = 1e9

_Time = Constant | Uniform | Exponential | Pareto


def wire_to(scenario: NetworkScenario, side: Side) -> job.Wire | None:
    """What happens on the wire to a side; None: nothing."""
    own = scenario.links.get(LINKS[side])
    return None if own is None or own.wire is None else _netem(own.wire, side)


def _netem(wire: Wire, side: Side) -> job.Wire:
    words, tables, police = [], {}, ""
    match wire.loss:
        case Bernoulli(probability=probability):
            words.append(f"loss random {_percent(probability)}")
        case GilbertElliott() as loss:
            given = (loss.enter, loss.leave, loss.loss_in_bad, loss.loss_in_good)
            words.append(f"loss gemodel {' '.join(map(_percent, given))}")
        case Policer(rate_bps=rate_bps, burst_bytes=burst_bytes):
            police = (
                f"action police rate {rate_bps:.0f}bit burst {burst_bytes:.0f} "
                "conform-exceed drop/pipe"
            )
    if wire.jitter is not None:
        name = f"{side}-jitter"
        delay, tables[name] = _drawn(wire.jitter, wire.jitter_share)
        words.append(f"delay {delay} distribution {name}")
    if wire.bursts is not None:
        name = f"{side}-gap"
        gap, tables[name] = _drawn(wire.bursts.gap, 1.0)
        words.append(f"slot distribution {name} {gap} packets {wire.bursts.packets}")
    if wire.jitter is not None and not wire.reorder:
        words.append(_IN_ORDER)
    return job.Wire(" ".join(words), tables, police)


def _percent(probability: float) -> str:
    return f"{100 * probability:.9g}%"


def refused(scenario: NetworkScenario, side: Side) -> Iterator[str]:
    """What `netem` cannot do of the wire to a side: the field and the reason."""
    own = scenario.links.get(LINKS[side])
    if own is None or own.wire is None:
        return
    jitter, bursts = own.wire.jitter, own.wire.bursts
    for field, time, share in (
        ("jitter", jitter, own.wire.jitter_share),
        ("bursts.gap", None if bursts is None else bursts.gap, 1.0),
    ):
        if time is None:
            continue
        half_ns, unit_ns, _ = _table(time, share)
        if unit_ns > _MOST_UNIT_NS:
            most_s = 2 * _MOST_UNIT_NS * _STEPS / _SCALE / _NS_PER_S
            yield (
                f'links."{LINKS[side]}".wire.{field}: of {2 * _ENTRIES:,} packets one has '
                f"{2 * half_ns / _NS_PER_S:.3g} s, which must be at most {most_s:.3g} s for "
                "Linux's netem (the worlds network and gate take any)"
            )


def _drawn(time: _Time, share: float) -> tuple[str, list[int]]:
    """A time with a distribution, which a share of the packets has: its words, and the table."""
    half_ns, unit_ns, table = _table(time, share)
    return f"{half_ns / 1e3:.3f}us {unit_ns / 1e3:.3f}us", table.tolist()


def _table(time: _Time, share: float) -> tuple[int, int, NDArray[np.int64]]:
    """The mean of the least and the greatest time, the unit of the table, ns; and the table.

    The table has the quantiles in the middle of as many equal parts of the chance as it has
    entries, and so has no longer tail.
    """
    parts = (np.arange(_ENTRIES) + 0.5) / _ENTRIES
    late = np.clip((parts - (1 - share)) / share, 0.0, None)
    times_ns = np.where(parts < 1 - share, 0.0, _quantiles_ns(time, late))
    # netem adds a multiple of the jitter to the delay, and tc takes neither as 0
    half_ns = max(math.ceil(times_ns.max() / 2), 1)
    unit_ns = math.ceil(half_ns * _SCALE / _STEPS)
    return half_ns, unit_ns, np.round((times_ns - half_ns) / unit_ns * _SCALE).astype(np.int64)


def _quantiles_ns(time: _Time, parts: NDArray[np.float64]) -> NDArray[np.float64]:
    """The times that are not exceeded with these probabilities."""
    match time:
        case Constant(mean_s=mean_s):
            found = np.full(len(parts), mean_s)
        case Uniform(least_s=least_s, greatest_s=greatest_s):
            found = least_s + parts * (greatest_s - least_s)
        case Exponential(mean_s=mean_s):
            found = -mean_s * np.log1p(-parts)
        case Pareto(mean_s=mean_s, shape=shape):
            found = mean_s * (shape - 1) / shape * (1 - parts) ** (-1 / shape)
    return found * _NS_PER_S


def modules_of_wires(scenario: NetworkScenario) -> list[str]:
    """Modules of the kernel that its wires need."""
    wires = [wire_to(scenario, side) for side in LINKS]
    there = [wire for wire in wires if wire is not None]
    police = ["act_police"] if any(wire.police for wire in there) else []
    return ["ifb", "sch_ingress", "cls_matchall", "act_mirred", *police] if there else []
