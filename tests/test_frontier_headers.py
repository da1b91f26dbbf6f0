"""Policies as headers: a network in integers decides as Python does, and the kernel takes all."""

import csv
import re

import numpy as np
import pytest
from kernel_needs import needs_qdiscs
from lab_headers import with_header

import sluicegate as sg
from sluicegate.cli import main
from sluicegate.daemon import sluiced
from sluicegate.frontier import Policy
from sluicegate.frontier.header import write_header
from sluicegate.frontier.integer import MOST_SEEN, WIDEST, IntegerNetwork
from sluicegate.lab import image, kernel, machine

SLOT_NS = 1_000_000


def drawn(*widths, seed):
    """Return a network of random weights."""
    random = np.random.default_rng(seed)
    pairs = list(zip([3, *widths], [*widths, 2], strict=True))
    weights = [random.normal(size=(outputs, inputs)) for inputs, outputs in pairs]
    return IntegerNetwork.quantised(weights, [random.normal(size=outputs) for _, outputs in pairs])


def scenario(header):
    return sg.Scenario(
        arrivals=sg.GeometricArrivals(rate=0.5),
        service=sg.GeometricService(mu=0.5),
        queue=sg.Queue(limit=40),
        disciplines=[sg.Discipline(aqm=str(header))],
        slots=20_000,
        replications=1,
    )


def decisions(path):
    """Return what the log's AQM saw at arrivals, as a network sees it, and its verdicts."""
    seen, verdicts, last, waited = [], [], 0, 0
    with path.open() as file:
        for row in csv.DictReader(file):
            if row["event"] == "arrive":
                slot = int(row["time_ns"]) // SLOT_NS
                packets = 0 if row["idle"] == "1" else int(row["queue_packets"]) + 1
                seen.append((packets, slot - last, waited))
                verdicts.append(row["verdict"])
                last = slot
            elif row["event"] == "depart":
                waited = int(row["sojourn_ns"]) // SLOT_NS
    return np.array(seen), np.array(verdicts)


# seeds whose networks drop some packets, and look at all that they see
@pytest.mark.parametrize(("widths", "seed"), [((), 4), ((8,), 3), ((WIDEST, WIDEST), 4)])
def test_a_network_decides_as_its_header_does(widths, seed, tmp_path):
    network, header = drawn(*widths, seed=seed), tmp_path / "learned.h"
    write_header(header, network, "Learned")
    assert main(["aqm", str(header)]) == 0
    sg.simulate(scenario(header), decisions=tmp_path / "log.csv")
    seen, verdicts = decisions(tmp_path / "log.csv")
    drops = network.drops(seen)
    assert np.array_equal(drops, verdicts == "DROP_EARLY")
    assert 0.05 < drops.mean() < 0.95
    for column in range(3):
        without = seen.copy()
        without[:, column] = 0
        assert (network.drops(without) != drops).any()


def test_a_network_in_integers_is_near_the_trained_one():
    random = np.random.default_rng(5)
    shapes = [(8, 3), (4, 8), (2, 4)]
    weights = [random.normal(size=shape) for shape in shapes]
    biases = [random.normal(size=shape[0]) for shape in shapes]
    seen = random.integers(0, 50, size=(5000, 3))
    values = seen.astype(float)
    for number, (rows, offsets) in enumerate(zip(weights, biases, strict=True)):
        values = values @ rows.T + offsets
        values = np.maximum(values, 0) if number < 2 else values
    margin = values[:, 1] - values[:, 0]
    integer = IntegerNetwork.quantised(weights, biases).drops(seen)
    # a rounding is worth less than a tenth here: inputs are below 50, weights a few units
    clear = abs(margin) > 0.1
    assert clear.mean() > 0.9
    assert np.array_equal(integer[clear], margin[clear] > 0)


def test_no_network_overflows():
    most = 2.0**15 - 2
    for sign in (-1, 1):
        network = IntegerNetwork.quantised(
            [np.full((WIDEST, 3), most), np.array([[0.0] * WIDEST, [sign * most] * WIDEST])],
            [np.full(WIDEST, most), [0, 0]],
        )
        assert network.drops([[MOST_SEEN, 10**9, 10**12]]) == (sign > 0)


