"""A store on a full disk: results are shown all the same, and what is lost is said."""

import warnings

import pytest

import sluicegate as sg
from sluicegate import store
from sluicegate.cli import main
from sluicegate.papers.campaign import Campaign
from sluicegate.papers.drop_from_front import simulated
from sluicegate.sweeps.plan import Task
from sluicegate.sweeps.work import Job
from sluicegate.worlds import Slotted

FILE = """
slots = 20000
replications = 1
arrivals = { kind = "geometric", rate = 0.45 }
service = { kind = "geometric", mu = 0.5 }
disciplines = [{ aqm = "drop_tail" }, { aqm = "red" }]
"""
# the warnings of a command are printed
pytestmark = pytest.mark.filterwarnings("default")
RUN = ["compare", "short.toml", "--no-report"]


@pytest.fixture
def full(small_disk, tmp_path, monkeypatch):
    """Return a store on a disk without room, and a function that makes room."""
    disk, remount = small_disk
    monkeypatch.setenv("SLUICE_RUNS", str(disk / "runs"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short.toml").write_text(FILE)
    with (disk / "filler").open("wb", buffering=0) as filler:
        filler.write(bytes(1 << 20))
    return disk, lambda: remount("size=4m")


def told(disk):
    return (
        f"warning: {disk}/runs, on the disk mounted at {disk}: No space left on device: finished "
        "runs are not kept there, and will be made again when they are needed; "
        "SLUICE_RUNS=FOLDER chooses another folder\n"
    )


def test_a_comparison_is_shown_and_says_that_its_runs_are_not_kept(full, capsys):
    disk, make_room = full
    assert main(RUN) == 0
    shown = capsys.readouterr()
    assert "drop_tail" in shown.out
    assert shown.err.startswith(told(disk))
    make_room()
    assert main(RUN) == 0
    again = capsys.readouterr()
    assert again == (shown.out, shown.err.removeprefix(told(disk)))
    assert len(list((disk / "runs").iterdir())) == 2


def test_ctrl_c_in_a_comparison_says_that_nothing_is_kept(full, monkeypatch, capsys):
    keep, kept = store.keep, []

    def interrupted_keep(record):
        if kept:
            raise KeyboardInterrupt
        kept.append(record)
        keep(record)

    monkeypatch.setattr(store, "keep", interrupted_keep)
    assert main(RUN) == 130
    said = capsys.readouterr().err
    assert said.startswith(told(full[0]))
    assert said.endswith("Not finished: red.\nNone is kept: the same command runs all again.\n")


def scenario(aqm, seed=1):
    loaded = sg.load("short.toml")
    return loaded.replace(disciplines=[sg.Discipline(aqm=aqm)], seed=seed)


def test_ctrl_c_in_a_campaign_counts_what_is_lost(full):
    disk, make_room = full
    campaign = Campaign("it", 1.0)
    with pytest.warns(UserWarning, match="No space left on device"):
        campaign.run(scenario("drop_tail"), Slotted())
    make_room()
    campaign.run(scenario("red"), Slotted())
    assert str(campaign.interrupted()) == (
        f"it: interrupted; 1 of 2 finished runs are not in {disk}/runs, and the same command "
        "makes them again"
    )
    campaign.run(scenario("drop_tail"), Slotted())
    assert "1 of 3" not in str(campaign.interrupted())


def test_reproduce_prints_its_tables_before_it_needs_the_disk(full, monkeypatch, capsys):
    disk, _ = full
    arguments = ["reproduce", "lpf-oda", "--world", "slotted", "--out", "here"]
    assert main([*arguments, "--json", f"{disk}/rows.json"]) == 1
    shown = capsys.readouterr()
    assert "w = 0.07" in shown.out
    assert shown.err == f"error: {disk}/rows.json: No space left on device\n"


def test_reproduce_says_after_ctrl_c_that_it_begins_again(full, monkeypatch):
    disk, _ = full
    source = sg.SelfSimilarArrivals(rate=0.5, a=5.45, states=5)
    monkeypatch.setattr(simulated, "self_similar", lambda _: source)
    monkeypatch.setattr(simulated, "_SLOTS", dict.fromkeys(simulated._SLOTS, 10_000))
    finished = []

    def interrupted(*arguments, **named):
        if len(finished) == 2:
            raise KeyboardInterrupt
        finished.append(sg.simulate(*arguments, **named))
        return finished[-1]

    monkeypatch.setattr("sluicegate.worlds.slotted.world.simulate", interrupted)
    with (
        pytest.warns(UserWarning, match="No space left on device"),
        pytest.raises(sg.SluiceError) as error,
    ):
        simulated.reproduce()
    assert str(error.value) == (
        f"drop-from-front: interrupted; 2 of 2 finished runs are not in {disk}/runs, and the same "
        "command makes them again"
    )


def test_a_worker_says_it_with_its_results(full):
    disk, _ = full
    tasks = [Task((number,), 0, 0, {"seed": number}) for number in (1, 2)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = Job([scenario("red")], [Slotted()], tasks, threads=1).done()
    assert len(done.columns) == 2
    assert [f"warning: {text}\n" for text in done.refusals] == [told(disk)]
    with pytest.warns(UserWarning, match="No space left on device"):
        done.warn()
