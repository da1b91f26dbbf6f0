"""Options of worlds: declared once, in every command that takes a world, and handed on to it."""

import inspect
from importlib import import_module
from pathlib import Path

import pytest

from sluicegate.cli import _COMMANDS, main
from sluicegate.worlds import NAMES, options, world

GATE = "scenarios/network/gate.toml"
# a paper, an RFC or a lesson fixes the settings of their scenarios
FIXED = {"evaluate", "lesson", "reproduce"}


def parameters(command):
    module, _ = _COMMANDS[command]
    function = getattr(import_module(f"sluicegate.cli.{module}"), command)
    return inspect.signature(function).parameters


WITH_WORLDS = sorted(name for name in _COMMANDS if "world" in parameters(name))


def test_worlds_declare_what_commands_offer():
    assert {name: able for name, (_, able) in options().items()} == {
        "congestion_control": ["gate", "kernel", "twin"],
        "here": ["kernel", "twin"],
        "ipv6": ["gate"],
        "packets": ["network", "kernel", "twin"],
        "qdisc": ["twin"],
    }
    for name in NAMES:
        kind = world(name)
        fields = inspect.signature(kind).parameters
        for setting, option in kind.options().items():
            assert fields[setting].default == (False if option.kind is bool else None)


def test_every_command_that_takes_a_world_takes_its_options():
    assert WITH_WORLDS == [
        "compare",
        "evaluate",
        "flent",
        "lesson",
        "reproduce",
        "simulate",
        "sweep",
        "tune",
    ]
    for name in sorted({*WITH_WORLDS} - FIXED):
        offered = {
            setting
            for setting, (option, _) in options().items()
            if not option.of_one_run or name in ("compare", "simulate")
        }
        assert offered <= {*parameters(name)}, name
    assert {"congestion_control", "ipv6"} <= {*parameters("testbed")}
    assert "here" not in parameters("testbed")


@pytest.mark.parametrize(
    "words",
    [
        ["simulate", GATE, "--aqm", "drop_tail"],
        ["compare", GATE, "--no-report"],
        ["sweep", GATE, "--vary", "seed=1..2", "--no-report"],
        ["tune", GATE, "--aqm", "red", "--vary", "red.max_p=0.1..0.5"],
        ["flent", GATE],
    ],
)
def test_a_setting_reaches_the_world_or_is_refused(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = [str(Path(__file__).parents[1] / word) if word == GATE else word for word in words]
    # the gate's check names it, whatever this machine has
    assert main([*words, "--world", "gate", "--congestion-control", "vegetarian"]) == 1
    assert "tcp.congestion_control = vegetarian must be one that" in capsys.readouterr().err
    # the usual world has none
    assert main([*words, "--congestion-control", "reno"]) == 1
    expected = "error: --congestion-control is for these worlds only: gate, kernel, twin\n"
    assert capsys.readouterr().err == expected
    assert not list(tmp_path.rglob("*.parquet"))


def test_simulate_takes_a_world(capsys):
    light = str(Path(__file__).parents[1] / "scenarios/light.toml")
    assert main(["simulate", light, "--aqm", "drop_tail", "--world", "chain"]) == 0
    assert "solved exactly" in capsys.readouterr().out
