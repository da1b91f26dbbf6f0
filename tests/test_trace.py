"""Traces of ns-2: compared with the plain awk script; broken files."""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import sluicegate as sg
from sluicegate.cli import main
from sluicegate.trace import Trace
from sluicegate.trace.plots import throughput_figure

pytestmark = pytest.mark.slow


@pytest.fixture
def small(root):
    """Return a trace of ns-2: three TCP flows and one of UDP through a queue of 20 packets."""
    return root / "tests" / "data" / "ns2.tr"


def plainly(root, path):
    """Return the awk script's figures, by flow and by link."""
    if (awk := shutil.which("awk")) is None:
        pytest.skip("awk is missing")
    script = root / "bench" / "trace.awk"
    lines = subprocess.run([awk, "-f", script, path], capture_output=True, text=True, check=True)
    flows, links = {}, {}
    for line in lines.stdout.splitlines():
        what, *fields = line.split()
        if what == "flow":
            flows[tuple(fields[:4])] = [float(field) for field in fields[4:]]
        else:
            links[tuple(map(int, fields[:2]))] = [float(field) for field in fields[2:]]
    return flows, links


def test_figures_are_those_of_the_awk_script(root, small):
    trace = Trace.read(small)
    flows, links = plainly(root, small)
    assert len(flows) == trace.flows.height
    for row in trace.flows.iter_rows(named=True):
        key = (row["type"], str(row["id"]), row["source"], row["destination"])
        names = ("sent", "received", "lost", "throughput_bps", "delay_mean_s", "jitter_s")
        # the tolerance is for jitters that are only rounding errors
        found = [row[name] for name in names]
        np.testing.assert_allclose(found, flows[key], rtol=1e-8, atol=1e-12)
    assert len(links) == trace.links.height
    for row in trace.links.iter_rows(named=True):
        found = [row["arrivals"], row["drops"], row["queue_mean"]]
        np.testing.assert_allclose(found, links[row["from"], row["to"]], rtol=1e-8, atol=1e-12)
    assert trace.links["drops"].sum() > 0


def test_drawn_throughputs_have_the_same_bits_in_fewer_bins(small):
    trace = Trace.read(small)
    (ax,) = throughput_figure(trace, trace.heaviest(range(trace.flows.height))).axes
    busiest = np.argsort(-trace.flow_course.sum(axis=1), kind="stable")
    ends = np.minimum(np.arange(trace.flow_course.shape[1] + 1) * trace.bin_s, trace.end_s)
    for steps, k in zip(ax.patches, busiest, strict=False):
        values, edges, _ = steps.get_data()
        assert len(values) <= 80 < trace.flow_course.shape[1]
        megabits = trace.flow_course[k] @ np.diff(ends) / 1e6
        assert values @ np.diff(edges) == pytest.approx(megabits)


def test_series_add_up_to_the_totals(small):
    trace = Trace.read(small)
    bins = trace.flow_course.shape[1]
    lengths = np.full(bins, trace.bin_s)
    lengths[-1] = trace.end_s - (bins - 1) * trace.bin_s
    span = trace.end_s - trace.start_s
    np.testing.assert_allclose(
        (trace.link_course * lengths).sum(axis=1) / span, trace.links["queue_mean"], rtol=1e-9
    )
    assert trace.link_course.max() <= trace.links["queue_max"].max() * (1 + 1e-9)
    bits = (trace.flow_course * lengths).sum()
    with small.open() as lines:
        fields = [line.split() for line in lines]
    received = sum(8 * int(f[5]) for f in fields if f[0] == "r" and f[3] == f[9].split(".")[0])
    assert bits == pytest.approx(received, rel=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: "", " has no whole line: it must be a trace of ns-2"),
        (lambda text: text.replace("+ ", "x ", 1), ': line 1: field 1 (event) is "x" and must be'),
        (lambda text: text.replace(" 0 ", " -1 ", 1), ': line 1: field 2 (time) is "-1" and must'),
        (lambda text: text.replace(" tcp ", " ", 1), ": line 1: "),
        (lambda text: text + "+ 0 0 1 tcp 40\n", ": 6 of 12 fields"),
        (lambda text: text + text.splitlines()[0] + "\n", ": time goes back from "),
        (lambda text: "\x00\x01\x02\n", ': line 1: field 1 (event) is "'),
    ],
)
def test_files_that_are_no_traces_are_refused(small, tmp_path, change, message):
    path = tmp_path / "broken.tr"
    path.write_text(change(small.read_text()))
    with pytest.raises(sg.SluiceError) as caught:
        Trace.read(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


def test_a_capture_is_recognised_and_its_command_named(root, gateway, tmp_path):
    scenario = root / "scenarios" / "network" / "dumbbell.toml"
    recorded = tmp_path / "run.pcapng"
    words = ["simulate", str(scenario), "--aqm", "red", "--duration", "0.2", "--replications", "1"]
    assert main([*words, "--packets", str(recorded)]) == 0
    for path in (gateway, recorded):
        message = f"^{path} is a capture of packets, not a trace of ns-2: sluice fit {path} reads"
        with pytest.raises(sg.SluiceError, match=message):
            Trace.read(path)
    packed = tmp_path / "run.tr.gz"
    packed.write_bytes(gzip.compress(b"+ 0 0 1 tcp"))
    with pytest.raises(sg.SluiceError, match="is compressed: unpack it first"):
        Trace.read(packed)


@pytest.mark.parametrize("end", ["0", "0.01", "0.0102", "1"])
def test_a_trace_may_end_with_a_bin(tmp_path, end):
    path = tmp_path / "tiny.tr"
    packet = "0 1 cbr 500 ------- 0 0.0 1.0 0 0\n"
    path.write_text(f"+ 0 {packet}- 0 {packet}r {end} {packet}")
    trace = Trace.read(path)
    length = trace.bin_s if end == "0" else min(trace.bin_s, float(end))
    assert trace.flow_course.sum() == pytest.approx(4000 / length, rel=1e-6)


def test_a_trace_that_ends_within_a_line(small, tmp_path, capsys):
    path = tmp_path / "cut.tr"
    path.write_text(small.read_text()[:-7])
    assert Trace.read(path).lines == Trace.read(small).lines - 1
    assert main(["trace", str(path)]) == 0
    assert "the last line is cut off and does not count" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["trace", "fit"])
