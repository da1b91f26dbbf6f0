"""Notebooks: the cells of the guide are executed, and every result shows itself."""

import re
import struct
from base64 import b64decode
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from pages import comparison, read

import sluicegate as sg
from sluicegate.report.figure import Figure
from sluicegate.report.page import Page

pytestmark = pytest.mark.slow


def in_blocks(page: Path) -> list[str]:
    """Return the Python blocks of a page."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def cells(root, tmp_path_factory):
    """Return the guide's cells after a kernel executed them, by the last line of each."""
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "scenarios").symlink_to(root / "scenarios")
    sources = in_blocks(root / "docs" / "guides" / "notebook.md")
    notebook = nbformat.v4.new_notebook(cells=[*map(nbformat.v4.new_code_cell, sources)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLUICE_RUNS", str(folder / "runs"))
        # the kernel's files, not the user's
        patch.setenv("JUPYTER_PLATFORM_DIRS", "1")
        patch.setenv("IPYTHONDIR", str(folder / "ipython"))
        (folder / "runtime").mkdir()
        patch.setenv("JUPYTER_RUNTIME_DIR", str(folder / "runtime"))
        client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": folder}})
        client.execute()
    nbformat.validate(notebook)
    return {cell.source.splitlines()[-1]: cell.outputs for cell in notebook.cells}


def shown(cells, line):
    """Return what the cell with that last line shows, by MIME type; there is nothing else."""
    (output,) = cells[line]
    assert output.output_type == "execute_result"
    return output.data


def test_no_cell_leaves_an_empty_output_or_a_stream(cells):
    assert len(cells) > 8
    for line, outputs in cells.items():
        for output in outputs:
            assert output.output_type == "execute_result", (line, output)
            html = output.data.get("text/html", "filled")
            assert not re.search(r"<pre[^>]*>\s*</pre>", html), line


@pytest.mark.parametrize(
    ("line", "texts"),
    [
        ("scenario", ["Light load", "limit = 50", "drop-tail", "min_th = 5"]),
        ("result", ["Light load", "mean sojourn", "minus drop-tail", "±", "MSER"]),
        ('result.showing("sojourn_p50", "sojourn_p99.9", "early_loss_ratio")', ["lost early"]),
        ("result.records[0]", ["drop-tail", "sojourn_p99.9", "slots", "±"]),
        ("sweep", ["24 runs, all finished", "queue limit (packets)", "±"]),
        ("tuning", ["red.max_p", "scenario", "±"]),
        (
            'assess(sg.Discipline(aqm="pi"), network)',
            ["Stability of TCP behind pi", "gain margin", "max R (s)"],
        ),
    ],
)
def test_results_show_themselves_as_tables(cells, line, texts):
    html = shown(cells, line)["text/html"]
    reader = read(html)
    assert "table" in reader.tags
    for text in texts:
        assert text in html, text
    # nothing is loaded, and nothing leads out of the cell
    assert not {"script", "link", "img", "iframe", "a", "h1", "h2"} & set(reader.tags)


@pytest.mark.parametrize(
    "line",
    ["overview_figure(result.records)", 'sweep.figure("loss_ratio", "queue.limit", width=7)'],
)
def test_figures_are_pictures(cells, line):
    (output,) = cells[line]
    png = b64decode(output.data["image/png"])
    assert png.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", png[16:24])
    # two dots for each pixel of the page
    size = output.metadata["image/png"]
    assert abs(width - 2 * size["width"]) <= 2
    assert abs(height - 2 * size["height"]) <= 2


def test_a_page_shows_all_of_its_parts_in_a_cell():
    page = Page("A <title>", "below")
    page.section("Result")
    page.text("A queue & its delay.")
    page.table(["AQM", "lost"], [["<red>", "1"]], "A caption.", ["", "loss_ratio"])
    figure = Figure(figsize=(3, 2))
    figure.subplots().plot([1, 2], [3, 4])
    page.figure(figure, "One")
    html = page._repr_html_()
    reader = read(html)
    for text in ("A <title>", "A queue & its delay.", "<red>", "A caption."):
        assert text in reader.text
    assert {"table", "svg", "h2"} <= set(reader.tags)
    assert "a" not in reader.tags
    # the notebook's own look stays as it is: every rule is of this cell
    rules = re.findall(
        r"^ *([^{}@\n]+) \{", html.partition("<style>")[2].partition("</style>")[0], re.M
    )
    assert rules
    for rule in rules:
        assert all(part.strip().startswith(".sluicegate") for part in rule.split(",")), rule


def test_what_was_interrupted_or_has_nothing_yet_shows_itself(tmp_path):
    record = comparison({"aqm": "drop_tail"}).records[0]
    stopped = type(record)(**{**vars(record), "done": 0.25})
    assert "Stopped after 25% of the run." in stopped._repr_html_()
    plan = {"queue.limit": [10, 20]}
    scenario = sg.Scenario.parse(comparison({"aqm": "drop_tail"}).scenario.table())
    sg.sweep(scenario, plan, tmp_path / "sweep")
    for part in (tmp_path / "sweep").rglob("*.parquet"):
        part.unlink()
    assert "0 of 2 runs are finished" in sg.Sweep(tmp_path / "sweep")._repr_html_()
