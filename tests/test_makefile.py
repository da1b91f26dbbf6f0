"""What `make` makes again, and when."""

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
# in place of cargo: it notes what it is asked, and "compiles"
CARGO = """#!/bin/sh
echo "$@" >>asked
mkdir -p target/debug && touch target/debug/sluiced
"""


def test_sluiced_is_built_again_when_the_headers_of_bpf_come_or_go(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("aqm", "engine", "gate", "kernel", ".cargo", ".venv/bin", "programs"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("Cargo.toml", "Cargo.lock", ".cargo/config.toml", "requirements.lock",
                 ".venv/builders", ".venv/installed"):  # fmt: skip
        (tmp_path / name).touch()
    cargo, asked = tmp_path / "programs" / "cargo", tmp_path / "asked"
    cargo.write_text(CARGO)
    cargo.chmod(0o755)
    path = f"{cargo.parent}{os.pathsep}{os.environ['PATH']}"

    def make(bpf):
        """Make sluiced on a machine with these headers or without; return what cargo was asked."""
        asked.write_text("")
        command = ["make", "--silent", f"BPF={bpf}", ".venv/bin/sluiced"]
        subprocess.run(command, cwd=tmp_path, env=os.environ | {"PATH": path}, check=True)
        return asked.read_text()

    without, with_them = make(""), make("yes")
    assert "--package sluice-gate" in without
    assert "--features" not in without
    assert "--features sluice-gate/kernel" in with_them
    # nothing has changed
    assert make("yes") == ""
    assert make("") == without
