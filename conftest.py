"""Prints the number of skipped tests at the end of every test run, even if it is 0."""

import os

import pytest

# readline sets these from the terminal of the test run; processes that tests start must not see
# them
for size in ("COLUMNS", "LINES"):
    os.environ.pop(size, None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the line. pytest itself lists each skipped test with its reason (`-ra`)."""
    terminalreporter.write_line(f"skipped: {len(terminalreporter.stats.get('skipped', []))}")
