"""The test vectors of `aqm/vectors/`, read by `replay.c`, with only a C compiler and the headers.

`engine/contract/tests/vectors.rs` checks that they are what the engine gives today.
"""

import hashlib
import re
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

AQM = Path(__file__).resolve().parent.parent / "aqm"
FILES = sorted((AQM / "vectors").glob("*.txt"))
FLAGS = ["-std=gnu11", "-Wall", "-Wextra", "-Werror"]


def replay(folder: Path, vectors: Path, aqm: str) -> subprocess.CompletedProcess[str]:
    program = folder / aqm
    if not program.exists():
        source = AQM / "vectors" / "replay.c"
        command = ["cc", *FLAGS, f"-DAQM={aqm}", "-I", AQM, source, "-o", program]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
    return subprocess.run([program, vectors], capture_output=True, text=True, check=False)


def test_the_checksums_are_those_of_the_files() -> None:
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}" for file in FILES]
    assert (AQM / "vectors" / "SHA256SUMS").read_text().splitlines() == sums


@pytest.mark.parametrize("vectors", FILES, ids=lambda file: file.stem)
def test_a_c_program_answers_as_the_file_says(vectors: Path, tmp_path: Path) -> None:
    text = vectors.read_text()
    name = re.match(r"aqm (\w+)\n", text)
    assert name
    calls = len(re.findall(r"^(?:arrive|depart|tick|join|leave) ", text, re.MULTILINE))
    assert calls >= 400
    done = replay(tmp_path, vectors, name[1])
    assert done.stderr == ""
    assert done.stdout == f"{calls} calls answered alike\n"


@pytest.mark.parametrize("flags", [[], ["-DAQM_PORTABLE"]], ids=["plain", "portable"])
@pytest.mark.parametrize("example", ["queue.c", "codel.c"])
def test_the_examples_compile_without_warnings(
    example: str, flags: list[str], tmp_path: Path
) -> None:
    """Their output is checked with the examples of `aqm/README.md`."""
    source = AQM / "examples" / example
    command = ["cc", *FLAGS, *flags, "-O2", "-I", AQM, "-c", source, "-o", tmp_path / "built.o"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_example_in_rust_needs_neither_std_nor_an_allocator(tmp_path: Path) -> None:
    built = tmp_path / "queue.o"
    options = ["--edition", "2024", "-O", "-C", "panic=abort", "-D", "warnings", "--emit", "obj"]
    source = AQM / "examples" / "queue.rs"
    subprocess.run(["rustc", *options, source, "-o", built], check=True)
    listed = subprocess.run(["nm", "-u", built], capture_output=True, text=True, check=True).stdout
    needed = re.findall(r"U (\S+)", listed)
    of_core = re.compile(r"_R\w*4core\w*|_ZN4core\w*|mem(set|cpy|move)|_GLOBAL_OFFSET_TABLE_")
    assert [name for name in needed if not of_core.fullmatch(name)] == ["abort", "codel", "printf"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (r"^arrive 1 ", "arrive 4 ", r"line (\d+): arrive: 1, in the file 4"),
        (r"^depart 0 ", "depart 1 ", r"line (\d+): depart: 0, in the file 1"),
        (r"^state [1-9a-f]", "state 0", r"line (\d+): digest: .*"),
        (r"^param target 15000000 .*", "param target 5000000 0.005", r"line (\d+): .*"),
        (r"^end .*", "", r"line (\d+): the end is missing"),
        (r"^aqm pie", "aqm codel", r"line (\d+): give a file of vectors of this AQM"),
    ],
)
def test_a_difference_is_reported_with_its_line(
    old: str, new: str, said: str, tmp_path: Path
) -> None:
    text = (AQM / "vectors" / "pie.txt").read_text()
    found = re.search(old, text, re.MULTILINE)
    assert found
    changed = tmp_path / "changed.txt"
    changed.write_text(text[: found.start()] + new + text[found.end() :])
    done = replay(tmp_path, changed, "pie")
    told = re.fullmatch(said + "\n", done.stderr)
    assert told, done.stderr
    assert done.returncode == 1
    if not old.startswith("^param"):  # a changed parameter makes a difference in a later line
        assert int(told[1]) == text[: found.start()].count("\n") + 1
