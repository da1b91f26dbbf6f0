"""The classes and the schema of scenarios: generated, checked, changed by paths."""

import copy
import dataclasses
import importlib.util
import json
import pickle
import tomllib

import jsonschema
import numpy as np
import pytest

import sluicegate as sg
from sluicegate import network, scenario


def test_the_committed_classes_are_those_of_the_schema(root):
    path = root / "engine" / "scenario" / "classes.py"
    spec = importlib.util.spec_from_file_location("classes", path)
    classes = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(classes)
    for name, text in classes.files().items():
        committed = (root / "sluicegate" / "scenario" / name).read_text()
        assert committed == text, f"{name} is not current: make generated"


def slotted(**changed):
    fields = {
        "slots": 100_000,
        "arrivals": sg.GeometricArrivals(rate=0.5),
        "service": sg.GeometricService(mu=0.5),
        "disciplines": [sg.Discipline(aqm="red", params={"w": 0.07})],
    }
    return sg.Scenario(**{**fields, **changed})


def test_load_takes_scenarios_of_both_worlds(root):
    assert isinstance(sg.load(root / "scenarios" / "light.toml"), sg.Scenario)
    loaded = sg.load(root / "scenarios" / "network" / "dumbbell.toml", {"seed": 7, "title": "x"})
    assert isinstance(loaded, network.NetworkScenario)
    assert (loaded.seed, loaded.title) == (7, "x")


def test_a_table_has_every_field_as_the_engine_takes_it():
    queue = sg.Queue(limit=np.int64(7))
    assert (queue.limit, type(queue.limit)) == (7, int)
    made = slotted(slots=1e5, disciplines=[{"aqm": "red"}])
    assert made.slots == 100_000
    assert type(made.slots) is int
    assert made.disciplines == (sg.Discipline(aqm="red"),)
    assert network.Dumbbell(client_delays_s=[0, 1]).client_delays_s == (0.0, 1.0)


def test_tables_are_equal_by_their_fields_and_do_not_change():
    assert sg.Queue() == sg.Queue(limit=250)
    assert sg.Queue() != sg.Queue(limit=251)
    with pytest.raises(dataclasses.FrozenInstanceError):
        sg.Queue().limit = 3
    assert {sg.Sfq(), sg.Sfq(queues=1024)} == {sg.Sfq()}
    made = slotted()
    assert made == copy.deepcopy(made) == pickle.loads(pickle.dumps(made))


def test_a_table_is_written_as_a_file_has_it():
    given = sg.Discipline(aqm="red", params={"w": 0.07}, scheduler=sg.Sfq(queues=8))
    assert given.table() == {
        "aqm": "red",
        "params": {"w": 0.07},
        "label": "",
        "scheduler": {"kind": "sfq", "queues": 8, "perturbation_s": 0.0},
        "classes": [],
    }
    made = slotted()
    assert sg.Scenario.parse(made.table()) == made


def test_fields_are_replaced_by_name_and_by_path():
    made = slotted()
    changed = made.replace({"queue.limit": 50, "disciplines.0.params.w": 0.1}, seed=3)
    assert (changed.queue.limit, changed.disciplines[0].params, changed.seed) == (50, {"w": 0.1}, 3)
    assert (made.queue.limit, made.disciplines[0].params, made.seed) == (250, {"w": 0.07}, 1)
    assert changed.disciplines[0].name == "red w=0.1"
    assert made.replace(arrivals=sg.FgnArrivals(rate=0.5, deviation=0.1, hurst=0.8)).arrivals.frame


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"queue.limit": 0}, "queue.limit = 0 must be at least 1 (packets)"),
        ({"queue.limits": 1}, "queue.limits: there is no limits; did you mean limit?"),
        (
            {"disciplines.1.label": "x"},
            "disciplines.1.label: there is no 1; there are 1, counted from 0",
        ),
        ({"disciplines.0.params.w": 2}, "disciplines.0: red.w = 2 must lie between 0 and 1"),
        ({"slot_s": None, "slots": None}, "slots is missing: say how long a replication lasts"),
        ({"title.x": 1}, "title.x: there is no x"),
    ],
)
def test_a_bad_change_is_refused_with_its_path(changes, reason):
    with pytest.raises(sg.SluiceError) as told:
        slotted().replace(changes)
    assert str(told.value) == reason


