"""AQMs in Python files, on the command line and in scenarios: `mine.py` and `mine.py:Class`."""

import os

import pytest

import sluicegate as sg
from sluicegate.cli import main

pytestmark = pytest.mark.slow

TWO = """
import sluicegate as sg
import beside

class Step:
    def arrive(self, view):
        return sg.DROP_EARLY if view.queue_packets >= beside.MOST else sg.ADMIT

class Never:
    def arrive(self, view):
        return sg.ADMIT

class Other:
    pass

class _Hidden:
    def arrive(self, view):
        return sg.ADMIT
"""
SCENARIO = """
slots = 2e4
replications = 2
arrivals = { kind = "geometric", rate = 0.5 }
service = { kind = "geometric", mu = 0.5 }
queue = { limit = 30 }
"""
NETWORK = """
duration_s = 2
replications = 2
topology = { kind = "dumbbell", rate_bps = 1e6 }
flows = [{ kind = "tcp", count = 3 }]
queue = { limit = 30 }
disciplines = [{ aqm = "two.py:Step" }]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/two.py").write_text(TWO)
    (tmp_path / "sub/beside.py").write_text("MOST = 4\n")
    (tmp_path / "sub/one.py").write_text(TWO.partition("class Never")[0])
    discipline = 'disciplines = [{ aqm = "two.py:Step", victim = "front" }]\n'
    (tmp_path / "sub/mine.toml").write_text(SCENARIO + discipline)
    (tmp_path / "sub/net.toml").write_text(NETWORK)
    return tmp_path


def test_a_path_in_a_scenario_starts_at_its_folder(folder):
    scenario = sg.load("sub/mine.toml")
    assert scenario.disciplines[0].name == "Step drop from front"
    record = sg.simulate(scenario)
    assert record["early_loss_ratio"].value > 0.05
    limited = scenario.replace({"queue.limit": 4}).replace(
        disciplines=[sg.Discipline(aqm="drop_tail", victim="front")]
    )
    assert record["queue_mean"] == sg.simulate(limited)["queue_mean"]


def test_the_class_is_the_same_as_in_a_program(folder):
    (found,) = sg.load("sub/mine.toml").disciplines
    step = found.configured.engine
    own = sg.load("sub/mine.toml").replace(disciplines=[sg.Discipline(aqm=step, victim="front")])
    first, second = sg.simulate(sg.load("sub/mine.toml")), sg.simulate(own)
    assert first.measures == second.measures


def test_commands_take_python_files(folder, capsys):
    short = "--slots 1e4 --replications 2"
    for line in (
        f"compare sub/mine.toml --aqm drop_tail --aqm sub/two.py:Step {short} --no-report",
        f"compare sub/mine.toml --aqm sub/one.py {short} --no-report",
        f"simulate sub/mine.toml {short}",
        f"simulate sub/mine.toml --aqm sub/two.py:Never:victim=random,label=all {short}",
        "simulate sub/net.toml",
        f"simulate {folder}/sub/mine.toml --aqm {folder}/sub/one.py:label=lone {short}",
        "sweep sub/mine.toml --vary queue.limit=5,10 --vary slots=1e4 --out walk",
    ):
        assert main(line.split()) == 0, capsys.readouterr().err
    out = capsys.readouterr().out
    assert "Step" in out
    assert "all" in out
    assert "lone" in out


def test_a_sweep_in_several_processes_loads_the_file_in_each(folder):
    alone = sg.sweep("sub/net.toml", {"seed": [1, 2, 3]}, "alone", workers=1)
    beside = sg.sweep("sub/net.toml", {"seed": [1, 2, 3]}, "beside", workers=2)
    columns = ["seed", "loss_ratio", "sojourn_mean"]
    assert alone.frame()[columns].sort("seed").equals(beside.frame()[columns].sort("seed"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("two.py", "there are Step, Never; choose one, such as two.py:Step"),
        ("two.py:Stepp", "no class is called Stepp; there are Step, Never"),
        ("two.py:Other", "Other must have a method arrive(view)"),
        ("none.py", "No such file or directory"),
        ("empty.py", "it has no class with arrive(view)"),
        ("syntax.py", "line 2: SyntaxError: '(' was never closed"),
        ("absent.py", "line 3: ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("deep.py", "line 5 (half): ZeroDivisionError: division by zero"),
        ("leaves.py", "line 2: SystemExit: 3"),
        ("pipe.py", "must be a Python file"),
        ("huge.py", "has 1048577 bytes, at most 1048576"),
    ],
)
def test_what_is_wrong_with_a_file_is_told(folder, name, words, capsys):
    texts = {
        "empty.py": "import sluicegate\n",
        "syntax.py": "a = 1\nb = (\n",
        "absent.py": "a = 1\n\nimport nowhere_at_all\n",
        "deep.py": "import json\njson.dumps(1)\n\ndef half():\n    return 1 / 0\n\nhalf()\n",
        "leaves.py": "import sys\nsys.exit(3)\n",
        "huge.py": "#" * (1 << 20) + "\n",
    }
    for file, text in texts.items():
        (folder / "sub" / file).write_text(text)
    os.mkfifo(folder / "sub/pipe.py")
    assert main(["simulate", "sub/mine.toml", "--aqm", f"sub/{name}"]) == 2
    said = capsys.readouterr().err
    file = name.partition(":")[0]
    place = f"error: --aqm: {folder}/sub/{file}"
    assert said.startswith((f"{place}: {words}", f"{place}, {words}")), said
    (folder / "sub/mine.toml").write_text(SCENARIO + f'disciplines = [{{ aqm = "{name}" }}]\n')
    assert main(["simulate", "sub/mine.toml"]) == 1
    said = capsys.readouterr().err
    place = f"error: sub/mine.toml: disciplines.0.aqm: sub/{file}"
    assert said.startswith((f"{place}: {words}", f"{place}, {words}")), said


def test_an_error_in_a_run_is_told_with_its_line(folder, capsys):
    text = "class Broken:\n    def arrive(self, view):\n        return view.no_such_field\n"
    (folder / "broken.py").write_text(text)
    assert main(["simulate", "sub/mine.toml", "--aqm", "broken.py"]) == 1
    said = capsys.readouterr().err
    words = "line 3 (arrive): AttributeError:"
    assert said.startswith(f"error: {folder}/broken.py, {words}"), said


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("chain sub/mine.toml", "Python"),
        ("compare sub/mine.toml --world chain", "Python"),
        ("compare sub/net.toml --world chain", "chain must be network"),
        *(
            (
                f"compare sub/net.toml --world {world}",
                f"must be a C header or an AQM of Sluicegate: {who} runs no Python; the worlds "
                "slotted and network do\n",
            )
            for world, who in (("gate", "sluiced"), ("kernel", "sluiced"), ("twin", "Linux"))
        ),
        ("simulate sub/mine.toml --aqm sub/one.py:w=3", "takes its parameters itself"),
        ("tune sub/mine.toml --aqm sub/one.py --vary Step.w=0..1", "Step"),
        ("aqm sub/one.py", "sub/one.py is a Python AQM, which only runs in the worlds slotted and"),
    ],
)
def test_where_a_python_class_cannot_run_it_is_refused(folder, line, words, capsys):
    assert main(line.split()) in (1, 2)
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert words in said


def test_a_program_gets_the_same_class_by_its_path(folder):
    for text in ("sub/one.py", "sub/two.py:Step"):
        found = sg.aqm(text)
        assert (found.name, found.params) == ("Step", {})
    with pytest.raises(sg.SluiceError, match="takes its parameters itself"):
        sg.aqm("sub/one.py", most=3)
    with pytest.raises(sg.SluiceError, match=r"there are Step, Never; choose one"):
        sg.aqm("sub/two.py")


def test_a_changed_file_is_read_again(folder):
    scenario = sg.load("sub/net.toml")
    first = sg.network.simulate(scenario)
    (folder / "sub/two.py").write_text(TWO.replace("beside.MOST", "2"))
    second = sg.network.simulate(sg.load("sub/net.toml"))
    assert second["queue_mean"].value < first["queue_mean"].value


def test_an_answer_that_is_no_verdict_is_told_with_its_file_and_line(folder, capsys):
    (folder / "none.py").write_text(
        "class Mine:\n    def arrive(self, view):\n        return None\n"
    )
    assert main(["simulate", "sub/mine.toml", "--aqm", "none.py"]) == 1
    assert capsys.readouterr().err == (
        f"error: {folder / 'none.py'}, line 2 (arrive): Mine.arrive returned None; it must return "
        "ADMIT, DROP_EARLY or DROP_FORCED (of sluicegate)\n"
    )


@pytest.mark.parametrize("world", ["gate", "kernel", "twin"])
def test_a_python_class_of_one_link_is_refused_with_the_links_name(folder, world, capsys):
    own = 'links = { "right -> left" = { discipline = { aqm = "one.py" } } }\n'
    text = NETWORK.replace(
        "rate_bps = 1e6", "rate_bps = 1e6, two_way = true, client_delays_s = [0.02]"
    )
    (folder / "sub/own.toml").write_text(own + text.replace("two.py:Step", "drop_tail"))
    assert main(["simulate", "sub/own.toml", "--world", world]) in (1, 2)
    said = capsys.readouterr().err
    assert said.startswith('error: links."right -> left".discipline: aqm = '), said
    assert "runs no Python" in said
