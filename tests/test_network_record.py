"""Records of networks: in the store, in campaigns and in comparisons."""

import dataclasses
import itertools
import json
import os
import signal
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sluicegate as sg
from sluicegate import _engine, network, store
from sluicegate.cli import main
from sluicegate.comparison import until_interrupted
from sluicegate.errors import InterruptError
from sluicegate.papers.campaign import Campaign
from sluicegate.scenario.choice import choose
from sluicegate.worlds import Network
from sluicegate.worlds.network.record import NetworkRecord

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("undrawn")]

DUMBBELL = Path(__file__).parent.parent / "scenarios" / "network" / "dumbbell.toml"
PI = sg.Discipline(aqm="pi", params={"q_ref": 20})


def scenario(**changes):
    fields = {
        "topology": network.Dumbbell(rate_bps=1e6, client_delays_s=[0.01, 0.05], two_way=True),
        "flows": [
            network.TcpFlows(count=4, spread_s=0.5),
            network.DatagramFlows(route="reverse", rate_bps=1e5),
        ],
        "queue": sg.Queue(limit=50),
        "disciplines": [sg.Discipline(aqm="drop_tail"), PI],
        "duration_s": 8.0,
        "replications": 3,
    }
    return network.NetworkScenario(**(fields | changes))


def alone(**changes):
    return scenario(disciplines=[PI], **changes)


def same(one, other):
    """Return True if two records are the same, bit for bit."""
    return (
        json.dumps(one.summary()) == json.dumps(other.summary())
        and one.frames().keys() == other.frames().keys()
        and all(frame.equals(other.frames()[name]) for name, frame in one.frames().items())
    )


def no_run(*_):
    raise AssertionError("simulated again")


def test_the_first_port_gives_the_distributions_of_the_record():
    record = network.simulate(alone())
    np.testing.assert_array_equal(record.queue_distribution, record.ports[0].queue_distribution)
    assert record.queue_distribution.sum() == pytest.approx(1)
    assert record.time_unit == "s"
    assert not record.is_exact


def test_replications_without_randomness_are_reported():
    # all flows start at once, and the AQM uses no random number
    sure = scenario(flows=[network.TcpFlows()], disciplines=[sg.Discipline(aqm="drop_tail")])
    told = "all 3 replications are equal: intervals have no width; the first 4 s of each"
    assert network.simulate(sure).method.startswith(told)
    assert network.simulate(alone()).method.startswith("95 % intervals from 3 replications;")


def test_series_have_a_row_per_replication_and_sample():
    given = alone(sample_s=0.5)
    record = network.simulate(given)
    series = record.ports[0].series
    assert series["replication"].to_list() == [0] * 16 + [1] * 16 + [2] * 16
    np.testing.assert_allclose(record.ports[0].times_s, np.arange(16) * 0.5)
    assert record.ports[0].samples.shape == (3, 16)
    for name in ("queue", "arrivals", "probability"):
        rows = record.ports[0].rows(name)
        assert series.filter(replication=1)[name].to_list() == rows[1].tolist()
    # signed, so that a difference can be negative
    assert (record.ports[0].samples - 51).max() < 0
    assert record.series.height == 48
    assert record.flows.group_by("replication").len()["len"].to_list() == [5, 5, 5]


# --- the store


def test_a_run_is_made_once(monkeypatch):
    first = network.simulate(scenario(), PI)
    monkeypatch.setattr(_engine, "simulate_network", no_run)
    labelled = PI.replace(label="mine")
    again = network.simulate(scenario(title="another"), labelled)
    assert again.discipline == "mine"
    assert same(first, dataclasses.replace(again, discipline=first.discipline))
    with pytest.raises(AssertionError):
        network.simulate(scenario(), PI, fresh=True)


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 2},
        {"duration_s": 9.0},
        {"warm_up_s": 1.0},
        {"sample_s": 0.1},
        {"replications": 2},
        {"queue": sg.Queue(limit=51)},
        {"topology": network.Dumbbell(rate_bps=1e6)},
        {"flows": [network.TcpFlows(count=5)]},
        {"flows": [network.TcpFlows(count=5, tcp=network.Tcp(variant="sack"))]},
    ],
)
def test_another_scenario_is_another_run(change):
    first, other = (network.simulate(each) for each in (alone(), alone(**change)))
    assert first.identity != other.identity


def test_another_discipline_is_another_run():
    disciplines = [
        PI,
        sg.Discipline(aqm="pi", params={"q_ref": 21}),
        sg.Discipline(aqm="pi", params={"q_ref": 20}, ecn=True),
        sg.Discipline(aqm="pi", params={"q_ref": 20}, victim="front"),
        sg.Discipline(aqm="pi", params={"q_ref": 20}, scheduler=sg.Sfq()),
    ]
    kept = {network.simulate(scenario(duration_s=1.0), each).identity for each in disciplines}
    assert len(kept) == len(disciplines)


