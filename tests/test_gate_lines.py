"""What is counted between the lines that sluiced writes of a run."""

import json

import numpy as np
import pytest

from sluicegate.errors import SluiceError
from sluicegate.worlds.gate.lines import Lines


def line(clock_ns, interval=(), link="forward", **counts):
    none = dict.fromkeys(("arrivals", "sent", "sent_bytes", "lost", "marked", "queue_packets"), 0)
    none |= {"rate_bps": 8_000_000_000, "wire": None}
    given = {"link": link, "clock_ns": clock_ns, "time_s": clock_ns / 1e9, **none, **counts}
    given |= {"average_queue": None, "drop_probability": 0.5}
    given["drops"] = {"early": 0, "forced": given["lost"], "overflow": 0, "both": 0}
    given["sojourn_sum_ns"] = 3_000_000 * given["sent"]
    # each takes 150 ns
    given["delay_sum_ns"] = 3_000_150 * given["sent"]
    names = ("queue", "sojourn", "delay")
    given["interval"] = {f"{name}_distribution_ns": list(interval) for name in names}
    return json.dumps(given)


@pytest.mark.parametrize(("second", "told"), [(1, 1), (2, 0)])
def test_lines_that_tell_of_other_bands_than_before_are_refused(second, told):
    def bands(clock_ns, count, in_interval):
        given = json.loads(line(clock_ns))
        band, interval = {**given}, given["interval"]
        return json.dumps(
            given
            | {"bands": [band] * count, "interval": interval | {"bands": [interval] * in_interval}}
        )

    text = "\n".join([bands(0, 2, 2), bands(1, second, told)])
    message = f"told of {second} lanes, tins or classes of forward, and .* in {told}, .* were 2: "
    with pytest.raises(SluiceError, match=message):
        Lines(text, "forward")


def test_what_is_counted_lies_between_the_lines_nearest_to_the_times():
    pairs = [[2, 600], [5, 400]]
    text = [
        line(0),
        line(1_010, arrivals=5, sent=4, sent_bytes=400, queue_packets=1),
        line(1_990, pairs, arrivals=9, sent=8, sent_bytes=1000, lost=1, queue_packets=2),
        line(2_000, link="reverse"),
        line(3_000, [[1, 1]], arrivals=20),
    ]
    lines = Lines("\n".join(text), "forward")
    counted = lines.tally(1_000, 2_000, rate_bps=8e9)
    assert counted.duration == 980
    assert counted.idle == 980 - 600
    assert counted.queue.tolist() == [0, 0, 600, 0, 0, 400]
    assert (counted.arrivals, counted.served, counted.served_bytes) == (4, 4, 600)
    assert counted.verdicts == [0, 0, 1, 0, 0, 0]
    assert counted.sojourn.sum == 4 * 3_000_000
    assert counted.sojourn.square_sum == 600 * 4 + 400 * 25
    series = lines.series(np.array([1_000, 1_500, 2_000]))
    assert series.queue.tolist() == [1, 1, 2]
    assert series.arrivals.tolist() == [0, 0, 4]
    assert np.isnan(series.average).all()
    assert series.probability.tolist() == [0.5] * 3
