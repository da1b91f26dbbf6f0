"""Ends every test run with the number of skipped tests, also when it is 0."""

import os

import pytest

# of the terminal in which the tests run; readline sets them for processes that pytest starts
for size in ("COLUMNS", "LINES"):
    os.environ.pop(size, None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Add the line; pytest itself lists each skipped test with its reason (`-ra`)."""
    terminalreporter.write_line(f"skipped: {len(terminalreporter.stats.get('skipped', []))}")
