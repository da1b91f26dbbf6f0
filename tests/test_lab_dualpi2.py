"""Linux's own DualPI2 in the laboratory, with ECT(1) from real TCP, as our `dualpi2` has its twin.

Nothing is built here: without `sluice lab --dualpi2`, what boots is skipped.
"""

import json
import shutil
import threading

import numpy as np
import pytest
from kernel_needs import needs_dualpi2, needs_qdiscs
from test_kernel_world import scenario
from test_lab import sluice

from sluicegate.errors import SluiceError
from sluicegate.lab import dualpi2, image, kernel
from sluicegate.lab.testbed import LabTestbed
from sluicegate.testbed.addresses import FIRST_PORT
from sluicegate.worlds import Twin
from sluicegate.worlds.kernel.plan import lab_plan, modules_of_flows
from sluicegate.worlds.kernel.prague import with_prague
from sluicegate.worlds.twin.qdisc import twin

pytestmark = pytest.mark.slow

NOT_ECT, ECT1, ECT0, CE = range(4)
# no default, so that each option is seen to arrive
PARAMS = {
    "target": 0.02,
    "t_update": 0.03,
    "alpha": 0.25,
    "beta": 2.5,
    "coupling": 3,
    "step": 0.004,
    "min_qlen_step": 3,
    "classic_share": 0.25,
    "overload": "overflow",
}


def tcp(label, control, ecn):
    tcp = {
        "like": "linux",
        "congestion_control": control,
        "packet_bytes": 1500,
        "ecn": ecn,
    }
    return {"kind": "tcp", "label": label, "count": 1, "ect1": ecn, "tcp": tcp}


def datagrams(label, **codepoint):
    rate = {"rate_bps": 4e5, "gaps": "constant", "packet_bytes": 500}
    return {"kind": "datagrams", "label": label, **rate, **codepoint}


FLOWS = [
    tcp("classic", "cubic", False),
    tcp("l4s", "dctcp", True),
    tcp("prague", "prague", True),
    datagrams("not_ect"),
    datagrams("ect0", ecn=True),
    datagrams("ect1", ecn=True, ect1=True),
]
SENT = [NOT_ECT, ECT1, ECT1, NOT_ECT, ECT0, ECT1]
TCP = 3


def asked(params=PARAMS, **changes):
    discipline = {"aqm": "dualpi2", "params": params, "ecn": True}
    given = {"duration_s": 3, "queue": {"limit": 400}, "flows": FLOWS, "disciplines": [discipline]}
    return scenario(**{**given, **changes})


def test_the_twin_has_all_parameters():
    given = asked()
    assert twin(given, given.disciplines[0]) == (
        "dualpi2 limit 400 target 20000us tupdate 30000us alpha 0.250391 beta 2.500391 "
        "step_thresh 4000us min_qlen_step 3 coupling_factor 3 overflow drop_dequeue "
        "classic_protection 25%"
    )


@pytest.mark.parametrize(
    ("params", "ecn", "told"),
    [
        ({"like": "rfc"}, True, "dualpi2.like = rfc must be linux, as in Linux"),
        ({"order": "shifted"}, True, "dualpi2.order = shifted must be weighted, as in Linux"),
        ({"coupling": 1.5}, True, "dualpi2.coupling = 1.5 must be whole, and at most 255"),
        ({"classic_share": 0.125}, True, "dualpi2.classic_share = 0.125 must be whole percents"),
        ({"mtu_bytes": 1000}, True, "dualpi2.mtu_bytes = 1000 must be 1514, that of the link"),
        ({"alpha": 0.01}, True, "dualpi2.alpha = 0.01 must be a multiple of 1/256"),
        ({}, False, "ecn = false must be true: Linux's dualpi2 always marks"),
    ],
)
def test_what_linux_cannot_have_is_told(params, ecn, told):
    given = asked(disciplines=[{"aqm": "dualpi2", "params": params, "ecn": ecn}])
    with pytest.raises(SluiceError, match=f"^{told}"):
        twin(given, given.disciplines[0])


def flow_of(packets):
    return (packets["ports"] >> 16).astype(np.int64) - FIRST_PORT


