"""`sluice scenarios`: the scenarios of the documentation, as the package has them."""

import shutil

import pytest

from sluicegate.cli import main
from sluicegate.cli.scenarios import EXAMPLES, names

WRITTEN = "sluice scenarios --out . writes the documentation's files here\n"


def test_the_package_has_every_scenario_and_capture(root):
    found = {*root.glob("scenarios/**/*.toml"), root / "captures" / "gateway.pcap"}
    assert set(names()) == {str(path.relative_to(root)) for path in found}
    for path in found:
        assert (EXAMPLES / path.relative_to(root)).read_bytes() == path.read_bytes()


def test_the_list_has_each_with_its_title(capsys):
    assert main(["scenarios"]) == 0
    shown = capsys.readouterr().out
    assert "scenarios/light.toml " in shown
    assert "LRED, experiment 6: 300 long TCP flows" in shown
    assert "sluice scenarios --out . writes them here" in shown


def test_written_files_run_and_no_file_is_replaced(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["scenarios", "--out", "."]) == 0
    assert all((tmp_path / name).is_file() for name in names())
    # replays the capture, by a path from the scenario's folder
    assert main(["compare", "scenarios/gateway.toml", "--no-report"]) == 0
    mine = tmp_path / "scenarios" / "light.toml"
    mine.write_text("mine")
    (tmp_path / "scenarios" / "bursty.toml").unlink()
    capsys.readouterr()
    assert main(["scenarios", "--out", "."]) == 1
    assert "folder has others of these names: scenarios/light.toml" in capsys.readouterr().err
    assert mine.read_text() == "mine"
    assert (tmp_path / "scenarios" / "bursty.toml").is_file()


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "scenarios/light.toml"],
        ["simulate", "scenarios/network/gate.toml", "--aqm", "red"],
        ["fit", "captures/gateway.pcap"],
        ["stability", "scenarios/network/dumbbell.toml"],
    ],
)
def test_an_example_that_is_not_here_is_explained(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 1
    told = capsys.readouterr().err
    assert "No such file" in told
    assert "\nsluice scenarios --out . writes the documentation's files here\n" in told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        # a file that is here, one of the documentation, and neither
        ("compare ofice.toml", "; did you mean office.toml?\n"),
        ("compare scenarios/gatway.toml", "; did you mean scenarios/gateway.toml?\n" + WRITTEN),
        ("compare mine/upstairs.toml", "directory\n"),
        # files that are no scenarios
        ("fit captures/gateway.pcap", "(os error 2)\n" + WRITTEN),
        ("fit cap/god.pcap", "; did you mean cap/good.pcap?\n"),
        ("trace ofice.tr", "; did you mean office.tr?\n"),
        # the last of two paths: the scenario is there
        ("compare replay.toml", "../captures/gateway.pcap: No such file or directory (os error 2)"),
        (
            "compare cap/replay.toml",
            f"gateway.pcap: No such file or directory (os error 2)\n{WRITTEN}",
        ),
        # an output, a link to nothing, a name that is no pattern
        (
            "compare light.toml --aqm red --slots 1e4 --no-report --json no/light.json",
            "no/light.json: No such file or directory\n",
        ),
        ("compare gone.toml", "gone.toml: No such file or directory\n"),
        ("compare x.**", "x.**: No such file or directory\n"),
    ],
)
def test_another_missing_file_has_the_name_that_was_meant(
    words, said, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cap").mkdir()
    for name in ("office.toml", "office.tr", "cap/good.pcap"):
        (tmp_path / name).touch()
    for name, of in (("light", "light"), ("replay", "gateway"), ("cap/replay", "gateway")):
        shutil.copy(EXAMPLES / "scenarios" / f"{of}.toml", tmp_path / f"{name}.toml")
    (tmp_path / "gone.toml").symlink_to("nowhere")
    assert main(words.split()) == 1
    told = capsys.readouterr().err
    assert told.removesuffix("\n").endswith(said.removesuffix("\n"))
