"""`sluice evaluate` without a run: what it refuses, and what its help and its errors say."""

import pytest
from evaluations import BRIEF

import sluicegate as sg
from sluicegate.cli import main
from sluicegate.cli.evaluate import disciplines, usual_reference
from sluicegate.errors import SluiceError
from sluicegate.evaluate import PROFILES, evaluate
from sluicegate.evaluate.run import WORLDS
from sluicegate.evaluate.suite import L4S, RFC7928


@pytest.mark.parametrize(
    ("disciplines", "changed", "message"),
    [
        ([], {}, "disciplines must have one AQM at least"),
        (["dualpi2"], {}, "dualpi2 in section 3.1: dualpi2: ecn must be true"),
        (["codel", "codel"], {}, "two disciplines are called codel: give one another label"),
        (
            [sg.Discipline(aqm="codel", label="drop_tail")],
            {},
            "a discipline is called drop_tail and is another: give it another label",
        ),
        (["codel"], {"replications": 1}, "replications = 1 must lie between 2 and 1000"),
        (["codel"], {"replications": 10**9}, "replications = 1000000000 must lie between 2 and"),
        (["codel"], {"seed": -1}, "seed = -1 must lie between 0 and 18446744073709550"),
        (["codel"], {"seed": 2**64 - 1}, "seed = 18446744073709551615 must lie between 0 and"),
        (["codel"], {"profile": "mars"}, "profile = mars must be one of default, home"),
        (["codel"], {"shard": (3, 2)}, "shard = 3/2 must be k/n"),
        (["codel"], {"sections": []}, "sections must have one at least"),
        (
            ["codel"],
            {"world": "gate", "workers": 4},
            "world = gate: runs share this machine's time: leave out dask and workers",
        ),
        (["codel"], {"world": "gate", "dask": "tcp://host:1"}, "world = gate: runs share this"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path, disciplines, changed, message):
    with pytest.raises(SluiceError, match=message):
        evaluate(disciplines, tmp_path / "out", **{"profile": BRIEF, **changed})
    assert not (tmp_path / "out").exists()


def test_the_guide_names_every_profile_and_the_help_every_world(root, capsys):
    guide = (root / "docs" / "guides" / "evaluate.md").read_text()
    (row,) = (line for line in guide.splitlines() if line.startswith("| another path |"))
    assert {name for name in PROFILES if f"`{name}`" not in row.replace("--profile ", "")} == {
        "default"
    }
    assert main(["evaluate", "--help"]) == 0
    told = capsys.readouterr().out
    told = told[told.index("--world") : told.index("--sections")]
    assert all(name in told for name in WORLDS)


def test_worlds_without_networks_are_refused(tmp_path):
    with pytest.raises(SluiceError, match="world = slotted must be one of network, gate, kernel"):
        evaluate(["codel"], tmp_path, world="slotted")


def test_an_early_ctrl_c_says_what_is_kept(tmp_path, capsys, monkeypatch):
    def struck(*_words):
        raise KeyboardInterrupt

    monkeypatch.setitem(PROFILES, "default", BRIEF)
    words = ["evaluate", "codel", "--sections", "5.1.1", "--workers", "1", "--out", str(tmp_path)]
    # while runs are made, before the first has ended; then before any is made
    for name, told in (
        ("made", "no run had ended, and nothing new is kept; the same command starts again"),
        ("here_or_beside", "while no run was made: the folder has what it had; the same command"),
    ):
        monkeypatch.setattr(f"sluicegate.evaluate.run.{name}", struck)
        assert main(words) == 130
        assert f"error: interrupted{':' * (name == 'made')} {told}" in capsys.readouterr().err
    # and in any other command
    monkeypatch.setattr("sluicegate.cli.measures.console", struck)
    assert main(["measures"]) == 130
    assert capsys.readouterr().err == "error: interrupted\n"


def test_the_usual_reference_is_a_known_aqm_that_is_not_judged_alone():
    def references(*judged, suite=RFC7928):
        return [each.name for each in usual_reference(disciplines(judged), suite)]

    assert references("pie") == ["codel"]
    assert references("codel") == ["pie"]
    assert references("codel", "red") == ["codel"]
    # another discipline of that name
    assert references("red:label=codel") == ["pie"]
    assert references("dualpi2:ecn=true", suite=L4S) == ["dualpi2"]
