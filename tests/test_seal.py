"""Files that we write and read again: one flipped bit is noticed in each, and mended or told."""

import os
import random
import shutil
import warnings
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

import sluicegate as sg
from sluicegate import seal, store
from sluicegate.advice import advice as answer
from sluicegate.advice.settings import Setting
from sluicegate.cli import main
from sluicegate.record import Record
from sluicegate.report.folder import _bearing, write_report
from sluicegate.sweeps.run import sweep
from sluicegate.tuning.kept import TuningFolder

# flipped bits in each kind of file
TRIES = int(os.environ.get("SLUICE_FUZZ", 40))
SCENARIO = sg.Scenario(
    slots=1000,
    replications=1,
    arrivals=sg.GeometricArrivals(rate=0.45),
    service=sg.GeometricService(mu=0.5),
    queue=sg.Queue(limit=20),
    disciplines=[sg.Discipline(aqm="drop_tail"), sg.Discipline(aqm="red")],
)
ONE = SCENARIO.replace(disciplines=[sg.Discipline(aqm="red")])
VARY = {"seed": [1, 2]}


def flipped(path, seed):
    """Flip one bit of a file at a time, drawn by `seed`; the file is whole again afterwards."""
    whole, drawn = path.read_bytes(), random.Random(seed)
    for _ in range(TRIES):
        bit = drawn.randrange(8 * len(whole))
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        yield bit
    path.write_bytes(whole)


# --- the seal


def test_a_seal_is_of_all_bytes_and_of_a_name():
    content = seal.sealed(b"before " + seal.SLOT.encode() + b" after", "a name")
    seal.check(content, "a name")
    assert content.startswith(b"before sluicegate-sha256=")
    assert content.endswith(b" after")
    for wrong, of in [
        (content, "another name"),
        (content[:-1], "a name"),
        (content + b" ", "a name"),
        (b"x" + content[1:], "a name"),
        (b"", "a name"),
    ]:
        with pytest.raises(seal.DamagedError):
            seal.check(wrong, of)


def test_a_text_that_looks_like_a_seal_is_a_text():
    text = f"label = {seal.SLOT!r}; "
    content = seal.sealed((text + seal.SLOT).encode())
    assert content.startswith(text.encode())
    seal.check(content)


# --- parts of sweeps and of tunings


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    out = tmp_path_factory.mktemp("swept") / "out"
    return sweep(SCENARIO, VARY, out, workers=1).frame(), out


@pytest.fixture
def copy(swept, tmp_path):
    shutil.copytree(swept[1], tmp_path / "out")
    return tmp_path / "out"


def test_no_flipped_bit_in_a_sweeps_part_is_read_as_true(swept, copy):
    (part,) = (copy / "runs").iterdir()
    for bit in flipped(part, seed=1):
        with pytest.raises(seal.DamagedError, match=f"{part.name} is damaged"):
            print(bit, sg.Sweep(copy).frame())
        with pytest.raises(seal.DamagedError, match=f"{part.name} is damaged"):
            print(bit, sg.Sweep(copy).folder.done())
    assert sg.Sweep(copy).frame().equals(swept[0])


def test_no_flipped_bit_in_what_a_folder_says_of_itself_is_read_as_true(copy):
    for bit in flipped(copy / "sweep.json", seed=2):
        with pytest.raises(sg.SluiceError, match=r"sweep.json is damaged"):
            print(bit, sg.Sweep(copy))


@pytest.mark.parametrize("left", [0, 100, -1])
def test_a_sweep_makes_the_runs_of_a_damaged_part_again(swept, copy, left):
    (part,) = (copy / "runs").iterdir()
    damaged = part.read_bytes()[:left]
    part.write_bytes(damaged)
    with pytest.warns(UserWarning, match=f"{part.name} is damaged.*kept as .*{part.name}.damaged"):
        assert sweep(SCENARIO, VARY, copy, workers=1).frame().equals(swept[0])
    assert part.with_name(f"{part.name}.damaged").read_bytes() == damaged
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sweep(SCENARIO, VARY, copy, workers=1).frame().equals(swept[0])


def test_the_command_names_a_damaged_part_in_plain_words(tmp_path, capsys):
    scenario, out = tmp_path / "short.toml", tmp_path / "out"
    scenario.write_text(
        "slots = 1000\nreplications = 1\narrivals = { kind = 'geometric', rate = 0.4 }\n"
        "service = { kind = 'geometric', mu = 0.5 }\ndisciplines = [{ aqm = 'drop_tail' }]\n"
    )
    line = ["sweep", str(scenario), "--vary", "seed=1..3", "--out", str(out), "--no-report"]
    assert main(line) == 0
    (part,) = (out / "runs").iterdir()
    part.write_bytes(b"")
    capsys.readouterr()
    assert main(["results", str(out)]) == 1
    told = f"{part} is damaged: it has no checksum; the command that made the"
    assert capsys.readouterr().err.startswith(f"error: {told} sweep makes its runs again")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert main(line) == 0
    said = capsys.readouterr()
    assert (
        said.err
        == f"warning: {told} sweep makes its runs again; the file is kept as {part}.damaged\n"
    )
    assert "3 runs, all finished" in said.out


@pytest.mark.parametrize("content", [b"", b"{", b"\0" * 500])
def test_a_sweep_writes_anew_what_a_damaged_folder_says_of_itself(swept, copy, content):
    about = (copy / "sweep.json").read_bytes()
    (copy / "sweep.json").write_bytes(content)
    with pytest.raises(sg.SluiceError, match=r"\.parquet is of another sweep"):
        sweep(SCENARIO, {"seed": [1, 3]}, copy, workers=1)
    with pytest.warns(UserWarning, match=r"sweep\.json is damaged: .*writes it again"):
        assert sweep(SCENARIO, VARY, copy, workers=1).frame().equals(swept[0])
    assert (copy / "sweep.json").read_bytes() == about


