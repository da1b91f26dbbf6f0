"""Rules of nft, in the laboratory: its kernel takes them, which that of this machine may not."""

import json
import shutil
from pathlib import Path

import pytest
from kernel_needs import needs_lab
from test_gate_rules import check_nothing_was_dropped

from sluicegate.lab import image, kernel, machine, python
from sluicegate.lab.bottleneck import sluiced

TESTS = Path(__file__).resolve().parent
EXPERIMENTS = {"gate_rules_lab.py": ["nft", "looked_at"]}
IMPORTED = ("ctypes", "json", "os", "select", "signal", "socket", "struct", "subprocess",
            "tempfile", "time", "pathlib", "typing", "__future__", "contextlib",
            "encodings.idna")  # fmt: skip
SCRIPT = """
set -e
(sleep 120; kill $$) &
# its own would call programs of busybox
ln -sf /programs/sh /bin/sh
modprobe -a veth nft_queue nfnetlink_queue
mount -t tmpfs none /run
rm -rf /var/run
ln -s /run /var/run
"""


def boot():
    script = SCRIPT
    for program, names in EXPERIMENTS.items():
        for name in names:
            command = f"{python.COMMAND} /lab/tests/{program} /programs/sluiced {name}"
            script += f"unshare -nm sh -c '{command}' >/out/{name}\n"
    files = {f"lab/tests/{path.name}": path.read_bytes() for path in TESTS.glob("gate_*lab.py")}
    files |= python.files(*IMPORTED)
    booted = image.build(
        kernel.find(),
        script,
        programs=["ip", "nft", "unshare", sluiced()],
        modules=["veth", "nft_queue", "nfnetlink_queue"],
        files=files,
    )
    result = machine.run(kernel.find(), booted)
    assert result.status == 0, result.stderr.decode() + result.console
    return {name: json.loads(text) for name, text in result.files.items()}


def check_packets_without_a_gate(found):
    everything = list(range(20))
    assert found["none"] == everything
    assert found["installed"] == {"exit": 0, "said": ""}
    assert found["closed"] == []
    assert found["open"] == everything
    assert "bypass" not in found["closed_table"]
    assert "bypass" in found["open_table"]


def check_a_gate_takes_the_packets_and_check_finds_the_rules(found):
    assert "rules can be set: by nft" in found["check"]
    assert "ok       rules: packets of near go to the queue" in found["check"]
    assert found["gate"] == list(range(100))
    assert found["measures"]["arrivals"] == 100


def check_each_way_has_its_queue(found):
    assert found["both"] == {"exit": 0, "said": ""}
    assert found["open_table"].count("queue") == 1
    leaving, entering = (
        line for line in found["both_table"].splitlines() if " queue " in line and "near" in line
    )
    assert leaving.split()[:2] == ["oifname", '"near"']
    assert entering.split()[:2] == ["iifname", '"near"']
    assert leaving.rstrip()[-1] != entering.rstrip()[-1]


def check_rules_go(found):
    assert found["removed"] == {"exit": 0, "said": ""}
    assert found["removed_table"] == ""
    assert found["passed"] == list(range(20))
    assert found["again"]["exit"] == 2
    assert "No such file or directory" in found["again"]["said"]


# one test, as each process that runs tests would boot a machine of its own
@needs_lab
@pytest.mark.skipif(not shutil.which("nft"), reason="apt install nftables")
def test_rules_of_nft_in_the_laboratory():
    found = boot()
    check_packets_without_a_gate(found["nft"])
    check_a_gate_takes_the_packets_and_check_finds_the_rules(found["nft"])
    check_each_way_has_its_queue(found["nft"])
    check_rules_go(found["nft"])
    check_nothing_was_dropped(found["looked_at"])
