"""The package's names, which are loaded when they are first asked for."""

import subprocess
import sys
import tomllib
from types import ModuleType

import sluicegate as sg


def python(code, *words):
    """What a fresh interpreter prints."""
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_every_name_is_there_and_no_function_hides_behind_a_module():
    modules = {name for name in sg.__all__ if isinstance(getattr(sg, name), ModuleType)}
    assert modules == {"chain", "network", "trace"}
    # whatever was imported before
    code = "import sluicegate.report.comparison, sluicegate as sg; print(sg.aqm('red'), sg.aqm)"
    assert python(code).startswith("red() <function aqm ")


def test_summing_up_a_trace_waits_for_no_slow_import(root):
    code = (
        "import sys; from sluicegate.cli import main; main(['trace', sys.argv[1]]);"
        "print({'numpy', 'polars', 'matplotlib'} & set(sys.modules))"
    )
    shown = python(code, str(root / "tests" / "data" / "ns2.tr"))
    assert shown.splitlines()[-1] == "set()"


def test_every_file_names_the_same_version(root):
    python_package = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    engine = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    (cited,) = (
        line.removeprefix("version: ")
        for line in (root / "CITATION.cff").read_text().splitlines()
        if line.startswith("version: ")
    )
    assert python_package == engine == cited
