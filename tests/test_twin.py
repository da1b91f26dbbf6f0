"""Qdiscs of Linux with one queue or flow queues, in the words of `tc`: what `twin` lays."""

import pytest
from test_kernel_world import scenario

from sluicegate.errors import SluiceError
from sluicegate.worlds.twin.qdisc import twin


def with_discipline(aqm, scheduler=None, **changes):
    discipline = {
        "aqm": aqm,
        **({"scheduler": {"kind": scheduler}} if scheduler else {}),
        **changes,
    }
    found = scenario(disciplines=[discipline])
    return found, found.disciplines[0]


RED = {"min_th": 20, "max_th": 60, "max_p": 0.1, "w": 0.002}


@pytest.mark.parametrize(
    ("discipline", "words"),
    [
        ({"aqm": "drop_tail"}, "pfifo limit 60"),
        ({"aqm": "drop_tail", "victim": "front"}, "pfifo_head_drop limit 60"),
        (
            {"aqm": "red", "params": RED},
            "red limit 90000 min 30000 max 90000 avpkt 1500 burst 106 bandwidth 10000kbit "
            "probability 0.1",
        ),
        (
            {"aqm": "red", "params": RED, "ecn": True},
            "red limit 90000 min 30000 max 90000 avpkt 1500 burst 106 bandwidth 10000kbit "
            "probability 0.1 ecn harddrop",
        ),
        (
            {"aqm": "pie"},
            "pie limit 60 target 15000us tupdate 15000us alpha 2 beta 20 nobytemode "
            "dq_rate_estimator noecn",
        ),
        (
            {"aqm": "pie", "params": {"delay": "timestamps"}, "ecn": True},
            "pie limit 60 target 15000us tupdate 15000us alpha 2 beta 20 nobytemode "
            "no_dq_rate_estimator ecn",
        ),
        (
            {
                "aqm": "pie",
                "params": {"delay": "timestamps", "like": "linux"},
                "scheduler": "fq",
            },
            "fq_pie limit 60 flows 1024 target 15000us tupdate 15000us quantum 1514 ecn_prob 10 "
            "alpha 2 beta 20 nobytemode no_dq_rate_estimator noecn",
        ),
        (
            {
                "aqm": "cake",
                "victim": "front",
                "params": {
                    "rate_bps": 8e6,
                    "isolation": "dual_srchost",
                    "framing": "ptm",
                    "ack_filter": "aggressive",
                },
            },
            "cake bandwidth 8000000bit diffserv3 dual-srchost rtt 100000us overhead 0 mpu 0 ptm "
            "ack-filter-aggressive nonat nowash no-split-gso memlimit 245760 egress",
        ),
        (
            {"aqm": "sfb", "ecn": True},
            "sfb rehash 600000 db 60000 limit 60 max 25 target 20 increment 0.00100708 "
            "decrement 0.00016785 penalty_rate 10 penalty_burst 20",
        ),
        ({"aqm": "codel"}, "codel limit 60 target 5000us interval 100000us noecn"),
        (
            {"aqm": "codel", "scheduler": "fq", "victim": "front"},
            "fq_codel limit 60 flows 1024 quantum 1514 target 5000us interval 100000us noecn",
        ),
        (
            {"aqm": "codel", "params": {"ce_threshold": 0.001}, "ecn": True},
            "codel limit 60 target 5000us interval 100000us ce_threshold 1000us ecn",
        ),
        # without marks there is no threshold of ours, but there would be one of Linux's
        (
            {"aqm": "codel", "params": {"ce_threshold": 0.001}},
            "codel limit 60 target 5000us interval 100000us noecn",
        ),
        (
            {
                "aqm": "codel",
                "params": {"ce_threshold": 0.001, "ce_selector": 1, "ce_mask": 3},
                "scheduler": "fq",
                "victim": "front",
                "ecn": True,
            },
            "fq_codel limit 60 flows 1024 quantum 1514 target 5000us interval 100000us "
            "ce_threshold 1000us ce_threshold_selector 0x1/0x3 ecn",
        ),
        (
            {"aqm": "step", "params": {"not_ect": "pass"}, "scheduler": "fq", "ecn": True},
            "fq limit 60 flow_limit 60 quantum 1514 initial_quantum 1514 nopacing "
            "ce_threshold 1000us",
        ),
        (
            {"aqm": "drop_tail", "scheduler": "sfq"},
            "sfq limit 60 depth 60 divisor 1024 quantum 1500 perturb 0",
        ),
        (
            {"aqm": "choke", "params": RED},
            "choke limit 60 min 20 max 60 avpkt 1500 burst 106 bandwidth 10000kbit probability 0.1",
        ),
    ],
)
def test_a_twin_has_the_same_parameters(discipline, words):
    assert twin(*with_discipline(**discipline)) == words


