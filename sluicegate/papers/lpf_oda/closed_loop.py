"""The paper's simulation in the network world, under every reading of what it leaves open."""

from __future__ import annotations

from collections.abc import Iterator

from sluicegate.estimate import student
from sluicegate.papers.campaign import Campaign
from sluicegate.papers.comparison import Reproduction, Row, row_of
from sluicegate.papers.lpf_oda.claims import Pair, claims
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
    TIMES_SOONER,
)
from sluicegate.worlds import Network, Watch

_UNITS = "Times in seconds, drops in packets, gains as shares."


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
        claims=claims(named),
    )


def _rows(reading: str, pair: Pair) -> Iterator[Row]:
    for name in FILTERS:
        response = student(pair[name].response_s)
        yield row_of(reading, f"response_time, {name}", RESPONSE_S[name], response)
    sooner = pair[LPF].response_s.mean() / pair[ODA].response_s.mean()
    yield Row(reading, "times sooner", TIMES_SOONER, sooner, None)
    for name in FILTERS:
        arrivals = student(pair[name].response_arrivals)
        yield row_of(reading, f"arrivals meanwhile, {name}", None, arrivals)
    for name in FILTERS:
        yield row_of(reading, f"recovery, {name}", None, student(pair[name].recovery_s))
    for time_s, share in GAINS.items():
        gain = pair[ODA].throughput(time_s).mean() / pair[LPF].throughput(time_s).mean() - 1
        yield Row(reading, f"gain in throughput at {time_s:g} s", share, gain, None)
    for name in FILTERS:
        yield row_of(reading, f"throughput, {name}", None, student(pair[name].free))
    for name in FILTERS:
        yield row_of(reading, f"drops, {name}", None, student(pair[name].free_drops))
    for name in FILTERS:
        yield row_of(reading, f"delay, {name}", None, student(pair[name].free_delay_s))
