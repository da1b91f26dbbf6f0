"""A policy written out as the C header of an AQM, which runs in every world."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from string import Template

from sluicegate.errors import SluiceError
from sluicegate.files import write_whole
from sluicegate.frontier.policy import Policy

_ONE = 2**32
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def write_header(path: Path, policy: Policy, title: str) -> None:
    """Write a policy as a header.

    Args:
        path: The file; its name is the name of the AQM.
        policy: What it does.
        title: What it is optimal for, one line.

    Raises:
        SluiceError: If the file's name is no name of an AQM.
        OSError: If the file cannot be written.
    """
    write_whole(path, header_text(header_name(path), policy, title))


def header_name(path: Path) -> str:
    """The name of the AQM in a header.

    Raises:
        SluiceError: If the file's name is no name of an AQM.
    """
    if path.suffix != ".h" or not _NAME.fullmatch(path.stem):
        raise SluiceError(
            f"{path}: the file's name is the name of the AQM and must be one of small letters, "
            "digits and _, and end in .h: best.h"
        )
    return path.stem


def header_text(name: str, policy: Policy, title: str) -> str:
    """The text of a header.

    Args:
        name: Of the AQM.
        policy: What it does.
        title: What it is optimal for, one line.
    """
    told = str(policy)[0].upper() + str(policy)[1:] + "."
    words = {"name": name, "NAME": name.upper(), "title": title, "told": told}
    if policy.threshold is not None:
        threshold, p = policy.threshold
        return _template("threshold").substitute(words, threshold=threshold, p=repr(p))
    rows = "\n".join(f"\t{round(p * _ONE)}LL," for p in policy.drops)
    return _template("table").substitute(words, count=len(policy.drops), rows=rows)


def _template(name: str) -> Template:
    return Template(files(__package__).joinpath(f"{name}.h.in").read_text())
