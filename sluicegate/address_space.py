"""A limit of the address space (`ulimit -v`), as clusters set one: enough, or refused at once.

polars, OpenBLAS and malloc reserve address space for each of their threads. Where there is too
little of it, they end the process in the middle of a run, or leave it waiting for a thread that
never started. Both variables and limit must be looked at before these libraries are imported.
"""

import os
import resource
import sys

# one thread for each library: the engine's own threads do the work
ONE_THREAD = dict.fromkeys(("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
# measured with two processors: a comparison needs 1000 MB, a sweep and its table 1800 MB
_PROGRAM_MB = 1792
# a thread of the engine: its stack, and an arena of malloc of 64 MB
_THREAD_MB = 128


def require() -> None:
    """Refuse to start under a limit that is too small; under any limit, start few threads.

    Raises:
        SystemExit: If the limit is too small, with what would be enough.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return
    processors = len(os.sched_getaffinity(0))
    needed_mb = _PROGRAM_MB + _THREAD_MB * processors
    if limit < needed_mb << 20:
        sys.exit(
            f"error: the limit of the address space (`ulimit -v`) is {limit >> 20} MB, which must "
            f"be {needed_mb} MB or more with {processors} processors (`taskset` gives fewer)"
        )
    os.environ.update(ONE_THREAD | os.environ)
