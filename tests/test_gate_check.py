"""`sluiced check` of a queue of the kernel, as root and as a user who may not look everywhere."""

import os
import shutil

import gate_run
import pytest
from gate_run import needs_nft, nothing_is_forgotten

pytestmark = pytest.mark.slow

# namespaces whose other users are those of the machine
ENTER = ["unshare", "-nmp", "--kill-child"]


def measured(name, enter=gate_run.ENTER):
    return gate_run.measured("gate_check_lab.py", name, enter)


def measured_as_nobody(name):
    if os.geteuid() != 0:
        pytest.skip("to become another user takes root")
    if shutil.which("setpriv") is None:
        pytest.skip("there is no setpriv here")
    return measured(name, ENTER)


def test_to_root_it_says_what_is_there_and_what_is_not():
    found = measured("as_root")
    nothing, ruled, gate = found["nothing"], found["rules"], found["gate"]
    for each in (nothing, ruled):
        assert each["capability"][:2] == ["ok", "CAP_NET_ADMIN"]
        assert each["kernel's queue"][0] == "ok"
        assert each["queue number"][:2] == ["ok", "0 and 1 are free"]
        assert each["rules can be set"][0] == "ok"
    assert nothing["exit"] == 1
    assert nothing["rules"][:2] == ["missing", "no rule hands packets of near to the queue"]
    assert nothing["forwarding"][1].startswith("this machine forwards no IPv4 and no IPv6;")
    # the command that it names has been done
    assert ruled["exit"] == 0
    assert ruled["rules"][:2] == ["ok", "packets of near go to the queue"]
    assert ruled["forwarding"][1].startswith("this machine forwards no IPv6;")
    assert found["another"]["rules"][1] == "no rule hands packets of lo to the queue"
    assert gate["exit"] == 1
    word, what, fix = gate["queue number"]
    assert word == "missing"
    assert what.startswith("1 is taken by another program (netlink port ")
    assert fix.endswith(" --queue 2")
    assert gate["forwarding"][:2] == ["ok", "on"]
    assert found["no_interface"]["exit"] == 0
    assert found["no_interface"]["rules"][0] == "note"


@needs_nft
def test_an_ordinary_user_is_told_what_only_root_may_see():
    found = measured_as_nobody("as_nobody")
    check = found["check"]
    assert check["exit"] == 1
    assert check["capability"][0] == "missing"
    assert check["kernel's queue"][0] == "ok"
    for about in ("queue number", "rules can be set", "rules"):
        word, what, look = check[about]
        assert (word, what[-12:]) == ("unknown", "to root only"), about
        # the link is followed, and a path with a space is one word
        assert look.startswith("sudo '/"), look
        assert look.endswith("/a folder/sluiced' check --interface near")
    assert found["tool"]["exit"] == 2
    assert "is told to root only: say this as root, or which rules you" in found["tool"]["stderr"]
    assert found["shown"]["exit"] == 0


@needs_nft
def test_the_capability_alone_shows_who_has_the_queue_and_not_what_the_kernel_counts():
    found = measured_as_nobody("as_nobody_by_setcap")
    if found["refused"]:
        pytest.skip(found["refused"])
    check, second = found["check"], found["second"]
    assert check["capability"][0] == "ok"
    assert check["queue number"][:2] == ["missing", "0 is taken by another program"]
    assert check["rules"][0] == check["rules can be set"][0] == "unknown"
    assert second["exit"] == 2
    assert second["stderr"].startswith("sluiced: queue 0 is taken by another program: stop that")
    assert found["free"]["queue number"][:2] == ["ok", "0 is free"]
    # not known to be ready
    assert found["free"]["exit"] == 1

    record = found["record"]
    nothing_is_forgotten(record)
    assert record["released"] == found["got"] == 50
    for name in ("kernel_held", "kernel_queue_drops", "kernel_buffer_drops"):
        assert record[name] is None
        assert name in found["announced"]
    assert "are unknown: only root may read /proc/net/netfilter" in found["announced"]
    assert "unknown: number of packets that found the kernel's queue full" in found["summary"]
