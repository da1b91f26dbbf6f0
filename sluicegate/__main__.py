"""The command `sluice`, also as `python -m sluicegate`."""

import sys

from sluicegate.interrupt import end_at_once


def main() -> int:
    """Run the command; see `sluicegate.cli.main`."""
    end_at_once()
    from sluicegate import address_space

    address_space.require()
    from sluicegate.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
