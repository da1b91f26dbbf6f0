"""A million packets through schedulers, classes and lanes, in BPF and in the engine's queue: alike?

The laboratory gives each discipline 10,000 packets at a time and brings a log of all that its
qdisc was asked, decided and did; `gate/tests/kernel_log.rs` lets the engine's queue do the same.
Each boot has other packets. Stops at the first difference. Prints a table in Markdown.

    .venv/bin/python bench/lanes.py [PACKETS]
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import test_lab_log as logs  # noqa: E402

_ALL, _EACH, _LOG_MB = 1_000_000, 10_000, 64
_FQ_CODEL = logs.Case("codel", "front", "fq", ecn=True, more="like=linux,sqrt=newton")
_CASES = {
    "FQ-CoDel, like Linux": _FQ_CODEL,
    "`drr`, PIE": logs.Case("pie", "random", "drr", ecn=True),
    "`sfq`, BLUE": logs.Case("blue", "tail", "sfq"),
    "`prio`, RED in three classes": logs.CLASSES[0],
    "`ets`, PIE, CHOKe, CoDel, FRED": logs.CLASSES[1],
    "`wf2q`, the same": logs.CLASSES[2],
    "CAKE, eight tins": logs.Case("cake", "front", ecn=True, more=logs.CAKES[0]),
    "CAKE, slower than the link": logs.Case("cake", "front", ecn=True, more=logs.CAKES[1]),
    "DualPI2": logs.Case("dualpi2", "front", ecn=True, more="like=rfc"),
}
_COLUMNS = ("calls", "decisions", "no admission", "sent")
_SAID = re.compile(
    r"link 0: (\d+) calls alike, (\d+) of them decisions, (\d+) no admission; (\d+) packets sent"
)


def main() -> None:
    """Print a table when all is compared, and a line after each boot."""
    packets = int(sys.argv[1]) if len(sys.argv) > 1 else _ALL
    boots = -(-packets // (_EACH * len(_CASES)))
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for boot in range(boots):
        for name, counts in zip(_CASES, compared(boot), strict=True):
            found[name].update(dict(zip(_COLUMNS, counts, strict=True)))
        print(f"{(boot + 1) * _EACH * len(_CASES):,} packets alike", file=sys.stderr, flush=True)
    print(f"| discipline | packets | {' | '.join(_COLUMNS)} |")
    print("| --- | ---: |" + " ---: |" * len(_COLUMNS))
    for name, counter in found.items():
        row = " | ".join(f"{counter[column]:,}" for column in _COLUMNS)
        print(f"| {name} | {boots * _EACH:,} | {row} |")


def compared(boot: int) -> list[tuple[int, ...]]:
    """What was compared of each discipline in one boot, in their order."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # names of logs are their seeds, with as many digits: the comparison sorts them
        first = 1000 + boot * len(_CASES)
        script, files = logs.logs_of(
            list(_CASES.values()), folder, packets=_EACH, first_seed=first, log_mb=_LOG_MB
        )
        logs.boot(script, files, folder)
        for log in folder.glob("*.csv"):
            # a log that is full says nothing of the rest
            arrivals = sum(",arrive," in line for line in log.read_text().splitlines())
            assert arrivals == _EACH, (log.name, arrivals)
        found = _SAID.findall(logs.compared(folder))
    return [tuple(map(int, each)) for each in found]


if __name__ == "__main__":
    main()
