"""`sluice records`: the lines of a live router as a table and as Parquet."""

import json

import polars as pl
import pytest
from test_gate_tun import measured

from sluicegate.cli import main
from sluicegate.router_records import read_router_records

pytestmark = pytest.mark.slow


def test_the_lines_of_a_router_that_was_killed_become_parquet(tmp_path, capsys):
    found = measured("killed")
    # its devices are gone, too
    assert "near" not in found["links"]
    path, parquet = tmp_path / "router.jsonl", tmp_path / "router.parquet"
    path.write_text(found["lines"] + '{"time_s":0.5,"arri')
    assert main(["records", str(path), "--parquet", str(parquet)]) == 0
    said = capsys.readouterr().out
    assert f"parquet: {parquet}" in said
    frame = pl.read_parquet(parquet)
    lines = [json.loads(line) for line in found["lines"].splitlines()]
    assert frame.columns == list(lines[0])
    interval = frame.schema["interval"]
    assert [field.name for field in interval.fields] == list(lines[0]["interval"])
    assert frame.to_dicts() == lines
    assert set(frame["link"]) == {"forward", "reverse"}
    assert frame["arrivals"].max() > 100
    assert any(flows["heaviest"] for flows in frame["flows"])


def test_an_empty_file_of_a_router_has_no_lines(tmp_path, capsys):
    path, parquet = tmp_path / "router.jsonl", tmp_path / "router.parquet"
    path.write_text("")
    assert main(["records", str(path), "--parquet", str(parquet)]) == 0
    assert capsys.readouterr().out.startswith("0 lines")
    assert pl.read_parquet(parquet).schema == read_router_records(path).schema


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "[1]",
        '{"a": 1}',
        '{"link": "forward"}',
        '{"link": "forward", "sent": "x"}',
    ],
)
def test_other_lines_are_refused(line, tmp_path, capsys):
    path, parquet = tmp_path / "other.jsonl", tmp_path / "other.parquet"
    path.write_text(line + "\n")
    assert main(["records", str(path), "--parquet", str(parquet)]) == 1
    assert "must have been written by sluiced run --jsonl" in capsys.readouterr().err
    assert not parquet.exists()
