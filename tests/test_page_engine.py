"""The engine for pages gives the same counts as the native one: in Node, and in a browser."""

import json
import math
import shutil
import subprocess
from functools import cache

import devtools
import pytest

from sluicegate import _engine
from sluicegate.page import MODULE, page
from sluicegate.registry import aqms
from sluicegate.scenario import NetworkScenario, Scenario
from sluicegate.toml import toml

NO_MODULE = "" if MODULE.exists() else "needs the engine for pages: make page"
NODE = shutil.which("node")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(NO_MODULE), reason=NO_MODULE),
]
in_node = pytest.mark.skipif(NODE is None, reason="needs Node (Debian, Ubuntu: nodejs)")
in_browser = pytest.mark.skipif(bool(devtools.MISSING), reason=devtools.MISSING)

DUMBBELL = {
    "duration_s": 6,
    "warm_up_s": 2,
    "replications": 1,
    "seed": 7,
    "topology": {
        "kind": "dumbbell",
        "rate_bps": 10e6,
        "delay_s": 0.018,
        "client_delays_s": [0.001, 0.02],
    },
    "flows": [{"kind": "tcp", "count": 12, "spread_s": 1.0, "tcp": {"variant": "sack"}}],
    "queue": {"limit": 60},
    "windows": True,
}
SLOTTED = {
    "slots": 60_000,
    "replications": 1,
    "seed": 7,
    "arrivals": {"kind": "self-similar", "rate": 0.5, "a": 31},
    "service": {"kind": "geometric", "mu": 0.5},
    "queue": {"limit": 60},
}
LINUX = {"like": "linux", "congestion_control": "cubic", "packet_bytes": 1500}
EXPONENTIAL = {"kind": "exponential", "mean_s": 0.05}
PARETO = {"kind": "pareto", "mean_s": 0.05, "shape": 1.5}
SIZES = {"kind": "pareto", "mean_packets": 20, "shape": 1.3}
NOISE = {"deviation": 0.3, "hurst": 0.8, "frame_s": 0.01}
# what draws from distributions, or has floating point of its own
FLOWS = {
    "linux": [{"kind": "tcp", "count": 5, "tcp": LINUX}],
    "bbr": [{"kind": "tcp", "count": 5, "tcp": {**LINUX, "congestion_control": "bbr"}}],
    "prague": [
        {"kind": "tcp", "count": 5, "tcp": {**LINUX, "congestion_control": "prague", "ecn": True}}
    ],
    "ledbat": [{"kind": "tcp", "count": 5, "tcp": {"congestion_control": "ledbat"}}],
    "cubic": [{"kind": "tcp", "count": 5, "tcp": {"congestion_control": "cubic"}}],
    "dctcp": [{"kind": "tcp", "count": 5, "tcp": {"congestion_control": "dctcp", "ecn": True}}],
    "tahoe": [{"kind": "tcp", "count": 5, "tcp": {"variant": "tahoe", "like": "ns2"}}],
    "datagrams": [
        {"kind": "datagrams", "rate_bps": 2e6, "gaps": "exponential"},
        {"kind": "datagrams", "rate_bps": 1e6, "gaps": "exponential", "fgn": NOISE},
        {"kind": "datagrams", "rate_bps": 9e6, "on": PARETO, "off": EXPONENTIAL},
    ],
    "calls": [
        {"kind": "call", "count": 2, "max_rate_bps": 4e6, "ecn": True, "ect1": True},
        {"kind": "call", "spread_s": 1.0},
    ],
    "web": [{"kind": "web", "count": 3, "objects": SIZES, "think": EXPONENTIAL}],
    "video": [{"kind": "video", "rates_bps": [1e6, 2e6, 4e6], "segment_s": 0.5}],
    "short": [
        {"kind": "short-tcp", "gaps": EXPONENTIAL, "packets": SIZES},
        {
            "kind": "short-tcp",
            "gaps": EXPONENTIAL,
            "packets": {"kind": "geometric", "mean_packets": 9},
        },
    ],
}


def cases():
    """The name and the table of each case."""
    for name, aqm in aqms().items():
        for kind, base in (("network", DUMBBELL), ("slotted", SLOTTED)):
            row = {"aqm": name, "ecn": aqm.coupled}
            yield f"{kind} {name}", {**base, "disciplines": [row]}
    for name, flows in FLOWS.items():
        yield name, {**DUMBBELL, "flows": flows, "disciplines": [{"aqm": "pie"}]}
    for scheduler in ("sfq", "drr", "fq"):
        row = {"aqm": "codel", "scheduler": {"kind": scheduler}, "victim": "front"}
        yield scheduler, {**DUMBBELL, "disciplines": [row]}
    arrivals = {
        "geometric": {"kind": "geometric", "rate": 0.45},
        "fgn": {"kind": "fgn", "rate": 0.4, "deviation": 0.2, "hurst": 0.8},
    }
    for name, source in arrivals.items():
        yield name, {**SLOTTED, "arrivals": source, "disciplines": [{"aqm": "red"}]}


