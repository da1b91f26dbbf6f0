"""What `inside` is, for a job with two routers in a row.

A module of its own: in images for one router nothing changes by what two need, to the byte.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from sluicegate.errors import SluiceError
from sluicegate.testbed.row_bed import run


def main() -> None:
    """Do a job."""
    job, outcome = map(Path, sys.argv[1:])
    try:
        done = run(pickle.loads(job.read_bytes()), lambda seconds: None)
    except SluiceError as error:
        sys.exit(str(error))
    outcome.write_bytes(pickle.dumps(done))


if __name__ == "__main__":
    main()
