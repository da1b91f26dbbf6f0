"""Every example of the documentation runs and prints what the page says; the pages build.

How a block of a page is run, in order and all in one folder that holds `scenarios`, `captures` and
`aqm`:

- `python`: the blocks of a page share their names; one that starts with `>>>` is a doctest.
- `console`: each `$ ` line is a command, and what follows it is what it must print (`...` stands
  for anything; nothing stands for "not looked at"). It must succeed unless it prints `error:`.
  `sluice` runs in this process, as each start of Python takes most of a second.
- `toml` and `c`: saved under the name that the first line starts with (`# first.toml`).
- `sh`: only looked at: there are such commands and options.

An image in `docs/images/` that a page shows is one that its examples save; `make images` takes over
those of the present code.
"""

import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from itertools import takewhile
from pathlib import Path

import pytest
import typer
from sybil import Example, Sybil
from sybil.parsers.myst import CodeBlockParser, PythonCodeBlockParser

from sluicegate.cli import _application, main
from sluicegate.measures import DEFINITIONS
from sluicegate.report.glossary import MEANINGS, anchor
from sluicegate.testbed.check import missing, needs

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
COMMANDS = Path(sys.executable).parent
GENERATED = ROOT / "docs" / "reference" / "generated"
PAGES = [
    ROOT / "README.md",
    ROOT / "aqm" / "README.md",
    # notebooks of the gallery are executed as the pages are built
    *sorted(
        page
        for page in (ROOT / "docs").rglob("*.md")
        if GENERATED not in page.parents and page.parent.name != "gallery"
    ),
]
# whose reports have their figures drawn; images are drawn on all pages
DRAWN = {ROOT / "README.md", ROOT / "docs" / "tutorial.md"}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# Furo writes the tree of all pages anew for each page, in a quarter of the time: here once
SPHINX = """
import sys

import furo
from sphinx.cmd.build import main

trees = []
compute = furo._compute_navigation_tree


def tree(context):
    if not trees:
        trees.append(compute(context))
    return trees[0]


furo._compute_navigation_tree = tree
sys.exit(main(sys.argv[1:]))
"""


def split_console(block: str) -> list[tuple[str, str]]:
    """Pairs of a command and what it should print."""
    lines = block.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    return [
        (
            lines[start].removeprefix("$ "),
            "\n".join(takewhile(lambda line: not line.startswith("$ "), lines[start + 1 :])),
        )
        for start in starts
    ]


def run_command(command: str) -> tuple[int, str, str]:
    """Exit code, output and errors of a line for the shell."""
    if re.fullmatch(r"sluice [^|&;<>$]*", command):
        out, errors = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(errors), warnings.catch_warnings():
            # a command prints them; in tests they are errors
            warnings.simplefilter("default")
            code = main(shlex.split(command)[1:])
        return code, out.getvalue(), errors.getvalue()
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def run_console(example: Example) -> str | None:
    for command, expected in split_console(example.parsed):
        code, out, errors = run_command(command)
        # on a busy machine a run may last long enough to tell how far it is
        printed = out + re.sub(r"^ *\d+% .*\n", "", errors, flags=re.MULTILINE)
        if (code != 0) != ("error:" in expected):
            return f"{command}: exit code {code}\n{printed}"
        if expected and not doctest.OutputChecker().check_output(expected, printed, FLAGS):
            return f"{command} printed\n{printed}\nnot\n{expected}"
    return None


def save_file(example: Example) -> None:
    name = re.match(r"(?:#|/\*) ([\w-]+\.(?:toml|h))\b", example.parsed)
    assert name, f"{example.path}:{example.line}: the first line must name the file"
    Path(name[1]).write_text(example.parsed)


