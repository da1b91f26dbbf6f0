"""Counts by class of flows: sums, closed forms, a trace of the same run, names."""

import re

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from intervals import assert_covers

import sluicegate as sg
from sluicegate import network
from sluicegate.cli import main
from sluicegate.errors import SluiceError
from sluicegate.measures import DEFINITIONS, check_classes, check_name
from sluicegate.worlds.real.outcome import Period

pytestmark = pytest.mark.slow

CALL = """
duration_s = 3
replications = 3
topology = { kind = "dumbbell", rate_bps = "5M", client_delays_s = ["10ms"] }
flows = [
  { kind = "tcp", label = "bulk", count = 2, spread_s = 0.5 },
  { kind = "datagrams", label = "calls", rate_bps = "100k", packet_bytes = 200 },
  { kind = "web", count = 4, objects = { kind = "geometric", mean_packets = 8 }, think = { kind = "exponential", mean_s = 0.2 } },
]
disciplines = [{ aqm = "drop_tail" }]
"""  # noqa: E501
LINK = {"source": "a", "sink": "b", "rate_bps": 1e6, "delay_s": 0.001, "queue": True}
PACKET_S = 8 * 500 / 1e6


def one_link(*flows, aqm="drop_tail", duration_s=10.0, **fields):
    return network.NetworkScenario.parse(
        {
            "topology": {"kind": "graph", "links": [LINK]},
            "flows": list(flows),
            "disciplines": [{"aqm": aqm}],
            "duration_s": duration_s,
            **fields,
        }
    )


def poisson(load, **fields):
    ends = {"kind": "datagrams", "source": "a", "sink": "b"}
    return {**ends, "rate_bps": load * 1e6, "gaps": "exponential", **fields}


def test_each_class_of_poisson_traffic_waits_as_pollaczek_and_khinchine_say():
    load = 0.7
    flows = [poisson(0.2, label="one"), poisson(0.5, label="other")]
    record = network.simulate(
        one_link(*flows, queue={"limit": 10_000}, duration_s=400.0, replications=8)
    )
    mean = load / (2 * (1 - load)) * PACKET_S
    for name, share in (("one", 0.2), ("other", 0.5)):
        # arrivals of a Poisson process see what the mean over time sees, those of each class too
        assert_covers(record[f"{name}.sojourn_mean"], mean, within=0.05)
        assert_covers(record[f"{name}.delay_mean"], mean + PACKET_S, within=0.05)
        # Little's law
        assert_covers(record[f"{name}.queue_mean"], share / PACKET_S * mean, within=0.06)
        assert_covers(record[f"{name}.one_way_delay_mean"], mean + PACKET_S + 0.001, within=0.05)
        # a Poisson stream finds the link busy as often as it is busy
        assert_covers(record[f"{name}.waited_ratio"], load, within=0.02)
        assert record[f"{name}.delay_variation_p50"].value < record[f"{name}.delay_p50"].value


def test_a_class_of_datagrams_has_what_is_told_of_datagrams():
    record = network.simulate(network.NetworkScenario.parse(TABLE))
    for mine, theirs in (
        ("calls.loss_ratio", "datagram_loss_ratio"),
        ("calls.delay_p50", "datagram_delay_p50"),
        ("calls.delay_p99", "datagram_delay_p99"),
        ("calls.goodput", "datagram_goodput"),
    ):
        assert record[mine].value == record[theirs].value
    assert "calls.completion_mean" not in record.measures
    assert "calls.timeout_rate" not in record.measures
    assert "bulk.completion_mean" not in record.measures
    assert "bulk.missing_ratio" not in record.measures


