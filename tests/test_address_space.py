"""A limit of the address space: what is enough, or a refusal before anything begins."""

import os
import resource
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SLUICE = ROOT / ".venv" / "bin" / "sluice"
NEEDED_MB = 1792 + 128 * len(os.sched_getaffinity(0))


def under(limit_mb, *words):
    limit = limit_mb << 20
    return subprocess.run(
        [SLUICE, *words],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("limit_mb", [200, 500, NEEDED_MB - 1])
def test_too_little_is_refused_with_what_is_enough(limit_mb):
    done = under(limit_mb, "aqms")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"`ulimit -v`) is {limit_mb} MB, which must be {NEEDED_MB} MB or more" in done.stderr


@pytest.mark.slow
def test_what_is_said_to_be_enough_is(tmp_path):
    out = tmp_path / "sweep"
    vary = ["--vary", "red.max_p=0.1,0.2", "--slots", "1e5", "--workers", "2", "--out", out]
    done = under(NEEDED_MB, "sweep", "scenarios/light.toml", *vary)
    assert done.returncode == 0, done.stderr
    done = under(NEEDED_MB, "compare", "scenarios/light.toml", "--slots", "1e5", "--out", out / "c")
    assert done.returncode == 0, done.stderr
