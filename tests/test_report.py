"""Reports of comparisons: the folder, the page, when it is drawn again."""

import subprocess
import sys

import polars as pl
import pytest
from pages import Never, comparison, read

import sluicegate as sg
from sluicegate import store
from sluicegate.estimate import student
from sluicegate.report.folder import write_report
from sluicegate.report.tables import bounds_told, comparison_rows, difference_rows, record_rows
from sluicegate.report.text import measure_text

pytestmark = pytest.mark.slow


def test_a_report_holds_every_discipline_and_measure(tmp_path):
    compared = comparison({"aqm": "red"}, {"aqm": "red", "ecn": True}, {"aqm": Never})
    path = write_report(compared, str(tmp_path / "out"))
    shown = read(path.read_text(encoding="utf-8"))
    header, rows = comparison_rows(compared)
    assert "marked\n(%)" in header
    assert "`" not in shown.text
    for text in ("Small & quick", "red ECN", "Never", rows[0][1], "queue_deviation"):
        assert text in shown.text
    # each figure for wide and for narrow screens
    assert shown.tags.count("svg") == 2 * 5
    measures = pl.read_parquet(path.parent / "measures.parquet")
    assert measures.equals(compared.frame())
    distributions = pl.read_parquet(path.parent / "distributions.parquet")
    sums = distributions.group_by("discipline", "distribution").agg(pl.col("probability").sum())
    assert sums.height == 9
    assert sums["probability"].to_list() == pytest.approx([1] * 9)


def test_every_measure_has_the_unit_of_the_table_above():
    slot_s = 1e-3
    (record,) = comparison({"aqm": "drop_tail"}, slot_s=slot_s).records
    shown = {name: unit for name, _, unit in record_rows(record)[1]}
    assert [shown[name] for name in ("sojourn_mean", "delay_variance", "loss_ratio")] == [
        "ms",
        "ms^2",
        "%",
    ]
    (variance,) = (text for name, text, _ in record_rows(record)[1] if name == "delay_variance")
    assert variance == measure_text(record["delay_variance"].times(1e6))


def test_a_bound_in_the_table_is_explained():
    # as it is packets are lost; of arrivals in a tenth of the slots none is
    few = {"arrivals": {"kind": "geometric", "rate": 0.1}}
    for fields, has in (({}, False), (few, True)):
        compared = comparison({"aqm": "drop_tail"}, **fields)
        _, rows = comparison_rows(compared)
        assert any("<" in cell for row in rows for cell in row) is has
        assert bool(bounds_told(compared)) is has


def test_one_replication_says_why_there_are_no_differences(tmp_path):
    compared = comparison({"aqm": "drop_tail"}, {"aqm": "red"}, replications=1)
    (note,) = compared.notes()
    assert note == "Differences from drop_tail are not shown: they need more than one replication."
    assert note in read(write_report(compared, tmp_path).read_text(encoding="utf-8")).text
    assert not comparison({"aqm": "drop_tail"}, replications=1).notes()
    assert not comparison({"aqm": "drop_tail"}, {"aqm": "red"}, replications=2).notes()


def test_a_page_of_the_same_results_is_not_drawn_again(tmp_path, monkeypatch):
    compared = comparison({"aqm": "drop_tail"}, {"aqm": "red"})
    path = write_report(compared, tmp_path, figures="svg")
    assert {file.suffix for file in (tmp_path / "figures").iterdir()} == {".svg"}
    assert (tmp_path / "figures" / "how-long-the-queue-is.svg").stat().st_size > 1000
    monkeypatch.setattr("sluicegate.report.comparison.comparison_page", None)
    before = path.read_text()
    assert write_report(compared, tmp_path).read_text() == before
    # in another folder it is copied from the store, byte for byte, or drawn if it is damaged there
    elsewhere = write_report(compared, tmp_path / "elsewhere")
    assert elsewhere.read_bytes() == path.read_bytes()
    (kept,) = store.folder().glob("*.html.gz")
    kept.write_bytes(kept.read_bytes()[:-100])
    with pytest.raises(TypeError):
        write_report(compared, tmp_path / "damaged")
    other = comparison({"aqm": "drop_tail"}, {"aqm": "red", "label": "RED"})
    with pytest.raises(TypeError):
        write_report(other, tmp_path)
    with pytest.raises(sg.SluiceError, match="figures = gif must be one of pdf, svg, png"):
        write_report(compared, tmp_path, figures="gif")


