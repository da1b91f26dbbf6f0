"""Packages that only some tasks need: pip installs them with an extra of this package."""

from __future__ import annotations

from importlib.util import find_spec

from sluicegate.errors import SluiceError

# module: the extra that brings it
EXTRAS = {
    "matplotlib": "plots",
    "duckdb": "sweeps",
    "distributed": "dask",
    "optuna": "tune",
    "gymnasium": "gym",
}


def lacking(module: str, what: str) -> SluiceError:
    """The error where something needs a module that is not installed."""
    return SluiceError(f"{what} needs {module}: pip install 'sluicegate[{EXTRAS[module]}]'")


def require(module: str, what: str) -> None:
    """Refuse something before a run if a module that it needs at the end is not installed.

    Raises:
        SluiceError: If it is not, with the extra that brings it.
    """
    if find_spec(module) is None:
        raise lacking(module, what)
