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
# an AQM that never comes back, but where it is tried
HANGING = (
    's/shorter/hanging/g; s/(void)s;/while (view->limit_packets == 54321) __asm__ volatile("");/'
)
# mounts end with the process that made them
BOOT = """
set -e
mount -t tmpfs none {folder}
mkdir {folder}/upper {folder}/work {folder}/root
mount -t overlay -o lowerdir=/,upperdir={folder}/upper,workdir={folder}/work none {folder}/root
sed '{hanging}' {tests}/shorter.h >{folder}/root/etc/hanging.h
cp {sluiced} {folder}/root/usr/local/bin/sluiced
for name in sluiced sluiced@; do
    cp {gate}/sluiced.service {folder}/root/etc/systemd/system/$name.service
done
sed s/^INTERFACE=.*/INTERFACE=lan/ {gate}/sluiced.conf >{folder}/root/etc/sluiced.conf
exec systemd-nspawn --directory={folder}/root --boot --register=no --keep-unit --quiet \\
    --machine=sluiced-{process} --private-network --capability=CAP_NET_ADMIN \\
    systemd.unit=basic.target
"""

SCENARIO = """
duration_s = 10
flows = [{{ kind = "tcp" }}]
disciplines = [{{ aqm = "{aqm}" }}]
[topology]
kind = "dumbbell"
rate_bps = {rate}
delay_s = 0.001
client_delays_s = [0.001]
server_delay_s = 0.001
"""

