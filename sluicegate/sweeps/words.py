"""What varies in a sweep, in words: for axes, headings and the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sluicegate.registry import aqms
from sluicegate.report.text import value_text
from sluicegate.scenario.variables import DERIVED

# units at the end of a field's name, which words leave out
_ENDS = ("_bps", "_bytes", "_s")
# values that a message lists
_MOST_TOLD = 12


def path_words(path: str, about: Mapping[str, Any]) -> tuple[str, str]:
    """A path in words, and the unit shown: `topology.delay_s` is the topology delay, in s.

    Args:
        path: What varies; see `Plan.own_path`.
        about: What the results folder says of the sweep.
    """
    if path in DERIVED:
        return DERIVED[path].heading, DERIVED[path].shown[0]
    unit = about.get("units", {}).get(path, "")
    head, *steps = path.split(".")
    if head in aqms():
        return path, unit
    if path == "queue.limit":
        return "queue limit", unit
    if head == "disciplines":
        place, *steps = steps
        head = about["disciplines"][int(place)]
        if steps[0] == "params":
            return f"{head} {steps[1]}", unit
    if head == "flows":
        place, *steps = steps
        head = f"flows {place}" if len(about["scenario"][0]["flows"]) > 1 else "flows"
        steps = [] if steps == ["count"] else steps
    words = " ".join([head, *steps])
    end = next((end for end in _ENDS if words.endswith(end)), "")
    return words.removesuffix(end).replace("_", " "), unit


def path_label(path: str, about: Mapping[str, Any]) -> str:
    """The same as one text, for an axis."""
    words, unit = path_words(path, about)
    return f"{words} ({unit})" if unit else words


def path_factor(path: str) -> float:
    """Factor from a stored value of what varies to the one shown."""
    return DERIVED[path].shown[1] if path in DERIVED else 1.0


def path_value(path: str, value: Any) -> str:
    """A stored value of what varies, as it is shown."""
    return value_text(path_factor(path) * value if path in DERIVED else value)


def values_text(path: str, values: Iterable[Any]) -> str:
    """Several stored values of what varies, in short: `1..5`, or `10, 20, 50 ms`."""
    found = list(values)
    whole = all(type(value) is int for value in found)
    if whole and len(found) > 1 and set(found) == set(range(min(found), max(found) + 1)):
        return f"{min(found)}..{max(found)}"
    texts = [path_value(path, value) for value in found]
    if len(texts) > _MOST_TOLD:
        texts = [*texts[: _MOST_TOLD - 1], f"... ({len(texts)} values)"]
    return ", ".join(texts) + (f" {DERIVED[path].shown[0]}" if path in DERIVED else "")


def path_is(path: str, value: Any, about: Mapping[str, Any]) -> str:
    """What varies and its value in words: `base RTT = 50 ms`."""
    words, unit = path_words(path, about)
    if unit == "bits/s" and isinstance(value, int | float):
        return f"{words} = {value / 1e6:g} Mbit/s"
    return f"{words} = {path_value(path, value)}" + (f" {unit}" if path in DERIVED else "")
