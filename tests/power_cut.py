"""A disk whose power is cut: what was not synced is lost, in part or as a whole.

`record` makes a process note what it syncs, renames and removes in some folders, and ends it by
SIGKILL at its n-th such act. `cut` then leaves the folders as a power cut at that moment may: a
file that was not synced has any part of its bytes, or zeros; a name that was made, changed or
removed since its folder was synced may be as it was before.
"""

import json
import os
import random
import shutil
import signal
import stat
import sys
from pathlib import Path


def record(roots, journal, acts, is_lying=False):
    """Note all that this process does in the folders `roots`, and end it before its n-th act.

    With `is_lying` the disk says that it has synced a file's bytes, and has not.
    """
    roots = [os.path.realpath(root) for root in roots]
    journal.mkdir()
    file = os.open(journal / "acts", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    count, sync = [0], os.fsync

    def note(act, path, **more):
        path = os.path.realpath(os.path.dirname(path)) + "/" + os.path.basename(path)
        if not any(path.startswith(root) for root in roots):
            return
        count[0] += 1
        if count[0] == acts:
            os.kill(os.getpid(), signal.SIGKILL)
        kept = None
        if act in ("rename", "remove") and os.path.isfile(path):
            # what the name was of before
            kept = str(journal / str(count[0]))
            os.link(path, kept)
        line = json.dumps({"act": act, "path": path, "kept": kept, **more})
        os.write(file, f"{line}\n".encode())

    def fsync(descriptor):
        sync(descriptor)
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            note("names", path)
        elif not is_lying:
            note("data", path, inode=found.st_ino, size=found.st_size)

    def hear(event, arguments):
        if event == "os.rename":
            note("rename", os.fspath(arguments[1]), before=os.path.realpath(arguments[0]))
        elif event in ("os.remove", "os.mkdir") and isinstance(arguments[0], str | os.PathLike):
            note(event.removeprefix("os."), os.fspath(arguments[0]))

    os.fsync = fsync
    sys.addaudithook(hear)


def cut(roots, journal, durable, seed):
    """Cut the power after `record`.

    Args:
        roots: As of `record`.
        journal: As of `record`.
        durable: Inodes of the files that were on the disk before.
        seed: Of what is lost.
    """
    drawn = random.Random(seed)
    pending, synced = {}, {}
    for line in (journal / "acts").read_text().splitlines():
        act = json.loads(line)
        if act["act"] == "data":
            synced[act["inode"]] = act["size"]
        elif act["act"] == "names":
            pending.pop(act["path"], None)
        else:
            pending.setdefault(os.path.dirname(act["path"]), []).append(act)
    for acts in pending.values():
        for act in reversed(acts):
            if drawn.random() < 0.5:
                _undo(act)
    for path in inside(roots):
        found = path.stat()
        if found.st_ino in durable or synced.get(found.st_ino) == found.st_size:
            continue
        left = drawn.randrange(found.st_size + 1) if found.st_size else 0
        content = path.read_bytes()[: drawn.choice([0, left, found.st_size])]
        path.write_bytes(drawn.choice([content, content, bytes(len(content))]))
    shutil.rmtree(journal)


def _undo(act):
    path = Path(act["path"])
    if act["act"] == "mkdir":
        shutil.rmtree(path, ignore_errors=True)
        return
    if act["act"] == "rename" and path.exists():
        path.rename(act["before"])
    if act["kept"] is not None and path.parent.exists():
        path.unlink(missing_ok=True)
        os.link(act["kept"], path)


def inside(roots):
    """All files in these folders."""
    return [path for root in roots for path in sorted(root.rglob("*")) if path.is_file()]