class Recursive(list):
    """A list that holds itself."""

    def __init__(self):
        self.append(self)


class NoAqm:
    """A class that cannot decide."""


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: sg.Queue(limit=0), "limit = 0 must be at least 1 (packets)"),
        (lambda: sg.Queue(limit=float("nan")), "limit = nan must be a whole number"),
        (lambda: sg.Queue(limit=10**400), "limit = a far too large number must be at most 100000"),
        (lambda: sg.Queue(limit=-(10**400)), "limit = a far too large number must be at least 1"),
        (lambda: sg.Queue(limit=None), "limit = None must be a whole number"),
        (lambda: sg.Queue(ecn=1), "ecn = 1 must be true or false"),
        (lambda: sg.Queue(victim=b"tail"), "victim = b'tail' must be one of 'tail', 'front' or"),
        (lambda: sg.Sfq(perturbation_s=float("inf")), "perturbation_s = inf must be at most 1e+06"),
        (lambda: slotted(disciplines=Recursive()), "must be a table"),
        (lambda: slotted(queue=3), "queue = 3 must be a table"),
        (lambda: slotted(queue=sg.Sfq()), "queue.kind is not a field"),
        (
            lambda: sg.Discipline(aqm=NoAqm),
            "aqm = NoAqm must be a class with a method arrive(view)",
        ),
        (lambda: sg.Discipline(aqm="red", params={1: 2}), "red.1: no such parameter"),
        (lambda: scenario.Link(source="a", sink="b", rate_bps="x", delay_s=0), "rate_bps = 'x'"),
    ],
)
def test_values_that_make_no_table_are_refused(make, reason):
    with pytest.raises(sg.SluiceError) as told:
        make()
    assert reason in str(told.value)


def test_a_network_has_its_nodes_routes_pairs_links_and_notes():
    made = network.NetworkScenario(
        topology=network.Star(delays_s=[0.01, 0.02, 0.03]),
        flows=[network.TcpFlows(count=3), network.DatagramFlows(rate_bps=1e5, route="outward")],
        queue=sg.Queue(ecn=True),
        disciplines=[sg.Discipline(aqm="red")],
        duration_s=10,
    )
    assert made.topology.nodes == ["hub", "host0", "host1", "host2"]
    assert list(made.topology.routes) == ["inward", "outward"]
    assert made.pairs() == [
        [("host1", "host0"), ("host2", "host0")],
        [("host0", "host1"), ("host0", "host2")],
    ]
    first = made.topology.simplex_links[0]
    assert (first.source, first.sink, first.queue, first.delay_s) == ("hub", "host0", True, 0.01)
    assert made.warm_up == 5.0
    assert made.notes() == [
        "Nothing can be marked (red): no flow has tcp = { ecn = true }.",
        "red: for 10 Mb/s and packets of 500 bytes, w = 0.002 (default) would be 0.0004: "
        "--aqm red:w=0.0004",
    ]


# --- the published schema


@pytest.fixture(scope="module")
def validator(root):
    text = (root / "docs" / "reference" / "scenario.schema.json").read_text()
    schema = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def files(root):
    return sorted((root / "scenarios").rglob("*.toml"))


