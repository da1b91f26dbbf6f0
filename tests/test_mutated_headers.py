"""Whatever a user writes into a header, there is a clear message or a run that ends."""

import os
import shutil
from collections import Counter

import mutated_headers
import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler"),
]


def test_mutated_headers_neither_end_nor_hang_a_process(tmp_path):
    tried = int(os.environ.get("SLUICE_FUZZ", 30))
    paths = mutated_headers.write(tmp_path, tried, seed=11)
    found = list(mutated_headers.outcomes(paths))
    lost = [(path.read_text(), became) for path, became, _ in found if became in ("ended", "hung")]
    assert not lost
    counts = Counter(became for _, became, _ in found)
    print(dict(counts))
    assert counts.total() == tried
    assert counts["ran"] >= 5
    assert counts["refused by the compiler"] >= 3
    assert counts["refused by the trial"] >= 3
    assert all(words for _, became, words in found if became != "ran")


def test_a_process_that_ends_or_hangs_is_noticed(tmp_path, monkeypatch):
    """Shows that the test above can fail."""
    program = tmp_path / "program.py"
    program.write_text(
        "import os, sys, time\n"
        "for line in sys.stdin:\n"
        "    os.abort() if 'abort' in line else time.sleep(100)\n"
    )
    monkeypatch.setattr(mutated_headers, "__file__", str(program))
    monkeypatch.setattr(mutated_headers, "MOST_S", 3)
    found = mutated_headers.outcomes([tmp_path / "abort.h", tmp_path / "sleep.h"])
    assert [became for _, became, _ in found] == ["ended", "hung"]