TABLE = {
    "duration_s": 3.0,
    "replications": 2,
    "topology": {"kind": "dumbbell", "rate_bps": 2e6, "client_delays_s": [0.01]},
    "flows": [
        {"kind": "tcp", "label": "bulk", "count": 2},
        {"kind": "datagrams", "label": "calls", "rate_bps": 1e5, "packet_bytes": 200},
        {
            "kind": "short-tcp",
            "label": "short",
            "gaps": {"kind": "exponential", "mean_s": 0.1},
            "packets": {"kind": "pareto", "mean_packets": 12, "shape": 1.5},
        },
    ],
    "queue": {"limit": 60},
    "disciplines": [{"aqm": "red"}],
}


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    labels=st.lists(st.sampled_from(["x", "y", "z"]), min_size=3, max_size=3),
    seed=st.integers(1, 10**6),
    aqm=st.sampled_from(["red", "drop_tail", "codel"]),
)
def test_classes_add_up_to_all(labels, seed, aqm):
    flows = [{**each, "label": label} for each, label in zip(TABLE["flows"], labels, strict=True)]
    changes = {"flows": flows, "seed": seed, "replications": 1, "disciplines": [{"aqm": aqm}]}
    record = network.simulate(network.NetworkScenario.parse(TABLE | changes))

    def total(name, weight=None):
        known = [each for each in set(labels) if f"{each}.{name}" in record.measures]
        weights = [record[f"{each}.{weight}"].value if weight else 1.0 for each in known]
        values = [record[f"{each}.{name}"].value for each in known]
        return float(np.dot(values, weights)) / (sum(weights) if weight else 1.0)

    for name in ("throughput", "throughput_bps", "queue_mean"):
        assert total(name) == pytest.approx(record[name].value, rel=1e-9)
    for name in ("sojourn_mean", "delay_mean"):
        assert total(name, "throughput") == pytest.approx(record[name].value, rel=1e-9)
    goodput = record["goodput"].value + record["datagram_goodput"].value
    assert total("goodput") == pytest.approx(goodput, rel=1e-9)
    assert total("retransmission_rate") == pytest.approx(record["retransmission_rate"].value)


def test_one_group_with_a_label_has_the_measures_of_all():
    changes = {"flows": TABLE["flows"][:1]}
    record = network.simulate(network.NetworkScenario.parse(TABLE | changes))
    unlabelled = {k: v for k, v in TABLE["flows"][0].items() if k != "label"}
    plain = network.simulate(network.NetworkScenario.parse(TABLE | {"flows": [unlabelled]}))
    assert not [name for name in plain.measures if name.startswith("flows-0.")]
    for name, measure in plain.measures.items():
        assert record[name] == measure
        if name.startswith(("queue_", "sojourn", "delay", "loss", "throughput", "mark")):
            assert record[f"bulk.{name}"].value == measure.value


def test_jitter_and_delays_are_those_of_a_trace_of_the_same_run(tmp_path):
    flows = [poisson(0.5, label="noise"), poisson(0.3, label="calls", gaps="constant")]
    scenario = one_link(*flows, replications=1, duration_s=5.0, warm_up_s=0.0)
    record = network.simulate(scenario, packets=tmp_path / "run.tr")
    rows = [line.split() for line in (tmp_path / "run.tr").read_text().splitlines()]
    flow_of_calls = "1"
    sent, came = {}, {}
    for event, time, *rest in rows:
        flow, packet = rest[5], rest[9]
        if flow == flow_of_calls and event in "+r":
            (sent if event == "+" else came)[int(packet)] = float(time)
    order = sorted(came, key=came.get)
    delays = np.array([came[packet] - sent[packet] for packet in order])
    jitter, values = 0.0, []
    for difference in np.abs(np.diff(delays)):
        jitter += (difference - jitter) / 16
        values.append(jitter)
    assert len(delays) > 300
    assert record["calls.jitter"].value == pytest.approx(np.mean(values), rel=1e-4)
    assert record["calls.one_way_delay_mean"].value == pytest.approx(delays.mean(), rel=1e-5)
    variation = np.quantile(delays, 0.99, method="inverted_cdf") - delays.min()
    assert record["calls.delay_variation_p99"].value == pytest.approx(variation, rel=1e-3)


def test_a_fifo_keeps_the_order_and_other_salts_of_sfq_do_not():
    flows = [poisson(0.9, label="calls", count=1), poisson(0.5, label="others", count=4)]
    plain = one_link(*flows, replications=2, queue={"limit": 60})
    assert network.simulate(plain)["calls.reordered_ratio"].value == 0
    scheduler = {"kind": "sfq", "queues": 8, "perturbation_s": 0.05}
    salted = plain.replace({"disciplines": [{"aqm": "drop_tail", "scheduler": scheduler}]})
    record = network.simulate(salted)
    assert record["calls.reordered_ratio"].value > 0.001
    # what is late is not missing: only the queue loses packets
    lost = record["calls.loss_ratio"].value
    assert record["calls.missing_ratio"].value == pytest.approx(lost, abs=0.02)


