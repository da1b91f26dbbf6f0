"""What was probably meant by a name that is not known."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

# names that papers use, and ours
_OURS = {
    "base_rtt": "rtt",
    "delay": "rtt",
    "round_trip": "rtt",
    "round_trip_time": "rtt",
    "queueing_delay": "sojourn_mean",
    "queuing_delay": "sojourn_mean",
    "queue_delay": "sojourn_mean",
    "waiting_time": "sojourn_mean",
}


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is nearest, whether letters are large or small; None: none is near."""
    small = {each.lower(): each for each in known}
    if (ours := _OURS.get(name.lower())) in small:
        return small[ours]
    found = get_close_matches(name.lower(), small, 1)
    return small[found[0]] if found else None
