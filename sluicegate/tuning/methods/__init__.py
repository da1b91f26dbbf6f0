"""The methods of tuning: each is a file here, and a line of `METHODS`."""

from __future__ import annotations

from importlib import import_module

from sluicegate.errors import SluiceError
from sluicegate.tuning.methods.method import Method, Search, SpentError

#: The module and class of each, by name; the first is the usual one.
METHODS = {
    "pattern": "pattern:Pattern",
    "nelder-mead": "nelder_mead:NelderMead",
    "differential-evolution": "differential_evolution:DifferentialEvolution",
    "bayesian": "bayesian:Bayesian",
    "multi-objective": "multi_objective:MultiObjective",
    "gradient": "gradient:Gradient",
}

__all__ = ["METHODS", "Method", "Search", "SpentError", "method_class"]


def method_class(name: str) -> type[Method]:
    """The class of the method of that name.

    Raises:
        SluiceError: If there is none, or if what it needs is not installed.
    """
    if name not in METHODS:
        raise SluiceError(f"method = {name} must be one of {', '.join(METHODS)}")
    module, _, kind = METHODS[name].partition(":")
    found: type[Method] = getattr(import_module(f"{__name__}.{module}"), kind)
    return found
