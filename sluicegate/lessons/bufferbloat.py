"""The bufferbloat assignment: what a large buffer does to pings and pages beside a download.

As given at Stanford (CS244) and many other universities: a link of 1 Gb/s into a router, 10 Mb/s
out of it, 4 ms of round trip, buffers of 5, 20 and 100 packets; a long flow of Reno, ten pings a
second, and a page three times in five seconds. Then the same with BBR.
"""

from __future__ import annotations

from sluicegate.lessons.draw import bars, over_time
from sluicegate.lessons.lesson import (
    Drawn,
    Lesson,
    Question,
    Records,
    Values,
    measured,
    scenario,
)
from sluicegate.scenario import NetworkScenario
from sluicegate.worlds.network import NetworkRecord

_PACKET_BITS = 1500 * 8
_PING_BITS = 84 * 8
_FAST_BPS = 1e9
_MS = 1000.0


# the buffers with which each congestion control is run
_SIZES = {"Reno": ("tiny", "small", "large"), "BBR": ("small", "large")}


def _label(control: str, buffer: float) -> str:
    return f"{control}, {buffer:.0f} packets"


def _runs(values: Values) -> dict[str, NetworkScenario]:
    base = scenario("bufferbloat")
    runs = {}
    for control, buffer in [(name, values[size]) for name in _SIZES for size in _SIZES[name]]:
        name = control.lower()
        runs[_label(control, buffer)] = base.replace(
            {
                "topology.client_delays_s": [values["rtt_s"] / 4],
                "topology.delay_s": values["rtt_s"] / 4,
                "topology.rate_bps": values["rate_bps"],
                "flows.0.tcp.congestion_control": name,
                "flows.2.tcp.congestion_control": name,
                "queue.limit": int(buffer),
            }
        )
    return runs


def _ping_back_ms(values: Values) -> float:
    """The way back of a ping, which meets no queue."""
    return _MS * (
        values["rtt_s"] / 2 + _PING_BITS / values["rate_bps"] + 2 * _PING_BITS / _FAST_BPS
    )


def _figures(values: Values, records: Records) -> list[Drawn]:
    packet_ms = _MS * _PACKET_BITS / values["rate_bps"]
    reno, bbr = (
        {name: records[name] for name in (_label(control, values[size]) for size in sizes)}
        for control, sizes in _SIZES.items()
    )
    return [
        Drawn(
            figure=over_time(reno, values["rtt_s"] * _MS, packet_ms),
            title="Window, queue and round trip in time (Reno)",
            caption="The window grows until the buffer is full, then halves. The queue follows the "
            "window, and the round trip follows the queue: each waiting packet adds "
            f"{packet_ms:.2g} ms.",
        ),
        Drawn(
            figure=over_time(bbr, values["rtt_s"] * _MS, packet_ms),
            title="Window, queue and round trip in time (BBR)",
            caption="BBR sends at the rate that it measures. Beside a page it measures too much "
            "for a while, and a queue builds; it does not fill a buffer because it is large.",
        ),
        Drawn(
            figure=bars(records, "page.completion_mean", "time for the page (s)"),
            title="How long the page takes",
            caption="Mean of all fetches with its 95 % interval. Good is short.",
        ),
        Drawn(
            figure=bars(records, "utilization", "time in which the link is busy (%)", 100.0),
            title="How busy the link is",
            caption="Good is 100 %: a buffer that is too small leaves the link idle after a loss.",
        ),
    ]


