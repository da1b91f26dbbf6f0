"""Judging an AQM by the scenarios of RFC 7928."""

from sluicegate.evaluate.evaluation import Evaluation
from sluicegate.evaluate.profile import PROFILES, Profile
from sluicegate.evaluate.run import evaluate

__all__ = ["PROFILES", "Evaluation", "Profile", "evaluate"]
