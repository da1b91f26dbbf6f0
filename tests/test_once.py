"""Options that take one value are refused where they are repeated."""

import pytest

from sluicegate.cli import main


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("simulate none.toml --slots 5 --slots 6", "--slots"),
        ("compare none.toml --seed 1 --aqm red --seed 1", "--seed"),
        ("compare none.toml --report --no-report", "--report/--no-report"),
        ("sweep none.toml --vary seed=1..2 --out a --out b", "--out"),
        ("results none --y loss_ratio --y queue_mean", "--y"),
        ("aqm red --plot a.svg --plot b.svg", "--plot"),
        ("advise --limit 5 --limit=9", "--limit"),
        ("compare none.toml --fresh --fresh", "--fresh"),
    ],
)
def test_a_repeated_option_is_named(line, option, capsys):
    assert main(line.split()) == 2
    assert capsys.readouterr().err == f"error: {option} is given 2 times, and takes one value\n"


def test_options_for_several_values_may_be_repeated(capsys):
    assert main(["aqm", "red", "--set", "min_th=5", "--set", "max_th=20"]) == 0
    assert "max_th" in capsys.readouterr().out
