"""The package's names, which are loaded on first use."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from inspect import signature
from pathlib import Path
from types import ModuleType

import yaml

import sluicegate as sg
from sluicegate import _engine, citation
from sluicegate.cli import main


def python(code, *words):
    """Run code in a fresh interpreter; return its output."""
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_every_name_exists_and_no_module_hides_a_function():
    modules = {name for name in sg.__all__ if isinstance(getattr(sg, name), ModuleType)}
    assert modules == {"chain", "network", "trace"}
    # also after a module of another name was imported
    code = "import sluicegate.report.comparison, sluicegate as sg; print(sg.aqm('red'), sg.aqm)"
    assert python(code).startswith("red() <function aqm ")


def test_summing_up_a_trace_imports_no_slow_module(root):
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


def test_the_type_stub_has_the_names_of_the_engine():
    """Compares names and parameters as `stubtest` does, which takes half a minute."""
    told = ast.parse(Path(_engine.__file__).with_name("_engine.pyi").read_text()).body
    named = {
        name
        for node in told
        for name in ([node.name] if hasattr(node, "name") else _annotated([node]))
    }
    assert named == _public(_engine)
    for node in told:
        if isinstance(node, ast.FunctionDef):
            assert _parameters(node) == list(signature(getattr(_engine, node.name)).parameters)
        elif isinstance(node, ast.ClassDef):
            found = getattr(_engine, node.name)
            methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
            names = {each.name for each in methods} - {"__new__"} | _annotated(node.body)
            assert names == _public(found), node.name
            for method in methods:
                of = found if method.name == "__new__" else getattr(found, method.name)
                bound = _parameters(method)[method.name == "__new__" :]
                assert bound == list(signature(of).parameters), (node.name, method.name)


def _public(thing):
    return {name for name in dir(thing) if not name.startswith("_")}


def _annotated(body):
    names = {node.target.id for node in body if isinstance(node, ast.AnnAssign)}
    return {name for name in names if not name.startswith("_")}


def _parameters(function):
    return [each.arg for each in function.args.args]


def test_the_citation_is_the_same_everywhere(root, capsys):
    cited = yaml.safe_load((root / "CITATION.cff").read_text())
    assert cited["date-released"] == citation.RELEASED.isoformat()
    assert [author["name"] for author in cited["authors"]] == [citation.AUTHOR]
    assert sg.__version__ == metadata.version("sluicegate") == cited["version"]
    # what the schema of CFF 1.2.0 requires
    assert {"cff-version", "message", "authors", "title"} <= set(cited)
    assert main(["--cite"]) == 0
    entry, brace, rest = capsys.readouterr().out.partition("\n}\n")
    fields = dict(re.findall(r"^  (\w+) = (.*),$", entry, re.MULTILINE))
    assert fields == {
        "author": f"{{{{{citation.AUTHOR}}}}}",
        "title": f"{{{cited['title']}}}",
        "year": f"{{{citation.RELEASED.year}}}",
        "month": "nov",
        "note": f"{{Version {cited['version']}}}",
    }
    # outside of an entry BibTeX reads nothing but @
    assert brace
    assert "@" not in rest
    assert "sluice aqm NAME" in rest


def test_every_file_of_rusts_tests_is_compiled(root):
    """The tests of a crate are one program, whose main.rs lists the files."""
    mains = [*root.glob("engine/*/tests/main.rs"), *root.glob("gate/tests/main.rs")]
    assert len(mains) > 5
    for each in mains:
        listed = re.findall(r"^mod (\w+);", each.read_text(), re.MULTILINE)
        files = {path.stem for path in each.parent.glob("*.rs")} - {"main"}
        folders = {path.parent.name for path in each.parent.glob("*/mod.rs")}
        assert sorted(listed) == sorted(files | folders), each