def _questions(values: Values, records: Records) -> list[Question]:
    tiny, small, large = (records[_label("Reno", values[name])] for name in _SIZES["Reno"])
    bbr = records[_label("BBR", values["large"])]
    full_ms = _MS * values["large"] * _PACKET_BITS / values["rate_bps"]
    back_ms = _ping_back_ms(values)

    def ping(record: NetworkRecord) -> dict[str, float]:
        found = measured(record, "ping.one_way_delay_mean", _MS)
        return found | {"answer": found["answer"] + back_ms}

    buffers = {name: f"{values[name]:.0f}" for name in _SIZES["Reno"]}
    return [
        Question(
            name="full_buffer_ms",
            text=f"How long does a packet wait behind {buffers['large']} packets of 1500 bytes?",
            unit="ms",
            answer=full_ms,
            tolerance=0.02,
            why="Packets times bits per packet over the rate: no measurement is needed.",
        ),
        Question(
            name="ping_small_ms",
            text=f"What is the mean ping, there and back, with a buffer of {buffers['small']} "
            "packets (Reno)?",
            unit="ms",
            **ping(small),
            why="The round trip of the empty path, and most of the wait behind a full buffer: "
            "after a loss the window halves, and then it fills the buffer again.",
        ),
        Question(
            name="ping_large_ms",
            text=f"And with {buffers['large']} packets?",
            unit="ms",
            **ping(large),
            why="The same rule with a larger buffer: TCP fills whatever buffer it finds.",
        ),
        Question(
            name="page_small_s",
            text=f"How long does the page take on average with {buffers['small']} packets (Reno)?",
            unit="s",
            **measured(small, "page.completion_mean"),
            tolerance=0.15,
            why="A page of 120 packets takes several round trips of slow start, and each of them "
            "is as long as the ping.",
        ),
        Question(
            name="page_large_s",
            text=f"And with {buffers['large']} packets?",
            unit="s",
            **measured(large, "page.completion_mean"),
            tolerance=0.15,
            why="The round trips are longer, so the page takes longer, although the link carries "
            "the same.",
        ),
        Question(
            name="busy_tiny_percent",
            text=f"With a buffer of {buffers['tiny']} packets, for what share of the time is the "
            "link busy?",
            unit="%",
            **measured(tiny, "utilization", 100.0),
            tolerance=0.05,
            why="After each loss the window is smaller than what the path holds, and the link is "
            "idle until it has grown: a buffer can be too small.",
        ),
        Question(
            name="page_bbr_s",
            text=f"How long does the page take with {buffers['large']} packets under BBR?",
            unit="s",
            **measured(bbr, "page.completion_mean"),
            tolerance=0.15,
            why="BBR keeps the queue short by its own measure of the path, so a large buffer harms "
            "the page less.",
        ),
    ]


LESSON = Lesson(
    name="bufferbloat",
    title="Bufferbloat",
    text=[
        "A home has a fast link to its router, and a slow one from there to the Internet. Packets "
        "that come faster than the slow link takes them wait in the router's buffer. How large "
        "should it be?",
        "One download runs all the time. Ten times a second a ping measures the round trip, and "
        "three times in five seconds somebody opens a page of 180 kB. The runs differ in the "
        "buffer alone; then the senders use BBR instead of Reno.",
        "What is asked is measured: sluice simulate prints the measures of a run. The ping's is "
        "ping.one_way_delay_mean, its way there; the way back meets no queue. It takes half of "
        "rtt_s, and the time of 84 bytes on the slow link.",
    ],
    given={"rate_bps": 10e6, "rtt_s": 0.004, "tiny": 5, "small": 20, "large": 100},
    choices={
        "rate_bps": (6e6, 8e6, 10e6, 12e6, 15e6),
        "rtt_s": (0.004, 0.008, 0.012),
        "small": (16, 20, 24),
        "large": (80, 100, 120, 150),
    },
    runs=_runs,
    figures=_figures,
    questions=_questions,
    discuss=[
        "Why does the page take longer with the larger buffer, although no more packets are lost?",
        "Write the round trip of a ping as a formula of the queue's length and the link's rate.",
        "A network card holds 1000 packets and sends 100 Mb/s. How long can a packet wait there?",
        "Name two ways to mend bufferbloat: one in the router, one in the sender.",
        "Why does BBR need the large buffer less than Reno?",
    ],
)
