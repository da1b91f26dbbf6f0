"""Intervals and bounds of events that never or hardly ever happened."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

import sluicegate as sg
from sluicegate.counts import QueueCounts, Times
from sluicegate.estimate import Measure, jackknifed, over_replications
from sluicegate.measures import QUEUE
from sluicegate.report.tables import comparison_rows, record_rows
from sluicegate.report.text import measure_text

pytestmark = pytest.mark.slow

UNITS = 32


def counts(lost, idle=None, slots=1000):
    """Return units in which every packet finds the queue at one of two lengths, at random."""
    ones = np.ones(len(lost))
    times = Times(*(ones.astype(object),) * 3, bins=ones[:, None], bin=1)
    verdicts = np.zeros((len(lost), 6))
    verdicts[:, 3] = lost
    heads = np.random.default_rng(1).binomial(slots, 0.5, len(lost))
    return QueueCounts(
        duration=slots * ones,
        idle=0 * ones if idle is None else np.array(idle),
        arrivals=slots * ones,
        served=slots - np.array(lost, dtype=float),
        served_bytes=0 * ones,
        verdicts=verdicts,
        queue=np.column_stack([heads, slots - heads]).astype(float),
        sojourn=times,
        delay=times,
    )


def test_the_rule_of_three_holds_for_independent_trials_without_an_event():
    found = jackknifed(counts(np.zeros(UNITS)), None)
    three = -np.log(0.05) / (UNITS * 1000)
    lost = found["loss_ratio"]
    assert lost.half_width is None
    assert lost.bound == pytest.approx(three, rel=0.5)
    assert (lost.low, lost.high) == (0.0, lost.bound)
    assert found["overflow_loss_ratio"] == lost
    # nothing is claimed, because early losses, forced ones and marks may be impossible
    for name in ("early_loss_ratio", "forced_loss_ratio", "mark_ratio"):
        assert (found[name].value, found[name].half_width, found[name].bound) == (0.0, None, None)
    busy = found["utilization"]
    assert 1 - busy.bound == pytest.approx(three, rel=0.5)
    assert (busy.value, busy.low, busy.high) == (1.0, busy.bound, 1.0)


def test_where_the_queue_is_not_known_an_event_is_a_clump():
    """As in a lane of DualPI2 whose qdisc tells nothing of it, with several replications."""
    unknown = dataclasses.replace(counts(np.zeros(UNITS)), queue=np.zeros((UNITS, 1)))
    lost = over_replications(unknown, QUEUE, 1.0)["loss_ratio"]
    assert lost.bound == pytest.approx(-np.log(0.05) / (UNITS * 1000))


def test_many_events_keep_their_interval():
    lost = np.random.default_rng(2).poisson(3, UNITS)
    found = jackknifed(counts(lost), None)
    assert found["loss_ratio"].bound is None
    assert found["loss_ratio"].half_width == pytest.approx(
        2.04 * np.sqrt(3 / UNITS) / 1000, rel=0.3
    )


def test_events_that_come_together_count_as_few():
    alone, together = np.zeros(UNITS), np.zeros(UNITS)
    alone[3], together[3] = 1, 50
    few, clump = (jackknifed(counts(lost), None)["loss_ratio"] for lost in (alone, together))
    # one event was seen: with a mean of 4.74 there would be at most one with probability 5 %
    assert few.bound == pytest.approx(stats.gamma.ppf(0.95, 2) / (UNITS * 1000), rel=0.6)
    assert clump.bound == pytest.approx(50 * stats.gamma.ppf(0.95, 2) / (UNITS * 1000), rel=0.01)


def test_a_part_of_the_losses_has_the_error_of_the_whole_if_it_is_the_whole():
    few, many = np.zeros(UNITS), np.random.default_rng(2).poisson(3, UNITS)
    few[3] = 5
    for lost in (few, many):
        found = jackknifed(counts(lost), None)
        assert found["overflow_loss_ratio"] == found["loss_ratio"]


def test_one_replication_has_neither_interval_nor_bound():
    found = jackknifed(counts(np.zeros(1)), None)
    assert (found["loss_ratio"].half_width, found["loss_ratio"].bound) == (None, None)


# --- coverage, against exact chains


RARE = {
    # arrivals, service, limit, slots of each of 8 replications, measure
    "the link is hardly ever idle": (0.5, 0.25, 13, 250_000, "utilization"),
    "idle times come in clumps of a dozen": (0.5, 0.45, 60, 250_000, "utilization"),
    "idle times come in clumps of a hundred": (0.5, 0.49, 150, 100_000, "utilization"),
    "losses are rare": (0.3, 0.5, 15, 250_000, "loss_ratio"),
    "losses come in clumps": (0.48, 0.5, 100, 100_000, "loss_ratio"),
}


@pytest.mark.parametrize("case", RARE)
def test_bounds_and_intervals_of_rare_events_cover(case):
    rate, mu, limit, slots, name = RARE[case]
    scenario = sg.Scenario(
        arrivals=sg.GeometricArrivals(rate=rate),
        service=sg.GeometricService(mu=mu),
        queue=sg.Queue(limit=limit),
        disciplines=[sg.Discipline(aqm="drop_tail")],
        slots=slots,
    )
    exact = sg.chain.solve(scenario).record[name].value
    covered, never, runs = 0, 0, 80
    for seed in range(runs):
        found = sg.simulate(scenario.replace(seed=seed), fresh=True)[name]
        covered += found.low <= exact <= found.high
        never += found.value in (0.0, 1.0)
    assert never > runs / 4  # many runs without an event, for which 0 +- 0 would be wrong
    # with a coverage of 95 %, a test would fail by chance once in a thousand
    assert covered >= stats.binom.ppf(0.001, runs, 0.95)


# --- quantiles, against exact chains


LEVELS = ("50", "90", "99", "99.9")
QUANTILES = {
    # arrivals, service, limit, slots of each of 8 replications
    "nearly every sojourn time is 0": (0.001, 0.5, 20, 1_000_000),
    # nearly 0.9, 0.99 and 0.999 of the delays are up to 1, 2 and 3 slots
    "shares next to the levels": (0.001, 0.9, 20, 1_000_000),
    "times of tens of slots": (0.4, 0.5, 100, 100_000),
    "an overloaded buffer": (0.5, 0.5, 30, 200_000),
    "few packets": (0.1, 0.5, 15, 20_000),
}


@pytest.mark.parametrize("case", QUANTILES)
def test_intervals_of_quantiles_cover_those_of_the_chain(case):
    rate, mu, limit, slots = QUANTILES[case]
    scenario = sg.Scenario(
        arrivals=sg.GeometricArrivals(rate=rate),
        service=sg.GeometricService(mu=mu),
        queue=sg.Queue(limit=limit),
        disciplines=[sg.Discipline(aqm="drop_tail")],
        slots=slots,
    )
    solution = sg.chain.solve(scenario)
    names = [f"{of}_p{level}" for of in ("sojourn", "delay") for level in LEVELS]
    for name in names:
        # inf {t : F(t) >= q}, found by the chain in another way
        of, level = name.split("_p")
        exceeded = 1 - float(level) / 100
        assert solution.record[name].value == getattr(solution, f"{of}_quantile")(exceeded)
    runs, covered = 80, dict.fromkeys(names, 0)
    for seed in range(runs):
        record = sg.simulate(scenario.replace(seed=seed), fresh=True)
        for name in names:
            found = record[name]
            assert found.value == int(found.value) >= 0
            # None claims nothing: too few packets took longer
            exact = solution.record[name].value
            covered[name] += found.half_width is None or found.low <= exact <= found.high
    # with a coverage of 95 %, one of 40 would fail by chance in 25 tests
    assert min(covered.values()) >= stats.binom.ppf(0.001, runs, 0.95), covered


def test_a_quantile_that_is_surely_one_slot_has_no_width():
    record = sg.simulate(
        sg.Scenario(
            arrivals=sg.GeometricArrivals(rate=0.001),
            service=sg.DeterministicService(slots=4),
            disciplines=[sg.Discipline(aqm="drop_tail")],
            slots=1_000_000,
        )
    )
    for name, value in [("sojourn_p50", 0), ("sojourn_p90", 0), ("delay_p50", 4), ("delay_p99", 4)]:
        assert (record[name].value, record[name].half_width) == (value, 0)


def test_a_quantile_of_too_few_packets_has_no_interval():
    # of 640 packets, the longest times of which 0.1 % would be longer are not known
    found = jackknifed(times_counts(np.random.default_rng(3).integers(0, 100, (UNITS, 20))), None)
    assert found["delay_p50"].half_width == pytest.approx(6, abs=4)
    assert found["delay_p99.9"].half_width is None


def times_counts(times):
    """Return a unit for each row of sojourn times."""
    bins = np.array([np.bincount(row, minlength=times.max() + 1) for row in times], dtype=float)
    exact = times.astype(object)
    of = Times(
        count=np.full(len(times), times.shape[1], dtype=object),
        sum=exact.sum(axis=1),
        square_sum=(exact**2).sum(axis=1),
        bins=bins,
        bin=1,
    )
    return dataclasses.replace(counts(np.zeros(len(times))), sojourn=of, delay=of)


# --- as text


@pytest.mark.parametrize(
    ("value", "bound", "text"),
    [
        (0.0, 2.996e-6, "< 3e-06"),
        (0.0, 3.01e-4, "< 0.0004"),
        (2e-7, 1.21e-6, "2e-07 (< 1.3e-06)"),
        (2.04, 3.3, "2 (< 4)"),
        (0.0, 9.95e-4, "< 0.001"),
        (100.0, 99.9997, "> 99.9997"),
        (100.0, 99.95, "> 99.95"),
        (1.0, 1 - 3e-6, "> 0.999997"),
        (0.999, 0.972, "1.00 (> 0.97)"),
        (99.9999, 99.9987, "99.9999 (> 99.9987)"),
        (0.0, 1.0, "< 1"),
    ],
)
def test_bounds_are_rounded_to_the_safe_side(value, bound, text):
    assert measure_text(Measure(value, None, "", bound)) == text


def test_tables_show_bounds():
    busy = sg.Scenario(
        arrivals=sg.GeometricArrivals(rate=0.9),
        service=sg.GeometricService(mu=0.5),
        queue=sg.Queue(limit=100),
        disciplines=[sg.Discipline(aqm="drop_tail")],
        slots=100_000,
    )
    compared = sg.compare(busy)
    header, (row,) = comparison_rows(compared)
    assert row[header.index("link busy\n(%)")].startswith("> 99.99")
    shown = {name: (text, unit) for name, text, unit in record_rows(compared.records[0])[1]}
    assert shown["utilization"][0].startswith("> 99.99")
    assert shown["mark_ratio"] == ("0", "%")
    rows = compared.frame().filter(measure="utilization")
    assert rows["half_width"].null_count() == 1
    assert 0.999 < rows["bound"][0] < 1


def test_a_measure_is_a_number_and_takes_a_numbers_format():
    assert float(Measure(2.5, 0.25, "s")) == 2.5
    for measure, spec, text in [
        (Measure(2.5, 0.25, "s"), ".2f", "2.50 ± 0.25"),
        (Measure(0.5, 0.01, ""), ".1%", "50.0% ± 1.0%"),
        (Measure(2.5, None, "s"), ".0e", "2e+00"),
        (Measure(0.0, None, "", 1e-3), "g", "0 (< 0.001)"),
        (Measure(1.0, None, "", 0.999), "", "> 0.999"),
    ]:
        assert format(measure, spec) == text
