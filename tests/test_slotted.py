"""The slotted world compared with exact results."""

import numpy as np
import pytest
from geo_geo_1 import GeoGeo1
from intervals import assert_covers
from scipy import stats

import sluicegate as sg
from sluicegate import _engine
from sluicegate.counts import QueueCounts
from sluicegate.estimate import jackknifed
from sluicegate.measures import QUEUE

EXACT = GeoGeo1(alpha=0.5, mu=0.5, limit=10)


def scenario(*disciplines, exact=EXACT, **changes):
    table = {
        "slots": 1e5,
        "arrivals": {"kind": "geometric", "rate": exact.alpha},
        "service": {"kind": "geometric", "mu": exact.mu},
        "queue": {"limit": exact.limit},
        "disciplines": list(disciplines) or [{"aqm": "drop_tail"}],
    }
    return sg.Scenario.parse(table | changes)


def units_of(run):
    """Return the counts of a run's units, from which its record is computed."""
    outcome = _engine.simulate(run.handle, run.disciplines[0].handle, None, None, None)
    return QueueCounts.of([[unit.tally] for unit in outcome.units])


def same(one, other):
    assert one.measures == other.measures
    assert one.warm_up_slots == other.warm_up_slots
    np.testing.assert_array_equal(one.queue_distribution, other.queue_distribution)
    np.testing.assert_array_equal(one.sojourn_distribution, other.sojourn_distribution)
    np.testing.assert_array_equal(one.delay_distribution, other.delay_distribution)


# --- what determines a run


RED = {"aqm": "red", "params": {"w": 0.07, "min_th": 3, "max_th": 9, "max_p": 0.1}}


@pytest.mark.parametrize("victim", ["tail", "front", "random"])
def test_the_result_does_not_depend_on_the_number_of_threads(victim):
    run = scenario(RED | {"victim": victim})
    same(sg.simulate(run, threads=1, fresh=True), sg.simulate(run, threads=3, fresh=True))


def test_a_seed_determines_the_record():
    first = sg.simulate(scenario(RED), fresh=True)
    same(first, sg.simulate(scenario(RED), fresh=True))
    assert sg.simulate(scenario(RED, seed=2)).measures != first.measures


def test_a_finished_run_is_not_computed_again(monkeypatch):
    first = sg.simulate(scenario(RED))
    monkeypatch.setattr(_engine, "simulate", None)
    again = sg.simulate(scenario(RED))
    same(first, again)
    assert again.summary() == first.summary()
    assert sg.simulate(scenario(RED | {"label": "mine"})).discipline == "mine"
    with pytest.raises(TypeError):
        sg.simulate(scenario(RED), fresh=True)


def test_a_run_that_cannot_be_read_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_RUNS", str(tmp_path))
    first = sg.simulate(scenario(RED))
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(b"not Parquet")
    same(first, sg.simulate(scenario(RED)))