def test_what_a_network_sees_is_bounded_and_has_three_columns():
    # it drops where a packet more is in the system than 100
    network = IntegerNetwork.quantised([[[0, 0, 0], [1, 0, 0]]], [[100.5, 0]])
    seen = [[value, 0, 0] for value in (100, 101, 1e300, np.inf, -np.inf, -1e300, 100.9)]
    assert network.drops(seen).tolist() == [False, True, True, True, False, False, False]
    assert network.drops([[10**30, 0, 0]]).all()
    assert network.drops(np.zeros((0, 3))).shape == (0,)
    with pytest.raises(sg.SluiceError, match="what it sees must be numbers: NaN is none"):
        network.drops([[1, np.nan, 2]])
    for wrong in ([1, 2, 3], [[1, 2]], np.zeros((1, 1, 3))):
        with pytest.raises(sg.SluiceError, match=r"has shape \(.*\): it must be \(n, 3\)"):
            network.drops(wrong)
    with pytest.raises(sg.SluiceError, match="what it sees must be numbers in equal rows"):
        network.drops([[1, 2, 3], [1, 2]])


@pytest.mark.parametrize(
    ("weights", "biases", "problem"),
    [
        ([], [], "there must be as many, and at least one"),
        ([np.zeros((2, 3))], [], "1 layers of weights and 0 of biases"),
        ([np.zeros((2, 4))], [np.zeros(2)], r"layer 1 of 1 has .*: they must be \(2, 3\)"),
        ([np.zeros((3, 3))], [np.zeros(3)], r"they must be \(2, 3\) and \(2,\)"),
        (
            [np.zeros((17, 3)), np.zeros((2, 17))],
            [np.zeros(17), np.zeros(2)],
            "layer 1 has 17 units, at most 16 fit",
        ),
        (
            [np.zeros((0, 3)), np.zeros((2, 0))],
            [np.zeros(0), np.zeros(2)],
            "layer 1 has 0 units, at most 16 fit, and at least 1",
        ),
        ([[[1, 2, 3], [4, 5]]], [[0, 0]], "weights of layer 1 must be numbers in equal rows"),
        ([np.zeros((2, 3))], [["a", "word"]], "biases of layer 1 must be numbers in equal rows"),
        ([{"a": 1}], [[0, 0]], "weights of layer 1 must be numbers in equal rows"),
        ([np.zeros((3, 3))] * 4, [np.zeros(3)] * 4, "4 layers are too many: at most 2 hidden"),
        ([np.full((2, 3), 4e4)], [np.zeros(2)], "layer 1 .* too large: weights must be below"),
        ([np.full((2, 3), np.nan)], [np.zeros(2)], "are no numbers or too large"),
    ],
)
def test_wrong_networks(weights, biases, problem):
    with pytest.raises(sg.SluiceError, match=problem):
        IntegerNetwork.quantised(weights, biases)


def policies():
    """Yield a policy of each kind of header, and a network of the greatest size."""
    random = np.random.default_rng(1)
    yield "threshold", Policy(np.array([0, 0, 0, 0.25, 1, 1]))
    yield "table", Policy(random.random(41))
    yield "after_loss", Policy(random.random((2, 41)), "after_loss")
    yield "kind", Policy(random.random((2, 41)), "kind")
    yield "age", Policy(random.random(41), "age")
    yield "network", drawn(WIDEST, WIDEST, seed=4)


@pytest.mark.slow
@needs_qdiscs
def test_the_kernels_verifier_takes_every_kind(tmp_path):
    files, script, names = {}, "", []
    for name, policy in policies():
        header = tmp_path / f"{name}.h"
        write_header(header, policy, f"A test: {name}")
        more, made = with_header(header, tmp_path / name)
        files |= more | {f"lab/{name}.h": header.read_bytes(), f"lab/{name}.o": made}
        script += (
            f"sluiced qdisc install {name} --aqm /lab/{name}.h --rate 10e6 --limit 40 "
            f"--object /lab/{name}.o\n"
        )
        names.append(name)
    linux = kernel.find()
    booted = image.build(linux, "set -e\n" + script, programs=[sluiced()], files=files)
    result = machine.run(linux, booted)
    assert result.status == 0, result.stderr.decode()
    told = result.stdout.decode()
    looked = re.findall(r"^(\w+): .*the kernel's verifier looked at (\d+) instructions", told, re.M)
    assert [name for name, _ in looked] == names
