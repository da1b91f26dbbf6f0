"""What was probably meant by a name that is not known."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is nearest, whether letters are large or small; None: none is near."""
    small = {each.lower(): each for each in known}
    found = get_close_matches(name.lower(), small, 1)
    return small[found[0]] if found else None
