"""The folder of a report has one report; its CSV files are calculated by no spreadsheet."""

import csv
import fcntl
import io
import threading

import polars as pl
import pytest

import sluicegate as sg
from sluicegate.cli import main
from sluicegate.report import folder
from sluicegate.report.csv import csv_text
from sluicegate.report.folder import replaces, write_report

pytestmark = pytest.mark.slow

SLOTTED = sg.Scenario(
    slots=2000,
    replications=2,
    arrivals=sg.GeometricArrivals(rate=0.45),
    service=sg.GeometricService(mu=0.5),
    queue=sg.Queue(limit=20),
    disciplines=[sg.Discipline(aqm="drop_tail"), sg.Discipline(aqm="red")],
)
NETWORK = sg.network.NetworkScenario(
    topology=sg.network.Dumbbell(rate_bps=1e6),
    flows=[sg.network.TcpFlows(count=2)],
    disciplines=[sg.Discipline(aqm="drop_tail")],
    duration_s=1.0,
    replications=2,
)
SLOTTED_FILES = {
    *("report.html", "files.json", "measures.csv", "differences.csv"),
    *("measures.parquet", "differences.parquet", "distributions.parquet"),
    *("measures.tex", "differences.tex"),
}
FILE = """
slots = 2000
arrivals = { kind = "geometric", rate = 0.45 }
service = { kind = "geometric", mu = 0.5 }
disciplines = [{ aqm = "drop_tail" }]
"""


def names(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.usefixtures("undrawn")
def test_files_of_an_earlier_report_are_removed_and_no_others(tmp_path):
    write_report(sg.compare(NETWORK), tmp_path, figures="svg")
    before = names(tmp_path)
    assert {"series.parquet", "flows.parquet"} <= before
    assert [name for name in before if name.startswith("figures/")]
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "figures" / "mine.svg").write_text("mine")
    # the command says so
    assert not replaces(sg.compare(NETWORK), tmp_path)
    assert replaces(sg.compare(SLOTTED), tmp_path)
    # neither has a title, and both are of one kind; another seed or AQM makes no other scenario
    flows = [sg.network.TcpFlows(count=3)]
    assert replaces(sg.compare(NETWORK.replace(flows=flows)), tmp_path)
    red = [sg.Discipline(aqm="red")]
    assert not replaces(sg.compare(NETWORK.replace(seed=2, disciplines=red)), tmp_path)
    write_report(sg.compare(SLOTTED), tmp_path)
    assert names(tmp_path) == {*SLOTTED_FILES, "notes.txt", "figures/mine.svg"}
    assert pl.read_parquet(tmp_path / "measures.parquet")["discipline"].unique().sort().to_list()


def test_figures_of_the_same_report_stay(tmp_path):
    compared = sg.compare(SLOTTED)
    write_report(compared, tmp_path, figures="svg")
    before = names(tmp_path)
    write_report(compared, tmp_path)
    assert names(tmp_path) == before
    write_report(compared, tmp_path, figures="png")
    assert names(tmp_path) > before


@pytest.mark.usefixtures("undrawn")
def test_nothing_is_removed_if_it_is_not_known_what_is_ours(tmp_path):
    write_report(sg.compare(NETWORK), tmp_path)
    before = names(tmp_path)
    (tmp_path / "files.json").write_bytes(b"")
    write_report(sg.compare(SLOTTED), tmp_path)
    assert names(tmp_path) == {*before, "differences.tex"}


@pytest.mark.usefixtures("undrawn")
def test_two_reports_at_the_same_time_do_not_mix(tmp_path, monkeypatch):
    """A second one begins as the first has written all but its page: it waits for that, too."""
    slotted, network = sg.compare(SLOTTED), sg.compare(NETWORK)
    waits_or_has_ended = threading.Event()

    def second():
        write_report(network, tmp_path)
        waits_or_has_ended.set()

    other, lock, write = threading.Thread(target=second), fcntl.flock, folder.write_whole

    def locking(*how):
        if threading.current_thread() is other:
            waits_or_has_ended.set()
        lock(*how)

    def writing(path, content):
        if path.name == "report.html" and other.ident is None:
            other.start()
            assert waits_or_has_ended.wait(300)
        write(path, content)

    monkeypatch.setattr(fcntl, "flock", locking)
    monkeypatch.setattr(folder, "write_whole", writing)
    write_report(slotted, tmp_path)
    other.join()
    assert {"flows.parquet", "series.parquet"} <= names(tmp_path)
    worlds = pl.read_parquet(tmp_path / "measures.parquet")["world"].unique().to_list()
    assert worlds == ["network"]
    assert "goodput" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("what", ["sweep", "tuning"])
def test_the_folder_of_a_sweep_or_a_tuning_gets_no_report(what, tmp_path, capsys):
    (tmp_path / f"{what}.json").write_text("{}")
    (tmp_path / "report.html").write_text("of the sweep")
    (tmp_path / "short.toml").write_text(FILE)
    assert main(["compare", str(tmp_path / "short.toml"), "--out", str(tmp_path)]) == 1
    told = f"error: {tmp_path} has the results of a {what} ({what}.json): choose another folder"
    assert capsys.readouterr() == ("", f"{told} with --out\n")
    assert (tmp_path / "report.html").read_text() == "of the sweep"


# --- CSV

FORMULAS = [
    '=HYPERLINK("http://example.org","RED")',
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "'quoted",
    "''twice",
    "RED = 1",
    "",
    None,
]


def test_no_text_in_csv_is_a_formula_and_all_can_be_read_back():
    frame = pl.DataFrame({"=label": FORMULAS, "queue": [-1.5] * len(FORMULAS)})
    header, *rows = csv.reader(io.StringIO(csv_text(frame), newline=""))
    assert header == ["'=label", "queue"]
    for label, queue in rows:
        assert not label.startswith(("=", "+", "-", "@", "\t", "\r"))
        assert float(queue) == -1.5
    back = [label.removeprefix("'") for label, _ in rows]
    assert back == [text or "" for text in FORMULAS]


@pytest.mark.usefixtures("undrawn")
def test_a_label_that_is_a_formula_reaches_every_csv_as_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    label = '=cmd|"/c calc"!A1'
    labelled = f"disciplines = [{{ aqm = 'drop_tail', label = '{label}' }}, {{ aqm = 'red' }}]"
    (tmp_path / "short.toml").write_text(FILE.partition("disciplines")[0] + labelled)
    assert main(["compare", "short.toml", "--out", "out"]) == 0
    assert main(["sweep", "short.toml", "--vary", "seed=1,2", "--out", "swept", "--no-report"]) == 0
    assert main(["results", "swept", "--csv", "means.csv"]) == 0
    for name in ("out/measures.csv", "out/differences.csv", "means.csv"):
        text = (tmp_path / name).read_text()
        rows = list(csv.reader(io.StringIO(text, newline="")))
        cells = [cell for row in rows for cell in row]
        assert not [cell for cell in cells if cell.startswith("=")], name
        assert [cell for cell in cells if cell.startswith(f"'{label}")], name
    # Parquet is for programs: there it is as it was given
    assert label in pl.read_parquet("out/measures.parquet")["discipline"].to_list()
