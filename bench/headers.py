"""Tries a thousand mutated headers: counts the outcomes; fails if one ended or hung a process."""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import mutated_headers  # noqa: E402

COUNT = 1000
SEED = 2026


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else COUNT
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else SEED
    counts: Counter[str] = Counter()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        paths = mutated_headers.write(Path(folder), count, seed)
        for path, became, words in mutated_headers.outcomes(paths):
            counts[became] += 1
            if became in ("ended", "hung", "told after a run"):
                print(f"seed {seed}, {path.parent.name}/{path.name}: {became} ({words})")
                if became != "told after a run":
                    print(path.read_text())
    for became, number in counts.most_common():
        print(f"{number:5}  {became}")
    print(f"{(time.monotonic() - start) / count:.2f} s each")
    return 1 if counts["ended"] or counts["hung"] else 0


if __name__ == "__main__":
    sys.exit(main())