def test_ctrl_c_ends_the_reading_of_a_pipe_that_nobody_writes(command, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    words = [sys.executable, "-c", "import sys; from sluicegate.cli import main; sys.exit(main())"]
    process = subprocess.Popen([*words, command, pipe], stderr=subprocess.PIPE, text=True)
    while process.poll() is None:
        try:  # fails until the command reads
            writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            break
        except OSError:
            time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert "Traceback" not in process.communicate(timeout=100)[1]
    assert process.returncode == 130
    os.close(writer)


def test_the_command(small, tmp_path, capsys):
    out, page = tmp_path / "trace.json", tmp_path / "trace.html"
    assert main(["trace", str(small), "--json", str(out), "--html", str(page)]) == 0
    printed = capsys.readouterr().out
    assert "throughput" in printed
    assert "lines, from 0 to" in printed
    assert json.loads(out.read_text())["lines"] == Trace.read(small).lines
    assert page.read_text().count("<svg") == 4
    assert main(["trace", str(tmp_path / "missing.tr")]) == 1
    assert "cannot read" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--json", "--html"])
def test_a_full_disk_is_an_error_and_leaves_no_half_file(option, small, small_disk, capsys):
    disk, _ = small_disk
    with (disk / "filler").open("wb", buffering=0) as filler:
        filler.write(bytes(1 << 20))
    path = disk / "trace"
    assert main(["trace", str(small), option, str(path)]) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert "No space left on device" in said
    assert str(disk) in said
    assert [file.name for file in disk.iterdir()] == ["filler"]


def test_a_page_shows_the_heaviest_flows_and_a_file_all(tmp_path):
    """Three hundred flows of data, flow k with k packets, and one of ACKs."""
    path, page = tmp_path / "many.tr", tmp_path / "many.html"
    sent = [("tcp", flow) for flow in range(1, 301) for _ in range(flow % 50 + 1)]
    sent.append(("ack", 301))
    lines = []
    for number, (kind, flow) in enumerate(sent):
        packet = f"0 1 {kind} 500 ------- {flow} 0.{flow} 1.{flow} 0 {number}"
        at = number * 1e-3
        lines += [f"+ {at:.4f} {packet}", f"- {at:.4f} {packet}", f"r {at + 1e-4:.4f} {packet}"]
    path.write_text("\n".join(lines) + "\n")
    assert main(["trace", str(path), "--html", str(page)]) == 0
    html = page.read_text()
    assert html.count("<tr>") == 3 * 1 + 200 + 1 + 1
    assert "The first 200 of 300; all in many-flows.csv." in html
    assert "Flows of ACKs" in html
    rest = (tmp_path / "many-flows.csv").read_text().splitlines()
    assert len(rest) == 1 + 301
    found = Trace.read(path)
    most = found.heaviest(range(300))
    assert found.flows[most[0]]["received"][0] == 50
    assert found.flows[most[-1]]["received"][0] == 1
