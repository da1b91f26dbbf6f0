"""The headers of aqm/ compile for BPF, without 128-bit integers and signed division."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

AQM = Path(__file__).parent.parent / "aqm"
HEADERS = sorted(header.name for header in AQM.glob("*.h"))
CLASSES = [
    name
    for header in HEADERS
    for name in re.findall(r"^AQM_CLASS\((\w+),", (AQM / header).read_text(), re.MULTILINE)
]
LEAST_INSTRUCTIONS = {"drop_tail": 2, "red": 200}

PROGRAM = """
#include "registry.h"
#define SECTION(name) __attribute__((section(name), used))
struct aqm_view view;
"""
FUNCTIONS = """
struct {x}_params {x}_params;
struct {x}_config {x}_config;
struct {x}_state {x}_state;
SECTION("{x}_configure") int {x}_set(void) {{ return {x}_configure(&{x}_params, &{x}_config); }}
SECTION("{x}_arrive") int {x}_decide(void)
{{
    return aqm_settle({x}_arrive(&{x}_state, &{x}_config, &view), &view);
}}
"""

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
    run("clang-19", *options, "-c", str(source), "-o", str(built))
    return str(built)


def instructions(built: str, section: str) -> list[str]:
    listing = run("llvm-objdump-19", "-d", "--no-show-raw-insn", f"--section={section}", built)
    return re.findall(r"^\s+\d+:\s+(.+)$", listing, re.MULTILINE)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> str:
    program = PROGRAM + "".join(FUNCTIONS.format(x=name) for name in CLASSES)
    return compile_for_bpf(tmp_path_factory.mktemp("bpf"), program)


def test_there_are_classes() -> None:
    assert set(LEAST_INSTRUCTIONS) <= set(CLASSES)


@needs_clang
@pytest.mark.parametrize("header", HEADERS)
def test_header_compiles_by_itself(header: str, tmp_path: Path) -> None:
    compile_for_bpf(tmp_path, f'#include "{header}"\n')


@needs_clang
@pytest.mark.parametrize("name", CLASSES)
def test_class_becomes_code_without_signed_division(name: str, built: str) -> None:
    code = instructions(built, f"{name}_configure") + instructions(built, f"{name}_arrive")
    assert len(code) >= LEAST_INSTRUCTIONS.get(name, 2)
    assert [line for line in code if re.search(r" s[/%]= ", line)] == []


@needs_clang
def test_no_call_leaves_the_program(built: str) -> None:
    """Arithmetic on 128 bits would call a library function that BPF does not have."""
    assert run("llvm-nm-19", "--undefined-only", built) == ""
    code = [
        line
        for name in CLASSES
        for step in ("configure", "arrive")
        for line in instructions(built, f"{name}_{step}")
    ]
    assert [line for line in code if line.startswith("call")] == []


@pytest.mark.parametrize("header", HEADERS)
def test_every_loop_has_a_constant_bound(header: str) -> None:
    text = re.sub(r"/\*.*?\*/", "", (AQM / header).read_text(), flags=re.DOTALL)
    assert re.findall(r"\bgoto\b|\bwhile \((?!0\))", text) == []
    for bound in re.findall(r"\bfor \([^;]*;([^;]*);", text):
        assert re.match(r"\s*\w+ (<|>) (\d+|[A-Z_]+( - 1)?)( &&|$)", bound), bound