def test_a_cached_comparison_draws_nothing(tmp_path):
    """Its page is the same, byte for byte, as one drawn anew in another process."""
    compared = comparison({"aqm": "drop_tail"}, {"aqm": "red"})
    page = write_report(compared, tmp_path).read_bytes()
    path = tmp_path / "small.toml"
    path.write_text(
        'title = "Small & quick"\nslots = 2e4\nreplications = 2\nqueue = { limit = 30 }\n'
        'arrivals = { kind = "geometric", rate = 0.5 }\n'
        'service = { kind = "geometric", mu = 0.5 }\n'
        '[[disciplines]]\naqm = "drop_tail"\n[[disciplines]]\naqm = "red"\n'
    )
    code = (
        "import sys; from sluicegate.cli import main\n"
        "for out in sys.argv[2:]:\n"
        "    before = set(sys.modules)\n"
        "    main(['compare', sys.argv[1], '--out', out])\n"
        "    print('drawn' if 'matplotlib' in set(sys.modules) - before else 'kept')"
    )

    def reports(*names):
        folders = [str(tmp_path / name) for name in names]
        command = [sys.executable, "-c", code, str(path), *folders]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return [line for line in done.stdout.splitlines() if line in ("drawn", "kept")]

    assert reports("one") == ["kept"]
    assert (tmp_path / "one" / "report.html").read_bytes() == page
    for kept in store.folder().glob("*.html.gz"):
        kept.unlink()
    assert reports("two") == ["drawn"]
    assert (tmp_path / "two" / "report.html").read_bytes() == page


def test_differences_are_of_pairs_that_see_the_same_arrivals(tmp_path):
    compared = comparison({"aqm": "drop_tail"}, {"aqm": "red"}, replications=4)
    one, other = compared.records
    found = compared.differences().filter(measure="queue_mean").row(0, named=True)
    assert (found["discipline"], found["other"]) == ("red", "drop_tail")
    pairs = other.values("queue_mean") - one.values("queue_mean")
    wanted = student(pairs)
    assert (found["value"], found["half_width"]) == (wanted.value, wanted.half_width)
    # the common effect of the arrivals cancels
    assert found["half_width"] < student(one.values("queue_mean")).half_width
    header, _ = comparison_rows(compared)
    ((first, ((name, *cells),)),) = difference_rows(compared).items()
    assert (name, first) == ("red", "drop_tail")
    text = cells[header.index("mean queue\n(packets)") - 1]
    assert text == measure_text(wanted)
    shown = repr(compared).splitlines()
    below = shown[shown.index("minus drop_tail, replication by replication:") + 1 :]
    assert len(below) == 1
    assert text in below[0]
    assert below[0].startswith("red ")
    assert len(below[0]) == len(shown[2])  # in one column, to the right
    write_report(compared, tmp_path)
    assert pl.read_csv(tmp_path / "differences.csv").height == compared.differences().height


def test_times_are_shown_in_ms_where_slots_have_a_duration():
    header, rows = comparison_rows(comparison({"aqm": "red"}, slot_s=1e-3))
    assert header[1] == "mean sojourn\n(ms)"
    assert "marked\n(%)" not in header
    assert float(rows[0][1].partition(" ")[0]) > 1


@pytest.mark.parametrize(
    ("disciplines", "changes"),
    [
        ([{"aqm": "drop_tail"}], {"arrivals": {"kind": "geometric", "rate": 0}}),
        ([{"aqm": "drop_tail"}], {"arrivals": {"kind": "geometric", "rate": 1}, "slots": 1000}),
        ([{"aqm": "drop_tail"}], {"slots": 1000, "replications": 1}),
        ([{"aqm": Never}], {}),
        ([{"aqm": "red", "label": f"{k} $\\frac$ &<\n" + 9 * "long "} for k in range(12)], {}),
    ],
    ids=["nothing arrives", "always full", "short", "no drop function", "many, oddly named"],
)
def test_whatever_is_compared_can_be_reported(disciplines, changes, tmp_path):
    path = write_report(comparison(*disciplines, **changes), tmp_path)
    read(path.read_text(encoding="utf-8"))
