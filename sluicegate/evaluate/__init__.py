"""Judging an AQM by the scenarios of RFC 7928, and by those of L4S."""

from sluicegate.evaluate.evaluation import Evaluation
from sluicegate.evaluate.profile import PROFILES, Profile
from sluicegate.evaluate.run import evaluate
from sluicegate.evaluate.suite import L4S, RFC7928, Suite

__all__ = ["L4S", "PROFILES", "RFC7928", "Evaluation", "Profile", "Suite", "evaluate"]
