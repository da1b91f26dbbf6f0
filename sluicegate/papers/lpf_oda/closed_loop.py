"""The paper's simulation in the network world, under every reading of what it leaves open."""

from __future__ import annotations

from collections.abc import Iterator

from sluicegate.estimate import Measure, student
from sluicegate.papers.campaign import Campaign
from sluicegate.papers.claims import ratio_of_means
from sluicegate.papers.comparison import Reproduction, Row, row_of
from sluicegate.papers.lpf_oda.claims import RESPONSES, Of, Pair, claims
from sluicegate.papers.lpf_oda.figures import courses
from sluicegate.papers.lpf_oda.findings import choices, findings
from sluicegate.papers.lpf_oda.outcome import outcome
from sluicegate.papers.lpf_oda.readings import DRAWN, READINGS, Reading
from sluicegate.papers.lpf_oda.source import (
    FILTERS,
    GAINS,
    LPF,
    ODA,
    PAPER,
    RESPONSE_S,
    THROUGHPUTS,
    TIMES_SOONER,
)
from sluicegate.worlds import Watch
from sluicegate.worlds.network.world import Network

_UNITS = {
    "response_time": "s",
    "throughput": "share of the link's rate",
    "drops": "packets",
    "delay": "s",
}
_REMARK = "Responses, arrivals, throughput, drops and delay are those between the congestions."


def reproduce(
    *, threads: int | None = None, watch: Watch | None = None, fresh: bool = False
) -> Reproduction:
    """Run both filters under every reading.

    Args:
        threads: Threads to use; all cores if None.
        watch: Called now and then; see `sluicegate.compare`.
        fresh: Run again even what the store has.

    Raises:
        InterruptError: After Ctrl-C; the next call goes on from what is finished.
    """
    world = Network()
    cost = sum(world.cost(each.scenario(name)) for each in READINGS for name in FILTERS)
    campaign = Campaign("lpf-oda", cost, threads=threads, watch=watch, fresh=fresh)

    def pair(reading: Reading) -> Pair:
        return {
            name: outcome(
                campaign.run(reading.scenario(name), world).ports[0], reading.packet_bytes
            )
            for name in FILTERS
        }

    pairs = {reading: pair(reading) for reading in READINGS}
    named = {reading.name: found for reading, found in pairs.items()}
    return Reproduction(
        paper=PAPER,
        rows=[row for name, found in named.items() for row in _rows(name, found)],
        findings=findings(pairs),
        choices=choices(),
        plots=list(courses({reading.name: pairs[reading] for reading in DRAWN})),
        units=_UNITS,
        remark=_REMARK,
        claims=claims(named),
    )


# quantity: field of an outcome
_MEASURES: dict[str, Of] = {
    "arrivals meanwhile": lambda found: found.response_arrivals,
    "throughput": lambda found: found.free,
    "drops": lambda found: found.free_drops,
    "delay": lambda found: found.free_delay_s,
}


def _rows(reading: str, pair: Pair) -> Iterator[Row]:
    for by, of in RESPONSES.items():
        for name in FILTERS:
            response = student(of(pair[name]))
            quantity = f"response_time {by}, {name}"
            yield row_of(reading, quantity, RESPONSE_S[name], response, measure="response_time")
        sooner = ratio_of_means(of(pair[LPF]), of(pair[ODA]))
        yield row_of(reading, f"times sooner {by}", TIMES_SOONER, sooner)
    for time_s, published in THROUGHPUTS.items():
        found = {name: pair[name].throughput(time_s) for name in FILTERS}
        for name, values in found.items():
            quantity = f"throughput at {time_s:g} s, {name}"
            yield row_of(reading, quantity, published[name], student(values), measure="throughput")
        times = ratio_of_means(found[ODA], found[LPF])
        gain = Measure(times.value - 1, times.half_width, "")
        yield row_of(reading, f"gain in throughput at {time_s:g} s", GAINS[time_s], gain)
    for quantity, of in _MEASURES.items():
        for name in FILTERS:
            it = student(of(pair[name]))
            yield row_of(reading, f"{quantity}, {name}", None, it, measure=quantity)
