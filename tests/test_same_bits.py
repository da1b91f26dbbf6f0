"""The package gives the same bits as builds with assertions and without optimisation.

The run and its digest are those of `engine/network/tests/same_bits.rs`.
"""

from functools import reduce
from pathlib import Path

import numpy as np

from sluicegate.worlds.network import NetworkScenario, simulate

DIGEST = Path(__file__).parent.parent / "engine/network/tests/same_bits.txt"


def _flows(source: str, **given: object) -> dict[str, object]:
    ends = {"source": source, "sink": "right"}
    return {"kind": "tcp", **ends, "count": 20, "spread_s": 1.0, **given}


SCENARIO = {
    "topology": {
        "kind": "graph",
        "links": [
            {"source": "left", "sink": "right", "rate_bps": 5e6, "delay_s": 0.01, "queue": True},
            {"source": "near", "sink": "left", "rate_bps": 5e7, "delay_s": 0.005},
            {"source": "far", "sink": "left", "rate_bps": 5e7, "delay_s": 0.06},
        ],
    },
    "flows": [
        _flows("near", tcp={"variant": "newreno", "like": "ns2"}),
        _flows("far", tcp={"variant": "sack", "ecn": True}, packets=300),
    ],
    "queue": {"limit": 50, "ecn": True},
    "disciplines": [{"aqm": "red", "params": {"min_th": 10, "max_th": 30, "max_p": 0.1}}],
    "duration_s": 20,
    "sample_s": 0.1,
    "replications": 1,
    "seed": 7,
}


def test_any_build_gives_the_same_bits() -> None:
    record = simulate(NetworkScenario.parse(SCENARIO), fresh=True)
    flows = record.flows.select("packets", "retransmissions", "timeouts")
    port = record.ports[0].series
    samples = [port[name].to_numpy() for name in ("queue", "arrivals", "losses", "sent_bytes")]
    samples.append(port["average"].to_numpy().view(np.uint64))
    words = [int(word) for row in flows.rows() for word in row]
    words += np.column_stack([column.astype(np.uint64) for column in samples]).ravel().tolist()

    def step(digest: int, word: int) -> int:
        return (digest ^ word) * 0x100_0000_01B3 % 2**64

    assert f"{reduce(step, words, 0xCBF2_9CE4_8422_2325):016x}" == DIGEST.read_text().strip()
