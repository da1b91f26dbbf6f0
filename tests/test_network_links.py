"""What links have of their own: disciplines, buffers."""

import pytest

import sluicegate as sg
from sluicegate import network

FQ_CODEL = sg.Discipline(aqm="codel", victim="front", scheduler=sg.Fq(), label="FQ-CoDel")


def home(**fields):
    """A home: the uplink stands before the downlink in the list, and both have a queue."""
    one_way = {"delay_s": 0.01, "queue": True, "both_ways": False}
    links = [
        network.Link(source="pc", sink="router", rate_bps=1e8, delay_s=0.001),
        network.Link(source="router", sink="isp", rate_bps=2e6, **one_way),
        network.Link(source="isp", sink="router", rate_bps=10e6, **one_way),
    ]
    return network.NetworkScenario(
        topology=network.Graph(links=links),
        flows=[
            network.TcpFlows(source="pc", sink="isp", count=2, spread_s=0.5),
            network.TcpFlows(source="isp", sink="pc", count=4, spread_s=0.5),
        ],
        **{
            "disciplines": [sg.Discipline(aqm="drop_tail")],
            "duration_s": 10.0,
            "replications": 2,
            **fields,
        },
    )


def lot(**fields):
    return network.NetworkScenario(
        topology=network.ParkingLot(hops=2, rate_bps=2e6),
        flows=[network.TcpFlows(count=4, spread_s=0.5), network.TcpFlows(count=2, route="cross")],
        **{
            "disciplines": [FQ_CODEL],
            "duration_s": 8.0,
            "replications": 2,
            **fields,
        },
    )


def test_a_home_has_an_aqm_in_each_direction():
    own = network.LinkSettings(discipline=FQ_CODEL, queue=sg.Queue(limit=100))
    scenario = home(links={"router -> isp": own})
    record = network.simulate(scenario)
    assert [(port.name, port.own_discipline) for port in record.ports] == [
        ("router -> isp", "FQ-CoDel"),
        ("isp -> router", None),
    ]
    # the record is of the queue with the compared discipline, although the other comes first
    assert record.queue_name == "isp -> router"
    assert record["queue_mean"].value == record.ports[1].measures["queue_mean"].value
    up, down = record.ports
    # drop-tail lets all wait that the senders' windows hold; CoDel does not
    alone = network.simulate(home())
    assert up.measures["sojourn_mean"].value < alone.ports[0].measures["sojourn_mean"].value / 3
    assert down.measures["sojourn_mean"].value > 0.05
    assert alone.identity != record.identity


def test_a_discipline_of_its_own_is_as_the_compared_one_to_the_bit():
    compared = network.simulate(lot())
    own = network.LinkSettings(discipline=FQ_CODEL)
    mixed = network.simulate(lot(links={"router1 -> router2": own}))
    assert mixed.ports[1].own_discipline == "FQ-CoDel"
    assert compared.flows.equals(mixed.flows)
    for one, other in zip(compared.ports, mixed.ports, strict=True):
        assert one.measures == other.measures
        assert one.series.equals(other.series)


def test_a_buffer_of_its_own_holds_for_the_compared_discipline():
    scenario = lot(
        disciplines=[sg.Discipline(aqm="drop_tail")],
        links={"router1 -> router2": network.LinkSettings(queue=sg.Queue(limit=7))},
    )
    first, second = network.simulate(scenario).ports
    assert len(first.queue_distribution) > 8
    assert len(second.queue_distribution) <= 8
    assert second.own_discipline is None


def test_a_python_class_may_be_a_links_own():
    class Short:
        def arrive(self, view):
            return sg.DROP_FORCED if view.queue_packets >= 3 else sg.ADMIT

    own = network.LinkSettings(discipline=sg.Discipline(aqm=Short))
    record = network.simulate(lot(duration_s=2.0, links={"router1 -> router2": own}))
    assert len(record.ports[1].queue_distribution) <= 4


def test_nothing_of_their_own_leaves_the_identity_as_it_was():
    scenario = lot()
    described = scenario.described(scenario.disciplines[0])
    assert "links" not in described
    own = network.LinkSettings(discipline=sg.Discipline(aqm="red", params={"max_p": 0.2}))
    first = scenario.replace(links={"router1 -> router2": own})
    other = first.replace(
        {"links.router1 -> router2.discipline.params": {"max_p": 0.3}},
    )
    one, two = (each.described(each.disciplines[0]) for each in (first, other))
    assert one["links"] != two["links"]
    assert one["links"]["router1 -> router2"]["aqm"]["params"]["max_p"] == 0.2


def test_a_record_with_own_disciplines_is_kept_and_read_again(tmp_path):
    scenario = lot(links={"router1 -> router2": network.LinkSettings(discipline=FQ_CODEL)})
    record = network.simulate(scenario)
    record.write(tmp_path / "it.zip")
    again = network.NetworkRecord.read(tmp_path / "it.zip")
    assert again.ports[1].own_discipline == "FQ-CoDel"


TOML = """
duration_s = 2
[topology]
kind = "dumbbell"
two_way = true
[[flows]]
kind = "tcp"
[[disciplines]]
aqm = "drop_tail"
"""


def refusal(tmp_path, text, topology=TOML):
    path = tmp_path / "links.toml"
    path.write_text(topology + text)
    with pytest.raises(sg.SluiceError) as raised:
        sg.load(path)
    return str(raised.value).removeprefix(f"{path}: ")


def test_links_that_cannot_have_it_are_refused(tmp_path):
    codel = '.discipline]\naqm = "codel"\n'
    assert refusal(tmp_path, '[links."left -> rigth"' + codel) == (
        'links."left -> rigth" is no link of the topology; did you mean left -> right?; there are '
        '"left -> right", "right -> left", "client0 -> left", "left -> client0", '
        '"right -> server0", "server0 -> right", "client1 -> left", "left -> client1" and 14 '
        "others"
    )
    assert refusal(tmp_path, '[links."client0 -> left"' + codel) == (
        'links."client0 -> left".discipline stands before no queue: this link has none; '
        '"left -> right", "right -> left" have one'
    )
    both = f'[links."left -> right"{codel}[links."right -> left"{codel}'
    assert refusal(tmp_path, both) == (
        "links: every link with a queue has a discipline of its own, so the compared disciplines "
        "stand nowhere; leave the discipline of one of them out"
    )
    assert "duplicate key" in refusal(tmp_path, f'[links."left -> right"{codel}' * 2)
    assert refusal(tmp_path, '[links."left -> right".discipline]\naqm = "coddle"\n').startswith(
        'links."left -> right".discipline: coddle is not an AQM'
    )
    assert refusal(tmp_path, '[links."left -> right"]\ndiscipine = 3\n') == (
        'links."left -> right".discipine is not a field (did you mean discipline?); there are '
        "discipline, queue, rate, wire"
    )
