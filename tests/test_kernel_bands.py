"""Lanes, tins and classes in the worlds `kernel` and `twin`."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from kernel_needs import needs_qdiscs

import sluicegate as sg
from sluicegate import _engine
from sluicegate.errors import SluiceError
from sluicegate.scenario import NetworkScenario
from sluicegate.testbed.outcome import Seen
from sluicegate.testbed.packets import PACKET
from sluicegate.worlds.kernel.measure import _known
from sluicegate.worlds.kernel.seen import LinkSeen
from sluicegate.worlds.network.band_figure import band_rows
from sluicegate.worlds.real.outcome import Tally

_MS = 10**6
_VOICE = 46 << 2
# band 0 has the DSCP 46, with any ECN codepoint
_BAND_OF = np.array([0 if tos & 0xFC == _VOICE else 1 for tos in range(256)])


def _packets(*given: tuple[int, int, int]) -> Any:
    """Packets of 1000 bytes, each with its time, ms, its number and its type of service."""
    found = np.zeros(len(given), dtype=PACKET)
    for place, (time_ms, number, tos) in enumerate(given):
        found[place]["time_ns"], found[place]["number"] = time_ms * _MS, number
        found[place]["tos"], found[place]["bytes"] = tos, 1000
    return found


def _look(dropped: int, waiting: int, *more: dict[str, Any], **own: Any) -> str:
    counts = {"drops": dropped, "overlimits": 5 * dropped, "qlen": waiting, **own}
    return json.dumps([{"kind": "k", "handle": "10:", **counts}, *more]) + "\n"


# packets 1 and 3 are of band 0, and 3 is marked; of band 1, 2 leaves, 4 is lost, 5 waits at the end
_CAME = [(0, 1, _VOICE), (1, 2, 0), (2, 3, _VOICE | 2), (3, 4, 0), (30, 5, 0)]
_LEFT = [(10, 1, _VOICE), (18, 3, _VOICE | 3), (26, 2, 0)]


def _seen(*told: str) -> Seen:
    looks_ns = np.arange(len(told), dtype=np.int64) * 20 * _MS
    return Seen(_packets(*_CAME), _packets(*_LEFT), looks_ns, "".join(told))


def test_bands_are_counted_from_packets() -> None:
    seen = _seen(_look(0, 0), _look(1, 1), _look(1, 1))
    link = LinkSeen(seen, marks_behind=False, band_of=_BAND_OF, bands=2)
    voice, rest = link.bands(0, 40 * _MS, 1e6)
    assert (voice.arrivals, voice.served, voice.sojourn.sum) == (2, 2, 26 * _MS)
    assert voice.verdicts == [0, 0, 0, 0, 1, 0]
    assert voice.reasons_known
    # nothing of it was lost, so what waited is known from its packets
    assert voice.queue.tolist() == [22 * _MS, 10 * _MS, 8 * _MS]
    assert (rest.arrivals, rest.served, rest.verdicts[1]) == (3, 1, 1)
    assert (rest.queue_known, rest.reasons_known, rest.marks_known) == (False, False, True)
    # where a qdisc keeps the packet that it sends, 4 is in transmission while 5 waits
    kept = LinkSeen(seen, marks_behind=False, keeps=True, band_of=_BAND_OF, bands=2)
    _, rest = kept.bands(0, 40 * _MS, 1e6)
    assert (rest.arrivals, rest.served, rest.verdicts[1]) == (3, 1, 0)
    assert rest.queue_known
    series = link.series(np.array([0, 5, 15, 30]) * _MS).bands
    assert series[0][0] is not None
    assert [each.tolist() for each in series[0]] == [
        [0, 2, 1, 0],
        [0, 0, 1, 2],
        [0, 0, 10**7, 26 * 10**6],
    ]
    assert series[1][0] is None
    # a packet of the second part left in it, and was lost before
    (_, later) = link.bands(20 * _MS, 40 * _MS, 1e6)
    assert (later.arrivals, later.served, sum(later.verdicts)) == (1, 1, 0)


def test_marks_behind_the_link_are_not_told_by_band() -> None:
    seen = _seen(_look(0, 0), _look(1, 1), _look(1, 1))
    link = LinkSeen(seen, marks_behind=True, band_of=_BAND_OF, bands=2)
    assert not any(each.marks_known for each in link.bands(0, 40 * _MS, 1e6))
    # in the second part nothing was marked
    assert all(each.marks_known for each in link.bands(20 * _MS, 40 * _MS, 1e6))


def test_marks_of_our_qdisc_are_counted_by_band() -> None:
    seen = _seen(_look(0, 0), _look(1, 1), _look(1, 1))
    marks = np.array([[1, 0, 0], [2, 4, 0], [2, 5, 0]])
    link = LinkSeen(replace(seen, marks=marks), marks_behind=True, band_of=_BAND_OF, bands=2)
    found = link.bands(0, 40 * _MS, 1e6)
    assert [each.verdicts[4] for each in found] == [1, 5]
    assert all(each.marks_known for each in found)


def test_what_linux_tells_of_classes_and_tins_is_taken() -> None:
    def classes(first: int, second: int, waiting: int) -> list[dict[str, Any]]:
        dropped = zip((1, 2), (first, second), strict=True)
        return [
            {"parent": f"10:{place}", "drops": each, "qlen": waiting} for place, each in dropped
        ]

    told = [
        _look(0, 0, *classes(0, 0, 0)),
        _look(1, 1, *classes(3, 4, 1)),
        _look(1, 1, *classes(3, 6, 2)),
    ]
    link = LinkSeen(_seen(*told), marks_behind=False, band_of=_BAND_OF, bands=2)
    found = link.bands(0, 40 * _MS, 1e6)
    assert [each.verdicts[1] for each in found] == [3, 6]
    assert [each.queue.tolist() for each in found] == [[20 * _MS, 20 * _MS]] * 2
    assert all(each.queue_known for each in found)
    # cake tells its bulk tin before that of best effort, its first, and filtered ACKs apart
    tins = [
        {"drops": 1, "ack_drops": 0},
        {"drops": 2, "ack_drops": 5},
        {"drops": 3, "ack_drops": 0},
    ]
    none = [{"drops": 0, "ack_drops": 0}] * 3
    told = [_look(0, 0, tins=none), _look(1, 1, tins=tins), _look(1, 1, tins=tins)]
    link = LinkSeen(_seen(*told), marks_behind=False, band_of=_BAND_OF, bands=3)
    assert [each.verdicts[1] for each in link.bands(0, 40 * _MS, 1e6)] == [7, 1, 3]
    # a look that tells of one tin, or not of cake at all
    for odd in ({"tins": none[:1]}, {}):
        told[1] = _look(1, 1, **odd)
        with pytest.raises(SluiceError, match=f"told of {len(odd)} tins of cake, where there mus"):
            LinkSeen(_seen(*told), marks_behind=False, band_of=_BAND_OF, bands=3)
    # classes that one look does not tell of are counted from the packets
    told = [_look(0, 0, *classes(0, 0, 0)), _look(1, 1), _look(1, 1, *classes(3, 6, 2))]
    link = LinkSeen(_seen(*told), marks_behind=False, band_of=_BAND_OF, bands=2)
    assert [each.verdicts[1] for each in link.bands(0, 40 * _MS, 1e6)] == [0, 1]


def _scenario(*disciplines: dict[str, Any], **changes: Any) -> NetworkScenario:
    """A call of DSCP 46, and two flows of TCP that fill the link."""
    return NetworkScenario.parse(
        {
            "topology": {"kind": "dumbbell", "rate_bps": 10e6, "client_delays_s": [0.01]},
            "flows": [
                {"kind": "datagrams", "label": "call", "rate_bps": 1e6, "dscp": 46, "ecn": True},
                {"kind": "tcp", "label": "load", "count": 2, "tcp": {"like": "linux"}},
            ],
            "queue": {"limit": 80},
            "disciplines": list(disciplines),
            "duration_s": 4,
            "warm_up_s": 1,
            "replications": 1,
            **changes,
        }
    )


_CLASSES = [{"dscp": [46], "aqm": "drop_tail"}, {"quantum_bytes": 1514, "aqm": "drop_tail"}]
_ETS = {"aqm": "drop_tail", "scheduler": {"kind": "ets"}, "classes": _CLASSES}
_DUALPI2 = {"aqm": "dualpi2", "ecn": True}
_CAKE = {"aqm": "cake", "victim": "front", "ecn": True}


def test_the_band_of_a_traffic_class_is_that_of_the_header() -> None:
    given = _scenario(_ETS, _DUALPI2, _CAKE, {"aqm": "red"})
    found = [
        _engine.bands_of_traffic_classes(given.handle, each.handle, 0) for each in given.disciplines
    ]
    classes, lanes, tins, none = found
    assert none is None
    assert classes == [0 if tos >> 2 == 46 else 1 for tos in range(256)]
    assert lanes == [tos & 1 for tos in range(256)]
    assert tins is not None
    # best effort, bulk (CS1, LE), voice
    assert [tins[dscp << 2] for dscp in (0, 8, 1, 46, 48)] == [0, 1, 1, 2, 2]


def test_a_record_says_what_is_not_known_of_a_band() -> None:
    given = _scenario(_ETS)
    found = sg.network.simulate(given)

    def tally(**unknown: bool) -> Tally:
        nothing: Any = None
        return Tally(0, 0, nothing, 0, [], 0, 0, nothing, nothing, **unknown)

    class Run:
        class Part:
            ports = (tally(),)
            bands = ([tally(), tally(queue_known=False, marks_known=False, reasons_known=False)],)

        periods = (Part,)

    runs: Any = [Run]
    record = _known(found, runs, "no reason told", [given.disciplines[0].bands])
    kept = {name for name in record.measures if name.startswith("class 2.")}
    before = {name for name in found.measures if name.startswith("class 2.")}
    of_losses = [f"class 2.{name}_loss_ratio" for name in ("early", "forced", "overflow")]
    of_queue = [name for name in before if name.startswith("class 2.queue_")]
    assert len(of_queue) > 3
    assert before - kept == {*of_queue, *of_losses, "class 2.mark_ratio"}
    assert {"class 2.sojourn_mean", "class 2.loss_ratio", "class 1.queue_mean"} <= set(
        record.measures
    )
    for name in ("queue_mean", "mark_ratio", "early_loss_ratio"):
        with pytest.raises(SluiceError, match=f"class 2.{name} is unknown: "):
            record[f"class 2.{name}"]
    # in the table of the report, too: nothing is not what is unknown
    _, (first, second) = band_rows([record])
    assert [cell == "unknown" for cell in second] == [name in (2, 6) for name in range(8)]
    assert "unknown" not in first


@needs_qdiscs
@pytest.mark.slow
def test_twins_have_the_measures_of_bands() -> None:
    """Boots a machine for each of two; `test_kernel_world.py` looks at those of our qdisc."""
    given = _scenario(_ETS, _CAKE, duration_s=2, warm_up_s=0.5)
    classes, tins = sg.compare(given, world="twin").records
    check_bands(classes, "class 1", "class 2", call_bps=1e6)
    check_bands(tins, "tin voice", "tin best effort", call_bps=1e6)
    # Linux tells what waits in classes, and not in tins
    assert classes["class 2.queue_mean"].value > 10
    assert tins.why_unknown("tin best effort.queue_mean") is not None


def check_bands(record: Any, call: str, load: str, call_bps: float) -> None:
    # the call's packets go first
    assert record[f"{call}.loss_ratio"].value == 0
    assert record[f"{call}.sojourn_mean"].value < 0.002
    assert record[f"{call}.throughput_bps"].value == pytest.approx(call_bps, rel=0.01)
    assert record[f"{load}.throughput_bps"].value > 8e6
    assert {call, load} <= {*record.ports[0].bands}
    # losses of both together are those of the whole queue, whose packets came before
    lost, together = (
        record[f"{prefix}loss_ratio"].value * record[f"{prefix}throughput"].value
        for prefix in (f"{load}.", "")
    )
    assert lost == pytest.approx(together, rel=0.2, abs=0.1)
