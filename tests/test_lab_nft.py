"""Rules of nft, in the laboratory: its kernel takes them, which that of this machine may not."""

import json
from pathlib import Path

import pytest
from gate_run import needs_nft
from kernel_needs import needs_lab
from test_gate_rules import check_nothing_was_dropped

from sluicegate.daemon import sluiced
from sluicegate.lab import image, kernel, machine, python

pytestmark = pytest.mark.slow

TESTS = Path(__file__).resolve().parent
EXPERIMENTS = {"gate_rules_lab.py": ["nft", "looked_at", "own_ended", "own_killed", "own_both"]}
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


def check_nothing_is_lost_with_rules_of_its_own(found):
    assert found["exit"] == 0
    assert sorted(found["numbers"]) == list(range(1000))
    check_they_are_gone(found)


def check_no_more_than_held_is_lost_with_them_by_kill_9(found):
    assert found["exit"] == -9
    sent = sorted(found["numbers"])
    lost = sorted(set(range(1000)) - set(sent))
    assert len(sent) == len(set(sent))
    # 100 a second had left as it was killed
    assert 400 < len(lost) < 500
    assert lost == list(range(lost[0], lost[-1] + 1))
    check_they_are_gone(found)


def check_they_are_gone(found):
    assert found["table"] == ""
    assert found["next"] == list(range(1000, 1020))


def check_they_are_those_that_nft_would_set(found):
    lines = [line.strip() for line in found["own"].splitlines()]
    assert lines.pop(1) == "flags owner"
    assert lines.pop(1) == ""
    assert lines[1:] == [line.strip() for line in found["set"].splitlines()][1:]
    assert found["after"] == ""
    assert found["numbers"] == list(range(20))
    assert found["arrivals"] == 20


def check_they_are_not_set_twice(found):
    assert found["there"]["exit"] == found["removed"]["exit"] == found["installed"]["exit"] == 2
    assert "packets of near go to queue 0 already: leave --rules out" in found["there"]["said"]
    for tried in ("removed", "installed"):
        assert "are those of a gate that runs (sluiced run --rules)" in found[tried]["said"]
    assert "ok       rules can be set: by nft" in found["check"]
    assert "ok       rules: packets of near go to the queue" in found["check"]


# one test, as each process that runs tests would boot a machine of its own
@needs_lab
@needs_nft
def test_rules_of_nft_in_the_laboratory():
    found = boot()
    check_packets_without_a_gate(found["nft"])
    check_a_gate_takes_the_packets_and_check_finds_the_rules(found["nft"])
    check_each_way_has_its_queue(found["nft"])
    check_rules_go(found["nft"])
    check_nothing_was_dropped(found["looked_at"])
    check_nothing_is_lost_with_rules_of_its_own(found["own_ended"])
    check_no_more_than_held_is_lost_with_them_by_kill_9(found["own_killed"])
    check_they_are_those_that_nft_would_set(found["own_both"])
    check_they_are_not_set_twice(found["own_both"])
