"""flent's data format. `tests/data/office.flent.gz` was written by the code of flent 2.3.0."""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sluicegate as sg
from sluicegate.cli import main
from sluicegate.errors import SluiceError
from sluicegate.flent import Measurement, of_record, summary_rows
from sluicegate.scenario import NetworkScenario
from sluicegate.testbed.check import missing, needs
from sluicegate.worlds.gate import measure

OFFICE = Path(__file__).parent / "data" / "office.flent.gz"
LACKING = missing(needs())
SCENARIO = """
title = "The office's line"
duration_s = 4
warm_up_s = 1
topology = { kind = "dumbbell", rate_bps = 4e6, delay_s = 0.008, client_delays_s = [0.001, 0.003],
    server_delay_s = 0.001 }
flows = [
    { kind = "tcp", count = 4, spread_s = 0.3, tcp = { packet_bytes = 1000 } },
    { kind = "datagrams", rate_bps = 0.3e6, gaps = "exponential" },
]
queue = { limit = 50 }
disciplines = [{ aqm = "drop_tail" }, { aqm = "codel", scheduler = { kind = "fq", queues = 64 } }]
"""


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "line.toml"
    found.write_text(SCENARIO)
    return found


def test_a_measurement_of_flent_is_read():
    office = Measurement.read(OFFICE)
    assert (office.title, office.test) == ("office", "tcp_nup")
    assert office.parameters == {"upload_streams": "2"}
    assert office.start.isoformat() == "2026-03-02T09:30:00+00:00"
    # series of the kernel's figures of a flow, and series that flent computed, are no flows
    assert office.flows("upload") == ["TCP upload::1", "TCP upload::2"]
    megabits = office.throughput_mbps("upload")
    assert np.isnan(megabits[:10]).all()
    assert np.isnan(megabits[40:]).all()
    assert megabits[10] == pytest.approx(4.5)
    # the second flow has ended by then
    assert megabits[39] == pytest.approx(2.39)
    np.testing.assert_allclose(megabits, office.series["TCP upload sum"])
    _, ((_, throughput, mean, p50, p99),) = summary_rows([office], "upload", 1.0)
    # from 3 s to the end of the flows: 25 steps of 60 + k ms
    assert throughput == f"{np.nanmean(megabits[15:]):.4g}"
    assert (mean, p50, p99) == ("87", "87", "98.76")


def test_a_direction_without_flows_is_refused_with_the_series_there_are():
    with pytest.raises(SluiceError, match=r"office: .* download; there are: Ping \(ms\) ICMP, "):
        Measurement.read(OFFICE).throughput_mbps("download")


def simulated(path):
    scenario = sg.load(path).replace(replications=1)
    assert isinstance(scenario, NetworkScenario)
    records = sg.compare(scenario, world="network").records
    return [of_record(scenario, record) for record in records]


def test_written_files_can_be_read(path, tmp_path):
    fifo, fq = simulated(path)
    # with a queue for each flow, a ping would not wait in the queue of the flows
    assert np.isnan(fq.ping_ms()).all()
    assert fifo.ping_ms().min() >= 20
    # 50 packets of 1000 bytes at 4 Mbit/s are 100 ms; datagrams are half as long
    assert 60 < fifo.ping_ms().max() <= 120
    # 948 of 1000 bytes are data, and datagrams use a part of the link
    assert 2.5 < fifo.throughput_mbps("upload")[10:].mean() < 0.948 * 4
    fifo.write(file := tmp_path / "fifo.flent.gz")
    content = json.loads(gzip.decompress(file.read_bytes()))
    assert content["version"] == 4
    assert set(content) == {"version", "metadata", "x_values", "results", "raw_values"}
    again = Measurement.read(file)
    assert (again.title, again.test, again.start) == (fifo.title, fifo.test, fifo.start)
    assert again.note == fifo.note
    assert again.units == fifo.units
    for name, values in fifo.series.items():
        np.testing.assert_array_equal(again.series[name], values)


