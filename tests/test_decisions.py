"""Decision logs: written by runs, compared by the command."""

from pathlib import Path
from typing import Any

import pytest

import sluicegate as sg
from sluicegate import network, worlds
from sluicegate.cli import main
from sluicegate.decisions import COLUMNS, first_difference

SLOTTED: dict[str, Any] = {
    "slots": 20_000,
    "replications": 1,
    "arrivals": {"kind": "geometric", "rate": 0.5},
    "service": {"kind": "geometric", "mu": 0.5},
    "queue": {"limit": 20},
    "disciplines": [{"aqm": "fred", "params": {"min_th": 2, "max_th": 9, "w": 0.1}}],
}
NETWORK: dict[str, Any] = {
    "topology": {"kind": "dumbbell", "client_delays_s": [0.005]},
    "flows": [{"kind": "tcp", "count": 5}],
    "queue": {"limit": 50},
    "disciplines": [{"aqm": "pie"}],
    "duration_s": 5.0,
    "replications": 1,
}


def rows(path: Path) -> list[dict[str, str]]:
    header, *lines = path.read_text().splitlines()
    assert header.split(",") == COLUMNS
    return [dict(zip(COLUMNS, line.split(","), strict=True)) for line in lines]


def write(path: Path, lines: list[dict[str, str]]) -> str:
    text = [COLUMNS, *([row[name] for name in COLUMNS] for row in lines)]
    path.write_text("".join(",".join(line) + "\n" for line in text))
    return str(path)


