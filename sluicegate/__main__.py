"""The command `sluice`, also as `python -m sluicegate`."""

from __future__ import annotations

import sys

from sluicegate.interrupt import ends_at_once


def main() -> int:
    """Run the command; see `sluicegate.cli.main`."""
    with ends_at_once():
        from sluicegate.cli import main as run
    return run()


if __name__ == "__main__":
    sys.exit(main())