def interrupted_after(replications, monkeypatch):
    run = _engine.simulate_network
    monkeypatch.setattr(_engine, "simulate_network", lambda *given: run(*given)[:replications])


def test_an_interrupted_run_is_not_kept(monkeypatch):
    interrupted_after(2, monkeypatch)
    record = network.simulate(alone())
    assert record.interrupted
    assert record.done == pytest.approx(2 / 3)
    assert not list(store.folder().glob("*"))
    interrupted_after(0, monkeypatch)
    with pytest.raises(InterruptError, match="interrupted before anything was finished"):
        network.simulate(alone())


def test_a_damaged_file_is_made_again():
    record = network.simulate(alone())
    (path,) = store.folder().glob("*.zip")
    path.write_bytes(path.read_bytes()[:1000])
    assert same(record, network.simulate(alone()))


def test_a_store_that_cannot_be_read_or_written_stops_nothing(monkeypatch, tmp_path):
    record = network.simulate(alone())
    (path,) = store.folder().glob("*.zip")
    path.unlink()
    path.mkdir()
    with pytest.warns(UserWarning, match="Is a directory: finished runs are not kept there"):
        assert same(record, network.simulate(alone()))
    (tmp_path / "file").touch()
    monkeypatch.setenv("SLUICE_RUNS", str(tmp_path / "file" / "runs"))
    with pytest.warns(UserWarning, match="Not a directory: finished runs are not kept there"):
        assert same(record, network.simulate(alone()))


# --- campaigns


def test_a_campaign_runs_networks_and_reports_its_progress():
    told = []
    cost = Network().cost(alone())
    campaign = Campaign("two", 2 * cost, watch=lambda *seen: told.append(seen))
    records = [campaign.run(alone(seed=seed), Network()) for seed in (1, 2)]
    assert all(isinstance(record, NetworkRecord) for record in records)
    assert told[-1] == ("two", 2 * cost, 2 * cost, "")
    assert all(earlier[1] <= later[1] for earlier, later in itertools.pairwise(told))


def test_a_campaign_stops_at_an_interrupted_run(monkeypatch):
    interrupted_after(1, monkeypatch)
    with pytest.raises(InterruptError, match="the same command goes on"):
        Campaign("one", 1).run(alone(), Network())


# --- comparisons


def test_a_comparison_of_a_network_takes_the_network_world():
    found = sg.compare(scenario(duration_s=2.0))
    assert [record.world for record in found.records] == ["network", "network"]
    assert [record.discipline for record in found.records] == ["drop_tail", "pi q_ref=20"]
    assert {"goodput", "fairness", "queue_mean"} <= set(found.frame()["measure"])
    assert not found.interrupted


def test_an_interrupted_comparison_says_what_was_not_run(monkeypatch):
    interrupted_after(1, monkeypatch)
    found = until_interrupted(scenario())
    assert found.notes() == [
        "Sojourn times, queue and losses are of the queue left -> right.",
        *scenario().notes(),
        "drop_tail was stopped after 33% of its run.",
        "Not finished: pi q_ref=20.",
    ]


def test_a_record_says_what_it_is_and_which_measures_it_has():
    record = sg.compare(scenario()).records[0]
    assert repr(record) == f"<NetworkRecord of drop_tail: {record.method}>"
    with pytest.raises(sg.SluiceError, match=r"^goodputt is no measure; did you mean goodput\?"):
        record["goodputt"]
    with pytest.raises(sg.SluiceError, match=r"no measure; did you mean sojourn_mean\? there are"):
        record["queueing_delay"]
    with pytest.raises(
        sg.SluiceError, match=r"^jitter is a measure of a class of flows; there are "
    ):
        record["jitter"]
    # of the web only
    with pytest.raises(sg.SluiceError, match="no class here has it; classes are flows-0, flows-1"):
        record["page_mean"]


def test_a_discipline_is_chosen_by_its_place_also_by_integers_of_numpy():
    there = scenario()
    assert choose(there, np.int64(1)) == choose(there, 1) == there.disciplines[1]
    for wrong in (True, np.float64(1), np.array([1, 2]), 99):
        with pytest.raises(sg.SluiceError, match="by its name or its place from 0 on"):
            choose(there, wrong)


def test_a_comparison_needs_a_scenario():
    with pytest.raises(sg.SluiceError, match=r"^7 must be a Scenario or a Network"):
        sg.compare(7)


@pytest.mark.parametrize("world", ["slotted", "chain", ("network", "slotted")])
def test_other_worlds_refuse_networks(world):
    with pytest.raises(sg.SluiceError) as told:
        sg.compare(scenario(), world=world)
    name = "chain" if world == "chain" else "slotted"
    assert str(told.value) == (
        f"world = {name} must be network or gate or kernel or twin: the scenario has "
        "[topology] and [[flows]]"
    )


