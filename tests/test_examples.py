"""`sluice scenarios`: the scenarios of the documentation, as the package has them."""

import pytest

from sluicegate.cli import main
from sluicegate.cli.scenarios import EXAMPLES, names


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
    ("given", "meant"),
    [
        # a file that is here, one of the documentation, and neither
        ("ofice.toml", "; did you mean office.toml?\n"),
        ("scenarios/gatway.toml", "; did you mean scenarios/gateway.toml?\nsluice scenarios"),
        ("mine/upstairs.toml", "directory\n"),
    ],
)
def test_another_missing_file_has_the_name_that_was_meant(
    given, meant, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "office.toml").touch()
    assert main(["compare", given]) == 1
    assert meant in capsys.readouterr().err
