"""What our qdiscs cost beside Linux's own of the same kind: instructions, exact in virtual time."""

import importlib.util

import pytest
from kernel_needs import lacking_dualpi2, needs_qdiscs
from test_lab import ROOT

from sluicegate.lab import kernel

pytestmark = pytest.mark.slow

MOST = {"CAKE shaped": 1.5}
MOST_OF_OTHERS = 1.2
PACKETS = 15_000


@needs_qdiscs
def test_shaped_a_qdisc_of_ours_costs_little_more_than_linuxs():
    spec = importlib.util.spec_from_file_location("qdisc", ROOT / "bench" / "qdisc.py")
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    # its module is built on the machine, from Linux's text: `sluice lab --dualpi2`
    others = ["CAKE"] if lacking_dualpi2() else ["CAKE", "DualPI2"]
    parts = bench.parts_of([*bench.PAIRS, *others], bench.WHOSE[:2], ("shaped",))
    _, rows = bench.cost_of(kernel.find(), parts)
    assert set(rows) == {f"{each} shaped" for each in ("FIFO", "RED", "CoDel", "PIE", *others)}
    for name, row in rows.items():
        took, dropped = row["beyond"], row["dropped"]
        # both did the same work
        sent = {whose: PACKETS - lost for whose, lost in dropped.items()}
        assert sent["ours"] == pytest.approx(sent["kernel"], rel=0.01), name
        ratio = took["ours"] / took["kernel"]
        assert ratio <= MOST.get(name, MOST_OF_OTHERS), (name, ratio, took)
