"""What our qdiscs cost beside Linux's own of the same kind: instructions, exact in virtual time."""

import importlib.util

import pytest
from kernel_needs import needs_qdiscs
from test_lab import ROOT

from sluicegate.lab import kernel

pytestmark = pytest.mark.slow

MOST = 1.2


@needs_qdiscs
def test_shaped_a_qdisc_of_ours_costs_at_most_a_fifth_more_than_linuxs():
    spec = importlib.util.spec_from_file_location("qdisc", ROOT / "bench" / "qdisc.py")
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    _, rows = bench.cost_of(kernel.find(), ("ours", "kernel"), ("shaped",))
    ratios = {}
    for name, row in rows.items():
        took, dropped = row["beyond"], row["dropped"]
        # both did the same work
        assert dropped["ours"] == pytest.approx(dropped["kernel"], rel=0.05), name
        ratios[name] = took["ours"] / took["kernel"]
    assert set(ratios) == {f"{each} shaped" for each in ("FIFO", "RED", "CoDel", "PIE")}
    assert max(ratios.values()) <= MOST, ratios
