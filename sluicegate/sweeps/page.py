"""The page of a sweep, which can be read while the sweep goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sluicegate.errors import SluiceError
from sluicegate.measures import DEFINITIONS
from sluicegate.report.page import Page
from sluicegate.scenario.variables import DERIVED
from sluicegate.sweeps.tables import INTERVALS, has_intervals, mean_rows, progress_text
from sluicegate.sweeps.words import path_is, path_label, path_words

if TYPE_CHECKING:
    import polars as pl

    from sluicegate.sweeps.results import Sweep

MOST_ROWS = 200
_NOTEBOOK_ROWS = 40
_WIDTH = 7.0
# y and x; where x is None, the first path that varies
_PICTURES = (
    ("sojourn_p99", None),
    ("loss_ratio", None),
    ("utilization", None),
    ("sojourn_p99", "utilization"),
)


def sweep_page(sweep: Sweep, left_s: float | None) -> Page:
    """The page of a sweep with one finished run at least.

    Args:
        sweep: Its results.
        left_s: How long the rest will take; None: nothing more comes, or it is not known.
    """
    frame = sweep.frame()
    about = sweep.about
    page = Page(about["title"] or "A sweep", progress_text(len(frame), about["runs"], left_s))
    if len(frame) < about["runs"]:
        page.text("Reload this page to see the newest results.")
    for note in sweep.notes():
        page.text(note)
    page.section("Results")
    means = sweep.means()
    _add_means(page, sweep, means, MOST_ROWS)
    _add_pictures(page, sweep, means)
    page.section("What the measures are")
    keys = sweep.key_measures(frame)
    page.terms({name: f"{DEFINITIONS[name].meaning}." for name in keys})
    return page


def in_notebook(sweep: Sweep) -> Page:
    """What a notebook shows of a sweep, finished or not."""
    about = sweep.about
    done = len(sweep.frame()) if sweep.folder.parts() else 0
    page = Page(about["title"] or "A sweep", progress_text(done, about["runs"], None))
    if done:
        _add_means(page, sweep, sweep.means(), _NOTEBOOK_ROWS)
    return page


def _add_means(page: Page, sweep: Sweep, means: pl.DataFrame, most: int) -> None:
    """Add the table of means, of `most` rows at the most."""
    header, rows = mean_rows(sweep, means)
    caption = "Means over the seeds."
    if has_intervals(rows):
        caption += f" {INTERVALS}."
    if len(rows) > most:
        caption += f" The first {most} of {len(rows):,} rows: sluice results has all."
    about, keys = sweep.about, sweep.key_measures(means)
    terms = [""] * (len(header) - len(keys)) + keys
    plain = set(sweep.axes) - set(DERIVED)
    header = [path_label(name, about) if name in plain else name for name in header]
    page.table(header, rows[:most], caption, terms)


def _add_pictures(page: Page, sweep: Sweep, means: pl.DataFrame) -> None:
    """Pictures of what matters most; where too much varies, at the first values of the rest."""
    x = next((path for path in sweep.axes if means[path].n_unique() > 1), None)
    if x is None:
        return
    others = [path for path in sweep.axes if path != x and means[path].n_unique() > 1]
    scattered = sweep.about["method"] == "latin-hypercube"
    where = {} if scattered or len(others) == 0 else {path: means[path][0] for path in others}
    words = {path: path_words(path, sweep.about)[0] for path in sweep.axes}
    at = ", ".join(path_is(path, value, sweep.about) for path, value in where.items())
    page.section("Pictures")
    for y, against in _PICTURES:
        try:
            figure = sweep.figure(y, against or x, where=where, width=_WIDTH)
        except SluiceError:  # what is not known cannot be drawn
            continue
        right = DEFINITIONS[against].heading if against else words[x]
        caption = (
            "The bars are 95 % intervals, cut where the measure cannot be (below 0, above 100 %)."
            + (f" At {at}." if at else "")
        )
        page.figure(figure, f"{DEFINITIONS[y].heading} against {right}", caption)
    if len(others) == 1 and not scattered:
        for colour in ("sojourn_p99", "loss_ratio"):
            if colour in means.columns:
                figure = sweep.figure(others[0], x, colour=colour, width=_WIDTH)
                page.figure(
                    figure, f"{DEFINITIONS[colour].heading} over {words[x]} and {words[others[0]]}"
                )