EXAMPLES = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=FLAGS),
        CodeBlockParser(language="console", evaluator=run_console),
        CodeBlockParser(language="toml", evaluator=save_file),
        CodeBlockParser(language="c", evaluator=save_file),
    ]
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    if page.name == "testbed.md" and (lacking := missing(needs())):
        pytest.skip(f"no gate here: {lacking}")
    for folder in ("scenarios", "captures", "aqm"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{COMMANDS}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    if page not in DRAWN:
        request.getfixturevalue("undrawn")
    for example in EXAMPLES.parse(page).examples():
        example.evaluate()
    # what takes long is made by a program of bench/, which names it
    long = "".join(each.read_text() for each in (ROOT / "bench").glob("*.py"))
    for image in re.findall(r"/images/([\w-]+\.png)\)", page.read_text()):
        made = (tmp_path / image).exists() or f'"{image}"' in long
        assert made, f"no example of {page.name} makes {image}"


def test_a_wrong_example_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    for block in (
        "```python\nassert 1 + 1 == 3\n```\n",
        "```python\n>>> 1 + 1\n3\n```\n",
        "```console\n$ echo two\nthree\n```\n",
        "```console\n$ false\n```\n",
        "```toml\nslots = 1\n```\n",
    ):
        page.write_text(block)
        (example,) = EXAMPLES.parse(page).examples()
        with pytest.raises(AssertionError):
            example.evaluate()


def commands_to_read(program: str) -> list[list[str]]:
    """The words behind a program's name, of each line in a block `sh` that calls it."""
    blocks = [
        block.replace("\\\n", " ")
        for page in PAGES
        for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    ]
    calls = re.findall(
        rf"^(?:sudo )?(?:.venv/bin/)?{program} (.*)$", "\n".join(blocks), re.MULTILINE
    )
    # a text in quotes may go on in the next lines
    return [shlex.split(words, comments=True) for words in calls if words.count("'") % 2 == 0]


def test_commands_that_are_only_shown_could_be_given() -> None:
    group = typer.main.get_command(_application([]))
    calls = commands_to_read("sluice")
    assert len(calls) > 15
    with group.make_context("sluice", [], resilient_parsing=True) as context:
        for name, *words in calls:
            group.commands[name].make_context(name, words, parent=context)


def test_options_of_the_router_that_are_shown_are_there() -> None:
    calls = commands_to_read("sluiced")
    assert len(calls) > 8
    for words in calls:
        # the command, or two for one of several on the same thing
        named = words[: 2 if words[0] == "qdisc" else 1]
        done = subprocess.run(
            [COMMANDS / "sluiced", *named, "--help"], capture_output=True, text=True, check=True
        )
        shown = {word for word in words if word.startswith("--")}
        assert shown <= set(re.findall(r"--[\w-]+", done.stdout)), words


@pytest.mark.parametrize("page", ["README.md", "docs/background/architecture.md"])
def test_files_that_are_named_exist(page: str) -> None:
    named = re.findall(
        r"`((?:aqm|engine|gate|kernel|sluicegate|bench|tests|docs)/[^`<*]*)`",
        (ROOT / page).read_text(),
    )
    assert len(named) > 5
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", ["README.md", "aqm/README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_lead_somewhere(page: str) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text())
    folder = (ROOT / page).parent
    assert [link for link in links if "://" not in link and not (folder / link).exists()] == []


def test_the_guide_lists_all_that_a_header_may_use() -> None:
    guide = (ROOT / "docs" / "guides" / "own-aqm.md").read_text()
    view = (ROOT / "aqm" / "aqm.h").read_text().split("struct aqm_view {")[1].split("};")[0]
    fields = re.findall(r"^\tu\d+ (\w+);", view, re.MULTILINE)
    assert len(fields) > 15
    fixed = (ROOT / "aqm" / "fixed.h").read_text()
    functions = re.findall(r"^static inline .*?\b(fixed_\w+)\(", fixed, re.MULTILINE)
    assert len(functions) > 10
    # what the others are made of
    parts = {"fixed_wide", "fixed_magnitude", "fixed_leading_zeros"}
    wanted = [f"`{name}`" for name in fields]
    wanted += [f"`{name}(" for name in functions if name not in parts]
    assert [name for name in wanted if name not in guide] == []


def test_pages_build_without_warnings(tmp_path: Path) -> None:
    options = ["--quiet", "--fail-on-warning", "--keep-going"]
    done = subprocess.run(
        [sys.executable, "-c", SPHINX, *options, ROOT / "docs", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    measures = (tmp_path / "reference" / "measures.html").read_text()
    assert [name for name in DEFINITIONS if f">{name}<" not in measures] == []
    for name in (
        "index",
        "tutorial",
        "reference/generated/aqms/red",
        "reference/generated/scenario",
        "reference/generated/network",
        "reference/generated/gallery/lesson",
    ):
        assert (tmp_path / f"{name}.html").exists()
    assert measures.count("<math") > 30
    # notebooks were executed: what they show is there, and the notebook itself
    compared = (tmp_path / "reference/generated/gallery/compare.html").read_text()
    assert "minus drop-tail" in compared
    assert 'class="shown"' in compared
    assert len(list((tmp_path / "_downloads").rglob("*.ipynb"))) == 3
    # formulas need nothing from the network
    assert not re.search(r'<(?:script|link)[^>]*(?:src|href)="(?:https?:)?//', measures)
    glossary = (tmp_path / "reference" / "glossary.html").read_text()
    assert [term for term in MEANINGS if f'id="{anchor(term)}"' not in glossary] == []
    tutorial = (tmp_path / "tutorial.html").read_text()
    links = re.findall(r'href="reference/glossary.html#(word-[\w-]+)"', tutorial)
    assert len(links) == len(set(links)) > 5
    assert set(links) <= set(map(anchor, MEANINGS))
