"""Linux's own qdiscs and congestion controls: the world `twin`, in one boot of the laboratory."""

import json
import pickle

import pytest
from kernel_needs import needs_lab
from test_kernel_world import TABLE, TCP, scenario

from sluicegate.lab import image, kernel, machine, python
from sluicegate.lab.testbed import INSIDE
from sluicegate.worlds import Twin
from sluicegate.worlds.kernel.plan import lab_plan
from sluicegate.worlds.kernel.seen import LinkSeen

pytestmark = pytest.mark.slow

RED = {"min_th": 10, "max_th": 30, "max_p": 0.1, "w": 0.002}
# the flows are AF11
CLASSES = [{"dscp": [10], "aqm": "codel"}, {}]
# by the name of the qdisc: a discipline whose twin it is, or the words for tc
QDISCS = {
    "pfifo": {"aqm": "drop_tail"},
    "red": {"aqm": "red", "params": RED},
    "pie": {"aqm": "pie"},
    "codel": {"aqm": "codel"},
    "fq_codel": {"aqm": "codel", "scheduler": {"kind": "fq"}, "victim": "front"},
    "sfq": {"aqm": "drop_tail", "scheduler": {"kind": "sfq"}},
    "choke": {"aqm": "choke", "params": RED},
    "prio": {"aqm": "drop_tail", "scheduler": {"kind": "prio"}, "classes": CLASSES},
    "ets": {
        "aqm": "drop_tail",
        "scheduler": {"kind": "ets"},
        "classes": [{**each, "quantum_bytes": 1500} for each in CLASSES],
    },
    "gred": {"aqm": "gred", "params": {"min_th_1": 10, "max_th_1": 30, "w": 2**-9}},
    "fq_pie": "fq_pie limit 60",
    "cake": "cake unlimited",
}
CONTROLS = ("cubic", "bbr", "dctcp")
MODULES = ["veth", "sch_netem", "sch_tbf", *(f"tcp_{name}" for name in CONTROLS)]
JOBS = """
import pickle, subprocess
from pathlib import Path
from sluicegate.testbed.bed import run

jobs = pickle.loads(Path("/lab/jobs").read_bytes())
done = {}
for name, job in jobs.items():
    done[name] = run(job, lambda seconds: None)
    # the namespaces of the hosts take them along, but perhaps minutes later
    for side in ("clients", "servers"):
        subprocess.run(["ip", "link", "del", side], stderr=subprocess.DEVNULL)
Path("/out/done").write_bytes(pickle.dumps(done))
"""


RED_LIKE = ("red", "choke", "gred")


def seconds(name):
    """RED and its kin drop most of the first windows, and a second would soon be over.

    After CHOKe's drops all flows may wait for their time-outs, for some two seconds.
    """
    if name in CONTROLS:
        return 4
    return 8 if name == "choke" else 5 if name in RED_LIKE else 1


def planned(name, control="reno", ecn=False):
    """A job with a qdisc of Linux, and the modules that it takes."""
    of = QDISCS.get(name, QDISCS["red"])
    words = of if isinstance(of, str) else None
    discipline = {"aqm": "drop_tail"} if words else of
    flows = [{"kind": "tcp", "count": 4, "dscp": 10, "tcp": TCP | {"ecn": ecn}}]
    # Linux's CHOKe stops for good once its ring is full of packets and holes: it has 64 places
    # for a limit of up to 63, and 128 from there on
    queue = {"limit": 65}
    asked = scenario(
        duration_s=seconds(name), queue=queue, flows=flows, disciplines=[discipline | {"ecn": ecn}]
    )
    layer = Twin(qdisc=words).layer(asked, asked.disciplines[0])(1)
    return lab_plan(asked, asked.disciplines[0], 0, layer, control).job, layer.modules


def boot(jobs, modules):
    linux = kernel.find()
    modules = [*MODULES, *modules]
    booted = image.build(
        linux,
        f"set -e\nmodprobe -a {' '.join(modules)}\n{python.COMMAND} /lab/jobs.py\n",
        programs=["ip", "tc"],
        modules=modules,
        files=python.files(*INSIDE)
        | {"lab/jobs.py": JOBS.encode(), "lab/jobs": pickle.dumps(jobs)},
    )
    result = machine.run(linux, booted)
    assert result.status == 0, result.stderr.decode()
    return pickle.loads(result.files["done"])


@needs_lab
def test_linuxs_qdiscs_and_congestion_controls_in_the_laboratory():
    jobs, modules = {}, []
    for name in QDISCS:
        jobs[name], its = planned(name)
        modules += its
    for control in CONTROLS:
        jobs[control], _ = planned(control, control, ecn=True)
    done = boot(jobs, modules)
    tallies = {}
    for name, outcome in done.items():
        (seen,) = outcome.seen
        asked = name if name in QDISCS else "red"
        looks = [json.loads(look) for look in seen.told.splitlines()]
        assert all(asked in [each["kind"] for each in look] for look in looks), name
        assert (seen.came["tos"] >> 2 == 10).all(), name
        assert all(not each.error for each in outcome.hosts[0].sent.streams), name
        end_ns = outcome.start_ns + seconds(name) * 10**9
        tally = LinkSeen(seen, marks_behind=False).tally(
            outcome.start_ns, end_ns, TABLE["topology"]["rate_bps"]
        )
        busy = 0.7 if asked in RED_LIKE else 0.8
        assert tally.served_bytes * 8 > busy * seconds(name) * 10e6, name
        tallies[name] = tally
    # four windows in slow start are more than any of them lets wait, but cake, which has no limit
    # and drops as CoDel does
    assert all(tallies[name].verdicts[1] > 0 for name in QDISCS)
    # each does something else
    assert len({done[name].seen[0].left["time_ns"].tobytes() for name in done}) == len(done)
    # RED marks what the flows send
    assert all(tallies[control].verdicts[4] > 50 for control in CONTROLS)
