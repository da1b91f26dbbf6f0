"""The results of a sweep: queries, means over seeds, pictures."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence, Set
from copy import copy
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from sluicegate._engine import quantity
from sluicegate.errors import SluiceError
from sluicegate.estimate import student_quantile
from sluicegate.extras import require
from sluicegate.measures import DEFINITIONS, check_names
from sluicegate.near import nearest
from sluicegate.scenario.variables import DERIVED
from sluicegate.sweeps.design import plain
from sluicegate.sweeps.folder import FORMAT, Folder
from sluicegate.sweeps.words import path_is, path_value

if TYPE_CHECKING:
    from sluicegate.report.figure import Figure
    from sluicegate.sweeps.figures import Scale

# runs that differ only in the seed are replications
SEED = "seed"
# what may have several values of a name
_SEVERAL = (list, tuple, range, Set)
# the measures that a table shows, where they are known
_KEY = ("sojourn_mean", "sojourn_p99", "loss_ratio", "goodput", "utilization")


class Sweep:
    """The results of a sweep, finished or not, in their folder.

    Args:
        folder: Its results folder: a path, or a URL that fsspec knows.

    Raises:
        SluiceError: If it is no results folder, or one in a format of another version.
    """

    def __init__(self, folder: str | PathLike[str] | Folder) -> None:
        self._shown: Sequence[str] = ()
        self.folder = folder if isinstance(folder, Folder) else Folder(folder)
        self.about = self.folder.about()
        if self.about["format"] != FORMAT:
            raise SluiceError(
                f"{self.folder.path} has results in format {self.about['format']} of sluicegate "
                f"{self.about.get('sluicegate')}; this version reads format {FORMAT}"
            )

    def showing(self, *measures: str) -> Self:
        """The same sweep, whose tables show these measures.

        Raises:
            SluiceError: If one is no measure.
        """
        shown = copy(self)
        shown._shown = check_names(measures, "measures")
        return shown

    def __repr__(self) -> str:
        return f"<Sweep of {self.about['runs']:,} runs in {self.folder.path}>"

    def _repr_html_(self) -> str:
        from sluicegate.sweeps.page import in_notebook  # loads matplotlib

        return in_notebook(self).cell()

    @property
    def paths(self) -> list[str]:
        """What varies."""
        return list(self.about["paths"])

    @property
    def axes(self) -> list[str]:
        """What varies but the seed."""
        return [path for path in self.paths if path != SEED]

    def query(self, sql: str) -> pl.DataFrame:
        """Ask in SQL, as DuckDB has it; `runs` is the table with a row for each finished run.

        Columns: run (its number in the plan), discipline, world, each path that varies, identity
        (of the run, as in `Record`), time_unit (slots or s), and for each measure its value, its
        `_half_width`, and of some its `_bound`; see `Measure`; and notes, what a reader of the
        measures must know, a line each. Names with dots need double quotes.

        Raises:
            SluiceError: If no run is finished yet, if DuckDB is not installed, or, with its text,
                if the query is wrong.
        """
        require("duckdb", "a table of a sweep's results")
        import duckdb  # takes a fifth of a second to import

        parts = self.folder.parts()
        if not parts:
            raise SluiceError(f"{self.folder.path} has no finished runs yet")
        with duckdb.connect() as base:
            if "://" in parts[0]:
                base.register_filesystem(self.folder.files)
            listed = ", ".join("'" + part.replace("'", "''") + "'" for part in parts)
            try:
                # several processes may have made the same run: their results are the same
                base.execute(
                    "CREATE VIEW runs AS SELECT DISTINCT ON (run) * FROM "
                    f"read_parquet([{listed}], union_by_name = true) ORDER BY run"
                )
                asked = base.execute(sql)
                names = [each[0] for each in asked.description or []]
                rows = asked.fetchall()
            except duckdb.Error as error:
                raise SluiceError(str(error)) from error
        return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)

    def frame(self) -> pl.DataFrame:
        """All finished runs, in the plan's order; columns as in `query`."""
        found = self.query("SELECT * FROM runs ORDER BY run")
        # these measures are known of no run
        return found.with_columns(pl.col(pl.Null).cast(pl.Float64))

    def notes(self, where: Mapping[str, object] | None = None) -> list[str]:
        """What a reader of the measures must know, a sentence each, as comparisons tell it.

        Notes that differ only in their numbers are one, of the first run that has it.

        Raises:
            SluiceError: As `selected`.
        """
        frame = self.selected(where)
        # for each kind, its texts, and the runs that have one
        kinds: dict[str, tuple[list[str], list[dict[str, Any]]]] = {}
        # results of earlier versions have none
        for row in frame.iter_rows(named=True) if "notes" in frame.columns else ():
            for note in (row["notes"] or "").splitlines():
                texts, rows = kinds.setdefault(re.sub(r"\d[\d.,e+-]*", "0", note), ([], []))
                texts.append(note)
                rows.append(row)
        return [
            texts[0]
            if len(set(texts)) == 1 and len(rows) == len(frame)
            else f"{len(rows):,} of {len(frame):,} runs, such as {self._words(rows[0])}: {texts[0]}"
            for texts, rows in kinds.values()
        ]

    def _words(self, row: Mapping[str, Any]) -> str:
        """A run, by its discipline and what varies."""
        varied = (path_is(path, row[path], self.about) for path in self.paths)
        return ", ".join([row["discipline"], *varied])

    def measures(self, frame: pl.DataFrame) -> list[str]:
        """The measures that are known of any of these runs."""
        known = [name for name in frame.columns if name in DEFINITIONS]
        return [name for name in known if frame[name].null_count() < len(frame)]

    def key_measures(self, frame: pl.DataFrame) -> list[str]:
        """Those of them that a table shows."""
        known = self.measures(frame)
        return [name for name in self._shown or _KEY if name in known]

    def selected(self, where: Mapping[str, object] | None = None) -> pl.DataFrame:
        """The finished runs with these values of what varies, of `discipline` or of `world`.

        Args:
            where: Values by name; a list means any of its values.

        Raises:
            SluiceError: If something does not vary, or no run has such a value.
        """
        if where is not None and not isinstance(where, Mapping):
            raise SluiceError(
                f"where = {where!r} must be values by name, such as {{'seed': 1}}; columns are "
                "chosen with measures=[...]"
            )
        frame = self.frame()
        for name, given in (where or {}).items():
            if name not in (known := ["discipline", "world", *self.paths]):
                raise SluiceError(f"{name} does not vary{_meant(name, known)}")
            given = plain(given)
            values = list(given) if isinstance(given, _SEVERAL) else [given]
            if not values:
                raise SluiceError(f"where: {name} = [] must have a value at least")
            texts = [self._text_of(name, value, frame[name]) for value in values]
            frame = frame.filter(pl.col(name).cast(pl.String).is_in(texts))
        return frame

    def _text_of(self, name: str, value: object, column: pl.Series) -> str:
        """A value of what varies as its column shows it.

        Raises:
            SluiceError: If none there has it.
        """
        found = value
        if isinstance(value, str) and column.dtype.is_numeric():
            # 50ms means 0.05
            found = quantity(value, self.about.get("units", {}).get(name, "")) or value
        text = _text(found, column)
        if text not in column.cast(pl.String):
            if name in DERIVED:
                DERIVED[name].read(value, name)
            unit = f" {DERIVED[name].shown[0]}" if name in DERIVED else ""
            there = [path_value(name, each) for each in column.unique().sort()]
            told = ", ".join(there[:12]) + unit + (", ..." if len(there) > 12 else "")
            raise SluiceError(f"no finished run has {name} = {value}; there are {told}")
        return text

    def means(
        self,
        where: Mapping[str, object] | None = None,
        measures: Sequence[str] | str | None = None,
    ) -> pl.DataFrame:
        """Means over the seeds: a row for each discipline, world and value of all else that varies.

        The half width is Student's over the runs of several seeds (95 %); of a single run it is its
        own.

        Args:
            where: See `selected`.
            measures: Which, or the name of one; all if None.

        Returns:
            Columns: discipline, world, each path that varies but the seed, time_unit, runs (how
            many), and for each measure its value and its `_half_width`, null where it is not known.

        Raises:
            SluiceError: If there is no such measure, or as `selected`.
        """
        frame = self.selected(where)
        known = self.measures(frame)
        measures = [measures] if isinstance(measures, str) else measures
        for name in measures or ():
            if name not in known:
                what = "known of no run" if name in DEFINITIONS else "no measure"
                raise SluiceError(f"{name} is {what} here{_measure_meant(name, known, self.paths)}")
        chosen = list(known if measures is None else dict.fromkeys(measures))
        columns: list[pl.Expr] = [pl.col("time_unit").first(), pl.len().alias("runs")]
        for name in chosen:
            several = pl.col(name).count() > 1
            quantile = pl.col(name).count().map_elements(student_quantile, pl.Float64)
            error = pl.col(name).std(ddof=1) / pl.col(name).count().sqrt()
            columns += [
                pl.col(name).mean(),
                pl.when(several)
                .then(quantile * error)
                .otherwise(pl.col(f"{name}_half_width").first())
                .alias(f"{name}_half_width"),
            ]
        keys = ["discipline", "world", *self.axes]
        return frame.group_by(keys, maintain_order=True).agg(columns)

    def latex(
        self,
        measures: Sequence[str] | str | None = None,
        *,
        where: Mapping[str, object] | None = None,
        across: str | None = None,
    ) -> str:
        """A table of means with their intervals, for LaTeX with the package booktabs.

        Args:
            measures: Its columns; if None, the usual ones.
            where: See `selected`.
            across: What has a column for each of its values: `discipline`, or what varies.

        Raises:
            SluiceError: As `means`, or if what stands across does not vary.
        """
        from sluicegate.report.latex import latex_table
        from sluicegate.sweeps.tables import mean_rows

        means = self.means(where, measures)
        chosen = [measures] if isinstance(measures, str) else measures
        return latex_table(*mean_rows(self, means, chosen, across))

    def figure(
        self,
        y: str,
        x: str | None = None,
        *,
        colour: str | None = None,
        where: Mapping[str, object] | None = None,
        width: float = 3.5,
        xlabel: str | None = None,
        ylabel: str | None = None,
        xscale: Scale | None = None,
        yscale: Scale | None = None,
    ) -> Figure:
        """Draw a measure at the size of a journal's column.

        Against what varies, or against another measure: a line for each discipline, with the 95 %
        intervals of `means`; for a Latin hypercube, a point for each run. With `colour` a heat map
        for each discipline.

        Args:
            y: A measure; for a heat map, what varies.
            x: What varies, or another measure; the first that varies if None.
            colour: For a heat map, the measure.
            where: Which runs; see `selected`.
            width: In inches.
            xlabel: Text beside the horizontal axis; if None, what it shows and its unit.
            ylabel: Likewise of the vertical one.
            xscale: `linear` or `log`; if None, logarithmic for values that are spread over two
                decades by about equal ratios. Values that are no numbers have no scale.
            yscale: Likewise of the vertical one; if None, linear.

        Raises:
            SluiceError: If there is no such measure or path, if values do not suit the scale, if
                more varies than can be shown, or as `selected`.
        """
        require("matplotlib", "a figure")
        from sluicegate.sweeps.figures import heat_map, lines  # loads matplotlib

        x = x or next(iter(self.axes), SEED)
        labels = xlabel, ylabel
        if colour is not None:
            for name, scale in (("xscale", xscale), ("yscale", yscale)):
                if scale is not None:
                    raise SluiceError(f"a heat map has no scale: leave out {name}")
            return heat_map(self, x, y, colour, where, width, labels=labels)
        return lines(self, y, x, where, width, labels=labels, scales=(xscale, yscale))

    def summary(self) -> dict[str, Any]:
        """What the sweep is and every finished run, as types that JSON has."""
        frame = self.frame()
        return {
            "title": self.about["title"],
            "paths": self.paths,
            "planned": self.about["runs"],
            "runs": frame.drop(
                [name for name in frame.columns if frame[name].null_count() == len(frame)]
            ).to_dicts(),
        }


def _text(value: object, column: pl.Series) -> str:
    """A value as the column would show it."""
    if isinstance(value, list | tuple):
        return json.dumps(value)
    if column.dtype == pl.Boolean:
        return str(value).lower()
    if column.dtype == pl.Float64 and isinstance(value, int):
        value = float(value)
    return str(pl.Series([value]).cast(pl.String)[0])


def _meant(name: str, known: Sequence[str]) -> str:
    """What would be right: one of those known."""
    near = nearest(name, known)
    return f"; did you mean {near}?" if near else f"; there are {', '.join(known)}"


def _measure_meant(name: str, known: Sequence[str], paths: Sequence[str]) -> str:
    """What would be right in place of a name of no measure, which may be that of what varies."""
    path = nearest(name, paths)
    if path is None or nearest(name, known) is not None:
        return _meant(name, known)
    return f"; did you mean {path}, which varies and is no measure?"