def test_a_store_that_cannot_be_written_loses_no_result(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("SLUICE_RUNS", str(tmp_path / "file" / "runs"))
    with pytest.warns(UserWarning, match=r"runs, on the disk mounted at .*: Not a directory"):
        same(sg.simulate(scenario(RED)), sg.simulate(scenario(RED), fresh=True))


@pytest.mark.parametrize("threads", [0, -1, 257])
def test_threads_must_be_a_number_that_a_machine_has(threads):
    with pytest.raises(sg.SluiceError) as refusal:
        sg.simulate(scenario(RED), threads=threads)
    assert str(refusal.value) == f"threads = {threads} must be between 1 and 256"


def test_disciplines_of_one_seed_see_the_same_arrivals_and_services():
    never = {"aqm": "red", "params": {"min_th": 1000, "max_th": 2000}}
    run = scenario({"aqm": "drop_tail"}, never)
    same(*(sg.simulate(run, discipline) for discipline in run.disciplines))


def test_one_of_several_disciplines_must_be_named():
    several = scenario(RED, {"aqm": "drop_tail"})
    with pytest.raises(sg.SluiceError, match=r"several disciplines; name one of .*, drop_tail, or"):
        sg.simulate(several)
    itself = sg.simulate(several, several.disciplines[1])
    same(itself, sg.simulate(several, "drop_tail"))
    same(itself, sg.simulate(several, 1))
    assert sg.chain.solve(several, "drop_tail").record.discipline == "drop_tail"
    for wrong, hint in (("Drop_tail", "did you mean drop_tail[?] there are "), (2, "there are ")):
        message = f"^discipline = {wrong!r} must be one of the scenario, .*; {hint}"
        with pytest.raises(sg.SluiceError, match=message):
            sg.simulate(several, wrong)


# --- the queue without AQM against its closed form


def test_every_queue_probability_is_that_of_the_closed_form():
    # a light load, whose probabilities fall from 0.5 to 5e-5
    exact = GeoGeo1(alpha=0.4, mu=0.5, limit=20)
    units = units_of(scenario(exact=exact, slots=1e7))
    queue = units.queue[:, : exact.limit + 1]
    assert queue.sum() == units.duration.sum()
    shares = queue / units.duration[:, None]
    error = shares.std(axis=0, ddof=1) / np.sqrt(len(shares))
    assert exact.queue.min() > 1e-6
    deviation = (queue.sum(axis=0) / units.duration.sum() - exact.queue) / error
    # 21 statements: by chance one of them is beyond 4 with a probability of at most 21 * 4e-4
    assert np.abs(deviation).max() < 4, deviation


@pytest.mark.parametrize(
    "name",
    [
        "queue_mean",
        "utilization",
        "loss_ratio",
        "sojourn_mean",
        "sojourn_variance",
        "delay_mean",
        "delay_variance",
    ],
)
def test_measures_are_those_of_the_closed_form(name):
    assert_covers(sg.simulate(scenario(slots=1e6))[name], getattr(EXACT, name), within=0.05)


def test_intervals_cover_as_often_as_stated():
    names = ["queue_mean", "utilization", "sojourn_mean", "delay_mean", "loss_ratio"]
    hits = dict.fromkeys(names, 0)
    runs = 150
    for seed in range(runs):
        found = jackknifed(units_of(scenario(seed=seed)), None)
        for name in names:
            hits[name] += abs(found[name].value - getattr(EXACT, name)) < found[name].half_width
    low, high = stats.binom.ppf([0.0005, 0.9995], runs, 0.95)
    assert all(low <= count <= high for count in hits.values()), hits


# --- laws that hold for every record

ARRIVALS_OF = {
    "geometric": {},
    "self-similar": {"arrivals": {"kind": "self-similar", "rate": 0.4, "a": 8}},
    "fgn": {"arrivals": {"kind": "fgn", "rate": 0.4, "deviation": 0.2, "hurst": 0.8}},
    "deterministic": {"service": {"kind": "deterministic", "slots": 2}},
    "packet-size": {"service": {"kind": "packet-size", "rate_bps": 2e6}, "slot_s": 1e-3},
}


@pytest.mark.parametrize("kind", ARRIVALS_OF)
@pytest.mark.parametrize("aqm", ["drop_tail", "red", "gentle_red", "dsred", "nlred", "lpf_oda"])
def test_every_record_obeys_littles_law(kind, aqm):
    run = scenario({"aqm": aqm}, **ARRIVALS_OF[kind])
    record = sg.simulate(run)
    length = run.slot_s or 1.0
    waiting = record["queue_mean"].value
    in_system = waiting + record["utilization"].value
    rate = record["throughput"].value
    # packets in the system when counting starts or ends count on one side only
    observed = record.slots - run.runs * record.warm_up_slots
    longest = len(record.delay_distribution) * record.time_bin / length
    edges = 2 * run.runs * (EXACT.limit + 1) * longest / observed
    assert abs(waiting - rate * record["sojourn_mean"].value) < edges
    assert abs(in_system - rate * record["delay_mean"].value) < edges
    assert edges < 0.1 * in_system


@pytest.mark.parametrize("victim", ["tail", "front", "random"])
def test_distributions_and_measures_agree(victim):
    record = sg.simulate(scenario(RED | {"victim": victim}))
    queue = record.queue_distribution
    sojourn, delay = record.sojourn_distribution, record.delay_distribution
    for distribution in (queue, sojourn, delay):
        assert distribution.sum() == pytest.approx(1)
    assert queue @ np.arange(len(queue)) == pytest.approx(record["queue_mean"].value)
    assert sojourn @ record.sojourn_times == pytest.approx(record["sojourn_mean"].value)
    assert delay @ record.delay_times == pytest.approx(record["delay_mean"].value)
    parts = ["early_loss_ratio", "forced_loss_ratio", "overflow_loss_ratio"]
    assert sum(record[part].value for part in parts) == pytest.approx(record["loss_ratio"].value)


def test_an_empty_link_gives_a_record():
    record = sg.simulate(scenario(arrivals={"kind": "geometric", "rate": 0}))
    assert record["queue_mean"].value == record["utilization"].value == 0
    assert np.isnan(record["delay_mean"].value)
    assert record["delay_mean"].half_width is None


def test_a_record_has_every_measure_with_its_unit():
    in_slots = sg.simulate(scenario(RED))
    in_seconds = sg.simulate(scenario(RED, slot_s=1e-3))
    names = [definition.name for definition in QUEUE]
    assert list(in_seconds.measures) == names
    assert set(names) - set(in_slots.measures) == {"throughput_bps"}
    assert (in_slots["delay_mean"].unit, in_seconds["delay_mean"].unit) == ("slots", "s")
    assert in_seconds["delay_mean"].value == pytest.approx(in_slots["delay_mean"].value / 1000)
    assert in_seconds["throughput"].unit == "packets/s"
    bits = in_seconds["throughput"].value * 8 * 500
    assert in_seconds["throughput_bps"].value == pytest.approx(bits)


# --- victim and marking


def test_the_victim_changes_the_delay_but_not_the_queue():
    overload = {"arrivals": {"kind": "geometric", "rate": 0.6}}
    tail, front, random = (
        sg.simulate(scenario(RED | {"victim": victim}, **overload))
        for victim in ("tail", "front", "random")
    )
    np.testing.assert_array_equal(tail.queue_distribution, front.queue_distribution)
    assert tail["loss_ratio"] == front["loss_ratio"]
    assert front["delay_mean"].high < random["delay_mean"].low
    assert random["delay_mean"].high < tail["delay_mean"].low


def test_ecn_marks_in_place_of_early_drops_and_never_of_forced_ones():
    overload = {"arrivals": {"kind": "geometric", "rate": 0.6}}
    drops = sg.simulate(scenario(RED, **overload))
    marks = sg.simulate(scenario(RED | {"ecn": True}, **overload))
    assert drops["early_loss_ratio"].value > 0
    assert drops["mark_ratio"].value == 0
    assert marks["early_loss_ratio"].value == 0
    assert marks["mark_ratio"].value > 0
    assert marks["forced_loss_ratio"].value > drops["forced_loss_ratio"].value


# --- service by hand: all periods are the same


def periodic(write_pcap, tmp_path, packets, service):
    """Replay `packets` (ms, bytes) every 100 ms for 6.4 s, in slots of 1 ms."""
    path = tmp_path / "periodic.pcap"
    times = [(100 * period + ms, size) for period in range(65) for ms, size in packets]
    write_pcap(path, times)
    return sg.simulate(
        scenario(
            arrivals={"kind": "replay", "capture": str(path)},
            service=service,
            slot_s=1e-3,
            slots=6400,
        )
    )


def test_deterministic_service_by_hand(write_pcap, tmp_path):
    packets = [(0, 100), (0, 100), (0, 100)]
    record = periodic(write_pcap, tmp_path, packets, {"kind": "deterministic", "slots": 10})
    # delays of 10, 20 and 30 slots
    assert record["delay_mean"].value == pytest.approx(0.020)
    assert record["delay_variance"].value == pytest.approx(1e-6 * 200 / 3)
    assert record["queue_mean"].value == pytest.approx((2 * 10 + 10) / 100)
    assert record["utilization"].value == pytest.approx(0.30)
    np.testing.assert_allclose(record.queue_distribution[:3], [0.8, 0.1, 0.1])


def test_service_by_packet_size_by_hand(write_pcap, tmp_path):
    packets = [(0, 100), (0, 250), (0, 1000)]
    record = periodic(write_pcap, tmp_path, packets, {"kind": "packet-size", "rate_bps": 8e5})
    # 100 bytes a slot: they take 1, 3 (rounded up) and 10 slots
    delays = np.array([1, 4, 14]) / 1000
    assert record["delay_mean"].value == pytest.approx(delays.mean())
    assert record["delay_variance"].value == pytest.approx(delays.var())
    assert record["utilization"].value == pytest.approx(0.14)
    assert record["queue_mean"].value == pytest.approx((2 * 1 + 1 * 3) / 100)
    assert record["throughput_bps"].value == pytest.approx(1350 * 8 / 0.1)


def test_intervals_that_are_too_narrow_say_what_helps(root):
    slow = {"arrivals": {"kind": "geometric", "rate": 0.49}, "queue": {"limit": 1000}}
    short = sg.simulate(scenario(**slow, replications=1)).method
    assert "too narrow, as neighbouring units are correlated" in short
    assert "more slots would help" in short
    replayed = sg.load(root / "scenarios" / "gateway.toml")
    assert (
        "only a longer capture would help" in sg.simulate(replayed, replayed.disciplines[0]).method
    )
