"""The wire that leads to a host: `netem` between its link and all that takes packets there.

Packets that come in are sent through a device that gives them back to the host's link, and has a
qdisc (`ifb`).
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sluicegate.testbed.command import NEAR, command
from sluicegate.testbed.job import FOLDER, Wire
from sluicegate.testbed.loop import Loop

_WIRE = "wire"
_LIMIT_PACKETS = 1_000_000
# of a look during which packets come
_MOST_TRIES = 5


def add_wire(wire: Wire, before: Sequence[str]) -> None:
    """Add a wire in this namespace, after other lines for `tc`.

    Raises:
        SluiceError: If a command fails, with what it said.
    """
    command("ip", "link", "add", _WIRE, "type", "ifb")
    command("ip", "link", "set", _WIRE, "up")
    for name, table in wire.tables.items():
        Path(FOLDER, f"{name}.dist").write_text("\n".join(map(str, table)))
    os.environ["TC_LIB_DIR"] = FOLDER
    entrance = f"qdisc add dev {NEAR} clsact"
    lines = [
        f"qdisc add dev {_WIRE} root netem limit {_LIMIT_PACKETS} {wire.netem}",
        *([] if entrance in before else [entrance]),
        f"filter add dev {NEAR} ingress matchall {wire.police} "
        f"action mirred egress redirect dev {_WIRE}",
    ]
    command("tc", "-batch", "-", text="\n".join(lines))


class WireLooks:
    """How many packets have come to the wire of this namespace, left it, and are on it."""

    def __init__(self, loop: Loop, sample_ns: int, duration_ns: int) -> None:
        self._loop = loop
        self._times_ns = [*range(0, duration_ns, sample_ns), duration_ns]
        self._rows: list[tuple[int, int, int]] = []
        self._tc = subprocess.Popen(
            ["tc", "-s", "-j", "-batch", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def begin(self, start_ns: int) -> None:
        """Look at each sample of a run that starts at a time of CLOCK_MONOTONIC."""
        for since_ns in self._times_ns[:-1]:
            self._loop.at(start_ns + since_ns, self._sample)

    def _sample(self) -> None:
        """One at which all three are of the same instant: no packet came meanwhile.

        If packets come all the time, those of the last try count as lost until the next look.
        """
        came = _came()
        for _ in range(_MOST_TRIES):
            left, on_it = self._ask()
            before, came = came, _came()
            if came == before:
                break
        self._rows.append((came, left, on_it))

    def _ask(self) -> tuple[int, int]:
        """How many have left, and are on it."""
        assert self._tc.stdin is not None
        assert self._tc.stdout is not None
        self._tc.stdin.write(f"qdisc show dev {_WIRE}\n".encode())
        self._tc.stdin.flush()
        (netem,) = json.loads(self._tc.stdout.readline())
        return netem["packets"], netem["qlen"]

    def rows(self) -> NDArray[np.int64]:
        """All looks, and a last one; as `Received.wire`."""
        self._sample()
        self._tc.kill()
        self._tc.communicate()
        # a busy machine may have come to the end before the last of them was due
        missing = len(self._times_ns) - len(self._rows)
        return np.array([*self._rows, *self._rows[-1:] * missing], dtype=np.int64)


def _came() -> int:
    """Packets that have come over the host's link."""
    for line in Path("/proc/net/dev").read_text().splitlines():
        name, _, counts = line.partition(":")
        if name.strip() == NEAR:
            return int(counts.split()[1])
    raise AssertionError(f"a host has a link {NEAR}")
