"""What varies in a sweep, in words: for axes, headings and the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sluicegate.registry import aqms

# units by the end of a field's name
_UNITS = {"_bps": "bits/s", "_bytes": "bytes", "_s": "s"}


def path_words(path: str, about: Mapping[str, Any]) -> tuple[str, str]:
    """A path in words, and its unit: `topology.delay_s` is the topology delay, in s.

    Args:
        path: What varies; see `Plan.own_path`.
        about: What the results folder says of the sweep.
    """
    head, *steps = path.split(".")
    if head in aqms():
        units = {each.name: each.unit for each in aqms()[head].params}
        return path, units.get(steps[-1], "")
    if path == "queue.limit":
        return "queue limit", "packets"
    if head == "disciplines":
        place, *steps = steps
        head = about["disciplines"][int(place)]
        if steps[0] == "params":
            return f"{head} {steps[1]}", ""
    if head == "flows":
        place, *steps = steps
        head = f"flows {place}" if len(about["scenario"][0]["flows"]) > 1 else "flows"
        steps = [] if steps == ["count"] else steps
    words = " ".join([head, *steps])
    end = next((end for end in _UNITS if words.endswith(end)), "")
    return words.removesuffix(end).replace("_", " "), _UNITS.get(end, "")


def path_label(path: str, about: Mapping[str, Any]) -> str:
    """The same as one text, for an axis."""
    words, unit = path_words(path, about)
    return f"{words} ({unit})" if unit else words
