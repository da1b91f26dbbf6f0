"""Advice: which AQM, with which parameters, for a link or for what a capture recorded."""

from sluicegate.advice.advice import Advice, advise
from sluicegate.advice.of_capture import Recorded, question_of
from sluicegate.advice.question import Question
from sluicegate.advice.settings import Setting, settings

__all__ = ["Advice", "Question", "Recorded", "Setting", "advise", "question_of", "settings"]
