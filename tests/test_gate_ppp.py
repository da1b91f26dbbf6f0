"""The gate before ppp0, with real packets in a PPPoE session."""

from pathlib import Path

import gate_run
import pytest
from gate_run import nothing_is_forgotten

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not Path("/dev/ppp").exists(), reason="no /dev/ppp: this kernel has no PPP, or no module"
    ),
]

# headers of PPPoE, PPP and Ethernet, and Ethernet's check sum
OVERHEAD_BYTES = 26


def measured(name):
    found = gate_run.measured("gate_ppp_lab.py", name)
    nothing_is_forgotten(found)
    assert found["overhead_bytes"] == OVERHEAD_BYTES
    return found


@pytest.mark.parametrize("name", ["marked4", "marked6"])
def test_packets_are_marked_before_ppp0(name):
    found = measured(name)
    assert found["got"] == found["released"] > 500
    # a wrong checksum would be dropped by the receiving kernel
    assert found["ce"] == found["marked"] > 100
    assert found["ce_of_others"] == 0


def test_datagrams_in_fragments_come_whole():
    found = measured("fragments")
    assert found["arrivals"] == 3 * found["offered"]
    assert found["lost"] == 0
    assert found["whole"] == found["offered"]


def test_tcp_is_queued_in_packets_of_the_session():
    found = measured("tcp")
    assert found["got"] == 4_000_000
    # what the kernel cuts has at most 1492 bytes
    assert found["arrived_bytes"] <= 1492 * found["arrivals"]
