"""Lessons for a class: an assignment with figures, questions and a grader.

A lesson is one file: its text, the runs of a student's variant, the questions with their answers,
which are measured or computed there, and its figures.
"""

from __future__ import annotations

from sluicegate.lessons import bufferbloat, l4s, red
from sluicegate.lessons.grade import Graded, grade, lesson_of, student_of, template
from sluicegate.lessons.lesson import WORLDS, Lesson, Question, Worked, whose, work
from sluicegate.lessons.page import lesson_page

LESSONS = {each.name: each for each in (bufferbloat.LESSON, red.LESSON, l4s.LESSON)}

__all__ = [
    "LESSONS",
    "WORLDS",
    "Graded",
    "Lesson",
    "Question",
    "Worked",
    "grade",
    "lesson_of",
    "lesson_page",
    "student_of",
    "template",
    "whose",
    "work",
]
