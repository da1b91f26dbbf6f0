"""DualPI2 in the worlds: two lanes by the ECN codepoint, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

import sluicegate as sg
from sluicegate import network

LIMIT = 1000


def scenario(flows: list[dict[str, Any]], **changes: Any) -> network.NetworkScenario:
    """20 Mbit/s behind DualPI2, whose step of 3 ms is more than a packet."""
    discipline = {"aqm": "dualpi2", "params": {"step": 0.003}, "ecn": True}
    given = {
        "topology": {
            "kind": "graph",
            "links": [
                {"source": "a", "sink": "b", "rate_bps": 20e6, "delay_s": 0.01, "queue": True},
            ],
        },
        "queue": {"limit": LIMIT},
        "flows": [{"source": "a", "sink": "b", **each} for each in flows],
        "disciplines": [discipline],
        "duration_s": 30,
        "replications": 2,
        **changes,
    }
    return network.NetworkScenario.parse(given)


def tcp(label: str, *, l4s: bool, control: str) -> dict[str, Any]:
    tcp = {"congestion_control": control, "packet_bytes": 1500, "ecn": l4s}
    return {"kind": "tcp", "label": label, "count": 3, "ect1": l4s, "tcp": tcp}


def test_l4s_flows_wait_far_less_and_classic_ones_have_their_target() -> None:
    flows = [tcp("l4s", l4s=True, control="dctcp"), tcp("classic", l4s=False, control="reno")]
    record = network.simulate(scenario(flows))
    l4s, classic = (record[f"{name}.sojourn_mean"].value for name in ("l4s", "classic"))
    # a packet lasts 0.6 ms; the step is at 3 ms, the target at 15 ms
    assert l4s < 0.004
    assert 0.008 < classic < 0.03
    goodput = [record[f"{name}.goodput_bps"].value for name in ("l4s", "classic")]
    assert min(goodput) > 0.15 * sum(goodput)
    assert sum(goodput) > 0.85 * 20e6
    # only L4S packets can be marked, and only the others are lost
    assert record["l4s.mark_ratio"].value > 0.01
    assert record["l4s.loss_ratio"].value == 0
    assert record["classic.mark_ratio"].value == 0
    assert record["classic.loss_ratio"].value > 0.01


@pytest.mark.parametrize("ecn", [False, True])
def test_overload_drops_in_both_lanes_alike_and_keeps_the_lanes_apart(ecn: bool) -> None:
    """Datagrams at twice the link's rate in one lane, and a twentieth of the link in the other."""
    flood = {"kind": "datagrams", "label": "flood", "rate_bps": 40e6, "packet_bytes": 1500}
    call = {"kind": "datagrams", "label": "call", "rate_bps": 1e6, "packet_bytes": 500}
    flood |= {"ecn": ecn, "ect1": ecn}
    call |= {"ecn": not ecn, "ect1": not ecn, "gaps": "exponential"}
    record = network.simulate(scenario([flood, call]))
    flood_loss, call_loss = (record[f"{name}.loss_ratio"].value for name in ("flood", "call"))
    assert flood_loss == pytest.approx(1 - 20 / 41, abs=0.03)
    # L's packets are dropped with p^2 as those of C; C's share of 10 % is more than the call needs
    assert call_loss == pytest.approx(flood_loss, abs=0.05)
    assert record["call.sojourn_mean"].value < 0.005


def one_queue(**changes: Any) -> sg.Scenario:
    given = {
        "arrivals": sg.GeometricArrivals(rate=0.7),
        "service": sg.GeometricService(mu=0.5),
        "queue": sg.Queue(limit=200),
        "disciplines": [sg.Discipline(aqm="dualpi2", params={"mtu_bytes": 500}, ecn=True)],
        "slots": 200_000,
    }
    return sg.Scenario(**{**given, **changes})


def test_one_class_in_the_slotted_world_has_the_classic_lane() -> None:
    record = sg.simulate(one_queue())
    assert record["loss_ratio"].value == pytest.approx(2 / 7, abs=0.02)


@pytest.mark.parametrize(
    ("discipline", "limit", "message"),
    [
        (
            {"scheduler": {"kind": "drr"}, "ecn": True},
            100,
            r"disciplines\.0: scheduler\.kind = drr must be left out: dualpi2 has queues of",
        ),
        ({"ecn": True}, 1, r"limit = 1 must be at least 2, the number of queues of dualpi2"),
        ({}, 100, r"ecn must be true \(--aqm dualpi2:ecn=true\): dualpi2 marks, and would drop"),
        (
            {"ecn": True, "params": {"coupling": 0.5}},
            100,
            r"dualpi2\.coupling = 0\.5 must lie between 1 and 100",
        ),
    ],
)
def test_what_does_not_suit_it_is_refused(
    discipline: dict[str, Any], limit: int, message: str
) -> None:
    flows = [tcp("classic", l4s=False, control="reno")]
    with pytest.raises(sg.SluiceError, match=message):
        network.simulate(
            scenario(
                flows,
                disciplines=[{"aqm": "dualpi2", **discipline}],
                queue={"limit": limit},
                duration_s=1,
            )
        )


def test_it_has_no_exact_chain() -> None:
    with pytest.raises(sg.SluiceError, match="dualpi2 has no exact chain: it has several queues"):
        sg.compare(one_queue(queue=sg.Queue(limit=20), slots=10_000), world="chain")
