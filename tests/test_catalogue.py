"""The catalogue: every AQM and scheduler has its family and its page, and the README its line."""

import re
import sys

import pytest

import sluicegate as sg
from sluicegate import _engine
from sluicegate.catalogue import ENTRIES, FAMILIES, entry
from sluicegate.cli import main
from sluicegate.registry import schedulers

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def docs(root):
    """Return the folder of the documentation, from which modules can be imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(root / "docs"))
        yield root / "docs"
    for name in ("catalogue", "pictures", "readme"):
        sys.modules.pop(name, None)


def test_each_aqm_has_an_entry():
    # the family of a scheduler is known without
    assert set(ENTRIES) - set(schedulers()) == set(sg.aqms())
    assert {entry(name).family for name in schedulers()} == {FAMILIES[-2]}
    assert {each.family for each in ENTRIES.values()} == set(FAMILIES[:-1])


def test_sluice_aqms_lists_families_with_schedulers(capsys):
    assert main(["aqms"]) == 0
    told = capsys.readouterr().out
    red, codel, end = (told.index(FAMILIES[place]) for place in (1, 3, 4))
    assert red < told.index("gentle_red") < codel < told.index("cobalt") < end
    assert told.index(FAMILIES[-2]) < told.rindex("\nets ")
    assert FAMILIES[-1] not in told


def test_the_readme_has_the_table_of_the_headers(docs):
    from readme import with_table

    text = (docs.parent / "README.md").read_text()
    assert with_table(text) == text, "make outputs writes it"


def test_pages_have_rule_use_and_pictures_of_the_engine(docs, tmp_path, monkeypatch):
    import catalogue

    names = ["red", "cake", "ets"]
    few = {name: each for name, each in sg.aqms().items() if name in names}
    monkeypatch.setattr(catalogue.sg, "aqms", lambda: few)
    ets = {"ets": schedulers()["ets"]}
    monkeypatch.setattr(catalogue, "schedulers", lambda: ets)
    catalogue.write(tmp_path / "aqms")
    pages = {name: (tmp_path / "aqms" / f"{name}.md").read_text() for name in names}
    # the words of the header, and of nobody else
    assert "S. Floyd, V. Jacobson" in pages["red"]
    assert "Linux adds a random number below 2^16 to a quantum" in pages["cake"]
    assert "## Where it is in use\n\nHome routers: OpenWrt" in pages["cake"]
    assert "| `min_th` |" in pages["red"]
    # RED has a drop function, too
    shown = {name: re.findall(r"\]\((\S+\.svg)\)", page) for name, page in pages.items()}
    assert {name: len(files) for name, files in shown.items()} == {"red": 2, "cake": 1, "ets": 1}
    for files in shown.values():
        assert all("<svg" in (tmp_path / "aqms" / file).read_text() for file in files)


def test_comments_become_paragraphs_lists_and_tables(docs):
    from catalogue import words

    shown = list(words("/* one */\n/*\n * Words.\n *   a  b\n *\n * - item\n *   goes on\n */\n"))
    assert shown == ["Words.", "```text\n  a  b\n```", "", "- item", "  goes on"]
    # every header has such a comment
    for name in [*sg.aqms(), *schedulers()]:
        assert list(words(dict(_engine.aqm_headers())[f"{name}.h"])), name
