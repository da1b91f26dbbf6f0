"""The tables beside a report of the gate, and of the worlds that count as it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import polars as pl


class _Connected(Protocol):
    """A record with looks at TCP."""

    @property
    def discipline(self) -> str: ...

    @property
    def connections(self) -> pl.DataFrame: ...


def gate_frames(
    world: str, shared: Mapping[str, pl.DataFrame], records: Sequence[_Connected]
) -> dict[str, pl.DataFrame]:
    """The tables of every network under the world's name, and those of `TCP_INFO`."""
    import polars as pl

    connections = [
        record.connections.select(pl.lit(record.discipline).alias("discipline"), pl.all())
        for record in records
    ]
    found = {f"{world}-{name}": frame for name, frame in shared.items()}
    return found | {f"{world}-connections": pl.concat(connections)}
