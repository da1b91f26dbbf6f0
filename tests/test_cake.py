"""CAKE in the worlds: its shaper, voice beside uploads, and what is refused."""

from __future__ import annotations

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
        ({"queues": 12}, r"cake\.queues = 12 must be a multiple of 8"),
        ({"rtt": 0.001}, r"cake\.rtt = 0\.001 must exceed cake\.target = 0\.005"),
        ({"diffserv": "diffserv5"}, r"cake\.diffserv"),
    ],
)
def test_what_does_not_suit_it_is_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(sg.SluiceError, match=message):
        network.simulate(scenario(params, duration_s=1))
