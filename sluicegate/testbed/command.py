"""Commands of a testbed."""

from __future__ import annotations

import subprocess

from sluicegate.errors import SluiceError

# the link of a host
NEAR = "eth0"


def command(*words: str, text: str | None = None) -> str:
    """Run a command, with a text as its input; give what it writes.

    Raises:
        SluiceError: If it is missing or fails, with what it said.
    """
    try:
        done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise SluiceError(f"there is no command {words[0]}: see sluice testbed --check") from None
    if done.returncode:
        raise SluiceError(f"{' '.join(words)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout
