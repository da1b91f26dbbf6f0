"""Counts the instructions of each AQM and writes them to sluicegate/evaluate/costs.json.

    .venv/bin/python bench/costs.py

The calls of aqm/vectors/ are repeated by replay.c, compiled with `cc -O2`, and valgrind's callgrind
counts what the functions of the AQM take: arrivals, departures and occupancy over the packets that
arrived, and ticks by themselves. It takes about a minute. Each count is kept with a hash of the
header that it is of, so that a test finds those that have aged.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from sluicegate.registry import aqms

ROOT = Path(__file__).resolve().parent.parent
VECTORS = ROOT / "aqm" / "vectors"
OUT = ROOT / "sluicegate" / "evaluate" / "costs.json"
OF_PACKETS, OF_TICKS = ("arrive", "depart", "occupancy"), ("tick",)


def count(program: Path, vectors: Path, functions: tuple[str, ...]) -> int:
    """Instructions within these functions of the AQM, over all calls of the file."""
    collect = [f"--toggle-collect=*_{each}_any" for each in functions]
    # a file, as callgrind removes what it writes to: as root even /dev/null
    out = f"--callgrind-out-file={program}.callgrind"
    command = ["valgrind", "--tool=callgrind", out, *collect, program, vectors]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    assert found, done.stderr
    return int(found[1])


def version(name: str) -> str:
    """A hash of an AQM's header and of those that it includes, without comments and spaces."""
    files, texts = [f"{name}.h"], []
    for file in files:
        text = (ROOT / "aqm" / file).read_text()
        files += [each for each in re.findall(r'#include "(.*?)"', text) if each not in files]
        texts.append(re.sub(r"/\*.*?\*/|\s+", "", text, flags=re.DOTALL))
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:16]


def costs(name: str, folder: Path) -> dict[str, Any]:
    """Of an AQM: instructions per packet, and per tick where it has them."""
    vectors, program = VECTORS / f"{name}.txt", folder / name
    source = VECTORS / "replay.c"
    flags = ["-std=gnu11", "-O2", f"-DAQM={name}", "-I", ROOT / "aqm"]
    subprocess.run(["cc", *flags, source, "-o", program], check=True)
    lines = [line.split() for line in vectors.read_text().splitlines()]
    arrivals, ticks = (sum(words[0] == each for words in lines) for each in ("arrive", "tick"))
    found: dict[str, Any] = {
        "header": version(name),
        "per_packet": round(count(program, vectors, OF_PACKETS) / arrivals),
    }
    if ticks:
        found["per_tick"] = round(count(program, vectors, OF_TICKS) / ticks)
    return found


def main() -> None:
    """Count all AQMs that have vectors: coupled disciplines have none."""
    names = [name for name in aqms() if (VECTORS / f"{name}.txt").exists()]
    with tempfile.TemporaryDirectory() as folder:
        found = {name: costs(name, Path(folder)) for name in names}
    OUT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
