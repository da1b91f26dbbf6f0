"""Only what this machine lacks lets tests of qdiscs be skipped."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from kernel_needs import WITHOUT_BPF, lacking, needs_compiler

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent


def test_a_compiler_that_is_not_here_is_lacking(tmp_path):
    if WITHOUT_BPF in (why := lacking("compiler")):
        pytest.skip(why)
    assert "clang compiles for BPF, and is not here" in lacking("compiler", path=str(tmp_path))


@needs_compiler
def test_a_compiler_that_refuses_a_qdisc_fails_its_tests(tmp_path):
    clang = tmp_path / "clang-21"
    clang.write_text('#!/bin/sh\n[ "$1" = -dumpversion ] && echo 21.1.0 && exit\nexit 1\n')
    clang.chmod(0o755)
    tests = ["tests/test_kernel_world.py", "-k", "test_a_compiled_qdisc"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", *tests],
        cwd=ROOT,
        env=os.environ | {"PATH": f"{tmp_path}:{Path(shutil.which('sh')).parent}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed" in done.stdout, done.stdout + done.stderr
    assert "clang-21 refuses it for BPF" in done.stdout
