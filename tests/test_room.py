"""The store of runs takes a bounded room: what was not used longest goes first."""

import math
import os

import pytest

import sluicegate as sg
from sluicegate import room, store

SHORT = sg.Scenario(
    arrivals=sg.GeometricArrivals(rate=0.4),
    service=sg.GeometricService(mu=0.5),
    disciplines=[sg.Discipline(aqm="drop_tail")],
    queue=sg.Queue(limit=10),
    slots=2000,
    replications=1,
)
OTHERS = ("thesis.zip", f"{32 * 'a'}.toml", f"my-{32 * 'a'}.zip")


@pytest.fixture(autouse=True)
def _first_run(monkeypatch):
    """As in a process that has written nothing."""
    monkeypatch.setattr(room, "_written", math.inf)


def run(seed):
    return sg.simulate(SHORT.replace(seed=seed)).identity


def kept():
    """The runs that are there, and how large all files are that the store may remove."""
    files = [path for path in store.folder().iterdir() if path.name not in OTHERS]
    return {path.stem for path in files}, sum(path.stat().st_size for path in files)


def grown_old(identities):
    """Give the files times of long ago, a minute after each other."""
    for place, each in enumerate(identities):
        os.utime(store.folder() / f"{each}.zip", times=(1e9 + 60 * place, 1e9 + 60 * place))


def test_what_was_not_used_longest_is_removed(monkeypatch):
    first = [run(seed) for seed in range(4)]
    for name in OTHERS:
        (store.folder() / name).write_bytes(bytes(20_000))
    leftover = store.folder() / ".sluicegate-0123456789abcdef"
    leftover.write_bytes(b"cut off")
    os.utime(leftover, (1e9, 1e9))
    grown_old(first)
    # the oldest is used again
    assert run(0) == first[0]
    _, of_four = kept()
    room_bytes = 4.5 / 4 * of_four
    monkeypatch.setenv("SLUICE_RUNS_MB", f"{room_bytes / 1e6}")
    monkeypatch.setattr(room, "_written", math.inf)
    last = run(4)
    there, left = kept()
    assert there == {first[0], first[2], first[3], last}
    assert left <= room_bytes
    assert not leftover.exists()
    assert all((store.folder() / name).stat().st_size == 20_000 for name in OTHERS)
    assert store.find(first[1], sg.Record) is None


def test_the_room_is_bounded_while_a_process_goes_on(monkeypatch):
    one = run(0)
    _, of_one = kept()
    monkeypatch.setenv("SLUICE_RUNS_MB", f"{3.5 * of_one / 1e6}")
    runs = [one, *map(run, range(1, 12))]
    there, taken = kept()
    assert taken <= 3.5 * of_one
    assert there <= set(runs)
    assert len(there) == 3
    monkeypatch.setenv("SLUICE_RUNS_MB", "0")
    run(12)
    assert kept() == (set(), 0)


@pytest.mark.parametrize("given", ["much", "-1", "nan", ""])
def test_a_room_that_is_no_number_is_told_and_loses_nothing(given, monkeypatch):
    monkeypatch.setenv("SLUICE_RUNS_MB", given)
    told = f"SLUICE_RUNS_MB = '{given}' must be a number of megabytes, 0 or more: 1000 are used"
    with pytest.warns(UserWarning, match=told):
        identity = run(0)
    assert kept()[0] == {identity}
