"""The outputs of `--json` match the published schemas."""

import json
import runpy

import jsonschema
import pytest

from sluicegate.cli import main
from sluicegate.cli.screen import write_json
from sluicegate.estimate import Measure
from sluicegate.papers.claims import Claim
from sluicegate.papers.comparison import Reproduction, Row

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("undrawn")]

SHORT = ("--slots", "20000", "--replications", "4")


@pytest.fixture(scope="module")
def published(root):
    folder = root / "docs" / "reference" / "outputs"
    return {
        path.name.removesuffix(".schema.json"): json.loads(path.read_text())
        for path in folder.glob("*.schema.json")
    }


def test_the_published_schemas_are_those_of_the_code(root, published):
    """If it fails, run `make outputs`."""
    assert runpy.run_path(str(root / "docs" / "outputs.py"))["schemas"]() == published
    for schema in published.values():
        jsonschema.Draft202012Validator.check_schema(schema)


def commands(root, tmp_path):
    light, dumbbell = (
        root / "scenarios" / name for name in ("light.toml", "network/dumbbell.toml")
    )
    trace = tmp_path / "run.tr"
    assert (
        main(
            ["simulate", str(dumbbell), "--aqm", "red", "--duration", "1", "--packets", str(trace)]
        )
        == 0
    )
    swept = tmp_path / "swept"
    vary = ["--vary", "queue.limit=20,50", "--workers", "1", "--no-report"]
    assert main(["sweep", str(light), *SHORT, *vary, "--out", str(swept)]) == 0
    return {
        "sweep": [["results", swept]],
        "tuning": [
            [
                *("tune", light, "--slots", "2000", "--aqm", "red", "--vary", "red.w=all"),
                *("--evaluations", "3", "--replications", "3", "--workers", "1"),
                *("--constraint", "loss_ratio<=0.5", "--out", tmp_path / "tuned"),
            ]
        ],
        "comparison": [
            ["compare", light, *SHORT, "--no-report"],
            [
                "compare",
                light,
                *SHORT,
                "--no-report",
                "--aqm",
                "drop_tail",
                "--world",
                "slotted",
                "--world",
                "chain",
            ],
            ["compare", dumbbell, "--duration", "2", "--replications", "2", "--no-report"],
            ["chain", light, "--aqm", "drop_tail", "--out", tmp_path / "chain"],
        ],
        "record": [
            # nothing arrives: figures that are no numbers are null
            ["simulate", light, *SHORT, "--aqm", "red", "--arrivals", "geometric:rate=0"],
            ["simulate", dumbbell, "--aqm", "codel", "--duration", "2"],
        ],
        "frontier": [
            [
                *("frontier", light, *SHORT, "--aqm", "drop_tail", "--aqm", "codel"),
                *("--objectives", "queue,in_time", "--deadline", "5", "--out", tmp_path),
            ],
            ["frontier", light, "--aqm", "drop_tail", "--points", "4", "--out", tmp_path],
        ],
        "clairvoyant": [
            [
                *("frontier", root / "scenarios" / "gateway.toml", "--aqm", "drop_tail"),
                *("--deadline", "4999", "--out", tmp_path),
            ],
        ],
        "stability": [
            [
                "stability",
                *(dumbbell, "--aqm", "red:max_th=900,max_p=0.5,w=0.01", "--out", tmp_path),
            ],
        ],
        "evaluation": [
            [
                *("evaluate", "codel", "--sections", "5.1.1", "--replications", "2"),
                *("--workers", "1", "--no-report", "--out", tmp_path / "evaluation"),
            ],
        ],
        "fit": [["fit", root / "captures" / "gateway.pcap"]],
        "trace": [["trace", trace], ["trace", root / "tests" / "data" / "ns2.tr"]],
    }


def test_outputs_match_their_schemas(root, tmp_path, published, capsys):
    path = tmp_path / "out.json"
    for name, calls in commands(root, tmp_path).items():
        for call in calls:
            assert main([*map(str, call), "--json", str(path)]) == 0, call
            written = json.loads(path.read_text())
            assert written["schema"] == name
            jsonschema.validate(written, published[name])
            # a schema that accepts anything would prove nothing
            with pytest.raises(jsonschema.ValidationError, match="Additional properties"):
                jsonschema.validate(written | {"other": 1}, published[name])


def test_a_reproduction_matches_its_schema(tmp_path, published):
    rows = [
        Row("alone", "queue_mean", 2.0, 2.1, 0.1),
        Row("new", "loss_ratio", None, float("nan"), None, Measure(0.1, None, "")),
        Row("judged", "goodput", 2.0, 2.1, 0.1, spread=0.1, bar=0.3),
    ]
    claims = [Claim("more waits", "section 2", "undecided", "2 against 2.1")]
    found = Reproduction("paper", rows, [], [], [], claims=claims)
    write_json(tmp_path / "out.json", "reproduction", found.summary())
    written = json.loads((tmp_path / "out.json").read_text())
    jsonschema.validate(written, published["reproduction"])
    written["claims"][0]["verdict"] = "perhaps"
    with pytest.raises(jsonschema.ValidationError, match="perhaps"):
        jsonschema.validate(written, published["reproduction"])
