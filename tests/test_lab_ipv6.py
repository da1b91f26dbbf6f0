"""Our qdisc reads the traffic class of IPv6 as the type of service of IPv4."""

import csv
import io

import pytest
from kernel_needs import needs_qdiscs
from test_lab import c_program

from sluicegate.daemon import compiled, sluiced
from sluicegate.lab import image, kernel, machine

pytestmark = pytest.mark.slow

SCRIPT = """
set -e
modprobe dummy
ip link add out type dummy
ip link set out addrgenmode none
ip link set out up
ip address add 10.9.0.1/24 dev out
ip address add fd09::1/64 dev out nodad
ip neighbour add 10.9.0.2 lladdr 02:00:00:00:00:02 dev out
ip neighbour add fd09::2 lladdr 02:00:00:00:00:02 dev out
"""
EACH = """
sluiced qdisc install k --aqm '{words}' --rate 20e6 --limit 100 --marks-at out --log 4 \\
    --object /{name}.o
tc qdisc add dev out root k
/lab/classes 10.9.0.2 fd09::2
sleep 1
sluiced qdisc log k >/out/{name}.csv
tc qdisc del dev out root
sluiced qdisc remove k
"""
# with the packets' lane by traffic class; of cake's lanes eight are a tin
CASES = {
    "dualpi2": ("dualpi2:ecn=true", lambda lane: lane),
    "cake": ("cake:diffserv=diffserv8,queues=8,ecn=true,victim=front", lambda lane: lane // 8),
}


@needs_qdiscs
def test_a_traffic_class_means_the_same_in_both_versions(tmp_path):
    linux = kernel.find()
    files = {"lab/classes": c_program(tmp_path, "tests/traffic_classes.c")}
    script = SCRIPT
    for name, (words, _) in CASES.items():
        files[f"{name}.o"] = compiled(name, log=True)
        script += EACH.format(words=words, name=name)
    programs = ["ip", "tc", sluiced()]
    booted = image.build(linux, script, programs=programs, modules=["dummy"], files=files)
    result = machine.run(linux, booted)
    assert result.status == 0, result.stderr.decode()
    for name, (_, part) in CASES.items():
        log = csv.DictReader(io.StringIO(result.files[f"{name}.csv"].decode()))
        # without what IPv6 sends by itself
        rows = [row for row in log if row["event"] == "arrive" and row["packet_bytes"] == "562"]
        assert len(rows) == 2 * 256
        found = [
            (int(row["traffic_class"]), part(int(row["queue"])), row["ecn_capable"]) for row in rows
        ]
        assert found[::2] == found[1::2]
        assert [traffic_class for traffic_class, *_ in found[::2]] == list(range(256))
        parts = [each for _, each, _ in found]
        assert len(set(parts)) == {"dualpi2": 2, "cake": 8}[name]
        if name == "dualpi2":
            assert parts[::2] == [traffic_class & 1 for traffic_class in range(256)]
        assert [ecn for *_, ecn in found[::2]] == [str(int(tos & 3 > 0)) for tos in range(256)]
