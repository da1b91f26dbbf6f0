"""What callgrind counts within one shared library, and in the C library for it.

The threads of Python run as long as a process waits for the engine: what they do differs from run
to run, and is not of the engine. The format: valgrind's manual, "Callgrind Format Specification".
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# copying, memory, logarithms: called by the engine, and part of its work
_C_LIBRARY = re.compile(r"/lib[cm][.-]")
_OBJECT = re.compile(r"(c?ob)=\((\d+)\)(?: (.*))?")


def instructions_of(library: str, lines: Iterable[str]) -> int:
    """Return the instructions of a library's own functions, and of those of C that it calls.

    Args:
        library: A part of its file's name; only functions of files with it are counted.
        lines: The file that callgrind wrote, with no event but instructions.
    """
    names: dict[str, str] = {}  # a name is written once, and then its number
    within, called = "", ""
    total, is_call = 0, False
    for line in lines:
        if found := _OBJECT.match(line):
            what, number, name = found.groups()
            name = names.setdefault(number, name or "")
            within, called = (name, name) if what == "ob" else (within, name)
        elif line.startswith("calls="):
            is_call = True
        elif re.match(r"[\d+*-]", line):
            # a line and its cost: after `calls=`, of all that was called
            if library in within and (not is_call or _C_LIBRARY.search(called)):
                total += int(line.split()[1])
            if is_call:
                is_call, called = False, within
    return total
