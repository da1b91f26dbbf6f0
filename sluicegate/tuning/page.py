"""The page of a tuning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sluicegate.estimate import Measure
from sluicegate.measures import DEFINITIONS
from sluicegate.report.page import Page
from sluicegate.report.tables import Column
from sluicegate.report.text import value_text
from sluicegate.tuning import plots, tables

if TYPE_CHECKING:
    from sluicegate.tuning.result import Tuning

_FRESH = (
    "All figures of this table come from new runs with fresh random numbers, the same "
    "for all settings; the search did not use them. The figure after ± is the half width "
    "of the 95 % interval. 'minus tuned' is the score minus that of the tuned setting, "
    "run by run."
)


def tuning_page(tuning: Tuning) -> Page:
    """Put the page together."""
    problem = tuning.problem
    page = _titled(tuning)
    page.section("What to set")
    _add_settings(page, tuning)
    page.section("How much each parameter matters")
    caption = "One parameter moved by a tenth of its range, the others as tuned."
    page.table(*tables.sensitivity_rows(tuning), caption)
    _add_pictures(page, tuning)
    page.section("How it was searched")
    rows = [
        [axis.name, axis.text, "" if axis.param is None else axis.param.help]
        for axis in problem.axes
    ]
    page.table(["parameter", "range", "what it is"], rows)
    page.text(tables.search_text(tuning))
    page.section("What the measures are")
    names = [name for name in tables.shown(tuning) if name in DEFINITIONS]
    page.terms({name: f"{DEFINITIONS[name].meaning}." for name in names})
    return page


def in_notebook(tuning: Tuning) -> Page:
    """What a notebook shows of it: what to set, and how surely."""
    page = _titled(tuning)
    _add_settings(page, tuning)
    return page


def _titled(tuning: Tuning) -> Page:
    title = tuning.problem.base.title or "A tuning"
    return Page(title, f"{tuning.discipline.name}, tuned by {tuning.method}")


def _add_settings(page: Page, tuning: Tuning) -> None:
    page.text(tables.in_short(tuning))
    for note in tuning.notes:
        page.text(note)
    caption = "" if tuning.problem.world.is_exact else _FRESH
    page.table(*tables.setting_rows(tuning), caption)


def _add_pictures(page: Page, tuning: Tuning) -> None:
    page.section("Pictures")
    page.figure(
        plots.profile_figure(tuning),
        "The score over each parameter",
        "A dot for each candidate of the search, whatever the other parameters are.",
        f"{tables.in_short(tuning)}",
    )
    landscape = plots.landscape_figure(tuning)
    if landscape is not None:
        page.figure(
            landscape,
            "The score over pairs of parameters",
            "The diamond is the tuned setting; a cross breaks a constraint.",
            f"{len(tuning.trials)} candidates.",
        )
    front = plots.front_figure(tuning)
    if front is not None:
        page.figure(
            front,
            "Delay against loss",
            "Candidates of the search that no other one beats in both; measured with fresh "
            "random numbers.",
            f"{tuning.front.height} settings of the front.",
        )
        page.table(*_front_rows(tuning))


def _front_rows(tuning: Tuning) -> tuple[list[str], list[list[str]]]:
    columns = [Column(name, tuning.time_unit) for name in ("delay_mean", "loss_ratio")]
    names = [axis.name for axis in tuning.problem.axes]
    rows = [
        [
            *(value_text(row[name]) for name in names),
            *(
                column.text(
                    {
                        column.measure: Measure(
                            row[column.measure], row[f"{column.measure}_half_width"], ""
                        )
                    }
                )
                for column in columns
            ),
        ]
        for row in tuning.front.iter_rows(named=True)
    ]
    return [*names, *(column.header for column in columns)], rows
