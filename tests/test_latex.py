"""Tables for LaTeX: what they say, and that TeX takes them."""

import shutil
import subprocess

import pytest
from pages import comparison

from sluicegate.cli import main
from sluicegate.report.folder import write_report
from sluicegate.report.latex import latex_table

pytestmark = pytest.mark.slow

HEADER = ["discipline", "mean sojourn\n(ms)", "lost (%)", "runs"]
ROWS = [
    ["red_1 & 50% {x} \\ ~^#$<|>", "64.7 ± 0.9", "< 3e-06", "12,345"],
    ["PI*", "-0.5 ± 1.0", "0.00063 (< 0.012)", ""],
    ["[RED] ±", "(1.2 ± 0.3)e+06", "n/a", "+1.5"],
    ["*", "1.5e-10", "> 99.9", "n/a"],
]
TEX = r"""% needs \usepackage{booktabs}
\begin{tabular}{lrrr}
\toprule
discipline & mean sojourn & lost & runs \\
 & (ms) & (\%) &  \\
\midrule
red\_1 \& 50\% \{x\} \textbackslash{} \textasciitilde{}\textasciicircum{}\#\$\textless{}\textbar{}\textgreater{} & $64.7 \pm 0.9$ & $< 3 \times 10^{-6}$ & $12{,}345$ \\
PI* & $-0.5 \pm 1.0$ & $0.00063\ (< 0.012)$ &  \\
{}[RED] $\pm$ & $(1.2 \pm 0.3) \times 10^{6}$ & n/a & $+1.5$ \\
{}* & $1.5 \times 10^{-10}$ & $> 99.9$ & n/a \\
\bottomrule
\end{tabular}
"""  # noqa: E501 a row is a line
COMPILER = shutil.which("pdflatex")


def test_a_table_has_units_intervals_and_escaped_labels():
    assert latex_table(HEADER, ROWS) == TEX


def test_a_report_has_its_tables_for_latex_in_the_columns_that_were_chosen(tmp_path):
    found = comparison({"aqm": "drop_tail"}, {"aqm": "red", "label": "RED_1"})
    write_report(found.showing("sojourn_p50", "queue_mean"), tmp_path)
    table = (tmp_path / "measures.tex").read_text()
    assert r"discipline & p50 sojourn & mean queue \\" in table
    assert r" & (slots) & (packets) \\" in table
    assert "\nRED\\_1 & $" in table
    assert r" \pm " in table
    differences = (tmp_path / "differences.tex").read_text()
    assert "\nRED\\_1 minus drop\\_tail & $" in differences
    # one replication has no differences, and a file of others must not stay
    single = comparison({"aqm": "drop_tail"}, {"aqm": "red"}, replications=1)
    write_report(single, tmp_path)
    assert not (tmp_path / "differences.tex").exists()


def test_results_writes_all_rows_of_its_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(
        'slots = 1e4\narrivals = { kind = "geometric", rate = 0.5 }\n'
        'service = { kind = "geometric", mu = 0.5 }\ndisciplines = [{ aqm = "drop_tail" }]\n'
    )
    assert main(["sweep", "small.toml", "--vary", "queue.limit=10..59", "--no-report"]) == 0
    assert main(["results", "sluice-sweep", "--latex", "means.tex"]) == 0
    means = (tmp_path / "means.tex").read_text()
    assert means.count("\ndrop\\_tail & $") == 50
    assert r"discipline & queue" in means
    words = ["--sql", "SELECT run, loss_ratio FROM runs", "--latex", "asked.tex"]
    assert main(["results", "sluice-sweep", *words]) == 0
    assert r"run & loss\_ratio \\" in (tmp_path / "asked.tex").read_text()


@pytest.mark.skipif(
    COMPILER is None, reason="needs pdflatex with booktabs (texlive-latex-recommended)"
)
def test_tex_takes_a_table(tmp_path):
    (tmp_path / "table.tex").write_text(latex_table(HEADER, ROWS))
    (tmp_path / "page.tex").write_text(
        "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n"
        "\\input{table.tex}\n\\end{document}\n"
    )
    done = subprocess.run(
        [str(COMPILER), "-interaction=nonstopmode", "-halt-on-error", "page.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
