"""What a page cannot run, and what would be right instead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sluicegate.errors import SluiceError

# greatest whole number that JavaScript keeps exactly
MOST_EXACT = 2**53 - 1
_MODEL = (
    "a page reads no files; `sluice fit` describes a capture by a source, which a page can run, "
    "and `sluice compare` replays it"
)


def refuse(path: Path, table: Mapping[str, Any]) -> None:
    """Refuse a scenario that a page cannot run.

    Raises:
        SluiceError: All that it cannot run, a line for each.
    """
    if wrong := list(_wrong(table)):
        raise SluiceError("\n".join(f"{path}: {each}" for each in wrong))


def _wrong(table: Mapping[str, Any]) -> Iterator[str]:
    if table.get("arrivals", {}).get("kind") == "replay":
        yield f"arrivals replay a capture: {_MODEL}"
    for place, flows in enumerate(table.get("flows", [])):
        if flows["kind"] == "replay":
            yield f"flows.{place} replay a capture: {_MODEL}"
    for name, link in table.get("links", {}).items():
        if (link.get("rate") or {}).get("kind") == "file":
            yield (
                f'links."{name}".rate is in a file, and a page reads no files: give it as steps, '
                "or use `sluice compare`"
            )
    for place, discipline in enumerate(table["disciplines"][:2]):
        if not str(discipline["aqm"]).isidentifier():
            yield (
                f"disciplines.{place}.aqm = {discipline['aqm']}: a page has the AQMs of aqm/ only "
                "(`sluice aqms`), not those of files; `sluice compare` has them"
            )
    if table["seed"] > MOST_EXACT:
        yield f"seed = {table['seed']} must be at most {MOST_EXACT}, where JavaScript's numbers end"
