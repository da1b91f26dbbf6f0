"""Bands: the parts of its queue that a discipline tells apart.

They are the lanes of DualPI2, the tins of CAKE, and classes of service. Lanes over which flows are
spread by a hash, as those of `fq`, are none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_LANES = ("lane C", "lane L")
# as aqm/cake_tins.h numbers them
_TINS = {
    "diffserv3": ("best effort", "bulk", "voice"),
    "diffserv4": ("best effort", "bulk", "video", "voice"),
    "diffserv8": (
        *("background", "high throughput", "best effort", "video"),
        *("low latency", "shell", "voice", "network"),
    ),
    "precedence": tuple(f"precedence {place}" for place in range(8)),
}


def band_names(aqm: Mapping[str, Any], classes: int) -> list[str]:
    """The names of a discipline's bands; none if it has none.

    Args:
        aqm: The fingerprint of its AQM.
        classes: How many classes of service it has.
    """
    if aqm["name"] == "dualpi2":
        return list(_LANES)
    if aqm["name"] == "cake":
        return [f"tin {each}" for each in _TINS.get(aqm["params"]["diffserv"], ())]
    return [f"class {number}" for number in range(1, classes + 1)] if classes > 1 else []
