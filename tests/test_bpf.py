"""The headers of aqm/ compile for BPF, without 128-bit integers and signed division."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

AQM = Path(__file__).parent.parent / "aqm"
SLUICED = AQM.parent / ".venv" / "bin" / "sluiced"
HEADERS = sorted(header.name for header in AQM.glob("*.h"))
TEXT = "".join((AQM / header).read_text() for header in HEADERS)
CLASSES = re.findall(r"^AQM_CLASS\((\w+),", TEXT, re.MULTILINE)


def steps(name: str) -> list[str]:
    """Return the functions in the descriptor of a class."""
    known = re.findall(rf"^AQM_(TICK|DEPART|OCCUPANCY)\({name}\)", TEXT, re.MULTILINE)
    return ["configure", "arrive", *(macro.lower() for macro in known)]


LEAST_INSTRUCTIONS = {"drop_tail": 2, "red": 200}
SIGNED_DIVISION = re.compile(r" s[/%]= ")

PROGRAM = """
#include "registry.h"
#define SECTION(name) __attribute__((section(name), used))
struct aqm_view view;
"""
FUNCTIONS = {
    "configure": """
struct {x}_params {x}_params;
struct {x}_config {x}_config;
struct {x}_state {x}_state;
SECTION("{x}/configure") int bpf_{x}_configure(void)
{{
    return {x}_configure(&{x}_params, &{x}_config);
}}
""",
    "arrive": """
SECTION("{x}/arrive") int bpf_{x}_arrive(void)
{{
    return aqm_settle({x}_arrive(&{x}_state, &{x}_config, &view), &view);
}}
""",
    "tick": """
SECTION("{x}/tick") void bpf_{x}_tick(void) {{ {x}_tick(&{x}_state, &{x}_config, &view); }}
""",
    "depart": """
SECTION("{x}/depart") int bpf_{x}_depart(void)
{{
    return aqm_mark_instead({x}_depart(&{x}_state, &{x}_config, &view), &view);
}}
""",
    "occupancy": """
SECTION("{x}/occupancy") void bpf_{x}_occupancy(void)
{{
    {x}_occupancy(&{x}_state, &{x}_config, &view, view.random & 1 ? 1 : -1);
}}
""",
}

needs_clang = pytest.mark.skipif(
    not (shutil.which("clang-19") and shutil.which("llvm-objdump-19")),
    reason="needs clang-19 and llvm-objdump-19 (Debian: clang-19, llvm-19)",
)


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


def compile_for_bpf(folder: Path, program: str) -> str:
    source, built = folder / "program.c", folder / "program.o"
    source.write_text(program)
    options = ["-target", "bpf", "-O2", "-Wall", "-Wextra", "-Werror", "-I", str(AQM)]
    options += ["-mllvm", "-inline-threshold=100000"]  # each function in its own section, whole
    run("clang-19", *options, "-c", str(source), "-o", str(built))
    return str(built)


def instructions(built: str, section: str) -> list[str]:
    listing = run("llvm-objdump-19", "-d", "--no-show-raw-insn", f"--section={section}", built)
    return re.findall(r"^\s+\d+:\s+(.+)$", listing, re.MULTILINE)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> str:
    functions = [FUNCTIONS[step].format(x=name) for name in CLASSES for step in steps(name)]
    program = PROGRAM + "".join(functions)
    return compile_for_bpf(tmp_path_factory.mktemp("bpf"), program)


def test_there_are_classes() -> None:
    assert set(LEAST_INSTRUCTIONS) <= set(CLASSES)


@needs_clang
@pytest.mark.parametrize("header", HEADERS)
def test_header_compiles_by_itself(header: str, tmp_path: Path) -> None:
    compile_for_bpf(tmp_path, f'#include "{header}"\n')


@needs_clang
@pytest.mark.parametrize("name", CLASSES)
def test_classes_compile_without_signed_division(name: str, built: str) -> None:
    code = [line for step in steps(name) for line in instructions(built, f"{name}/{step}")]
    assert len(code) >= LEAST_INSTRUCTIONS.get(name, 2)
    assert [line for line in code if SIGNED_DIVISION.search(line)] == []


@needs_clang
def test_no_external_function_is_called(built: str) -> None:
    """Arithmetic on 128 bits would call a library function that BPF does not have."""
    assert run("llvm-nm-19", "--undefined-only", built) == ""
    code = [
        line
        for name in CLASSES
        for step in steps(name)
        for line in instructions(built, f"{name}/{step}")
    ]
    assert [line for line in code if line.startswith("call")] == []


@needs_clang
def test_what_rust_and_bpf_share_is_compared() -> None:
    """With the features of `make test`, so that nothing is compiled twice."""
    features = ["--workspace", "--features", "sluice-gate/kernel"]
    name = "shared::tests::a_program_that_differs_does_not_compile"
    command = ["cargo", "test", "--locked", *features, "--lib", "--", "--ignored", name]
    done = subprocess.run(command, cwd=AQM.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test result: ok. 1 passed" in done.stdout


@pytest.mark.parametrize("header", HEADERS)
def test_every_loop_has_a_constant_bound(header: str) -> None:
    text = re.sub(r"/\*.*?\*/", "", (AQM / header).read_text(), flags=re.DOTALL)
    assert re.findall(r"\bgoto\b|\bwhile \((?!0\))", text) == []
    bounds = re.findall(r"\bfor \([^;]*;([^;]*);", text)
    assert len(bounds) == len(re.findall(r"\bfor ?\(", text))
    for bound in bounds:
        assert re.match(r"\s*\w+ (<|>) (\d+|[A-Z_]+( - 1)?)( &&|$)", bound), bound


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("14.0.6", "clang 14.0.6 is too old for BPF: it must be 19 or newer"),
        (None, "clang compiles for BPF, and is not here"),
    ],
)
def test_an_old_compiler_is_refused_by_name(tmp_path, version, said):
    if version:
        compiler = tmp_path / "clang"
        compiler.write_text(f"#!/bin/sh\necho {version}\n")
        compiler.chmod(0o755)
    done = subprocess.run(
        [SLUICED, "qdisc", "compile", "red", tmp_path / "red.o"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    if "built without BPF" in done.stderr:
        pytest.skip("sluiced without BPF: it needs the headers of libelf and zlib")
    assert done.returncode == 2
    assert done.stderr == f"sluiced: {said} (Debian: apt install clang-19)\n"
    assert not (tmp_path / "red.o").exists()
