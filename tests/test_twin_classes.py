"""Qdiscs of Linux with classes or levels, in the words of `tc`: what the world `twin` lays."""

import pytest
from test_twin import with_discipline

from sluicegate.errors import SluiceError
from sluicegate.worlds import Twin
from sluicegate.worlds.kernel.plan import lab_plan
from sluicegate.worlds.twin.classes import qdisc

VOICE, REST = {"dscp": [46]}, {"aqm": "codel"}
LEVELS = {"w": 2**-9, "others": 2}


def lines(**discipline):
    found = qdisc(*with_discipline(**discipline))
    return [found.words, *(line.format(link="servers") for line in found.more)]


def test_each_class_is_a_band_with_a_qdisc_of_its_own():
    l4s = {"dscp": [10, 12], "ecn": ["ect1", "ce"], "aqm": "pie"}
    below = [
        "qdisc add dev servers parent 10:1 handle 11: pfifo limit 60",
        "qdisc add dev servers parent 10:2 handle 12: pie limit 60 target 15000us tupdate 15000us "
        "alpha 2 beta 20 nobytemode dq_rate_estimator noecn",
        "qdisc add dev servers parent 10:3 handle 13: codel limit 60 target 5000us interval "
        "100000us noecn",
        *(
            f"filter add dev servers parent 10: protocol ip prio {band} u32 match ip tos {match} "
            f"flowid 10:{band}"
            for band, match in [
                (1, "0xb8 0xfc"),
                (2, "0x29 0xff"),
                (2, "0x2b 0xff"),
                (2, "0x31 0xff"),
                (2, "0x33 0xff"),
            ]
        ),
    ]
    rest = f"priomap {' '.join(['2'] * 16)}"
    of = {"aqm": "drop_tail", "scheduler": "prio", "classes": [VOICE, l4s, REST]}
    assert lines(**of) == [f"prio bands 3 {rest}", *below]
    turns = [VOICE, {**l4s, "quantum_bytes": 3000}, {**REST, "quantum_bytes": 700}]
    of = {"aqm": "drop_tail", "scheduler": "ets", "classes": turns}
    assert lines(**of) == [f"ets bands 3 strict 1 quanta 3000 700 {rest}", *below]


@pytest.mark.parametrize(
    ("scheduler", "classes", "words"),
    [
        # tc has no prio with one band
        ("prio", [{}], "prio bands 2"),
        ("ets", [{}], "ets bands 1 strict 1 priomap"),
        ("ets", [{"quantum_bytes": 1500}], "ets bands 1 strict 0 quanta 1500 priomap"),
    ],
)
def test_a_single_class_is_the_first_band(scheduler, classes, words):
    told = lines(aqm="drop_tail", scheduler=scheduler, classes=classes)
    assert told[0].startswith(words)
    assert told[0].endswith("priomap " + " ".join(["0"] * 16))
    assert told[1:] == ["qdisc add dev servers parent 10:1 handle 11: pfifo limit 60"]


@pytest.mark.parametrize(
    ("aqm", "ecn", "mode", "priorities"),
    [
        ("gred", False, "limit 90000", ["", "", ""]),
        ("rio", False, "grio limit 90000", [" prio 1", " prio 2", " prio 3"]),
        ("wred", True, "grio limit 90000 ecn harddrop", [" prio 1", " prio 1", " prio 1"]),
    ],
)
def test_levels_are_queues_of_gred(aqm, ecn, mode, priorities):
    least = [40, 10 if aqm == "rio" else 25, 10]
    told = lines(aqm=aqm, params=LEVELS, ecn=ecn)
    assert told[0] == f"gred setup vqs 4 default 2 {mode}"
    for level, line in enumerate(told[1:4], start=1):
        of = f"vq {level}{priorities[level - 1]} limit 90000 min {1500 * least[level - 1]} max "
        assert line.startswith(f"qdisc change dev servers parent 1: handle 10: gred {of}")
    assert told[4] == "qdisc add dev servers clsact"
    # AF11 to AF43: a level each
    found = {line.partition("ip u32 ")[2] for line in told[5:]}
    assert found == {
        f"match ip tos {(8 * group + 2 * level) << 2:#x} 0xfc flowid :{level}"
        for group in range(1, 5)
        for level in (1, 2, 3)
    }


@pytest.mark.parametrize(
    ("discipline", "told"),
    [
        (
            {"aqm": "lred", "scheduler": "prio", "classes": [{**VOICE, "aqm": "codel"}, {}]},
            r"^classes\.1: aqm = lred has no twin in Linux",
        ),
        ({"aqm": "gred", "victim": "front"}, r"victim = front must be tail, as in Linux's gred"),
        ({"aqm": "gred", "params": {"w": 0.7}}, r"w = 0\.7 must be a power of 1/2"),
        (
            {"aqm": "wred", "params": {**LEVELS, "max_th_2": 5000}},
            r"max_th_2 = 5000 with w = 0\.00195312 is too large for Linux",
        ),
    ],
)
def test_what_linux_has_not_is_told(discipline, told):
    asked, own = with_discipline(**discipline)
    with pytest.raises(SluiceError, match=told):
        qdisc(asked, own)
    assert list(Twin().against(asked, own))


def test_the_lines_follow_the_qdisc_of_each_link():
    asked, own = with_discipline(aqm="drop_tail", scheduler="prio", classes=[VOICE, {}])
    layer = Twin().layer(asked, own)(1)
    assert layer.modules == ["cls_u32", "sch_prio"]
    laid = [" ".join(words) for words in lab_plan(asked, own, 0, layer, None).job.router.before]
    place = laid.index(f"tc qdisc add dev servers parent 1: handle 10: {layer.words}")
    assert laid[place + 1] == "tc qdisc add dev servers parent 10:1 handle 11: pfifo limit 60"


def test_cake_counts_packets_from_the_ip_header_on_in_the_laboratory():
    """The link takes off the Ethernet header before; cake takes it off whatever was counted."""
    asked, own = with_discipline(aqm="cake", victim="front", ecn=True)
    assert " overhead 14 mpu 0 " in Twin().layer(asked, own)(1).words
