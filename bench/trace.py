"""Speed of `sluice trace` compared with a plain awk script: part of `make bench`.

ns-2 writes the traces (`apt install ns2`), about four and sixteen million lines; without ns-2
nothing is measured. The command's time includes its start, which is the same for both traces. Run
it on an otherwise idle machine.
"""

import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from sluicegate.trace import Trace

HERE = Path(__file__).parent
NS_SCRIPT = HERE.parent / "tests" / "data" / "ns2.tcl"
SIMULATED_S = (1100, 4600)
TURNS = 5

Seconds = dict[str, float]


def measured(work: Callable[[], object], who: int) -> Seconds:
    """Call `work`; return its wall and CPU time, s."""
    used, start = resource.getrusage(who), time.perf_counter()
    work()
    wall, after = time.perf_counter() - start, resource.getrusage(who)
    cpu = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    return {"wall": wall, "CPU": cpu}


def command(*words: str | Path) -> Seconds:
    """Return the time of a command; its output is dropped."""

    def run() -> None:
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)

    return measured(run, resource.RUSAGE_CHILDREN)


def spread(values: list[float]) -> str:
    """Return median, least and greatest value as text."""
    return f"{statistics.median(values):.3g} ({min(values):.3g} to {max(values):.3g})"


def table(lines: int, times: dict[str, list[Seconds]]) -> Table:
    """Return a table of seconds, and of awk's time divided by them in the same turn."""
    shown = Table("what", "s", "awk's time over it", box=None, pad_edge=False)
    for what, turns in times.items():
        for clock in ("wall", "CPU"):
            seconds = [turn[clock] for turn in turns]
            ratios = [
                theirs[clock] / ours[clock]
                for theirs, ours in zip(times["awk"], turns, strict=True)
            ]
            shown.add_row(f"{what}, {clock}", spread(seconds), spread(ratios))
    shown.caption = f"{lines:,} lines; median (least to greatest) of {TURNS} turns"
    return shown


def compared(awk: str, path: Path) -> Table:
    """Time awk, `Trace.read` and the command in turn; return the table."""
    sluice = Path(sys.executable).with_name("sluice")
    times: dict[str, list[Seconds]] = {"awk": [], "Trace.read": [], "sluice trace": []}
    for _ in range(TURNS):
        times["awk"].append(command(awk, "-f", HERE / "trace.awk", path))
        times["Trace.read"].append(measured(lambda: Trace.read(path), resource.RUSAGE_SELF))
        times["sluice trace"].append(command(sluice, "trace", path))
    return table(Trace.read(path).lines, times)


def main() -> None:
    screen = Console()
    if not (shutil.which("ns") and (awk := shutil.which("awk"))):
        screen.print("trace: skipped, it needs ns-2 (Debian, Ubuntu: apt install ns2) and awk")
        return
    for simulated_s in SIMULATED_S:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["ns", NS_SCRIPT, "3", str(simulated_s)], cwd=folder, check=True)
            screen.print(compared(awk, Path(folder, "out.tr")))


if __name__ == "__main__":
    main()
