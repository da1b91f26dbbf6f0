"""Rules that are looked at and set while a gate holds packets, and those it cannot set itself."""

import subprocess

import gate_run
import pytest
from gate_run import SLUICED, needs_nft, nothing_is_forgotten

pytestmark = pytest.mark.slow


def check_nothing_was_dropped(found):
    nothing_is_forgotten(found)
    assert found["arrivals"] == 50
    assert found["numbers"] == list(range(50))


def test_who_looks_at_rules_drops_nothing_that_is_held():
    found = gate_run.measured("gate_rules_lab.py", "looked_at")
    check_nothing_was_dropped(found)


@needs_nft
def test_rules_of_its_own_are_refused_with_the_way_to_have_others():
    found = gate_run.measured("gate_rules_lab.py", "own_refused")
    closed, without = found["closed"], found["without"]
    assert closed["exit"] == 2
    assert "--rules near: rules that vanish with the gate let packets pass" in closed["said"]
    assert " rules --interface near --queue 0 --fail closed --both-ways --install" in closed["said"]
    if without is None:
        pytest.skip("nft has queues here: tests/test_lab_nft.py does the rest")
    assert without["exit"] == 2
    assert "it takes Linux 5.12 with nft's queue (CONFIG_NFT_QUEUE)" in without["said"]
    assert found["tables"] == ""


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--tun", "a", "b"], "cannot be used with '--tun"),
        (["--backend", "kernel", "--interface", "a"], "cannot be used with '--backend"),
        (["--fail", "open", "--rules", "a/b"], "must be the name of a network interface"),
    ],
)
def test_rules_of_its_own_go_with_a_queue_of_the_kernel_only(options, told):
    run = [SLUICED, "run", "--rules", "eth0", *options, "--aqm", "red", "--rate", "1e6"]
    if "--rules" in options:
        run[2:4] = []
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert told in done.stderr
