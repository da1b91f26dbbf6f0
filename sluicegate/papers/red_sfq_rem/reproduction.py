"""The paper repeated: tables 2 and 3 and figures 4 to 7, under every reading."""

from __future__ import annotations

from collections.abc import Iterator

from sluicegate.estimate import Measure, student
from sluicegate.papers.campaign import Campaign
from sluicegate.papers.comparison import Reproduction, Row, row_of
from sluicegate.papers.red_sfq_rem.claims import Sweep, Trio, of_sweeps, of_tables
from sluicegate.papers.red_sfq_rem.figures import courses, loss_figure
from sluicegate.papers.red_sfq_rem.findings import choices, findings, nearest
from sluicegate.papers.red_sfq_rem.outcome import Outcome, outcome
from sluicegate.papers.red_sfq_rem.readings import DRAWN, SWEPT, Reading, grid, sweep
from sluicegate.papers.red_sfq_rem.source import ALGORITHMS, PAPER, TABLE_2
from sluicegate.worlds import Watch
from sluicegate.worlds.network.world import Network

# readings whose rows and figures are shown, beside the one nearest to table 2: ns-2 with a buffer
# of 20, and the text taken literally
_SHOWN = (Reading(), Reading(like="text", limit=2, rate_mbps=5.0, spacing_s=0.0))
# utilization and the loss ratio are shares
_UNITS = {
    "queue_max": "packets",
    "queue_min": "packets",
    "throughput_max": "Mb/s",
    "throughput_min": "Mb/s",
    "delay_max": "ms",
    "delay_min": "ms",
    "sent": "packets",
    "lost": "packets",
}


class _Runs:
    """Runs each algorithm under a reading once."""

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        self._known: dict[Reading, Trio] = {}

    def trio(self, reading: Reading) -> Trio:
        if reading not in self._known:
            self._known[reading] = {
                name: outcome(
                    self._campaign.run(reading.scenario(name), Network()), reading.rate_mbps * 1e6
                )
                for name in ALGORITHMS
            }
        return self._known[reading]

    def sweep(self, reading: Reading) -> Sweep:
        trios = {each.rate_mbps: self.trio(each) for each in sweep(reading)}
        return {name: {rate: trio[name] for rate, trio in trios.items()} for name in ALGORITHMS}


def reproduce(
    *, threads: int | None = None, watch: Watch | None = None, fresh: bool = False
) -> Reproduction:
    """Run the three algorithms under every reading and at every bandwidth.

    Args:
        threads: Threads to use; all cores if None.
        watch: Called now and then; see `sluicegate.compare`.
        fresh: Run again even what the store has.

    Raises:
        InterruptError: After Ctrl-C; the next call goes on from what is finished.
    """
    runs = _Runs(Campaign("red-sfq-rem", _cost(), threads=threads, watch=watch, fresh=fresh))
    trios = {reading: runs.trio(reading) for reading in grid()}
    swept = {reading: runs.sweep(reading) for reading in SWEPT}
    shown = {reading.name: runs.trio(reading) for reading in (nearest(trios), *_SHOWN)}
    return Reproduction(
        paper=PAPER,
        rows=[row for name, trio in shown.items() for row in _rows(name, trio)],
        findings=findings(trios),
        choices=choices(),
        plots=[
            loss_figure({reading.at_any_rate: runs.sweep(reading) for reading in DRAWN}),
            *courses(shown),
        ],
        units=_UNITS,
        claims=[
            *of_tables({reading.name: trio for reading, trio in trios.items()}, "all readings"),
            *of_tables(
                {reading.name: trio for reading, trio in trios.items() if reading.is_near},
                "buffer 20 as in ns-2, data one way",
            ),
            *of_sweeps({reading.at_any_rate: by for reading, by in swept.items()}),
        ],
    )


def _cost() -> float:
    readings = {*grid(), *(each for start in (*SWEPT, *DRAWN) for each in sweep(start)), *_SHOWN}
    return sum(Network().cost(each.scenario(name)) for each in readings for name in ALGORITHMS)


def _rows(reading: str, trio: Trio) -> Iterator[Row]:
    for quantity, published in TABLE_2.items():
        for name, figure in zip(ALGORITHMS, published, strict=True):
            found = _measured(trio[name], quantity)
            yield row_of(reading, f"{quantity}, {name}", figure, found, measure=quantity)


def _measured(found: Outcome, quantity: str) -> Measure:
    value = getattr(found, quantity)
    return Measure(value, None, "") if isinstance(value, float) else student(value)