def test_a_part_of_another_sweep_is_not_read_as_one_of_this(swept, copy, tmp_path):
    sweep(SCENARIO, {"seed": [5, 6]}, tmp_path / "other", workers=1)
    (part,) = (tmp_path / "other" / "runs").iterdir()
    shutil.copy(part, copy / "runs")
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    for read in (lambda: sg.Sweep(copy).frame(), lambda: sweep(SCENARIO, VARY, copy, workers=1)):
        with pytest.raises(sg.SluiceError, match=f"{part.name} is of another sweep: move it"):
            read()
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before
    (copy / "runs" / part.name).unlink()
    assert sweep(SCENARIO, VARY, copy, workers=1).frame().equals(swept[0])


def test_parts_are_parquet_files_that_any_program_reads(swept):
    (part,) = (swept[1] / "runs").iterdir()
    assert pl.read_parquet(part)["run"].to_list() == [0, 1, 2, 3]


def test_a_tuning_makes_the_runs_of_a_damaged_part_again(tmp_path):
    given = {"precision": 0.1, "replications": 4, "evaluations": 3, "workers": 1}
    tuned = [sg.Discipline(aqm="drop_tail")]
    ask = (SCENARIO.replace(disciplines=tuned), {"queue.limit": "1..60:3"})
    out = tmp_path / "out"
    score = "delay_mean + 2000*loss_ratio"
    whole = sg.tune(*ask, score, out=out, **given)
    (part,) = (out / "runs").iterdir()
    for bit in flipped(part, seed=3):
        folder = TuningFolder(out)
        folder.about()
        with pytest.raises(seal.DamagedError):
            print(bit, list(folder.rows()))
    part.write_bytes(part.read_bytes()[:2000])
    with pytest.warns(UserWarning, match=f"{part.name} is damaged"):
        again = sg.tune(*ask, score, out=out, **given)
    assert again.trials.equals(whole.trials)
    assert again.settings == whole.settings


# --- the store


def test_no_flipped_bit_in_a_record_is_read_as_true():
    record = sg.simulate(ONE)
    (path,) = store.folder().glob("*.zip")
    for bit in flipped(path, seed=4):
        assert store.find(record.identity, type(record)) is None, bit
        with pytest.raises(seal.DamagedError, match=f"{path.name} is no record, or damaged"):
            type(record).read(path)
    assert store.find(record.identity, type(record)).measures == record.measures


def test_a_damaged_record_is_made_again(capsys):
    record = sg.simulate(ONE)
    (path,) = store.folder().glob("*.zip")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert sg.simulate(ONE).measures == record.measures
    assert store.find(record.identity, type(record)) is not None


def test_a_record_under_the_name_of_another_run_is_not_believed():
    one, other = sg.simulate(ONE), sg.simulate(ONE.replace(seed=9))
    first, second = (store.folder() / f"{each.identity}.zip" for each in (one, other))
    shutil.copy(first, second)
    assert store.find(other.identity, type(other)) is None
    assert sg.simulate(ONE.replace(seed=9)).measures == other.measures
    with pytest.raises(seal.DamagedError, match=f"has the record of {one.identity}, not x"):
        Record.read(first, "x")


def test_a_record_is_not_lost_when_there_is_no_memory_to_read_it(monkeypatch):
    record = sg.simulate(ONE)
    (path,) = store.folder().glob("*.zip")
    whole = path.read_bytes()

    def no_memory(*_):
        raise MemoryError

    monkeypatch.setattr("sluicegate.record.pl.read_parquet", no_memory)
    with pytest.raises(MemoryError):
        store.find(record.identity, type(record))
    assert path.read_bytes() == whole


def test_no_flipped_bit_in_a_kept_page_or_in_one_in_its_folder_is_shown(tmp_path):
    compared = sg.compare(SCENARIO)
    page = write_report(compared, tmp_path / "out")
    html = page.read_bytes()
    (kept,) = store.folder().glob("*.html.gz")
    mark = kept.name.removesuffix(".html.gz")
    for bit in flipped(kept, seed=5):
        # some bits of gzip's header mean nothing: the page is then as it was
        assert store.find_page(mark) in (None, html.decode()), bit
    for bit in flipped(page, seed=6):
        assert _bearing(page, mark) is None, bit
    page.write_bytes(html[:-9] + b"8" + html[-8:])
    assert write_report(compared, tmp_path / "out").read_bytes() == html


# --- what advice keeps of a capture


def test_no_flipped_bit_in_a_kept_answer_is_read_as_true():
    setting = Setting("codel", target_s=0.005)
    runs = SimpleNamespace(measured={(setting, 0, 1): [0.5, None, 3.0]})
    answer._keep("name", [setting], runs)
    (path,) = store.folder().glob("advice-*.json")
    known = SimpleNamespace(measured={})
    for bit in flipped(path, seed=7):
        assert answer._find("name", known) is None, bit
        assert not known.measured
    shutil.copy(path, path.with_name("advice-other.json"))
    assert answer._find("other", known) is None
    assert answer._find("name", known) == [setting]
    assert known.measured == runs.measured


def test_folders_of_earlier_versions_are_refused_by_their_version(copy):
    (copy / "sweep.json").write_text(
        '{"format": 1, "sluicegate": "0.1.0", "paths": ["seed"], "runs": 4}'
    )
    told = "format 1 of sluicegate 0.1.0; this version reads format 2"
    with pytest.raises(sg.SluiceError, match=told):
        sg.Sweep(Path(copy))
