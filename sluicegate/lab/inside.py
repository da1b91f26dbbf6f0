"""What Python does in the laboratory: `python3 -m sluicegate.lab.inside BED JOB OUTCOME`.

Reads a `Job` of the testbed from a file, does it by a module that has `run`, such as
`sluicegate.testbed.bed`, and leaves the `Outcome` in another.
"""

from __future__ import annotations

import importlib
import pickle
import sys
from pathlib import Path

from sluicegate.errors import SluiceError


def main() -> None:
    """Do a job."""
    bed = importlib.import_module(sys.argv[1])
    job, outcome = map(Path, sys.argv[2:])
    try:
        done = bed.run(pickle.loads(job.read_bytes()), lambda seconds: None)
    except SluiceError as error:
        sys.exit(str(error))
    outcome.write_bytes(pickle.dumps(done))


if __name__ == "__main__":
    main()