CASES = dict(cases())


def parsed(table):
    kind = NetworkScenario if "topology" in table else Scenario
    return kind.parse(table)


def native(table):
    scenario = parsed(table)
    handles = scenario.handle, scenario.disciplines[0].handle
    if "topology" in table:
        (run,) = _engine.simulate_network(*handles, 1, None)
        return run
    return _engine.simulate(*handles, 1, None, None)


def differences(found, meant, where=""):
    """Where a record of the page differs from the native counts, which have its names."""
    if hasattr(meant, "tolist"):
        meant = meant.tolist()
    if isinstance(found, dict):
        return [
            each
            for name, value in found.items()
            for each in differences(value, getattr(meant, name), f"{where}.{name}")
        ]
    if isinstance(found, list):
        pairs = zip(found, meant, strict=False)
        rows = [differences(*pair, f"{where}.{k}") for k, pair in enumerate(pairs)]
        lengths = [f"{where}: {len(found)} and {len(meant)}"] if len(found) != len(meant) else []
        return [each for row in rows for each in row] + lengths
    if found is None:
        return [] if math.isnan(meant) else [f"{where}: none and {meant}"]
    # sums are texts, as they may have more digits than a number of JSON
    same = int(found) == meant if isinstance(found, str) else found == meant
    return [] if same else [f"{where}: {found} and {meant}"]


def case(table):
    steps = [0, 0.3, 0.3, 1.7, 4] if "topology" in table else [0, 1, 777, 778, 40_000]
    return {"toml": toml(parsed(table).table()), "steps": steps}


@cache
def of_node():
    """The records of all cases, from one process."""
    lines = "\n".join(json.dumps(case(table)) for table in CASES.values())
    command = [str(NODE), "tests/page_engine.js", "sluicegate/page/engine.js", str(MODULE)]
    told = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    return dict(zip(CASES, map(json.loads, told.stdout.splitlines()), strict=True))


@in_node
@pytest.mark.parametrize("name", CASES)
def test_node_gives_the_native_counts(name):
    assert differences(of_node()[name], native(CASES[name])) == []


@in_node
def test_the_comparison_sees_a_difference():
    found, meant = of_node()["network red"], native(CASES["network red"])
    found = json.loads(json.dumps(found))
    found["periods"][1]["ports"][0]["arrivals"] += 1
    found["ports"][0]["queue"].append(0)
    wrong = differences(found, meant)
    assert [each.partition(":")[0] for each in wrong] == [
        ".periods.1.ports.0.arrivals",
        ".ports.0.queue",
    ]
    other = native({**CASES["network red"], "seed": 8})
    assert len(differences(of_node()["network red"], other)) > 100


@in_browser
def test_a_browser_gives_the_native_counts(tmp_path):
    path = tmp_path / "any.toml"
    path.write_text(case(CASES["network red"])["toml"])
    made = tmp_path / "any.html"
    made.write_text(page(path))
    with devtools.browser(tmp_path) as shown:
        shown.open(made.as_uri())
        shown.wait("about")
        queue, *_, goodput = json.loads(shown.js("JSON.stringify(sides[0].levels)"))
        values = _engine.aqm_class("red").configure({}).values
        assert queue == [{"name": name, "at": values[name]} for name in ("min_th", "max_th")]
        assert goodput == [{"name": "link", "at": 10}]
        # DualPI2's min_th is a time, and automatic thresholds are computed
        own = (
            {"aqm": "ared", "params": {"thresholds": "automatic", "capacity": 833}},
            {"aqm": "dualpi2", "ecn": True},
        )
        for given in own:
            shown.js(f"scenario.disciplines[0] = {json.dumps(given)}, restart()")
            shown.wait("about")
            assert json.loads(shown.js("JSON.stringify(sides[0].levels)"))[0] == []
        for name, table in CASES.items():
            given = json.dumps(case(table)["toml"])
            record = shown.js(f"engine.begin({given}, 0), engine.record()")
            assert differences(json.loads(record), native(table)) == [], name
        assert shown.errors == []
