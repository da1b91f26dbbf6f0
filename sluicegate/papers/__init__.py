"""Published results, repeated: each paper's figures beside ours."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sluicegate.errors import SluiceError

if TYPE_CHECKING:
    from sluicegate.papers.comparison import Reproduction
    from sluicegate.worlds import Watch

# by name on the command line, then by world: module, and function if it is not `reproduce`; the
# usual world first
REPRODUCTIONS = {
    "drop-from-front": {
        "slotted": "drop_from_front.simulated",
        "chain": "drop_from_front.exact",
        "network": "drop_from_front.router:predict",
        "gate": "drop_from_front.router:measure",
        "kernel": "drop_from_front.in_kernel",
    },
    "redwm": {
        "slotted": "redwm.simulated",
        "network": "redwm.router:predict",
        "gate": "redwm.router:measure",
    },
    "lred": {"network": "lred.reproduction"},
    "lpf-oda": {"network": "lpf_oda.closed_loop", "slotted": "lpf_oda.open_loop"},
    "red-sfq-rem": {"network": "red_sfq_rem.reproduction"},
    "l4s": {"network": "l4s.reproduction"},
}

# those whose published figures are not ours to hand on: the user gives their folder
GIVEN = ("l4s",)

# those that usually repeat only a part
FULL = (("redwm", "slotted"),)


def world_of(name: str, world: str | None) -> str:
    """The world that a paper is repeated in: the one named, or its usual one.

    Raises:
        SluiceError: If there is no such reproduction, or not in that world.
    """
    if name not in REPRODUCTIONS:
        raise SluiceError(f"{name} is not a reproduction; there are {', '.join(REPRODUCTIONS)}")
    worlds = REPRODUCTIONS[name]
    if world is not None and world not in worlds:
        raise SluiceError(f"world = {world}: {name} is reproduced only in {', '.join(worlds)}")
    return world or next(iter(worlds))


def reproduce(
    name: str,
    *,
    world: str | None = None,
    threads: int | None = None,
    watch: Watch | None = None,
    fresh: bool = False,
    full: bool = False,
    published: Path | None = None,
) -> Reproduction:
    """Repeat a paper.

    Args:
        name: One of `REPRODUCTIONS`.
        world: Where: one of its worlds in `REPRODUCTIONS`; the first if None.
        threads: Threads that a simulation uses; all cores if None.
        watch: Called now and then; see `sluicegate.compare`.
        fresh: Run again even what the store has.
        full: Repeat all of what takes hours, where only a part is usual.
        published: Folder with the published figures, of those in `GIVEN`.

    Raises:
        SluiceError: As `world_of`; if `full` or `published` has no meaning, or if the latter is
            missing.
        InterruptError: After Ctrl-C; the next call goes on from what is finished.
    """
    chosen_world = world_of(name, world)
    if full and (name, chosen_world) not in FULL:
        told = ", ".join(f"{paper} (world = {where})" for paper, where in FULL)
        raise SluiceError(f"--full has no meaning for {name} here: it is for {told}")
    place, _, function = REPRODUCTIONS[name][chosen_world].partition(":")
    # a paper's module brings its plots along, which take seconds to import
    module = import_module(f"sluicegate.papers.{place}")
    chosen = getattr(module, function or "reproduce")
    more: dict[str, Any] = {"full": True} if full else {}
    if name in GIVEN:
        if published is None:
            raise SluiceError(
                f"{name}: the published figures are not ours to hand on: give the folder with "
                "their tables (--published FOLDER)"
            )
        more["published"] = published
    elif published is not None:
        raise SluiceError(f"published has no meaning for {name}: it is for {', '.join(GIVEN)}")
    found: Reproduction = chosen(threads=threads, watch=watch, fresh=fresh, **more)
    return found


__all__ = ["REPRODUCTIONS", "reproduce", "world_of"]
