"""The testbed in the laboratory: the same hosts, around qdiscs of the laboratory's kernel."""

from __future__ import annotations

import hashlib
import pickle
import subprocess
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from sluicegate.errors import SluiceError
from sluicegate.lab import image, machine, python
from sluicegate.lab.archive import pack
from sluicegate.lab.check import EMULATOR
from sluicegate.lab.kernel import Kernel
from sluicegate.testbed.job import Job, QdiscJob
from sluicegate.testbed.outcome import Outcome
from sluicegate.testbed.packets import FRAME_BYTES
from sluicegate.testbed.row import RowJob

_INSIDE = "sluicegate.lab.inside"
# what does a job with one router, and with two in a row
_BED, _ROW_BED = "sluicegate.testbed.bed", "sluicegate.testbed.row_bed"
# including modules that are imported later
INSIDE = (
    _INSIDE,
    _BED,
    "runpy",
    "multiprocessing.connection",
    "multiprocessing.popen_fork",
)
# what draws applications, and decides what they do
_ENGINE = ("sluicegate._engine", "sluicegate.scenario", "tomllib")
_PROGRAMS = ("ip", "tc")
_MODULES = ("veth", "sch_netem", "sch_prio", "cls_u32", "sch_tbf")
_SCRIPT = """
set -e
{settings}
modprobe -a {modules}
{python} -m {inside} {bed} /lab/job /out/outcome
"""
# memory beside the hosts and the kernel: the logs of packets, and as much for the hosts' own data
_HOSTS_MB = 768
_SHARE_OF_LOGS = 2
# processor time; a minute of the link takes about as long on a machine that has nothing else to do
_PATIENCE_S = 4 * 3600.0


@dataclass(frozen=True)
class LabTestbed:
    """An image for jobs that need the same programs, and the kernel that it is for."""

    kernel: Kernel
    image: bytes

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        *,
        programs: Iterable[str],
        modules: Iterable[str],
        settings: Mapping[str, int] | None = None,
        applications: bool = False,
        row: bool = False,
    ) -> LabTestbed:
        """Programs and modules besides those of the hosts: see `image.build`.

        `settings` are those of the whole kernel, by their places below `/proc/sys`; `applications`
        says whether jobs may have some, `row` whether they have two routers.
        """
        every = [*_MODULES, *modules]
        script = _SCRIPT.format(
            settings="\n".join(f"echo {to} >/proc/sys/{at}" for at, to in (settings or {}).items()),
            modules=" ".join(every),
            python=python.COMMAND,
            inside=_INSIDE,
            bed=_ROW_BED if row else _BED,
        )
        built = image.build(
            kernel,
            script,
            programs=[*_PROGRAMS, *programs],
            modules=every,
            files=python.files(
                *INSIDE, *([_ROW_BED] if row else []), *(_ENGINE if applications else ())
            ),
        )
        return cls(kernel, built)

    @cached_property
    def described(self) -> dict[str, str]:
        """What determines the outcome, together with job and seed."""
        told = subprocess.run([EMULATOR, "--version"], capture_output=True, text=True, check=True)
        return {
            "kernel": self.kernel.release,
            "kernel_files": self.kernel.contents,
            "emulator": told.stdout.splitlines()[0],
            "image": hashlib.sha256(self.image).hexdigest(),
        }

    def run(self, job: Job, *, seed: int, ended: threading.Event) -> Outcome:
        """Do a job.

        Args:
            job: What to do; its router is a `QdiscJob`.
            seed: Of everything that is random in there.
            ended: Stops it as soon as it is set.

        Raises:
            SluiceError: If it cannot be done, with the reason.
            InterruptError: If it was stopped.
        """
        # archives of an initramfs may be concatenated
        with_job = self.image + pack({"lab/job": pickle.dumps(job, protocol=5)})
        result = machine.run(
            self.kernel,
            with_job,
            seed=seed,
            memory_mb=_memory_mb(job),
            patience_s=_PATIENCE_S,
            ended=ended,
        )
        if result.status:
            raise SluiceError(result.stderr.decode(errors="replace").strip())
        outcome: Outcome = pickle.loads(result.files["outcome"])
        return outcome


def _memory_mb(job: Job) -> int:
    assert isinstance(job.router, QdiscJob)
    links = len(job.router.towards) + isinstance(job, RowJob)
    logs = 2 * links * job.router.places * FRAME_BYTES
    return _HOSTS_MB + _SHARE_OF_LOGS * (logs >> 20)
