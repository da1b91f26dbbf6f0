"""`like = "linux"`: the TCP of a Linux kernel, compared with measurements of the gate."""

import pytest

from sluicegate import network

RED = {"aqm": "red", "params": {"min_th": 10, "max_th": 30, "max_p": 0.1, "w": 0.002}}


def ten_flows(discipline=RED, seed=1, **tcp):
    return network.NetworkScenario.parse(
        {
            "topology": {
                "kind": "dumbbell",
                "rate_bps": 10e6,
                "delay_s": 0.018,
                "client_delays_s": [0.001],
                "server_delay_s": 0.001,
            },
            "flows": [
                {
                    "kind": "tcp",
                    "count": 10,
                    "spread_s": 1.0,
                    "tcp": {"packet_bytes": 1500, "ack_bytes": 52, **tcp},
                }
            ],
            "queue": {"limit": 100},
            "disciplines": [discipline],
            "duration_s": 60.0,
            "warm_up_s": 15.0,
            "replications": 4,
            "seed": seed,
        }
    )


# Losses (%) from docs/background/gate.md, "All cells": means of two runs of a kernel 6.18, which
# vary by 2 %, as do four of our runs. TCP by the RFCs, with the same recovery and times, is 8 %
# below with Reno and 6 to 9 % above with CUBIC.
@pytest.mark.parametrize(
    ("control", "aqm", "percent"),
    [
        ("reno", RED, 4.33),
        ("reno", {"aqm": "pie"}, 4.205),
        ("cubic", RED, 3.37),
        ("cubic", {"aqm": "pie"}, 3.215),
    ],
)
def test_losses_are_those_of_real_flows(control, aqm, percent):
    scenario = ten_flows(aqm, like="linux", congestion_control=control)
    record = network.simulate(scenario, threads=1)
    assert 100 * record["loss_ratio"].value == pytest.approx(percent, rel=0.03)


def same(first, second):
    one, two = (network.simulate(each, threads=1) for each in (first, second))
    return one["loss_ratio"].value == two["loss_ratio"].value


def test_the_default_recovery_is_rack():
    assert same(ten_flows(like="linux"), ten_flows(like="linux", variant="rack"))
    assert not same(ten_flows(like="linux"), ten_flows(like="linux", variant="sack"))
    assert same(ten_flows(), ten_flows(variant="newreno"))


def test_the_default_times_are_those_of_linux():
    given = ten_flows(like="linux", min_rto_s=0.2, delayed_ack_s=0.04)
    assert same(ten_flows(like="linux"), given)
