"""The paper's simulation in the network world, under every reading of what it leaves open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sluicegate.estimate import student
from sluicegate.papers.campaign import Campaign
from sluicegate.papers.comparison import Reproduction, Row, row_of
from sluicegate.papers.lpf_oda.claims import claims, throughput_gain, times_sooner
from sluicegate.papers.lpf_oda.figures import courses
from sluicegate.papers.lpf_oda.outcome import Outcome, outcome
from sluicegate.papers.lpf_oda.readings import SEEDS, Reading, connections, datagrams
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

# so large that 1.7 packets/s make up the load: 23 arrivals take 13 s
_RARE = datagrams(1.5, 0.09, 65_535)
_USUAL = datagrams(1.5, 0.1)
_MIXED = mixed(3, 1.5)
READINGS = (
    _USUAL,
    datagrams(1.1, 0.1),
    datagrams(3.0, 0.1),
    datagrams(1.5, 0.002),
    datagrams(1.5, 0.01),
    datagrams(1.5, 0.5),
    datagrams(1.5, 0.8),
    datagrams(1.5, 0.1, 500),
    _USUAL.decaying(),
    _RARE,
    _RARE.decaying(),
    connections(3, 30),
    connections(3, 300),
    connections(30, 300),
    connections(3, 300).decaying(),
    mixed(3, 1.1),
    _MIXED,
    mixed(30, 1.5),
    _MIXED.decaying(),
)
_DRAWN = (_RARE, _USUAL, _MIXED)

Outcomes = Mapping[str, Mapping[str, Outcome]]


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
    found = {
        reading.name: {
            name: outcome(
                campaign.run(reading.scenario(name), world).ports[0], reading.packet_bytes
            )
            for name in FILTERS
        }
        for reading in READINGS
    }
    return Reproduction(
        paper=PAPER,
        rows=list(_rows(found)),
        findings=[],
        choices=_choices(),
        plots=list(courses({reading.name: found[reading.name] for reading in _DRAWN})),
        claims=claims(found),
    )


def _rows(found: Outcomes) -> Iterator[Row]:
    for reading, pair in found.items():
        for name in FILTERS:
            response = student(pair[name].response_s)
            yield row_of(reading, f"response_time_s, {name}", RESPONSE_S[name], response)
        yield row_of(reading, "times sooner", TIMES_SOONER, student(times_sooner(pair)))
        for name in FILTERS:
            arrivals = student(pair[name].response_arrivals)
            yield row_of(reading, f"arrivals, {name}", None, arrivals)
        gain = student(pair[ODA].free / pair[LPF].free - 1)
        yield row_of(reading, "gain in throughput, 133 to 166 s", None, gain)
        for time_s, figure in GAINS.items():
            at = student(throughput_gain(pair, time_s))
            yield row_of(reading, f"gain in throughput at {time_s:g} s", figure, at)
        for name in FILTERS:
            yield row_of(reading, f"drops, {name}", None, student(pair[name].free_drops))
        for name in FILTERS:
            yield row_of(reading, f"delay_s, {name}", None, student(pair[name].free_delay_s))


def _choices() -> list[str]:
    return [f"{SEEDS} seeds."]
