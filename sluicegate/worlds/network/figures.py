"""What a comparison's page has of networks only: courses in time, flows, further queues."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.report import felt as bands
from sluicegate.report.page import Page
from sluicegate.report.tables import Column
from sluicegate.worlds.network import band_figure, class_figure, series
from sluicegate.worlds.network.felt import felt
from sluicegate.worlds.network.goodput import goodput_figure
from sluicegate.worlds.network.record import NetworkRecord, PortRecord

# a row of a thousand routers would fill a book
_MOST_PORTS = 4
_OF_A_PORT = ("sojourn_mean", "queue_mean", "queue_deviation", "loss_ratio", "utilization")


def add_network(page: Page, records: Sequence[NetworkRecord]) -> None:
    """Add the figures of networks, and the table of the queues where there are several."""
    ports, main = records[0].ports, records[0].main_place
    reading = series.reading(records[0])
    aimed = any(series.own_target(record) is not None for record in records)
    dotted = " Dotted: the queue that the AQM is to hold." if aimed else ""
    for place, port in enumerate(ports[:_MOST_PORTS]):
        page.figure(
            series.queue_series_figure(records, port=place),
            f"The queue in time{f': {_told(port)}' if len(ports) > 1 else ''}",
            reading + dotted,
            _seen(records, place),
        )
    if len(ports) > 1:
        others = f"Queue by queue; the other figures are of {ports[main].name}."
        if any(port.own_discipline for port in ports):
            others += " A discipline in brackets is the link's own, whichever is compared."
        page.table(*port_rows(records), others)
    _add_bands(page, records)
    _add_classes(page, records)
    _add_felt(page, records)
    averages = series.average_series_figure(records, port=main)
    if averages is not None:
        page.figure(averages, "The average queue in time", f"As the AQM computes it. {reading}")
    probabilities = series.probability_series_figure(records, port=main)
    if probabilities is not None:
        page.figure(probabilities, "The drop probability in time", f"That of the AQM. {reading}")
    windows = series.window_series_figure(records)
    if windows is not None:
        page.figure(
            windows,
            "The congestion window in time",
            f"Mean of the TCP flows that have started and not finished. {reading}",
        )
    goodputs = goodput_figure(records)
    if goodputs is not None:
        page.figure(
            goodputs,
            "How evenly flows are served",
            "Of all flows without an end. The steeper a curve, the more equal the flows; under "
            "TCP, flows with long round trips mostly get less.",
        )


def _add_bands(page: Page, records: Sequence[NetworkRecord]) -> None:
    """Add how the lanes, tins or classes of service of a discipline fare, where there are any."""
    found = band_figure.bands_figure(records)
    if found is None:
        return
    page.figure(
        found,
        "Queue delay by lane, tin or class of service",
        "Left: the mean wait of the packets that were sent meanwhile, in the first replication. "
        "Right: of all replications, after the warm-up, the share of packets that waited longer.",
        band_figure.bands_seen(records),
    )
    page.table(
        *band_figure.band_rows(records),
        "Each lane of DualPI2, tin of CAKE or class of service by itself. The other figures are of "
        "the whole queue.",
    )


def _add_classes(page: Page, records: Sequence[NetworkRecord]) -> None:
    """Add how each class of flows fares, where there are several."""
    delays = class_figure.delay_figure(records)
    if delays is None:
        return
    others = len(set(records[0].classes)) - class_figure.MOST
    only = f" The first {class_figure.MOST} classes; the others are in the data." * (others > 0)
    header, rows = class_figure.class_rows(records)
    page.figure(
        delays,
        "Delay by class",
        "From sending to arrival, of the packets of each group of flows: the circle is the median, "
        f"the stroke p90, the diamond p99.{only}",
        "; ".join(f"{row[0]}, {row[1]}: p50 {row[2]} ms, p99 {row[3]} ms" for row in rows) + ".",
    )
    page.table(header, rows, f"Class by class.{only}")


def _add_felt(page: Page, records: Sequence[NetworkRecord]) -> None:
    """Add what people feel, with bands, and the trade of each class over the replications."""
    found = felt(records)
    if found:
        shown = [record.discipline for record in records]
        rows, caption = bands.felt_rows(found, shown)
        page.figure(
            bands.felt_figure(found, shown),
            "What people feel",
            bands.CAPTION,
            bands.seen(found, shown),
        )
        page.table(bands.HEADER, rows, caption)
    trade = class_figure.ellipse_figure(records)
    if trade is not None:
        page.figure(
            trade,
            "Delay and goodput of each class",
            "A point is a replication, a circle the median; an ellipse holds half of the Gaussian "
            "that fits them best (RFC 7928, section 2.7).",
            class_figure.ellipses_seen(records),
        )


def _told(port: PortRecord) -> str:
    """The port's name, and its own discipline if it has one."""
    return port.name if port.own_discipline is None else f"{port.name} ({port.own_discipline})"


def _seen(records: Sequence[NetworkRecord], place: int) -> str:
    """What the queue in time shows, for those who cannot see it."""
    columns = [Column(name, "s") for name in ("queue_mean", "queue_deviation")]
    told = (
        f"{record.discipline}: mean {columns[0].text(record.ports[place].measures)} packets, "
        f"deviation {columns[1].text(record.ports[place].measures)}"
        for record in records
    )
    return "; ".join(told) + "."


def port_rows(records: Sequence[NetworkRecord]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a table of every queue: port after port, each with all disciplines."""
    columns = [Column(name, "s") for name in _OF_A_PORT]
    rows = [
        [_told(port), record.discipline, *(column.text(port.measures) for column in columns)]
        for place in range(len(records[0].ports))
        for record in records
        for port in [record.ports[place]]
    ]
    return ["queue", "discipline", *(column.header for column in columns)], rows