def test_a_transfer_alone_takes_its_ideal_time():
    # 4 packets at once: 4 ms each, there and back 2 ms, and an ACK of 40 bytes
    tcp = {"initial_window": 4, "delayed_ack_s": 0.0}
    flow = {"kind": "tcp", "source": "a", "sink": "b", "label": "one", "packets": 4, "tcp": tcp}
    scenario = one_link(flow, duration_s=2.0, warm_up_s=0.0, replications=1)
    record = network.simulate(scenario)
    completion_s = record.flows["completion_s"].item()
    # in the bins of the histogram
    assert record["one.completion_mean"].value == pytest.approx(completion_s, rel=1e-9)
    by_hand_s = 4 * PACKET_S + 0.002 + 320e-6
    # nanoseconds are whole
    assert completion_s == pytest.approx(by_hand_s, abs=2e-9)
    assert record["one.slowdown_mean"].value == 1.0
    assert record["one.finished"].value == 1
    assert record["one.finished_bytes"].value == 2000


def test_every_measure_of_a_class_has_a_definition():
    record = network.simulate(network.NetworkScenario.parse(TABLE))
    assert all(name in DEFINITIONS for name in record.measures)
    assert DEFINITIONS["calls.delay_p99"].heading == "p99 delay, calls"
    columns = set(record.replications.columns)
    assert columns == set(record.measures)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("calls.delay_p9", "did you mean calls.delay_p99?"),
        ("one_way_delay_p99", "write the class before it, as in calls.one_way_delay_p99"),
        ("calls.utilization", "is no measure of a class"),
    ],
)
def test_names_get_hints(name, told):
    with pytest.raises(SluiceError, match=re.escape(told)):
        check_name(name, "--measures")


def test_a_class_that_is_not_there_gets_a_hint():
    check_name("cals.delay_p99", "--measures")
    with pytest.raises(SluiceError, match="no class is called cals; did you mean calls"):
        check_classes(["cals.delay_p99"], ["bulk", "calls"], "--measures")
    with pytest.raises(SluiceError, match="one with a label"):
        check_classes(["cals.delay_p99"], [], "--measures")


@pytest.mark.parametrize(
    ("label", "told"),
    [("two words", "letters, digits, - and _"), ("flows-3", "without a label"), ("", "label")],
)
def test_labels_that_make_no_names_are_refused(label, told):
    flows = [{**TABLE["flows"][0], "label": label}]
    with pytest.raises(SluiceError, match=told):
        network.NetworkScenario.parse(TABLE | {"flows": flows})


def test_a_command_takes_measures_of_classes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "call.toml").write_text(CALL)
    words = ["compare", "call.toml", "--no-report", "--measures"]
    assert main([*words, "calls.delay_p99,flows-2.slowdown_mean"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "p99 delay, calls" in printed
    assert "slowdown, flows-2" in printed
    assert main([*words, "call.delay_p99"]) == 2
    assert "did you mean calls? there are bulk, calls, flows-2" in capsys.readouterr().err


def test_sweeps_keep_measures_of_classes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "call.toml").write_text(CALL)
    words = ["sweep", "call.toml", "--vary", "queue.limit=20,80", "--replications", "2"]
    words += ["--out", "out", "--no-report", "--figure", "picture.svg", "--y", "calls.delay_p99"]
    assert main(words) == 0
    assert "p99 delay, calls" in " ".join(capsys.readouterr().out.split())
    assert "p99 delay, calls (ms)" in (tmp_path / "picture.svg").read_text()
    means = sg.Sweep("out").means(measures=["calls.delay_p99", "bulk.goodput_bps"])
    assert means["calls.delay_p99"].null_count() == 0
    assert main([*words[:-1], "cals.delay_p99"]) == 1
    assert "no class is called cals; did you mean calls?" in capsys.readouterr().err


def test_a_record_keeps_its_classes(tmp_path):
    record = network.simulate(network.NetworkScenario.parse(TABLE))
    record.write(tmp_path / "record")
    again = network.NetworkRecord.read(tmp_path / "record")
    assert again.measures == record.measures
    assert again.class_distributions.equals(record.class_distributions)
    shares = record.class_distributions.group_by("class", "distribution").agg(
        pl.col("probability").sum()
    )
    assert shares["probability"].to_numpy() == pytest.approx(1)


def test_what_is_not_counted_is_unknown(monkeypatch):
    scenario = network.NetworkScenario.parse(TABLE)
    # as a router's
    monkeypatch.setattr("sluicegate.worlds.network.classes.counted", lambda *_: {})
    record = network.simulate(scenario, fresh=True)
    assert not [name for name in record.measures if name.startswith("calls.")]
    with pytest.raises(SluiceError, match=r"calls.delay_p99 is unknown: counting by class"):
        record["calls.delay_p99"]
    assert Period.classes == ()