@pytest.mark.parametrize(
    ("aqm", "params"), [("codel", {}), ("pie", {"delay": "timestamps", "like": "linux"})]
)
def test_long_flow_queues_have_the_memory_for_their_limit(aqm, params):
    asked, discipline = with_discipline(aqm=aqm, scheduler="fq", victim="front", params=params)
    words = twin(asked.replace({"queue.limit": 10_000}), discipline)
    assert " memory_limit 40960000" in words


def test_linux_has_no_room_for_every_limit():
    asked, discipline = with_discipline(aqm="drop_tail", scheduler="sfq")
    assert twin(asked.replace({"queue.limit": 127}), discipline).startswith("sfq limit 127 depth")
    with pytest.raises(SluiceError, match=r"queue\.limit = 128 must be at most 127: a flow in"):
        twin(asked.replace({"queue.limit": 128}), discipline)
    # w is 2^-9: 2796 packets of 1500 bytes are the most below 2^22
    for max_th, has_room in ((2796, True), (2797, False)):
        asked, discipline = with_discipline(aqm="red", params={**RED, "max_th": max_th})
        if has_room:
            assert f"max {max_th * 1500}" in twin(asked, discipline)
        else:
            with pytest.raises(SluiceError, match=rf"max_th = {max_th} with w = 0\.002 is too"):
                twin(asked, discipline)


@pytest.mark.parametrize(
    ("discipline", "told"),
    [
        ({"aqm": "blue"}, "blue has no twin in Linux: drop_tail, red"),
        ({"aqm": "red", "victim": "front"}, "victim = front must be tail"),
        ({"aqm": "drop_tail", "victim": "random"}, "victim = random must be tail or front"),
        ({"aqm": "pie", "scheduler": "fq"}, "pie.like = rfc must be linux"),
        ({"aqm": "pie", "scheduler": "drr"}, "pie with scheduler drr has no twin"),
        ({"aqm": "cake"}, "victim = tail must be front, as in Linux's cake"),
        (
            {"aqm": "cake", "victim": "front", "params": {"target": 0.01}},
            "cake.target = 0.01 must be rtt / 20 = 0.005: tc sets it",
        ),
        ({"aqm": "gentle_red"}, "gentle_red has no twin"),
        (
            {"aqm": "choke", "params": {**RED, "max_th": 61}},
            "choke.max_th = 61 must be at most queue.limit = 60: tc takes no other",
        ),
        (
            {"aqm": "codel", "params": {"ce_threshold": 0.001, "ce_mask": 3}},
            "codel.ce_mask must be 0: Linux's codel has no selector",
        ),
        ({"aqm": "step", "scheduler": "fq"}, "step.not_ect = drop must be pass, as in Linux"),
        ({"aqm": "step", "params": {"not_ect": "pass"}}, "step with scheduler fifo has no twin"),
        ({"aqm": "red", "params": {"drop_function": "gentle"}}, "red.drop_function = gentle must"),
        ({"aqm": "red", "params": {"w": 1}}, "w = 1 must be a power of 1/2, as in Linux: 0.5"),
    ],
)
def test_what_has_no_twin_is_told(discipline, told):
    with pytest.raises(SluiceError, match=told):
        twin(*with_discipline(**discipline))
