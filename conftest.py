"""Ends every test run with the number of skipped tests, also when it is 0."""

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Add the line; pytest itself lists each skipped test with its reason (`-ra`)."""
    terminalreporter.write_line(f"skipped: {len(terminalreporter.stats.get('skipped', []))}")