lacking = [package for program, package in PROGRAMS.items() if not shutil.which(program)]
pytestmark = [
    pytest.mark.slow,
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

    def shows(self, name, unit="sluiced"):
        return self.says("systemctl", "show", "--property", name, "--value", unit)

    def cable(self, name, address, far="far"):
        """An interface, whose packets another one counts."""
        self.says("ip", "link", "add", name, "type", "veth", "peer", "name", far)
        for each in (name, far):
            # the kernel's own packets would be counted
            self.says("sysctl", "-qw", f"net.ipv6.conf.{each}.disable_ipv6=1")
            self.says("ip", "link", "set", each, "up")
        self.says("ip", "address", "add", f"{address}.1/24", "dev", name)
        neighbour = f"neigh add {address}.2 lladdr 02:00:00:00:00:02 dev {name} nud permanent"
        self.says("ip", *neighbour.split())

    def sends(self, count, address):
        send = f"for n in $(seq {count}); do printf %1000s x >/dev/udp/{address}.2/9; done"
        self.says("bash", "-c", send)

    def arrived(self, far="far"):
        return int(self.says("cat", f"/sys/class/net/{far}/statistics/rx_packets"))

    def sets(self, link, unit="sluiced", interface="lan", queue=0):
        """What a unit is to do."""
        for name, value in (("LINK", link), ("INTERFACE", interface), ("QUEUE", queue)):
            self.says("sed", "-i", f"s|^{name}=.*|{name}={value}|", f"/etc/{unit}.conf")

    def adds(self, *lines):
        """More lines of the unit."""
        self.writes(
            "/run/systemd/system/sluiced.service.d/more.conf", "\n".join(["[Service]", *lines])
        )
        self.says("systemctl", "daemon-reload")

    def writes(self, path, text):
        """As an editor does: a new file takes the place of the old one."""
        words = ("sh", "-c", 'mkdir -p "${1%/*}" && printf %s "$2" >"$1.new" && mv "$1.new" "$1"')
        self.says(*words, "sh", path, text)

    def journal(self, unit="sluiced"):
        return self.says("journalctl", "--unit", unit, "--no-pager")

    def rules(self):
        return self.says("iptables", "--table", "mangle", "--list-rules").count("NFQUEUE")

    def restarted(self, times):
        """Whether it has been, and works again."""
        is_active = self.run("systemctl", "is-active", "sluiced").stdout.strip() == "active"
        return is_active and self.shows("NRestarts") == str(times)


@pytest.fixture
def machine(tmp_path):
    script = BOOT.format(
        folder=tmp_path,
        sluiced=SLUICED.resolve(),
        gate=ROOT / "gate",
        tests=ROOT / "tests",
        hanging=HANGING,
        process=os.getpid(),
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
    assert "Watchdog timeout" in machine.journal()
    machine.says("kill", "-KILL", machine.shows("MainPID"))
    assert until(lambda: machine.restarted(2))
    assert machine.rules() > 0

    machine.says("systemctl", "stop", "sluiced")
    assert (machine.shows("Result"), machine.rules()) == ("success", 0)

    # nobody stops it and it does not come back: the rules stay
    machine.adds("Restart=no")
    machine.says("systemctl", "start", "sluiced")
    machine.says("kill", "-KILL", machine.shows("MainPID"))
    assert until(lambda: machine.shows("ActiveState") == "failed")
    assert machine.rules() > 0


def test_what_is_held_arrives_when_the_service_is_stopped(machine):
    machine.sets("--rate 1e5 --limit 200 --aqm drop_tail")
    machine.cable("lan", "10.9.0")
    machine.says("systemctl", "start", "sluiced")
    before = machine.arrived()
    machine.sends(50, "10.9.0")
    # each takes 80 ms
    assert machine.arrived() - before < 40
    machine.says("systemctl", "stop", "sluiced")
    assert machine.arrived() - before == 50
    assert machine.rules() == 0


def test_a_service_that_hangs_is_stopped_with_its_rules(machine):
    """One that was sent SIGSTOP would not do: systemd lets it go on as it asks it to end."""
    machine.sets("--rate 10e6 --limit 54321 --aqm /etc/hanging.h")
    machine.cable("lan", "10.9.0")
    machine.says("systemctl", "start", "sluiced")
    machine.sends(1, "10.9.0")
    # it is killed after the unit's own time, as the result says
    machine.says("systemctl", "stop", "sluiced")
    assert (machine.shows("Result"), machine.rules()) == ("timeout", 0)
    before = machine.arrived()
    machine.sends(20, "10.9.0")
    assert machine.arrived() - before == 20


def test_two_gates_have_a_queue_each(machine):
    counts = {"lan": 20, "wan": 30}
    for queue, name in enumerate(counts):
        machine.says("cp", "/etc/sluiced.conf", f"/etc/sluiced@{name}.conf")
        machine.sets("--rate 10e6 --aqm drop_tail", f"sluiced@{name}", name, queue)
        machine.cable(name, f"10.{queue}.0", f"far{queue}")
    machine.says("systemctl", "start", "sluiced@lan", "sluiced@wan")
    for queue, count in enumerate(counts.values()):
        machine.sends(count, f"10.{queue}.0")
    machine.says("systemctl", "stop", "sluiced@lan")
    # that of the other one
    assert machine.rules() == 1
    assert machine.shows("ActiveState", "sluiced@wan") == "active"
    machine.says("systemctl", "stop", "sluiced@wan")
    assert machine.rules() == 0
    for name, count in counts.items():
        told = machine.journal(f"sluiced@{name}")
        assert re.findall(r"arrivals +(\d+) packets", told) == [str(count)]


@pytest.mark.parametrize("unit", ["sluiced", "sluiced@lan"])
def test_a_reload_reads_the_scenario_that_the_settings_name_and_loses_no_packet(machine, unit):
    scenario = "/etc/gate/scenario.toml"
    machine.run("cp", "--no-clobber", "/etc/sluiced.conf", f"/etc/{unit}.conf")
    machine.sets(f"--scenario {scenario}", unit)
    machine.writes(scenario, SCENARIO.format(aqm="drop_tail", rate="1e5"))
    machine.cable("lan", "10.9.0")
    machine.says("systemctl", "start", unit)
    shorter = (ROOT / "tests" / "shorter.h").read_text()
    machine.writes("/etc/gate/shorter.h", shorter)
    before = machine.arrived()
    # each takes 80 ms
    machine.sends(100, "10.9.0")
    for rate, aqm, told in (
        ("1.1e5", "red", "reloaded: forward: 0.11 Mbit/s, 1 ms, limit 250 packets, red"),
        ("0", "red", "the old settings stay in force: "),
        # compiled behind all that the unit shuts off
        ("40e6", "shorter.h", "reloaded: forward: 40 Mbit/s, 1 ms, limit 250 packets, shorter"),
    ):
        assert machine.arrived() - before < 100
        machine.writes(scenario, SCENARIO.format(aqm=aqm, rate=rate))
        machine.says("systemctl", "reload", unit)
        assert until(lambda told=told: told in machine.journal(unit)), machine.journal(unit)
        shown = told.partition(":")[0]
        assert until(lambda shown=shown: machine.shows("StatusText", unit).startswith(shown))
    assert until(lambda: machine.arrived() - before >= 100)
    assert machine.arrived() - before == 100


def test_a_service_runs_in_real_time_and_gives_the_capability_up(machine):
    machine.adds("CapabilityBoundingSet=CAP_SYS_NICE", "RestrictRealtime=no")
    machine.sets("--rate 10e6 --aqm drop_tail --timer realtime")
    machine.cable("lan", "10.9.0")
    machine.says("systemctl", "start", "sluiced")
    pid = machine.shows("MainPID")
    assert "SCHED_FIFO" in machine.says("chrt", "--pid", pid)
    status = machine.says("cat", f"/proc/{pid}/status")
    (held,) = re.findall(r"^CapPrm:\s*(\w+)$", status, re.MULTILINE)
    assert int(held, 16) == CAP_NET_ADMIN
