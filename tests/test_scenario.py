"""Scenarios: from TOML to objects."""

import copy
import json
import tomllib
from collections import Counter
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sluicegate as sg
from sluicegate.scenario import network

TABLE = {
    "title": "A scenario",
    "slots": 1e5,
    "arrivals": {"kind": "geometric", "rate": 0.5},
    "service": {"kind": "geometric", "mu": 0.5},
    "queue": {"limit": 100, "victim": "tail", "ecn": False},
    "disciplines": [{"aqm": "red", "params": {"w": 0.07}}, {"aqm": "drop_tail", "label": "none"}],
}


def scenario(**changes):
    return sg.Scenario.parse(TABLE | changes)


def test_floats_that_are_whole_count_as_whole_numbers():
    assert scenario(slots=1e7).slots == 10_000_000


def test_a_number_may_have_its_unit_behind_it(root):
    with_units = """
        duration_s = "500ms"
        topology = { kind = "dumbbell", rate_bps = "20Mbit/s", client_delays_s = ["70ms", 0.3] }
        flows = [{ kind = "tcp" }]
        disciplines = [{ aqm = "codel", params = { target = "7ms", interval = 0.1 } }]
    """
    plain = with_units.replace('"500ms"', "0.5").replace('"20Mbit/s"', "20e6")
    plain = plain.replace('"70ms"', "0.07").replace('"7ms"', "0.007")
    found, expected = (
        network.NetworkScenario.parse(tomllib.loads(text)) for text in (with_units, plain)
    )
    assert found.topology == expected.topology
    (discipline,), (same,) = found.disciplines, expected.disciplines
    assert found.described(discipline) == expected.described(same)
    schema = json.loads((root / "docs" / "reference" / "scenario.schema.json").read_text())
    jsonschema.validate(tomllib.loads(with_units), schema)
    for wrong in ("20Mb", "20ms", "M"):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(tomllib.loads(with_units.replace("20Mbit/s", wrong)), schema)


def test_a_discipline_is_named_by_its_label_or_by_what_was_given():
    disciplines = [
        {"aqm": "red", "label": "mine"},
        {"aqm": "red"},
        {"aqm": "red", "params": {"w": 0.07, "max_p": 0.2}},
        {"aqm": "red", "victim": "front", "ecn": True},
    ]
    names = [discipline.name for discipline in scenario(disciplines=disciplines).disciplines]
    assert names == ["mine", "red", "red w=0.07, max_p=0.2", "red drop from front, ECN"]


def test_replications_default_to_eight_and_to_one_for_a_capture(gateway):
    replay = {"kind": "replay", "capture": str(gateway)}
    assert scenario().runs == 8
    assert scenario(replications=3).runs == 3
    assert scenario(arrivals=replay, slot_s=1e-3, slots=None).runs == 1


def test_a_replay_lasts_as_long_as_its_capture_by_default(gateway):
    replay = {"kind": "replay", "capture": str(gateway)}
    whole = scenario(arrivals=replay, slot_s=1e-3, slots=None)
    assert whole.duration_slots == int(whole.arrivals.packets.duration_s * 1000) + 1
    assert scenario(arrivals=replay, slot_s=1e-3, slots=5000).duration_slots == 5000


def test_a_replay_has_every_packet_however_slots_are_rounded(write_pcap, tmp_path):
    path = tmp_path / "tenths.pcap"
    write_pcap(path, [(100 * k, 100) for k in range(40)])
    replay = {"kind": "replay", "capture": str(path)}
    # in floating point 0.3 / 0.1 is less than 3
    whole = scenario(arrivals=replay, slot_s=0.1, slots=None)
    assert whole.duration_slots == 40
    np.testing.assert_array_equal(whole.capture_slots, np.arange(40))


def test_paths_in_a_file_start_at_the_files_folder(tmp_path, gateway, monkeypatch):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "traffic.pcap").symlink_to(gateway)
    (folder / "scenario.toml").write_text(
        "slot_s = 1e-3\n"
        'arrivals = { kind = "replay", capture = "traffic.pcap" }\n'
        'service = { kind = "packet-size", rate_bps = 2e6 }\n'
        'disciplines = [{ aqm = "red" }]\n'
    )
    monkeypatch.chdir(tmp_path)
    assert sg.Scenario.load("mine/scenario.toml").arrivals.packets.packets == 12_500


def test_a_file_may_start_with_a_byte_order_mark(tmp_path, root):
    path = tmp_path / "marked.toml"
    text = (root / "scenarios" / "light.toml").read_text()
    path.write_text(text, encoding="utf-8-sig")
    assert sg.Scenario.load(path).slots == sg.Scenario.load(root / "scenarios" / "light.toml").slots


def test_parsing_does_not_change_the_table():
    table = copy.deepcopy(TABLE)
    sg.Scenario.parse(table, Path("elsewhere"))
    assert table == TABLE


def test_the_self_similar_source_has_the_mean_that_was_asked_for():
    arrivals = sg.SelfSimilarArrivals(rate=0.3, a=12.0, states=4)
    assert arrivals.modulator().mean == pytest.approx(0.3, rel=1e-9)


def test_every_scenario_of_the_repository_can_be_run(root):
    files = sorted((root / "scenarios").glob("*.toml"))
    assert len(files) >= 4
    for path in files:
        loaded = sg.Scenario.load(path)
        assert loaded.title
        assert len(loaded.disciplines) >= 2
        short = loaded.replace(slots=2000, replications=1)
        for discipline in loaded.disciplines:
            record = sg.simulate(short, discipline)
            assert 0 < record["utilization"].value <= 1, (path, discipline)


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(1, 1000),
    st.floats(),
    st.floats(0, 1),
    st.text(max_size=5),
    st.just([]),
    st.just({}),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.sampled_from(["kind", "aqm", "rate", "name", "self"]), st.floats()),
)
PLACES = [
    ("slots",),
    ("seed",),
    ("slot_s",),
    ("title",),
    ("arrivals",),
    ("arrivals", "kind"),
    ("arrivals", "rate"),
    ("service", "mu"),
    ("queue",),
    ("queue", "limit"),
    ("queue", "victim"),
    ("disciplines",),
    ("disciplines", 0),
    ("disciplines", 0, "aqm"),
    ("disciplines", 0, "params"),
    ("disciplines", 0, "params", "w"),
    ("disciplines", 0, "params", "name"),
    ("disciplines", 1, "label"),
    ("unheard_of",),
]


def test_any_scenario_is_accepted_or_refused_with_a_message():
    seen = Counter()

    @settings(max_examples=400)
    @given(st.sampled_from(PLACES), ODD)
    def parse(place, value):
        table = copy.deepcopy(TABLE)
        *way, last = place
        part = table
        for step in way:
            part = part[step]
        part[last] = value
        told = None
        try:
            sg.Scenario.parse(table)
        except sg.SluiceError as error:
            told = str(error)
        assert told is None or str(way[0] if way else last) in told, told
        seen["refused" if told else "accepted"] += 1

    parse()
    assert seen["accepted"] >= 10, seen
    assert seen["refused"] >= 100, seen
