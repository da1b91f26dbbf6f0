"""AQMs before this kernel's verifier, and at work in the kernel: `kernel/tests/equal.rs`."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from kernel_needs import needs_verifier

pytestmark = [pytest.mark.slow, needs_verifier]
ROOT = Path(__file__).resolve().parent.parent
GUIDE = (ROOT / "docs" / "guides" / "own-aqm.md").read_text()
PLATEAU = re.search(r"```c\n(/\* plateau\.h.*?)```", GUIDE, re.DOTALL).group(1)
STATELESS = "struct plateau_state {};"
UNUSED = "\t(void)state;\n"


def check(name, folder):
    sluice = [ROOT / ".venv" / "bin" / "sluice", "aqm", name, "--bpf"]
    environment = os.environ | {"COLUMNS": "1000"}
    return subprocess.run(
        sluice, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_every_aqm_decides_in_the_kernel_as_in_the_engine():
    """With the features of `make test`, so that nothing is compiled twice."""
    features = ["--workspace", "--features", "sluice-gate/kernel"]
    command = ["cargo", "test", "--locked", *features, "--test", "equal", "--", "--ignored"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test result: ok. 2 passed" in done.stdout


def verdict(folder, text):
    """What is said of a header of this text."""
    (folder / "plateau.h").write_text(text)
    return check("plateau.h", folder)


def test_the_header_of_the_guide_is_taken(tmp_path):
    done = verdict(tmp_path, PLATEAU)
    assert re.fullmatch(
        r"plateau: the kernel's verifier accepts it, with any parameters; it looked at \d+ "
        r"instructions\n",
        done.stdout,
    ), done.stderr


@pytest.mark.parametrize(
    ("state", "lines", "reason"),
    [
        (
            "u32 seen[8], next;",
            ["state->seen[state->next]++;", "state->next = (state->next + 1) % 8;"],
            "unbounded memory access",
        ),
        (
            "u64 n, odd;",
            [
                "for (u64 i = 0; i < state->n; i++)",
                "\tif (view->random >> i & 1)",
                "\t\tstate->odd += i;",
                "state->n = (state->n + 1) % 50;",
            ],
            "too (complex|large)",
        ),
    ],
)
def test_what_the_verifier_refuses_is_told_with_its_line(tmp_path, state, lines, reason):
    text = PLATEAU.replace(STATELESS, f"struct plateau_state {{ {state} }};")
    text = text.replace(UNUSED, "".join(f"\t{line}\n" for line in lines))
    done = verdict(tmp_path, text)
    assert done.returncode == 1
    said = "plateau.h: the kernel's verifier refuses it: "
    number = text[: text.index(lines[0])].count("\n") + 1
    assert re.search(f"{said}.*{reason}.* @ plateau.h:{number}$", done.stderr, re.MULTILINE)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "while (state->n != 3) state->n += 2;",
            r"plateau_arrive \(line {}\) does not come to an end within a second",
        ),
        ("state->n = state->n * 0.5 + 1.5;", r"plateau\.h:{}:\d+: error: SSE register .* disabled"),
        ("state->n++", r"plateau\.h:{}:\d+: error: expected .;. before"),
        (
            "state->n = (s64)state->n / (s64)(view->random | 1);",
            r"plateau\.h:{}:\d+: error: .*division",
        ),
    ],
)
def test_what_never_comes_to_the_verifier_is_told_with_its_line(tmp_path, line, told):
    text = PLATEAU.replace(STATELESS, "struct plateau_state { u64 n; };").replace(
        UNUSED, f"\t{line}\n"
    )
    done = verdict(tmp_path, text)
    assert done.returncode == 1
    number = text[: text.index(line)].count("\n") + 1
    assert re.search(told.format(number), done.stderr), done.stderr


def test_an_object_of_another_text_is_refused(tmp_path):
    """Its config may be another: read as if it were the same, it would mean something else."""
    header, made = tmp_path / "plateau.h", tmp_path / "plateau.o"

    def qdisc(*words):
        sluiced = [ROOT / ".venv" / "bin" / "sluiced", "qdisc", *words]
        return subprocess.run(sluiced, capture_output=True, text=True, check=False).stderr

    link = ("--aqm", header, "--rate", "1e6", "--object", made)
    header.write_text(PLATEAU)
    assert qdisc("compile", header, made) == ""
    assert "another text" not in qdisc("install", "longer_than_it_may_be", *link)
    assert "another text" not in (here := qdisc("install", "plateau", *link)), here
    header.write_text(PLATEAU + "/* changed */\n")
    assert "the object is plateau of another text" in qdisc("install", "plateau", *link)


def test_what_is_no_aqm_is_told(tmp_path):
    done = check("nope", tmp_path)
    assert "nope" in done.stderr
    assert done.returncode == 1