def slotted(path: Path, **changes: Any) -> sg.SlottedRecord:
    return sg.simulate(sg.Scenario.parse(SLOTTED | changes), decisions=path)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of the log of a slotted run."""
    path = tmp_path_factory.mktemp("log") / "log.csv"
    slotted(path)
    return path


def test_a_log_has_all_that_the_record_counts(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    record = slotted(path, queue={"limit": 20, "victim": "front"})
    found = rows(path)
    assert [int(row["number"]) for row in found] == list(range(1, len(found) + 1))
    by_event = {
        event: [row for row in found if row["event"] == event]
        for event in ("arrive", "depart", "join", "leave", "tick", "lost")
    }
    arrivals = by_event["arrive"]
    assert [int(row["packet"]) for row in arrivals] == list(range(1, len(arrivals) + 1))
    assert not by_event["depart"]
    assert not by_event["tick"]
    left = {row["packet"] for row in by_event["leave"]}
    lost = {row["packet"] for row in by_event["lost"]}
    assert len(lost) == len(by_event["lost"]) > 300
    # the victim has waited, unless nothing waited
    assert lost <= left | {row["packet"] for row in arrivals if row["queue_packets"] == "0"}
    # FRED is told of every packet that finds the link idle, too
    idle = {row["packet"] for row in arrivals if row["idle"] == "1" and row["verdict"] == "ADMIT"}
    assert idle
    assert idle <= left
    # the record leaves out the warm-up
    assert record["loss_ratio"].value == pytest.approx(len(lost) / len(arrivals), rel=0.2)


def test_a_log_changes_nothing(tmp_path: Path) -> None:
    logged = slotted(tmp_path / "log.csv", seed=7)
    assert (
        logged.measures
        == sg.simulate(sg.Scenario.parse(SLOTTED | {"seed": 7}), fresh=True).measures
    )
    scenario = network.NetworkScenario.parse(NETWORK)
    record = network.simulate(scenario, decisions=tmp_path / "network.csv")
    assert record.measures == network.simulate(scenario, fresh=True).measures
    found = rows(tmp_path / "network.csv")
    losses = sum(row["event"] == "lost" for row in found)
    assert losses == record.ports[0].series["losses"][-1]
    assert {row["event"] for row in found} == {"arrive", "depart", "tick", "lost"}


class Step:
    """Drops at random while more than five packets wait."""

    def arrive(self, view: Any) -> int:
        return sg.DROP_EARLY if view.queue_packets > 5 and view.uniform < 0.3 else sg.ADMIT


def test_a_python_class_has_a_log_too(tmp_path: Path) -> None:
    slotted(tmp_path / "log.csv", disciplines=[{"aqm": Step}], slots=2000)
    assert {row["verdict"] for row in rows(tmp_path / "log.csv")} == {"ADMIT", "DROP_EARLY"}


def test_a_log_distinguishes_the_queues_of_a_scheduler(tmp_path: Path, gateway: Path) -> None:
    slotted(
        tmp_path / "log.csv",
        slots=None,
        slot_s=1e-4,
        arrivals={"kind": "replay", "capture": str(gateway)},
        service={"kind": "packet-size", "rate_bps": 4e6},
        disciplines=[{"aqm": "codel", "victim": "front", "scheduler": {"kind": "fq"}}],
    )
    found = rows(tmp_path / "log.csv")
    flows: dict[str, set[str]] = {}
    for row in found:
        if row["event"] == "arrive":
            flows.setdefault(row["flow_hash"], set()).add(row["queue"])
    assert len(flows) > 10
    assert all(len(queues) == 1 for queues in flows.values())
    assert len({row["queue"] for row in found}) > len(flows) / 2


# --- the command


def test_two_equal_logs(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    again = tmp_path / "again.csv"
    slotted(again)
    assert main(["decisions", str(log), str(again)]) == 0
    assert capsys.readouterr().out == f"The logs are equal: {len(rows(log)):,} lines.\n"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"verdict": "DROP_EARLY"}, "Both AQMs saw the same: their code, parameters"),
        ({"random": "1"}, "Their random numbers differ."),
        ({"queue_packets": "19"}, "queue_packets = {queue_packets} and 19\nThe AQMs saw"),
        ({"event": "lost"}, "The queues take different steps."),
    ],
)
def test_the_first_difference_in_words(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture, change: dict[str, str], told: str
) -> None:
    found = rows(log)
    place = next(at for at, row in enumerate(found) if row["event"] == "arrive" and at > 50)
    row = found[place]
    assert row["verdict"] == "ADMIT"
    other = write(tmp_path / "other.csv", [*found[:place], row | change, *found[place + 1 :]])
    assert main(["decisions", str(log), other]) == 1
    said = capsys.readouterr().out
    head, one, two, *differ = said.splitlines()
    assert head == f"The first {place} lines are equal. Then:"
    at = f"line {place + 1}, at {int(row['time_ns']) / 1e9:.9f} s, "
    where = " (link 0, queue 0)"
    arrives = f"the AQM judges packet {row['packet']}, which arrives: ADMIT{where}"
    assert one == f"{log}: {at}{arrives}"
    assert two.startswith(f"{other}: {at}")
    assert len(differ) == 2
    assert told.format(**row) in said


def test_a_log_that_ends_early(log: Path, tmp_path: Path) -> None:
    found = rows(log)
    short = write(tmp_path / "short.csv", found[:10])
    alike, told = first_difference(log, short)
    assert alike == 10
    assert told is not None
    assert told.endswith(f"\n{short}: it ends")
    assert first_difference(short, short) == (10, None)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "line 1 must be number,time_ns,link"),
        (b"a,b\n1,2\n", "line 1 must be number,time_ns,link"),
        (",".join(COLUMNS).encode() + b"\n1,2\n", "line 2 is no decision"),
        (b"\xff\xfe", "must be a decision log, which is text"),
    ],
)
def test_files_that_are_no_logs_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture, content: bytes, told: str
) -> None:
    path = tmp_path / "other.csv"
    path.write_bytes(content)
    assert main(["decisions", str(path), str(path)]) == 1
    assert f"error: {path}" in (said := capsys.readouterr().err)
    assert told in said
    assert main(["decisions", str(tmp_path / "none.csv"), str(path)]) == 1
    assert "none.csv: No such file" in capsys.readouterr().err


# --- the option


def test_the_option_writes_a_log(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    light = str(root / "scenarios" / "light.toml")
    path, again = tmp_path / "one.csv", tmp_path / "two.csv"
    given = [light, "--aqm", "codel", "--slots", "20000"]
    assert main(["simulate", *given, "--decisions", str(path)]) == 0
    assert f"decisions: {path}" in capsys.readouterr().out
    out = ["--out", str(tmp_path / "report")]
    assert main(["compare", *given, *out, "--decisions", str(again)]) == 0
    assert main(["decisions", str(path), str(again)]) == 0
    dumbbell = str(root / "scenarios" / "network" / "dumbbell.toml")
    given = [dumbbell, "--aqm", "red", "--duration", "2", "--decisions", str(path)]
    assert main(["simulate", *given]) == 0
    assert len(rows(path)) > 1000


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["compare", "{light}"], "log.csv: a decision log has one discipline, but there are 4"),
        (
            ["compare", "{light}", "--aqm", "red", "--replications", "3"],
            "replications = 3 must be 1: a decision log has one",
        ),
        (
            ["compare", "{light}", "--aqm", "drop_tail", "--world", "chain"],
            "log.csv: the chain world writes no decision log: it has no packets",
        ),
        (
            ["compare", "{dumbbell}", "--aqm", "red", "--world", "gate"],
            "log.csv: the gate world writes no decision log: sluiced writes one for a capture "
            "(sluiced replay CAPTURE --decisions LOG)",
        ),
        (
            ["compare", "{dumbbell}", "--aqm", "red", "--world", "kernel"],
            "log.csv: the kernel world writes no decision log: a qdisc installed by hand keeps one "
            "(sluiced qdisc install KIND --log MB, then sluiced qdisc log KIND)",
        ),
        (
            ["compare", "{dumbbell}", "--aqm", "red", "--world", "twin"],
            "log.csv: the twin world writes no decision log: Linux's own qdiscs keep none",
        ),
        (
            ["simulate", "{dumbbell}", "--aqm", "red", "--packets", "run.tr"],
            "a run writes its packets or a decision log, not both",
        ),
        (
            ["simulate", "{dumbbell}", "--aqm", "red", "--replications", "2"],
            "replications = 2 must be 1: a decision log has one",
        ),
    ],
)
def test_runs_without_a_log_are_refused(
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
    arguments: Any,
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {
        "light": root / "scenarios/light.toml",
        "dumbbell": root / "scenarios/network/dumbbell.toml",
    }
    words = [word.format(**files) for word in arguments]
    assert main([*words, "--decisions", "log.csv"]) == 1
    assert told in capsys.readouterr().err
    assert not (tmp_path / "log.csv").exists()


@pytest.mark.parametrize("world", ["slotted", "network"])
def test_a_full_disk_ends_the_run(tmp_path: Path, world: str) -> None:
    path = tmp_path / "log.csv"
    try:
        path.symlink_to("/dev/full")
        path.write_bytes(b"full?")
    except OSError as error:
        if error.strerror != "No space left on device":
            pytest.skip("there is no /dev/full")
    told: list[float] = []

    def watch(done: float, total: float) -> None:
        told.append(done / total)

    def run() -> None:
        if world == "slotted":
            scenario = sg.Scenario.parse(SLOTTED | {"slots": 1e10})
            sg.simulate(scenario, decisions=path, watch=watch)
        else:
            long = network.NetworkScenario.parse(NETWORK | {"duration_s": 2e4})
            network.simulate(long, decisions=path, watch=watch)

    with pytest.raises(OSError, match="No space left on device"):
        run()
    assert not any(share > 0.1 for share in told)


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="missing"):
        slotted(tmp_path / "missing" / "log.csv")
    two = sg.Scenario.parse(SLOTTED | {"disciplines": [{"aqm": "red"}, {"aqm": "pi"}]})
    world = worlds.Slotted(decisions=tmp_path / "log.csv")
    with pytest.raises(sg.SluiceError, match="log has one discipline, but there are 2"):
        sg.compare(two, world=world)
