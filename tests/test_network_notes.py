"""Notes on a network's scenario whose AQMs have parameters for another link."""

import pytest

import sluicegate as sg
from sluicegate import network
from sluicegate.cli import main, syntax
from sluicegate.worlds.network.notes import slow_packets


def notes(aqm, rate_bps=50e6, packet_bytes=1500, limit=250, beside=(), **params):
    scenario = network.NetworkScenario(
        topology=network.Dumbbell(rate_bps=rate_bps),
        flows=[network.TcpFlows(tcp=network.Tcp(packet_bytes=packet_bytes)), *beside],
        queue=sg.Queue(limit=limit),
        disciplines=[sg.Discipline(aqm=aqm, params=params, label="it")],
        duration_s=1.0,
    )
    return scenario.notes()


# at 50 Mb/s C = 50e6 / 8 / 1500 = 4166.7 packets/s; Floyd et al. 2001: min_th = C 0.005 / 2 = 10.4
FIFTY = "it: for 50 Mb/s and packets of 1500 bytes, "


@pytest.mark.parametrize(
    ("aqm", "params", "note"),
    [
        (
            "red",
            {},
            "min_th = 5 (default) would be 10.4, max_th = 15 (default) would be 31.3, "
            "w = 0.002 (default) would be 0.00024, "
            "mean_packet_bytes = 500 (default) would be 1500: "
            "--aqm red:min_th=10.4,max_th=31.3,w=0.00024,mean_packet_bytes=1500",
        ),
        (
            "red",
            {"min_th": 50, "max_th": 150, "mean_packet_bytes": 600},
            "mean_packet_bytes = 600 would be 1500: "
            "--aqm red:min_th=50,max_th=150,mean_packet_bytes=1500",
        ),
        (
            "ared",
            {"thresholds": "automatic", "mean_packet_bytes": 1500},
            "capacity = 2500 (default) would be 4170: "
            "--aqm ared:thresholds=automatic,mean_packet_bytes=1500,capacity=4170",
        ),
        (
            "pi",
            {"coefficients": "designed", "capacity": 10_000},
            "capacity = 10000 would be 4170: --aqm pi:coefficients=designed,capacity=4170",
        ),
        (
            "lred",
            {"unit": "bytes"},
            "mean_packet_bytes = 500 (default) would be 1500: "
            "--aqm lred:unit=bytes,mean_packet_bytes=1500",
        ),
    ],
)
def test_parameters_that_suit_another_link_are_noted(aqm, params, note):
    assert notes(aqm, **params) == [FIFTY + note]
    # the discipline to paste suits the link
    pasted = syntax.discipline(note.rpartition("--aqm ")[2])
    assert notes(pasted["aqm"], **pasted["params"]) == []


def test_parameters_that_suit_the_link_are_not_noted():
    for aqm, params in (
        ("drop_tail", {}),
        ("codel", {}),
        ("lred", {}),
        ("pie", {}),
        ("red", {"min_th": 5, "max_th": 15, "mean_packet_bytes": 1500}),
        ("ared", {"thresholds": "automatic", "capacity": 4000, "mean_packet_bytes": 1500}),
    ):
        assert notes(aqm, **params) == [], aqm
    assert notes("red", rate_bps=10e6, packet_bytes=500, w=0.0004) == []


def test_the_mean_packet_is_that_of_all_packets_and_not_of_a_small_flow():
    # 62.5 packets/s of 200 bytes, and 4158 of 1500 that take the rest: on average 1480.7
    call = network.DatagramFlows(rate_bps=1e5, gaps="constant", packet_bytes=200)
    fits = {"min_th": 50, "max_th": 150, "w": 0.00024}
    assert notes("red", beside=[call], mean_packet_bytes=1500, **fits) == []
    (note,) = notes("red", beside=[call], mean_packet_bytes=200, **fits)
    assert note.startswith("it: for 50 Mb/s and packets of 1480 bytes, mean_packet_bytes = 200 ")


def test_gains_of_another_loop_and_queues_beyond_the_buffer_are_noted():
    assert notes("pi", rate_bps=400e6) == [
        "it: a and b (default) were designed for 3750 packets/s, not 33300 packets/s: "
        "coefficients = designed follows the link."
    ]
    assert notes("lred", limit=100) == [
        "it: q_ref = 100 must be below queue.limit = 100 to have an effect (packets)."
    ]


def test_a_link_that_is_no_bottleneck_is_noted():
    scenario = network.NetworkScenario(
        topology=network.Dumbbell(rate_bps=1e9, access_rate_bps=1e6, client_delays_s=[0.01]),
        flows=[network.TcpFlows(count=4)],
        disciplines=[sg.Discipline(aqm="drop_tail")],
        duration_s=4.0,
        replications=1,
    )
    told = (
        "left -> right is 0.1 % busy at most: it is no bottleneck; it has 1000 Mb/s, and links "
        "without the discipline have 1 Mb/s."
    )
    assert sg.compare(scenario).notes() == [told]
    busy = scenario.replace({"topology.access_rate_bps": 1e9, "topology.rate_bps": 1e6})
    assert sg.compare(busy).notes() == []


def test_a_narrow_terminal_does_not_break_the_text_to_paste(root, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    scenario = str(root / "scenarios" / "network" / "dumbbell.toml")
    assert main(["simulate", scenario, "--aqm", "pie", "--duration", "1"]) == 0
    assert " --aqm pie:mean_packet_bytes=500\n" in capsys.readouterr().err


def bulk(**changes):
    scenario = network.NetworkScenario(
        topology=network.Dumbbell(rate_bps=5e6, client_delays_s=[0.01]),
        flows=[network.TcpFlows(count=2)],
        disciplines=[sg.Discipline(aqm="drop_tail")],
        duration_s=2.0,
        replications=2,
    )
    return scenario.replace(changes)


def test_a_packet_that_takes_a_good_part_of_the_run_is_noted():
    told = sg.compare(bulk(**{"topology.rate_bps": 20.0})).notes()
    assert (
        "left -> right has 20 bits/s: a packet of 500 bytes takes 200 s there, and the run lasts "
        "2 s; did you mean 20M?"
    ) in told
    assert not any("did you mean" in note for note in sg.compare(bulk()).notes())


def test_replications_without_anything_random_are_noted(capsys):
    same = (
        "All replications of drop_tail gave the same run: nothing in it is random. spread_s lets "
        "flows start at different times."
    )
    found = sg.compare(bulk())
    assert same in found.notes()
    assert found.records[0].method.endswith("; packets of 500 bytes")
    spread = bulk(flows=[network.TcpFlows(count=2, spread_s=0.5)])
    assert same not in sg.compare(spread).notes()


def test_goodput_above_what_the_link_sent_is_noted():
    # 250 packets are 0.2 s; in slow start many are lost, and those behind them wait for seconds
    filled = bulk(queue=sg.Queue(limit=250), duration_s=4.0, replications=1)
    found = sg.compare(filled)
    assert found.records[0]["goodput"].value > 1.2 * found.records[0]["throughput"].value
    (note,) = found.notes()
    assert note.startswith("The goodput of drop_tail is above what the link sent in this time: ")
    assert sg.compare(filled.replace(warm_up_s=0.0)).notes() == []


def test_a_link_whose_rate_varies_is_not_called_slow():
    slow = bulk(**{"topology.rate_bps": 20.0})
    steps = network.Steps(steps=[network.RateStep(time_s=0.0, rate_bps=5e6)])
    fast = slow.replace(links={"left -> right": network.LinkSettings(rate=steps)})
    assert len(slow_packets(slow)) == 1
    assert slow_packets(fast) == []
