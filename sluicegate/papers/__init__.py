"""Published results, repeated: each paper's figures beside ours."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sluicegate.papers.campaign import Watch
    from sluicegate.papers.comparison import Reproduction

# name on the command line: module with a function `reproduce`
REPRODUCTIONS = {
    "drop-from-front": "drop_from_front",
    "redwm": "redwm",
    "lpf-oda": "lpf_oda",
}


def reproduce(
    name: str, *, threads: int | None = None, watch: Watch | None = None, fresh: bool = False
) -> Reproduction:
    """Repeat a paper.

    Args:
        name: One of `REPRODUCTIONS`.
        threads: Threads to use; all cores if None.
        watch: Called now and then with a name, the slots done and the slots in all.
        fresh: Run again even what the store has.

    Raises:
        InterruptError: After Ctrl-C; the next call goes on from what is finished.
    """
    # a paper's module brings its plots along, which take seconds to import
    module = import_module(f"sluicegate.papers.{REPRODUCTIONS[name]}")
    found: Reproduction = module.reproduce(threads=threads, watch=watch, fresh=fresh)
    return found


__all__ = ["REPRODUCTIONS", "reproduce"]