def means_of_flent(file):
    """Return the mean of each series from flent's own summary."""
    flent = Path(sys.executable).parent / "flent"
    done = subprocess.run(
        [flent, "-i", file, "-f", "summary"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^ (.+?) +: +([0-9.]+) ", done.stdout, re.MULTILINE)
    return {name: float(mean) for name, mean in rows}, done.stdout


def test_flent_opens_our_files_and_shows_the_same_figures(path, tmp_path):
    fifo, _ = simulated(path)
    fifo.write(file := tmp_path / "fifo.flent.gz")
    means, said = means_of_flent(file)
    assert "Title: 'drop_tail (network)'" in said
    assert set(means) == {"TCP upload sum", "Ping (ms) ICMP"}
    for name, mean in means.items():
        assert mean == pytest.approx(np.nanmean(fifo.series[name]), abs=0.006)
    # and of flent's own file, with its flows
    means, _ = means_of_flent(OFFICE)
    megabits = Measurement.read(OFFICE).throughput_mbps("upload")
    assert means["TCP upload sum"] == pytest.approx(np.nanmean(megabits), abs=0.006)


@pytest.mark.skipif(bool(LACKING), reason=f"no gate here: {LACKING}")
def test_a_run_of_the_gate_has_a_series_for_each_flow(path, tmp_path):
    scenario = sg.load(path).replace(replications=1, duration_s=2.0)
    record = measure(scenario, scenario.disciplines[0])
    found = of_record(scenario, record, "download")
    assert found.flows("download") == [f"TCP download::{k}" for k in (1, 2, 3, 4)]
    assert (found.test, found.parameters) == ("tcp_ndown", {"download_streams": "4"})
    # the same bytes, counted by flow and in total; a sample may be off by a step
    each, total = found.throughput_mbps("download"), found.series["TCP download sum"]
    assert np.nansum(each) == pytest.approx(total.sum(), rel=0.1)
    assert total.mean() > 1


def test_the_command_compares_all_files(path, tmp_path, capsys):
    out = tmp_path / "beside"
    words = ["flent", str(path), "--beside", str(OFFICE), "--aqm", "pie", "--out", str(out)]
    assert main(words) == 0
    said = capsys.readouterr().out
    rows = [line.split()[0] for line in said.splitlines() if line]
    header = rows.index("measurement")
    assert rows[header + 1 : header + 3] == ["office", "pie"]
    own = Measurement.read(out / "pie_network.flent.gz")
    assert own.title == "pie (network)"
    page = (out / "flent.html").read_text()
    for words in ("office", "pie (network)", "The ping is computed", "Throughput and ping in time"):
        assert words in page


def changed(**changes):
    content = json.loads(gzip.decompress(OFFICE.read_bytes())) | changes
    return gzip.compress(json.dumps(content).encode(), mtime=0)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"text", "must be gzip of JSON, as flent writes it"),
        (gzip.compress(b"text", mtime=0), "must be gzip of JSON, as flent writes it"),
        (OFFICE.read_bytes()[:200], "must be gzip of JSON, as flent writes it"),
        (gzip.compress(b"[]", mtime=0), "not as flent writes it"),
        (changed(metadata={}), "not as flent writes it: KeyError\\('TIME'\\)"),
        (changed(version=5), "version = 5 of flent's format must be one of 2, 3, 4"),
        (changed(x_values=[1.0]), r"results.Ping \(ms\) ICMP has 50 values and must have 1"),
        (changed(results={"Ping (ms) ICMP": ["x"] * 50}), "not as flent writes it: ValueError"),
        (
            changed(results={"TCP upload": [float("inf")] * 50}),
            "results.TCP upload has an infinite",
        ),
        (changed(x_values=[0.0] * 50), "x_values must be finite and increase"),
    ],
)
def test_files_that_are_no_measurements_are_refused(content, told, tmp_path):
    path = tmp_path / "wrong.flent.gz"
    path.write_bytes(content)
    with pytest.raises(SluiceError, match=f"wrong.flent.gz: {told}"):
        Measurement.read(path)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('kind = "tcp",', 'kind = "tcp", route = "reverse",', "flows.0 must lead from clients"),
        (
            "flows = [",
            'flows = [{ kind = "tcp", tcp = { packet_bytes = 500 } },',
            "tcp.packet_bytes must be one for all",
        ),
    ],
)
def test_scenarios_unlike_flents_test_are_refused(old, new, told, path, tmp_path, capsys):
    path.write_text(SCENARIO.replace(old, new, 1))
    assert main(["flent", str(path), "--out", str(tmp_path)]) == 1
    assert told in capsys.readouterr().err
