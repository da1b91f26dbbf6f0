"""Traces of packet simulations: ns-2's 12-field files, ns-2's own or another's."""

from sluicegate.trace.trace import Trace

__all__ = ["Trace"]
