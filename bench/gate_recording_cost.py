"""Cost of recording in the router, in instructions: exact, and the same in every run.

Packets go through the router's own code, with a simulated socket in place of the kernel's;
callgrind counts the instructions in user space. `bench/gate_recording.py` measures the packet rate
with and without `--jsonl` and `--metrics`; both of its runs include the counting for each packet,
which is measured here.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROGRAM = ROOT / "target" / "release" / "examples" / "recording"
PACKETS = 300 * 64
RECORDS = 40
# records written in two runs: their difference gives the cost of one record
FEW, MANY = 10, 30
# from bench/gate.py: packets/s of a full-speed sender; and records/s
PER_S, RECORDS_PER_S = 365_000, 10
# CPU per packet, and the share of it in user space
CPU_NS, USER_SHARE = 2710, 0.1


def counted(*given: str, only: str = "") -> int:
    """Return the instructions in user space; if `only` is given, those of that function."""
    toggle = ["--collect-atstart=no", f"--toggle-collect=*counted_{only}*"] if only else []
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *toggle]
    done = subprocess.run([*command, PROGRAM, *given], capture_output=True, text=True, check=True)
    (found,) = re.findall(r"Collected : (\d+)", done.stderr)
    return int(found)


def main() -> None:
    build = ["cargo", "build", "--quiet", "--locked", "--release", "--package", "sluice-gate"]
    subprocess.run([*build, "--example", "recording"], cwd=ROOT, check=True)
    each = {
        name: counted(name, only=name) / PACKETS for name in ("whole", "flows", "times", "hold")
    }
    standing = counted("written", "0", only="standing") / RECORDS
    written = (counted("written", str(MANY)) - counted("written", str(FEW))) / (MANY - FEW)
    records = (standing + written) * RECORDS_PER_S / PER_S
    whole = each.pop("whole") + records
    told = {
        "the heaviest flows": each["flows"],
        "sojourn, delay and lateness": each["times"],
        "counts, and the queue's length in time": each["hold"],
        f"records: {RECORDS_PER_S} of {standing + written:,.0f} a second": records,
    }
    for name, count in told.items():
        print(f"{name}: {count:.0f} instructions a packet")
    sum_ = sum(told.values())
    print(f"together {sum_:.0f} of {whole:.0f}: {sum_ / whole:.1%} of user space")
    print(f"of all CPU, {CPU_NS} ns, {USER_SHARE:.0%} of it in user space: "
          f"{USER_SHARE * sum_ / whole:.1%}")  # fmt: skip


if __name__ == "__main__":
    main()
