"""The daemon as a service of a real systemd, which has this machine's files, over which it writes
nothing, and a network of its own."""

import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SLUICED = ROOT / ".venv" / "bin" / "sluiced"
PROGRAMS = {
    "systemd-nspawn": "systemd-container",
    "nsenter": "util-linux",
    "ip": "iproute2",
    "iptables": "iptables",
}
CAP_NET_ADMIN = 1 << 12
PATIENCE_S = 30.0
# mounts end with the process that made them
BOOT = """
set -e
mount -t tmpfs none {folder}
mkdir {folder}/upper {folder}/work {folder}/root
mount -t overlay -o lowerdir=/,upperdir={folder}/upper,workdir={folder}/work none {folder}/root
cp {sluiced} {folder}/root/usr/local/bin/sluiced
cp {gate}/sluiced.service {folder}/root/etc/systemd/system/
sed s/^INTERFACE=.*/INTERFACE=lan/ {gate}/sluiced.conf >{folder}/root/etc/sluiced.conf
exec systemd-nspawn --directory={folder}/root --boot --register=no --keep-unit --quiet \\
    --machine=sluiced-{process} --private-network --capability=CAP_NET_ADMIN \\
    systemd.unit=basic.target
"""

lacking = [package for program, package in PROGRAMS.items() if not shutil.which(program)]
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="a systemd takes root"),
    pytest.mark.skipif(bool(lacking), reason=f"apt install {' '.join(lacking)}"),
]


def until(found):
    """What it finds, as soon as that is anything."""
    end_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < end_s:
        if thing := found():
            return thing
        time.sleep(0.1)
    return None


class Machine:
    """A systemd in a container."""

    def __init__(self, leader):
        self.leader = leader

    def run(self, *words):
        return subprocess.run(
            ["nsenter", "--target", self.leader, "--all", *words],
            capture_output=True,
            text=True,
            check=False,
        )

    def says(self, *words):
        done = self.run(*words)
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout.strip()

    def shows(self, name):
        return self.says("systemctl", "show", "--property", name, "--value", "sluiced")

    def rules(self):
        return self.says("iptables", "--table", "mangle", "--list-rules").count("NFQUEUE")

    def restarted(self, times):
        """Whether it has been, and works again."""
        is_active = self.run("systemctl", "is-active", "sluiced").stdout.strip() == "active"
        return is_active and self.shows("NRestarts") == str(times)


@pytest.fixture
def machine(tmp_path):
    script = BOOT.format(
        folder=tmp_path, sluiced=SLUICED.resolve(), gate=ROOT / "gate", process=os.getpid()
    )
    with tempfile.TemporaryFile("w+") as said:
        booting = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", script],
            env=os.environ | {"UNIFIED_CGROUP_HIERARCHY": "1"},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
        )
        children = Path(f"/proc/{booting.pid}/task/{booting.pid}/children")

        def leader():
            if booting.poll() is not None:
                said.seek(0)
                pytest.skip(f"no systemd in a container here: {said.read().strip()[-300:]}")
            child = children.read_text().split()
            asked = child and Machine(child[0]).run("systemctl", "is-system-running")
            return asked and asked.stdout.strip() in ("running", "degraded") and child[0]

        try:
            if not (found := until(leader)):
                pytest.skip("no systemd in a container here: it does not come up")
            yield Machine(found)
        finally:
            booting.terminate()
            try:
                booting.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                booting.kill()
                booting.wait()


def test_the_service_is_shut_off_watched_and_ends_with_its_rules(machine):
    machine.says("ip", "link", "add", "lan", "type", "veth", "peer", "name", "far")
    assert machine.rules() == 0
    machine.says("systemctl", "start", "sluiced")
    assert machine.rules() > 0
    status = machine.says("cat", f"/proc/{machine.shows('MainPID')}/status")
    held = dict(re.findall(r"^(Cap\w+|NoNewPrivs|Seccomp):\s*(\w+)$", status, re.MULTILINE))
    assert {int(held[name], 16) for name in ("CapPrm", "CapEff", "CapBnd")} == {CAP_NET_ADMIN}
    assert (held["NoNewPrivs"], held["Seccomp"]) == ("1", "2")

    # one that is stopped tells systemd nothing
    machine.says("kill", "-STOP", machine.shows("MainPID"))
    assert until(lambda: machine.restarted(1))
    assert "Watchdog timeout" in machine.says("journalctl", "--unit", "sluiced", "--no-pager")
    machine.says("kill", "-KILL", machine.shows("MainPID"))
    assert until(lambda: machine.restarted(2))
    assert machine.rules() > 0

    machine.says("systemctl", "stop", "sluiced")
    assert (machine.shows("Result"), machine.rules()) == ("success", 0)


def test_what_is_held_arrives_when_the_service_is_stopped(machine):
    link = "LINK=--rate 1e5 --limit 200 --aqm drop_tail"
    machine.says("sed", "-i", f"s/^LINK=.*/{link}/", "/etc/sluiced.conf")
    machine.says("ip", "link", "add", "lan", "type", "veth", "peer", "name", "far")
    for name in ("lan", "far"):
        # the kernel's own packets would be counted
        machine.says("sysctl", "-qw", f"net.ipv6.conf.{name}.disable_ipv6=1")
        machine.says("ip", "link", "set", name, "up")
    machine.says("ip", "address", "add", "10.9.0.1/24", "dev", "lan")
    neighbour = "neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev lan nud permanent"
    machine.says("ip", *neighbour.split())
    machine.says("systemctl", "start", "sluiced")

    def arrived():
        return int(machine.says("cat", "/sys/class/net/far/statistics/rx_packets"))

    before = arrived()
    send = "for n in $(seq 50); do printf %1000s x >/dev/udp/10.9.0.2/9; done"
    machine.says("bash", "-c", send)
    # each takes 80 ms
    assert arrived() - before < 40
    machine.says("systemctl", "stop", "sluiced")
    assert arrived() - before == 50
    assert machine.rules() == 0
