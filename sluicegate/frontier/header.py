"""A policy written out as the C header of an AQM, which runs in every world."""

from __future__ import annotations

import re
from importlib.resources import files
from os import PathLike
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sluicegate.errors import SluiceError
from sluicegate.files import write_whole
from sluicegate.frontier.integer import SEEN, IntegerNetwork
from sluicegate.frontier.policy import Policy

FloatArray = NDArray[np.float64]

_ONE = 2**32
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def write_header(
    path: str | PathLike[str],
    policy: Policy | IntegerNetwork,
    title: str,
    *,
    slot_ns: int = 1_000_000,
) -> None:
    """Write a policy as a header.

    Args:
        path: The file; its name is the name of the AQM.
        policy: What it does.
        title: What it is optimal for, one line.
        slot_ns: A slot on the AQM's clock, which a policy by age and a network need; a millisecond
            where a scenario does not say.

    Raises:
        SluiceError: If the file's name is no name of an AQM.
        OSError: If the file cannot be written.
    """
    file = Path(path)
    write_whole(file, header_text(header_name(file), policy, title, slot_ns))


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


def header_text(name: str, policy: Policy | IntegerNetwork, title: str, slot_ns: int) -> str:
    """The text of a header.

    Args:
        name: Of the AQM.
        policy: What it does.
        title: What it is optimal for, one line.
        slot_ns: A slot on the AQM's clock.
    """
    told = str(policy)[0].upper() + str(policy)[1:] + "."
    words = {"name": name, "NAME": name.upper(), "title": title, "told": told}
    if isinstance(policy, IntegerNetwork):
        return _template("network").substitute(words, **_layers(name, policy), slot_ns=slot_ns)
    if policy.sees == "age":
        return _template("age").substitute(words, **_table(policy.drops), slot_ns=slot_ns)
    if policy.drops.ndim == 2:
        both = [_table(row)["rows"] for row in policy.drops]
        own = _SECOND[policy.sees]
        return _template("rows").substitute(
            words, **own, count=policy.drops.shape[1], first=both[0], second=both[1]
        )
    if policy.threshold is not None:
        threshold, p = policy.threshold
        return _template("threshold").substitute(words, threshold=threshold, p=repr(p))
    return _template("table").substitute(words, **_table(policy.drops))


# what a header with two rows does to know which one holds
_SECOND = {
    "after_loss": {
        "saw": "whether the last arrival was lost",
        "field": "\n\tu32 lost;\t/* 1 if the last arrival was lost */\n",
        "row": "state->lost",
        "note": "\tstate->lost = verdict != AQM_ADMIT || view->full;\n",
    },
    "kind": {
        "saw": "the packet's class: the second one is ECT(1)",
        "field": "",
        "row": "aqm_ecn(view) == AQM_ECT1",
        "note": "\t(void)state;\n",
    },
}


def _table(drops: FloatArray) -> dict[str, Any]:
    """The numbers of a row, in steps of 2^-32."""
    return {"count": len(drops), "rows": "\n".join(f"\t{round(p * _ONE)}LL," for p in drops)}


def _layers(name: str, network: IntegerNetwork) -> dict[str, str]:
    """A network's tables, and the lines that compute its units."""
    tables, declared, hidden = [], [], []
    inputs, width, last = "seen", SEEN, len(network.weights) - 1
    for number, (weights, biases) in enumerate(zip(network.weights, network.biases, strict=True)):
        rows = [", ".join(map(str, row)) for row in weights]
        tables.append(_array("int", f"{name}_weights_{number}", weights.size, rows))
        offsets = [f"{bias}LL" for bias in biases]
        tables.append(_array("s64", f"{name}_biases_{number}", len(biases), offsets))
        unit = (
            f"{name}_unit({name}_weights_{number} + {{0}} * {width}, "
            f"{name}_biases_{number}[{{0}}], {inputs}, {width})"
        )
        if number == last:
            break
        declared.append(f"\tint hidden_{number}[{len(biases)}];\n")
        hidden.append(
            f"\tfor (u = 0; u < {len(biases)}; u++)\n"
            f"\t\thidden_{number}[u] = {name}_rectified({unit.format('u')});\n"
        )
        inputs, width = f"hidden_{number}", len(biases)
    if hidden:
        declared.append("\tu32 u;\n")
    return {
        "layers": "\n".join(tables),
        "declared": "".join(declared),
        "hidden": "".join(hidden),
        "admit": unit.format(0),
        "drop": unit.format(1),
    }


def _array(kind: str, name: str, size: int, lines: list[str]) -> str:
    body = "\n".join(f"\t{line}," for line in lines)
    return f"static const {kind} {name}[{size}] = {{\n{body}\n}};\n"


def _template(name: str) -> Template:
    return Template(files(__package__).joinpath(f"{name}.h.in").read_text())
