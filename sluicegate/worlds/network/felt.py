"""What people feel in a network: the measures that have bands, by the kind of each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sluicegate.measures import BETWEEN, DEFINITIONS
from sluicegate.measures.bands import bands_of
from sluicegate.report.felt import Felt
from sluicegate.report.tables import label
from sluicegate.worlds.network.record import NetworkRecord

# more would fill a page
_MOST = 9
# of a class, by the kind of its flows
_OF_KIND = {
    "datagrams": ("mos", "one_way_delay_p99"),
    "web": ("page_mean",),
    "video": ("qoo_streaming",),
}
_OF_ALL = "rpm"
_PROBES = ("qoo_web", "qoo_gaming")


def _measures(group: Mapping[str, Any]) -> Sequence[str]:
    """What is felt of a class of such flows."""
    one_packet = group["kind"] == "web" and group["objects"]["mean_packets"] == 1
    if one_packet and group["page_objects"] == 1:
        return _PROBES
    return _OF_KIND.get(group["kind"], ())


def felt(records: Sequence[NetworkRecord]) -> list[Felt]:
    """What people feel under each discipline; nothing where no measure has bands."""
    first = records[0]
    groups = first.class_groups
    names = [f"{name}{BETWEEN}{each}" for name in first.classes for each in _measures(groups[name])]
    found = []
    for name in dict.fromkeys([_OF_ALL, *names]):
        values = {
            record.discipline: record.measures[name]
            for record in records
            if name in record.measures
        }
        bands = bands_of(name, first.measures)
        if values and bands is not None:
            factor, _ = DEFINITIONS[name].unit.shown("s")
            found.append(Felt(label(name, "s"), bands, factor, values))
    return found[:_MOST]