def test_the_network_refuses_scenarios_without_a_topology():
    slotted = sg.Scenario(
        arrivals=sg.GeometricArrivals(rate=0.5),
        service=sg.GeometricService(mu=0.5),
        disciplines=[PI],
        slots=1000,
    )
    with pytest.raises(sg.SluiceError) as told:
        sg.compare(slotted, world="network")
    assert str(told.value) == (
        "world = network must be slotted or chain: the scenario has [arrivals] and [service]"
    )


# --- the commands


SHORT = ["--duration", "4", "--replications", "2"]


def test_compare_takes_the_file_of_a_network(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for more in ([], ["--world", "network"]):
        assert main(["compare", str(DUMBBELL), *SHORT, "--json", "out.json", *more]) == 0
        shown = capsys.readouterr().out
        assert "A hundred TCP flows over one link" in shown
        assert "goodput" in shown
        assert "fairness" in shown
    records = json.loads(Path("out.json").read_text())["records"]
    assert [record["discipline"] for record in records] == ["drop-tail", "RED"]
    frame = pl.read_parquet("sluice-report/measures.parquet")
    assert frame.filter(measure="goodput")["value"].min() > 0


def test_simulate_takes_one_discipline_of_a_network(capsys):
    assert main(["simulate", str(DUMBBELL), *SHORT, "--aqm", "rem", "--seed", "3"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("rem\n")
    assert "packets of 500 bytes; simulated in 2 runs of 4 s, seed 3" in " ".join(shown.split())


def test_ctrl_c_keeps_the_replications_that_were_finished(tmp_path, monkeypatch, capsys):
    run = _engine.simulate_network

    def stopped(scenario, discipline, _threads, watch):
        def ctrl_c(done_ns):
            if done_ns > 1.5 * 100e9:  # the second replication is under way
                os.kill(os.getpid(), signal.SIGINT)
            watch(done_ns)

        return run(scenario, discipline, 1, ctrl_c)

    monkeypatch.setattr(_engine, "simulate_network", stopped)
    monkeypatch.chdir(tmp_path)
    long = ["--duration", "100", "--replications", "100", "--json", "out.json"]
    assert main(["compare", str(DUMBBELL), *long]) == 130
    printed = capsys.readouterr()
    (record,) = json.loads(Path("out.json").read_text())["records"]
    assert 0.01 <= record["done"] < 1
    done = f"drop-tail was stopped after {record['done']:.0%} of its run. Not finished: RED."
    nothing = "Unfinished disciplines are not kept."
    assert " ".join(printed.err.split()) == f"Interrupted. {done} {nothing}"
    assert not list(store.folder().glob("*"))


def test_an_option_puts_an_aqm_into_the_queues_of_a_scheduler(capsys):
    fq_codel = "codel:victim=front,scheduler=fq"
    assert main(["simulate", str(DUMBBELL), *SHORT, "--aqm", fq_codel]) == 0
    assert capsys.readouterr().out.startswith("codel fq, drop from front\n")


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (
            "compare {network} --slots 1e6",
            "--slots is for scenarios of the slotted or chain world only",
        ),
        (
            "compare {slotted} --duration 5",
            "--duration is for scenarios of the network or gate or kernel or twin world only",
        ),
        (
            "simulate {network} --aqm red --service geometric:mu=0.5",
            "--service is for scenarios of the slotted or chain world only",
        ),
        (
            "compare {network} --world slotted",
            "world = slotted must be network or gate or kernel or twin: the scenario has "
            "[topology] and [[flows]]",
        ),
        (
            "compare {slotted} --world network",
            "world = network must be slotted or chain: the scenario has [arrivals] and [service]",
        ),
        (
            "simulate --arrivals geometric:rate=0.5 --service geometric:mu=0.5 --aqm red "
            "--slots 1000 --duration 5",
            "--duration is for scenarios of the network or gate or kernel or twin world only",
        ),
        (
            "compare {network} --aqm red:scheduler=wfq",
            "--aqm: scheduler.kind = 'wfq' must be one of 'fifo', 'sfq', 'drr', 'fq', 'prio', "
            "'ets' or 'wf2q'; did you mean wf2q?",
        ),
        ("compare {network} --duration 0", "--duration = 0 must be at least 2e-09"),
        ("compare {network} --duration soon", "--duration = 'soon' must be a number"),
    ],
)
def test_options_that_do_not_apply_are_refused(command, reason, root, capsys):
    slotted = root / "scenarios" / "light.toml"
    status = 2 if reason.startswith("--") else 1
    assert main(command.format(network=DUMBBELL, slotted=slotted).split()) == status
    shown = capsys.readouterr().err
    assert reason in shown
    assert shown.startswith("error: ")


def test_a_port_shows_itself_in_a_line_and_in_a_table():
    port = network.simulate(alone()).ports[0]
    told = repr(port)
    assert told.startswith(f"<PortRecord of {port.name}: queue_mean ")
    assert f"sojourn_mean {port.measures['sojourn_mean']}" in told
    assert len(told) < 300
    assert "throughput_bps" in port._repr_html_()
