"""Any network scenario gives a clear message, or a run that accounts for every packet."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sluicegate as sg
from sluicegate import network

pytestmark = pytest.mark.slow

# all packets have the same size, except ACKs with blocks, so bytes sent count packets
BYTES = 500
MOST_BYTES = BYTES + 4 + 3 * 8

TIMES = st.sampled_from([0.0, 1e-9, 1e-3, 0.01, 0.1])
LONGER = st.sampled_from([0.02, 0.2, 10.0])
# repeated values are drawn more often, so that most networks carry packets
RATES = st.sampled_from([*3 * [1e6, 1e7], 1e4, 1e14, 1.0])
DELAYS = st.sampled_from([*3 * [1e-3], 0.0, 1e-9, 0.05, 3600.0])


def tables(optional=None, **fields):
    return st.fixed_dictionaries(
        {
            name: value if isinstance(value, st.SearchStrategy) else st.just(value)
            for name, value in fields.items()
        },
        optional=optional,
    )


DISTRIBUTIONS = tables(kind=st.sampled_from(["constant", "exponential", "pareto"]), mean_s=LONGER)
SIZES = tables(kind="pareto", mean_packets=st.sampled_from([3.0, 1e9]), shape=1.5)
SENDER = {
    "like": st.sampled_from(["rfc", "ns2", "linux"]),
    "receiver_window": st.sampled_from([20, 20, 1, 2, 2**32 - 1]),
    "packet_bytes": BYTES,
    "ack_bytes": BYTES,
}
CHOICES = {
    "initial_window": st.sampled_from([1.0, 1.5, 1000.0]),
    "delayed_ack_s": st.sampled_from([0.0, 1e-9, 0.5]),
    "min_rto_s": st.sampled_from([0.01, 60.0, 1e-3]),
    "pacing": st.booleans(),
    "accurate_ecn": st.booleans(),
    "ack_every": st.sampled_from([1, 20]),
}
ECN = st.sampled_from([True, True, False])
# those that ask what is in flight, which only recovery by times knows
TIMED = ["bbr", "bbr3", "prague", "prague_2020", "prague_2021", "prague_2024"]
CONTROLS = ["reno", "cubic", "dctcp", "ledbat", "ledbatpp", *TIMED]
TCP = st.one_of(
    tables(
        CHOICES,
        variant=st.sampled_from(["tahoe", "reno", "newreno", "sack", "rack"]),
        congestion_control=st.sampled_from(CONTROLS),
        ecn=ECN,
        **SENDER,
    ),
    tables(
        CHOICES,
        variant="rack",
        congestion_control=st.sampled_from(CONTROLS),
        ecn=True,
        **SENDER,
    ),
)
SHARED = {
    "count": st.sampled_from([30, 30, 1, 2]),
    "start_s": st.sampled_from([0.0, 0.0, 1e-9, 0.1]),
    "stop_s": st.sampled_from([0.2, 10.0, 1e-3]),
}
SPREAD = SHARED | {"spread_s": TIMES}
DATAGRAMS = {
    "kind": "datagrams",
    "rate_bps": st.sampled_from([1e7, 1e5, 1.0]),
    "packet_bytes": BYTES,
}
FLOWS = st.one_of(
    tables(SPREAD | {"packets": st.sampled_from([1000, 1, 9])}, kind="tcp", tcp=TCP),
    tables(SHARED, kind="short-tcp", tcp=TCP, gaps=DISTRIBUTIONS, duration=DISTRIBUTIONS),
    tables(SHARED, kind="short-tcp", tcp=TCP, gaps=DISTRIBUTIONS, packets=SIZES),
    tables(
        SPREAD | {"page_objects": st.sampled_from([2, 7]), "connections": st.sampled_from([1, 2])},
        kind="web",
        tcp=TCP,
        objects=SIZES,
        think=DISTRIBUTIONS,
    ),
    tables(
        SPREAD
        | {"segment_s": st.sampled_from([0.01, 1e-9]), "buffer_s": st.sampled_from([0.02, 2.0])},
        kind="video",
        tcp=TCP,
        rates_bps=st.sampled_from([[1e5], [1.0, 1e6, 1e12]]),
    ),
    tables(
        SPREAD | {"packets": st.sampled_from([1, 9])},
        kind="tcp",
        tcp=TCP,
        rate_bps=st.sampled_from([1.0, 1e5, 1e9]),
    ),
    tables(SPREAD, **DATAGRAMS, gaps=st.sampled_from(["constant", "exponential"])),
    tables(SPREAD, **DATAGRAMS, on=DISTRIBUTIONS, off=DISTRIBUTIONS),
)
LINKS = tables(
    rate_bps=RATES,
    delay_s=DELAYS,
    queue=st.sampled_from([True, True, False]),
    both_ways=st.sampled_from([True, True, True, False]),
)
NAMED = st.one_of(
    tables(
        {"two_way": st.booleans(), "access_rate_bps": RATES},
        kind="dumbbell",
        rate_bps=RATES,
        client_delays_s=st.lists(DELAYS, min_size=1, max_size=3),
    ),
    tables(kind="parking-lot", hops=st.sampled_from([1, 4]), rate_bps=RATES),
    tables(kind="star", rate_bps=RATES, delays_s=st.lists(DELAYS, min_size=2, max_size=4)),
)
DISCIPLINES = tables(
    {
        "victim": st.sampled_from(["tail", "front", "random"]),
        "scheduler": st.one_of(
            tables({"perturbation_s": TIMES}, kind="sfq", queues=st.sampled_from([1, 8])),
            tables(kind="drr", quantum_bytes=st.sampled_from([64, 10**9])),
            tables(kind="fq", queues=st.sampled_from([1, 1024])),
        ),
    },
    aqm=st.sampled_from(sorted(sg.aqms())),
    ecn=st.sampled_from([True, True, False]),
)
REST = tables(
    {"warm_up_s": TIMES, "windows": st.booleans()},
    flows=st.lists(FLOWS, min_size=1, max_size=3),
    disciplines=st.lists(DISCIPLINES, min_size=1, max_size=1),
    queue=tables(limit=st.sampled_from([50, 50, 1, 2])),
    duration_s=st.sampled_from([3.0, 3.0, 3.0, 0.5, 2e-9]),
    sample_s=st.sampled_from([1e-3, 0.01, 1e8]),
    replications=1,
    seed=st.integers(0, 2**64 - 1),
)


@st.composite
def scenarios(draw):
    table = draw(REST)
    if draw(st.integers(0, 3)):
        return table | {"topology": draw(NAMED)}
    # a link from a to b and mostly one from b to c: with both directions, all nodes are connected
    ends = st.sampled_from(["ab", "ab", "ba", "ac", "bc", "bb"])
    links = [draw(LINKS) | dict(zip(("source", "sink"), "ab", strict=True))]
    for pair in draw(st.sampled_from([["bc"], ["bc"], [], ["ab"], ["bb"]])):
        links.append(draw(LINKS) | dict(zip(("source", "sink"), pair, strict=True)))
    flows = [
        flow | dict(zip(("source", "sink"), draw(ends), strict=True)) for flow in table["flows"]
    ]
    return table | {"topology": {"kind": "graph", "links": links}, "flows": flows}


# least counts in 400 examples: a test that refuses everything, or sends nothing, proves nothing
LEAST = {"ran": 150, "refused": 40, "sent 100 packets": 50, "lost": 50, "marked": 5}
LEAST |= dict.fromkeys(CONTROLS, 1)


def test_every_packet_is_accounted_for():
    seen = Counter()

    @settings(max_examples=400)
    @given(scenarios())
    def run(table):
        try:
            record = network.simulate(network.NetworkScenario.parse(table), threads=1, fresh=True)
        except sg.SluiceError:
            seen["refused"] += 1
            return
        seen["ran"] += 1
        seen.update({flow["tcp"]["congestion_control"] for flow in table["flows"] if "tcp" in flow})
        sent = check(record, table["queue"]["limit"])
        seen["sent 100 packets"] += sent >= 100
        seen["lost"] += any(port.whole["loss_ratio"].value > 0 for port in record.ports)
        seen["marked"] += any(port.whole["mark_ratio"].value > 0 for port in record.ports)

    run()
    assert all(seen[what] >= least for what, least in LEAST.items()), seen


def check(record, limit):
    """Assert that every packet that arrived was sent, was lost or waits; return those sent."""
    total = 0
    for port in record.ports:
        series = port.series
        queue = series["queue"].to_numpy().astype(np.int64)
        assert queue.max() <= limit
        sent = (series["arrivals"] - series["losses"]).to_numpy().astype(np.int64) - queue
        assert (sent >= 0).all()
        bytes_sent = series["sent_bytes"].to_numpy()
        assert (bytes_sent >= BYTES * sent).all()
        assert (bytes_sent <= MOST_BYTES * sent).all()
        assert 0 <= port.whole["utilization"].value <= 1
        total += int(sent[-1])
    return total