@needs_dualpi2
@needs_qdiscs
def test_codepoints_lanes_marks_and_options_of_linuxs_own():
    given = asked()
    layer = with_prague(Twin().layer(given, given.disciplines[0])(1), given, None)
    modules = [*layer.modules, *modules_of_flows(given, None), "tcp_cubic", "tcp_dctcp"]
    bed = LabTestbed.of(kernel.find(), programs=layer.programs, modules=modules)
    planned = lab_plan(given, given.disciplines[0], 0, layer, None)
    outcome = bed.run(planned.job, seed=1, ended=threading.Event())
    (seen,) = outcome.seen
    assert not [each.error for each in outcome.hosts[0].sent.streams if each.error]

    is_tcp = seen.came["protocol"] == 6
    for place, codepoint in enumerate(SENT):
        number, own = (place, is_tcp) if place < TCP else (place - TCP, ~is_tcp)
        tos = seen.came["tos"][own & (flow_of(seen.came) == number)]
        assert len(tos) > 200, place
        # SYN and FIN, and what TCP sends again, may be Not-ECT
        assert np.isin(tos & 3, [codepoint, NOT_ECT]).all(), place
        assert (tos & 3 == codepoint).mean() > 0.95, place
    # each datagram has a number of its own: else a log could not tell them apart
    assert len(np.unique(seen.came["number"][~is_tcp])) > 500

    left_tcp = seen.left["protocol"] == 6
    ce = seen.left["tos"] & 3 == CE
    classic, *l4s = (left_tcp & (flow_of(seen.left) == place) for place in range(TCP))
    assert not ce[classic].any()
    assert all(ce[each].mean() > 0.01 for each in l4s)

    look = json.loads(seen.told.splitlines()[-1])
    (own,) = (each for each in look if each["kind"] == "dualpi2")
    options = own["options"]
    assert options["limit"] == 400
    # the kernel tells a part less than it was given: it divides, and multiplies again
    assert round(256 * options["alpha"]) in (63, 64)
    assert round(256 * options["beta"]) in (639, 640)
    expected = {"target": 20000, "tupdate": 30000, "step-thresh-us": 4000}
    expected |= {"min-qlen-step": 3, "coupling": 3}
    assert {name: options[name] for name in expected} == expected
    assert (options["drop-overload"], options["c-protection"]) == ("overflow", 25)
    assert own["pkts-in-l"] > 500
    assert own["drops"] > 0


@needs_dualpi2
def test_lab_takes_the_module_and_the_tc_that_knows_it():
    command = (
        "modprobe -a dummy sch_dualpi2 && ip link add out type dummy && ip link set out up && "
        "tc qdisc add dev out root dualpi2 target 20ms && tc qdisc show dev out"
    )
    words = ("--program", "ip", "--program", "tc", "--module", "sch_dualpi2", "--module", "dummy")
    done = sluice(*words, command)
    assert done.returncode == 0, done.stderr
    assert "dualpi2" in done.stdout
    assert "target 20ms" in done.stdout


@needs_dualpi2
def test_what_was_built_is_compared_with_its_hash(tmp_path):
    built = dualpi2.find(kernel.find())
    copy = kernel.Kernel("copy", tmp_path)
    assert dualpi2.find(copy) is None
    shutil.copytree(built.folder, tmp_path / "dualpi2")
    dualpi2.find.cache_clear()
    assert dualpi2.find(copy).contents == built.contents
    (tmp_path / "dualpi2" / "tc" / "tc").write_bytes(b"another")
    dualpi2.find.cache_clear()
    with pytest.raises(SluiceError, match="have changed since they were built"):
        dualpi2.find(copy)
    dualpi2.find.cache_clear()


@pytest.mark.skipif(shutil.which("busybox") is None, reason="apt install busybox-static")
def test_without_it_the_command_that_builds_it_is_told(tmp_path):
    folder = tmp_path / "usr/lib/modules/9.9.9"
    folder.mkdir(parents=True)
    (folder / "modules.builtin").write_text("")
    with pytest.raises(SluiceError, match="sluice lab --dualpi2 builds it"):
        image.build(kernel.Kernel("9.9.9", tmp_path), "true", modules=["sch_dualpi2"])


def test_the_packages_must_be_of_one_kernel():
    names = [
        "linux-headers-7.3.4+deb13-cloud-amd64_7.3.4-1_amd64.deb",
        "gcc-14_14.2.0-19_amd64.deb",
    ]
    dualpi2._same_version(names)
    with pytest.raises(SluiceError, match=r"versions 7\.3\.4-1, 7\.3\.5-1: they must be one"):
        dualpi2._same_version([*names, "linux-source-7.3_7.3.5-1_all.deb"])
