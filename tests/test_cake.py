"""CAKE in the worlds: its shaper, voice beside uploads, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sluicegate as sg
from sluicegate import network

LINK_BPS, RATE_BPS = 20e6, 15e6
UPLOADS = {
    "kind": "tcp",
    "label": "uploads",
    "count": 4,
    "tcp": {"congestion_control": "cubic", "packet_bytes": 1500},
}
VOICE = {
    "kind": "datagrams",
    "label": "voice",
    "dscp": 46,
    "rate_bps": 100e3,
    "packet_bytes": 200,
}


def scenario(params: dict[str, Any], **changes: Any) -> network.NetworkScenario:
    discipline = {"aqm": "cake", "victim": "front", "ecn": True, "params": params}
    given = {
        "topology": {
            "kind": "graph",
            "links": [
                {"source": "a", "sink": "b", "rate_bps": LINK_BPS, "delay_s": 0.01, "queue": True},
            ],
        },
        "queue": {"limit": 1000},
        "flows": [{"source": "a", "sink": "b", **each} for each in (UPLOADS, VOICE)],
        "disciplines": [discipline],
        "duration_s": 20,
        "replications": 2,
        **changes,
    }
    return network.NetworkScenario.parse(given)


def test_it_shapes_and_voice_waits_for_a_packet_or_two() -> None:
    record = network.simulate(scenario({"rate_bps": RATE_BPS}))
    goodput = sum(record[f"{label}.goodput_bps"].value for label in ("uploads", "voice"))
    assert 0.97 * RATE_BPS < goodput < 1.005 * RATE_BPS
    assert record["voice.loss_ratio"].value == 0
    # a packet of 1500 bytes takes 0.8 ms of the shaper's time
    assert record["voice.sojourn_mean"].value < 0.002
    # COBALT holds each upload
    assert record["uploads.sojourn_mean"].value < 0.04


def test_without_a_rate_the_link_sets_the_pace() -> None:
    record = network.simulate(scenario({"diffserv": "besteffort"}))
    goodput = sum(record[f"{label}.goodput_bps"].value for label in ("uploads", "voice"))
    # what waited when the measurement began counts, too
    assert 0.97 * LINK_BPS < goodput < 1.005 * LINK_BPS
    assert record["voice.sojourn_mean"].value < 0.003


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"rate_bps": 999}, r"cake\.rate_bps = 999 must be 0 or at least 1000"),
        ({"queues": 12}, r"cake\.queues = 12 must be a multiple of 8"),
        ({"rtt": 0.001}, r"cake\.rtt = 0\.001 must exceed cake\.target = 0\.005"),
        ({"diffserv": "diffserv5"}, r"cake\.diffserv"),
    ],
)
def test_what_does_not_suit_it_is_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(sg.SluiceError, match=message):
        network.simulate(scenario(params, duration_s=1))


def home(ack_filter: str) -> Any:
    """A download of 50 Mbit/s and an upload; CAKE on the uplink of 1 Mbit/s filters ACKs."""
    one_way = {"queue": True, "both_ways": False, "delay_s": 0.01}
    tcp = {"kind": "tcp", "tcp": {"like": "linux", "packet_bytes": 1500}}
    params = {"rate_bps": 1e6, "ack_filter": ack_filter}
    return network.simulate(
        network.NetworkScenario.parse(
            {
                "topology": {
                    "kind": "graph",
                    "links": [
                        {"source": "home", "sink": "isp", "rate_bps": 2e6, **one_way},
                        {"source": "isp", "sink": "home", "rate_bps": 50e6, **one_way},
                    ],
                },
                "links": {"isp -> home": {"discipline": {"aqm": "drop_tail", "ecn": False}}},
                "flows": [
                    {**tcp, "label": "down", "source": "isp", "sink": "home", "count": 2},
                    {**tcp, "label": "up", "source": "home", "sink": "isp"},
                ],
                "queue": {"limit": 1000, "victim": "front", "ecn": True},
                "disciplines": [{"aqm": "cake", "params": params}],
                "duration_s": 12.0,
                "warm_up_s": 4.0,
                "replications": 2,
            }
        )
    )


def test_a_trace_changes_nothing_where_the_ack_of_a_syn_is_sent_twice(tmp_path: Path) -> None:
    """It is no ACK that a filter removes, nor one that removes others, as in Linux."""
    one_way = {"queue": True, "both_ways": False, "delay_s": 0.02}
    tcp = {"like": "linux", "packet_bytes": 1500, "initial_rto_s": 0.05}
    given = network.NetworkScenario.parse(
        {
            "topology": {
                "kind": "graph",
                "links": [
                    {"source": "home", "sink": "isp", "rate_bps": 64e3, **one_way},
                    {"source": "isp", "sink": "home", "rate_bps": 10e6, **one_way},
                ],
            },
            "links": {"isp -> home": {"discipline": {"aqm": "drop_tail", "ecn": False}}},
            "flows": [{"kind": "tcp", "source": "isp", "sink": "home", "count": 60, "tcp": tcp}],
            "queue": {"limit": 1000, "victim": "front", "ecn": True},
            "disciplines": [
                {"aqm": "cake", "params": {"rate_bps": 64e3, "ack_filter": "aggressive"}}
            ],
            "duration_s": 10.0,
            "replications": 1,
        }
    )
    plain = network.simulate(given, fresh=True)
    traced = network.simulate(given, packets=tmp_path / "run.tr", fresh=True)
    assert plain["forced_loss_ratio"].value > 0.01
    assert plain.measures == traced.measures


def test_the_ack_filter_leaves_an_upload_the_uplink() -> None:
    found = {name: home(name) for name in ("off", "on", "aggressive")}
    ups = {name: record["up.goodput_bps"].value for name, record in found.items()}
    # 50 Mbit/s are 2083 ACKs of 40 bytes in a second, two thirds of the uplink
    assert ups["off"] < 0.4e6
    assert 0.7e6 < ups["on"] < ups["aggressive"]
    losses = {name: record["up.loss_ratio"].value for name, record in found.items()}
    # of ACKs only: the upload, which has more room, loses less
    assert max(losses["on"], losses["aggressive"]) < 0.5 * losses["off"]
    for name, record in found.items():
        assert record["down.goodput_bps"].value > 49.5e6
        assert (record["forced_loss_ratio"].value > 0.5) == (name != "off")
