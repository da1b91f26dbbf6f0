"""Looks at qdiscs during a run: how much waits, and how much each band marked."""

import os
import sys
import time

import numpy as np
import pytest

from sluicegate.errors import SluiceError
from sluicegate.testbed.band_marks import BandMarks
from sluicegate.testbed.qdiscs import _Sampler


def test_a_look_is_of_the_time_at_which_it_was_told(tmp_path, monkeypatch):
    """A program in place of tc is late by three looks; it tells when it answered."""
    stand_in = tmp_path / "tc"
    stand_in.write_text(
        f"#!{sys.executable} -S\n"
        "import sys, time\n"
        "for _ in sys.stdin:\n"
        "    time.sleep(0.03)\n"
        "    print(time.monotonic_ns(), flush=True)\n"
    )
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    sampler = _Sampler("servers", time.monotonic_ns(), 10**7, None)
    time.sleep(0.5)
    sampled_ns, told, marks = sampler.stop()
    assert marks is None
    told_ns = np.array([int(each) for each in told.splitlines()])
    assert len(sampled_ns) == len(told_ns) > 3
    assert (sampled_ns >= told_ns).all()
    assert np.median(sampled_ns - told_ns) < 5e6
    stand_in.write_text("#!/bin/sh\nread question; exit 3\n")
    with pytest.raises(SluiceError, match="tc -s -j -batch - ended with 3"):
        _Sampler("servers", time.monotonic_ns(), 10**7, None).stop()


def test_marks_that_cannot_be_read_end_the_looks_and_are_told(tmp_path, monkeypatch):
    stand_in = tmp_path / "tc"
    stand_in.write_text("#!/bin/sh\nwhile read question; do echo; done\n")
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    read = iter([np.zeros(16, dtype=np.int64)])

    class Marks:
        def read(self):
            for counts in read:
                return counts
            raise SluiceError("bands: No such file or directory")

    sampler = _Sampler("servers", time.monotonic_ns(), 10**6, Marks())
    sampler._thread.join()
    # each time has its marks
    assert len(sampler._times_ns) == len(sampler._told) == len(sampler._marked) == 1
    with pytest.raises(SluiceError, match="bands: No such file"):
        sampler.stop()


def test_marks_of_bands_on_a_machine_without_a_known_call_are_refused(monkeypatch):
    machine = os.uname_result(("Linux", "here", "6.17", "1", "riscv64"))
    monkeypatch.setattr(os, "uname", lambda: machine)
    with pytest.raises(SluiceError, match="x86_64, aarch64; not riscv64"):
        BandMarks("/sys/fs/bpf/bands", 0)