def test_every_scenario_file_matches_the_schema(root, validator):
    assert len(files(root)) >= 14
    for path in files(root):
        validator.validate(tomllib.loads(path.read_text()))


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("light.toml", {"slots": 999}),
        ("light.toml", {"slotz": 5}),
        ("light.toml", {"queue": {"victim": "head"}}),
        ("light.toml", {"arrivals": {"kind": "geometric", "rate": 1.5}}),
        ("light.toml", {"arrivals": {"kind": "poisson"}}),
        ("light.toml", {"disciplines": [{"aqm": "red", "params": {"w": 2}}]}),
        ("light.toml", {"disciplines": [{"aqm": "red", "params": {"q_ref": 2}}]}),
        ("light.toml", {"disciplines": [{"aqm": "indigo"}]}),
        ("network/dumbbell.toml", {"flows": [{"kind": "tcp", "count": 0}]}),
        ("network/dumbbell.toml", {"flows": [{"kind": "tcp", "way": "forward"}]}),
        ("network/dumbbell.toml", {"topology": {"kind": "dumbbell", "rate_bps": 1.5}}),
        ("network/dumbbell.toml", {"slots": 1000}),
    ],
)
def test_the_schema_refuses_what_the_engine_refuses(file, change, root, validator):
    path = root / "scenarios" / file
    table = tomllib.loads(path.read_text()) | change
    assert not validator.is_valid(table)
    with pytest.raises(sg.SluiceError):
        sg.load(path, change)


def test_functions_take_the_path_of_a_scenario(root):
    light = root / "scenarios" / "light.toml"
    red = sg.Discipline(aqm="red")
    short = sg.load(light, {"slots": 1000, "disciplines": [{"aqm": "red"}]})
    with pytest.raises(sg.SluiceError, match="several disciplines"):
        sg.simulate(str(light))
    assert sg.simulate(short).discipline == "red"
    dumbbell = root / "scenarios" / "network" / "dumbbell.toml"
    words = "is a NetworkScenario and must be a Scenario: sluicegate.network.simulate takes it"
    with pytest.raises(sg.SluiceError) as told:
        sg.simulate(dumbbell, red)
    assert str(told.value) == f"{dumbbell} {words}"
    with pytest.raises(sg.SluiceError) as told:
        sg.network.simulate(str(light), red)
    assert str(told.value) == (
        f"{light} is a Scenario and must be a NetworkScenario: sluicegate.simulate takes it"
    )
    with pytest.raises(sg.SluiceError) as told:
        sg.simulate(sg.load(dumbbell), red)
    assert str(told.value) == f"the scenario {words}"
    with pytest.raises(sg.SluiceError, match=r"^nowhere\.toml: No such file"):
        sg.compare("nowhere.toml")


def test_a_comparison_takes_a_path(tmp_path):
    path = tmp_path / "short.toml"
    path.write_text(
        'slots = 1000\narrivals = { kind = "geometric", rate = 0.5 }\n'
        'service = { kind = "geometric", mu = 0.5 }\ndisciplines = [{ aqm = "red" }]\n'
    )
    (of_path,), (of_text,) = sg.compare(path).records, sg.compare(str(path)).records
    assert of_path.measures == of_text.measures == sg.simulate(path).measures


def test_an_unknown_aqm_is_refused_at_once():
    with pytest.raises(sg.SluiceError, match=r"^reed is not an AQM \(did you mean red\?\); there"):
        sg.Discipline(aqm="reed")


def test_changes_of_a_copy_are_checked(root):
    """An earlier way to copy accepted these changes without a check."""
    network = sg.load(root / "scenarios" / "network" / "dumbbell.toml")
    for changes, reason in [
        ({"duration_s": -5}, "duration_s = -5 must be at least 2e-09 (s)"),
        ({"duration": 5}, "duration: there is no duration; did you mean duration_s?"),
        ({"flows.0.cout": 5}, "flows.0.cout: there is no cout; did you mean count?"),
    ]:
        with pytest.raises(sg.SluiceError) as told:
            network.replace(changes)
        assert str(told.value) == reason
        with pytest.raises((sg.SluiceError, TypeError)):
            dataclasses.replace(network, **changes)


def test_the_aqms_are_shown_as_a_short_table():
    shown = repr(sg.aqms()).splitlines()
    assert len(shown) == len(sg.aqms())
    assert shown[1].split("  ")[0] == "red"
    assert max(map(len, shown)) < 140
