"""The measures of all flows of a network together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sluicegate.counts import FlowCounts, KindCounts
from sluicegate.measures.definition import (
    INDEX,
    PACKETS_PER_SECOND,
    SECONDS,
    SHARE,
    TIME,
    Definition,
    FloatArray,
    Unit,
    bin_quantile,
    ratio,
)
from sluicegate.measures.fairness import demand_fairness
from sluicegate.measures.responsiveness import RPM
from sluicegate.measures.wires import WIRES

_NS_PER_S = 1e9


def _of_kind(
    name: str, heading: str, what: str, kind: Callable[[FlowCounts], KindCounts | None]
) -> list[Definition[FlowCounts]]:
    """Loss and quantiles of the delay of one kind of packets at the main queue."""

    def loss(c: FlowCounts) -> FloatArray:
        found = kind(c)
        assert found is not None
        return ratio(found.lost, found.arrivals)

    def quantile(level: float) -> Definition[FlowCounts]:
        def of(c: FlowCounts) -> FloatArray:
            found = kind(c)
            assert found is not None
            bins, width = found.delay.bins, found.delay.bin
            return np.array([bin_quantile(row, width, level) / _NS_PER_S for row in bins])

        per_cent = f"{100 * level:g}"
        return Definition(
            f"{name}_delay_p{per_cent}",
            f"{heading} p{per_cent} delay",
            TIME,
            rf"\inf \{{t : F_{{d,{symbol}}}(t) \ge {level}\}}",
            f"the delay in the queue, transmission included, that {per_cent} % of {what} do not "
            "exceed",
            of,
        )

    symbol = r"\mathrm{" + name + "}"
    lost = Definition(
        f"{name}_loss_ratio",
        f"{heading} lost",
        SHARE,
        rf"L_{symbol} / A_{symbol}",
        f"share of {what} that were lost there",
        loss,
    )
    return [lost, *map(quantile, (0.5, 0.95, 0.99))]


def _of_each(rows: Sequence[FloatArray], of: Callable[[FloatArray], Any]) -> FloatArray:
    """A figure of each row; NaN of empty ones."""
    return np.array([of(row) if len(row) else np.nan for row in rows], dtype=np.float64)


# only where a flow ended
COMPLETIONS: list[Definition[FlowCounts]] = [
    Definition(
        "completion_mean",
        "completion",
        SECONDS,
        r"\bar c",
        "mean time from a TCP flow's start until its application had ended and all that it sent "
        "was acknowledged, of the flows that came to that; only where one did",
        lambda c: _of_each(c.completions_s, np.mean),
    ),
    Definition(
        "completion_p99",
        "p99 completion",
        SECONDS,
        r"\inf \{t : F_c(t) \ge 0.99\}",
        "the time that 99 % of these do not exceed",
        lambda c: _of_each(
            c.completions_s, lambda row: np.quantile(row, 0.99, method="inverted_cdf")
        ),
    ),
]
# only where such packets came
OF_TCP = _of_kind("tcp", "TCP", "the data packets of TCP flows", lambda c: c.tcp)
OF_DATAGRAMS = _of_kind("datagram", "datagrams", "the datagrams", lambda c: c.datagrams)

FLOWS: list[Definition[FlowCounts]] = [
    Definition(
        "goodput",
        "goodput",
        PACKETS_PER_SECOND,
        r"N_\mathrm{acked} / T",
        "data packets of TCP flows acknowledged in sequence, each once, also some that came in the "
        "warm-up and waited for one before them: in short runs it can exceed the link's rate",
        lambda c: c.acknowledged / c.duration_s,
    ),
    Definition(
        "datagram_goodput",
        "datagrams",
        PACKETS_PER_SECOND,
        r"N_\mathrm{datagrams} / T",
        "datagrams that arrived",
        lambda c: c.datagrams_received / c.duration_s,
    ),
    Definition(
        "retransmission_rate",
        "retransmissions",
        PACKETS_PER_SECOND,
        r"N_\mathrm{again} / T",
        "data packets sent again",
        lambda c: c.retransmissions / c.duration_s,
    ),
    Definition(
        "timeout_rate",
        "time-outs",
        Unit("1/s"),
        r"N_\mathrm{time-outs} / T",
        "retransmission timers that ran out",
        lambda c: c.timeouts / c.duration_s,
    ),
    *COMPLETIONS,
    Definition(
        "fairness",
        "max-min fairness",
        INDEX,
        r"\frac{(\sum_i x_i / m_i)^2}{n \sum_i (x_i / m_i)^2}",
        "Jain's index of the bits that the flows without an end of their own got in the whole "
        "run, each over its max-min fair share: 1 if those that sent little got that, and all "
        "others the same",
        lambda c: np.array(list(map(demand_fairness, c.rates, c.demands))),
    ),
    *OF_TCP,
    *OF_DATAGRAMS,
    *RPM,
    *WIRES,
]
