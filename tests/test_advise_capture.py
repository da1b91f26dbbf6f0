"""Advice about a capture: which question it asks, and what it cannot tell."""

import re
from pathlib import Path

import numpy as np
import pytest

from sluicegate.advice import Recorded, question_of, reading
from sluicegate.cli import main
from sluicegate.errors import SluiceError
from sluicegate.traffic import Capture

pytestmark = pytest.mark.slow

GATEWAY = Path(__file__).parent.parent / "captures" / "gateway.pcap"


@pytest.fixture(scope="module")
def gateway():
    """Return the shipped capture."""
    return Recorded(Capture.read(GATEWAY))


def made_capture(steps):
    """Return a capture of TCP packets: tuples of time (s), bytes, flow, opens a connection."""
    times, sizes, flow, opens = (np.array(column) for column in zip(*steps, strict=True))
    return Capture(
        path=Path("made.pcap"),
        time_ns=np.rint((times - times[0]) * 1e9).astype(np.uint64),
        bytes=sizes.astype(np.uint32),
        flow=flow.astype(np.uint32),
        protocol=np.full(len(times), 6, np.uint8),
        ecn_capable=np.zeros(len(times), np.bool_),
        opens=opens.astype(np.bool_),
        not_ip=0,
        link_types=("raw IP",),
    )


def test_handshakes_give_round_trips():
    # the SYN of flow 1 is sent again: the last one counts; flow 3 began before the capture
    steps = [
        (0.0, 60, 1, 1),
        (1.0, 60, 1, 1),
        (1.01, 60, 2, 1),
        (1.03, 52, 1, 0),
        (1.05, 52, 2, 0),
        (1.1, 1400, 1, 0),
        (1.2, 1400, 3, 0),
        (2.5, 1400, 3, 0),
    ]
    recorded = Recorded(made_capture(steps))
    assert recorded.handshakes_s == pytest.approx([0.03, 0.04])
    assert recorded.packet_bytes == 1400
    assert recorded.active.tolist() == [0, 2, 1]
    assert sorted(recorded.flow_packets) == [1, 2]


def test_the_shipped_capture_gives_a_question(gateway):
    asked = question_of(gateway, 2e6, (0.02, 0.08))
    # eight TCP sources, some of them pausing; four of datagrams; ECN
    assert len(gateway.handshakes_s) == 218
    assert 1 <= asked.flows[0] < asked.flows[1] <= 8
    assert asked.ecn
    assert asked.packet_bytes == 1500
    datagrams = gateway.bits_per_s(17)
    assert asked.datagram_share == pytest.approx(datagrams / 2e6)
    assert gateway.bits_per_s(6) + datagrams == pytest.approx(gateway.capture.rate_bps)
    # given values override those of the capture
    assert question_of(gateway, 2e6, (0.01, 0.02), (3, 4), False).rtts_s == (0.01, 0.02)


def test_round_trips_within_a_machine_are_not_taken_for_those_of_a_path(gateway):
    # its hosts are network namespaces: half of the handshakes take 51 us
    with pytest.raises(SluiceError) as told:
        question_of(gateway, 2e6)
    message = str(told.value)
    found = re.search(
        r"(\d+) of 218 handshakes take less than 1 ms \(the median 0.051 ms\)", message
    )
    assert int(found[1]) == (gateway.handshakes_s < 1e-3).sum() > 109
    assert "those of a path over a link of 2 Mbit/s. Give those of the link's users" in message
    # what it says to write can be read, and is then believed
    own = re.search(r"if the hosts are really so near, --rtt (\S+)$", message)[1]
    rtts_s = reading.rtts_s(own)
    assert rtts_s == pytest.approx((31e-6, 51e-6))
    assert question_of(gateway, 2e6, rtts_s).rtts_s == rtts_s


def test_the_command_asks_for_round_trips(capsys):
    assert main(["advise", str(GATEWAY), "--rate", "2M"]) == 1
    assert "Give those of the link's users, such as --rtt 20..120ms" in capsys.readouterr().err


def test_a_few_quick_handshakes_are_left_out():
    # three over the link, two within the building
    steps = [(start, 60, k, 1) for k, start in enumerate((0.0, 1.0, 2.0, 3.0, 4.0))]
    answers = [0.0001, 0.02, 0.03, 0.04, 0.0002]
    steps += [(k + rtt_s, 1400, k, 0) for k, rtt_s in enumerate(answers)]
    recorded = Recorded(made_capture(sorted(steps)))
    assert recorded.rtts_s(2e6) == pytest.approx((0.022, 0.03))
    # over a link on which a SYN alone takes 32 ms, two of these are impossible, too
    with pytest.raises(SluiceError, match="4 of 5 handshakes take less than 32 ms"):
        recorded.rtts_s(1e4)


def test_the_buffer_of_a_recorded_link_is_measured(gateway):
    # it was 60 kB (captures/README.md)
    assert gateway.limit(2e6) == 40
    steps = [(0.0, 60, 1, 1), (0.02, 1400, 1, 0), (1.0, 60, 2, 1), (1.02, 1400, 2, 0)]
    with pytest.raises(SluiceError, match=r"no handshake waited for two packets.*--limit"):
        Recorded(made_capture(steps)).limit(2e6)


def test_a_capture_without_handshakes_has_a_table():
    recorded = Recorded(made_capture([(0.0, 1400, 1, 0), (1.0, 1400, 1, 0)]))
    assert ("handshakes, 10 % 50 % 90 %", "none") in recorded.rows()


def test_a_capture_that_says_too_little_is_refused():
    data = [(0.0, 1400, 1, 0), (1.0, 1400, 1, 0)]
    with pytest.raises(SluiceError, match=r"no TCP handshake.*--rtt"):
        question_of(Recorded(made_capture(data)), 2e6)
    acks = [(0.0, 52, 1, 0), (1.0, 52, 1, 0)]
    with pytest.raises(SluiceError, match="no TCP data"):
        question_of(Recorded(made_capture(acks)), 2e6)
