"""apt with a state of its own, as an ordinary user: nothing is installed.

The machine's own list of packages is neither read nor changed. apt checks Debian's signature of the
list and the hash of each package.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from sluicegate.errors import SluiceError
from sluicegate.lab.check import KEYRING

ARCHIVE = "http://deb.debian.org/debian"


class Apt:
    """apt with all that it keeps in a folder of our own.

    Args:
        folder: An empty one.
        *suites: Of Debian, such as `trixie`.

    Raises:
        SluiceError: If the lists cannot be fetched; with apt's own text.
    """

    def __init__(self, folder: Path, *suites: str) -> None:
        self._folder = folder
        sources = folder / "sources.list"
        for name in ("lists/partial", "archives/partial", "packages"):
            (folder / name).mkdir(parents=True)
        lines = (f"deb [arch=amd64 signed-by={KEYRING}] {ARCHIVE} {each} main\n" for each in suites)
        sources.write_text("".join(lines))
        (folder / "status").touch()
        settings = {
            "Dir::State": folder,
            "Dir::State::status": folder / "status",
            "Dir::Cache": folder,
            "Dir::Etc::sourcelist": sources,
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::Etc::preferencesparts": "/dev/null",
            "APT::Architecture": "amd64",
            "APT::Sandbox::User": "root",
        }
        self._options = [f"--option={key}={value}" for key, value in settings.items()]
        self._run("apt-get", "update")

    def show(self, name: str) -> str:
        """What the list says of a package."""
        return self._run("apt-cache", "show", "--no-all-versions", name)

    def download(self, names: list[str]) -> list[Path]:
        """Fetch packages; apt refuses what has another hash than in the signed list."""
        into = self._folder / "packages"
        self._run("apt-get", "download", *names, cwd=into)
        return sorted(into.glob("*.deb"))

    def with_needs(self, names: list[str]) -> list[Path]:
        """Fetch packages with all that they need, as nothing counts as installed."""
        options = ("--yes", "--no-install-recommends", "--download-only")
        self._run("apt-get", *options, "install", *names)
        return sorted((self._folder / "archives").glob("*.deb"))

    def _run(self, program: str, *arguments: str, cwd: Path | None = None) -> str:
        return run(program, "--quiet", *self._options, *arguments, cwd=cwd)


def run(*command: str, cwd: Path | None = None) -> str:
    """Run a program; give what it writes.

    Raises:
        SluiceError: If it fails, with what it said.
    """
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    # apt-get update ends with 0 even if it could fetch nothing
    errors = [line for line in done.stderr.splitlines() if re.match(r"(E|W|Err):? ", line)]
    if done.returncode or errors:
        said = "\n".join(errors) or done.stderr.strip()
        raise SluiceError(f"{command[0]}: {said or f'it ended with {done.returncode}'}")
    return done.stdout
