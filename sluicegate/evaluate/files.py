"""What an evaluation writes beside its results: the page, and tables for spreadsheets."""

from __future__ import annotations

from collections.abc import Sequence

from sluicegate.evaluate.evaluation import Evaluation
from sluicegate.evaluate.page import evaluation_page
from sluicegate.evaluate.plan import EvaluationFolder
from sluicegate.evaluate.short import sections_frame
from sluicegate.report.csv import csv_text

_PAGE = "report.html"


def write_files(found: Evaluation, others: Sequence[str], out: str) -> str:
    """Write the page and the tables into the results folder; return where the page is.

    Raises:
        OSError: If one cannot be written.
    """
    folder = EvaluationFolder(out)
    folder.write("measures.csv", csv_text(found.frame()))
    folder.write("verdicts.csv", csv_text(found.verdicts(others)))
    folder.write("sections.csv", csv_text(sections_frame(found, others)))
    folder.write(_PAGE, evaluation_page(found, others).html())
    return f"{out.rstrip('/')}/{_PAGE}"
