"""`sluiced run --backend kernel` with real packets, in the laboratory: one boot, many checks."""

import json
import re

import pytest
from gate_run import CAP_BPF, CAP_NET_ADMIN
from test_lab import load_program, needs_lab

from sluicegate.errors import SluiceError
from sluicegate.lab import image, kernel, machine
from sluicegate.lab.bottleneck import compiled, sluiced

SCENARIO = """
duration_s = 10
[topology]
kind = "dumbbell"
rate_bps = {rate}
delay_s = 0.01
client_delays_s = [0.001]
server_delay_s = 0.001
[[flows]]
kind = "tcp"
count = 1
[queue]
limit = {limit}
ecn = {ecn}
[[disciplines]]
aqm = "{aqm}"
params = {{ {params} }}
"""

# PIE that drops within a tenth of a second
QUICK = "t_update = 0.001, alpha = 1.9, beta = 1.9, max_burst = 0, mark_ecnth = 1"


def scenario(rate="50e6", limit=100, ecn="false", aqm="pie", params=f"target = 0.005, {QUICK}"):
    return SCENARIO.format(rate=rate, limit=limit, ecn=ecn, aqm=aqm, params=params).encode()


FILES = {
    "first": scenario(),
    "second": scenario(rate="40e6", limit=50, params=f"target = 0.002, {QUICK}"),
    "wrong": scenario(params="target = -1"),
    "codel": scenario(aqm="codel", params=""),
    "large": scenario(limit=1000),
    "marks": scenario(ecn="true"),
    # the first marks as packets arrive, the second as they leave
    "marks.pie": scenario(ecn="true", params=f"target = 0.001, {QUICK}"),
    "marks.codel": scenario(ecn="true", aqm="codel", params="ce_threshold = 0.001"),
}

SCRIPT = """
set -e
# whatever is waited for in vain
(sleep 60; kill $$) &
modprobe -a veth dummy
for name in router server; do
    ip netns add $name
    ip netns exec $name sysctl -qw net.ipv6.conf.default.disable_ipv6=1
    ip -n $name link set lo up
done
ip link add out netns router type veth peer name far netns server
ip -n router link set out up
ip -n server link set far up
ip -n router address add 10.9.0.1/24 dev out
ip -n server address add 10.9.0.2/24 dev far
mac() { ip -n $1 -o link show $2 | sed 's|.*ether ||; s| .*||'; }
ip -n router neighbour add 10.9.0.2 lladdr $(mac server far) dev out
ip -n server neighbour add 10.9.0.1 lladdr $(mac router out) dev far
# nobody listens at port 9: nothing comes back
ip netns exec server sysctl -qw net.ipv4.icmp_ratemask=8
# PACKETS_PER_MS MS ECN
load() { ip netns exec router /lab/load $*; }
received() { ip netns exec server cat /proc/net/snmp /proc/net/netstat; }
# programs are freed a while after nobody has them
left() { sleep 1; bpftool prog list | grep -c 'struct_ops\\|sched_cls' || true; }
counted() { until [ $(grep -c "$2" /out/$1.told) = $3 ]; do sleep 0.05; done; }
scenario() { cp /lab/$1 /tmp/now; mv /tmp/now /tmp/scenario; }
told() { until grep -q "$2" /out/$1.told; do kill -0 $daemon; sleep 0.05; done; }
# the daemon NAME: with more options
start() {
    name=$1; shift
    sluiced run --backend kernel --interface router/out --scenario /tmp/scenario \\
        --interval 0.1 --jsonl /out/$name.lines --json /out/$name.json $* \\
        >/out/$name.told 2>&1 &
    daemon=$!
    told $name ^ready
}
end() { kill -$1 $daemon; wait $daemon || echo "exit status $?" >>/out/$name.told; }
refused() {
    ! timeout 5 sluiced run --backend kernel --object /lab/pie.o $* >/dev/null 2>>/out/refused
}

sluiced check --backend kernel --interface router/out >/out/check.before || true

# settings change under a load of 83 Mbit/s
scenario first
start reload --object /lab/pie.o --metrics 127.0.0.1:8417
cat /proc/$daemon/task/*/status >/out/reload.status
load 10 500 0 >/out/reload.load &
load=$!
for each in second first second; do
    sleep 0.1
    scenario $each
    kill -HUP $daemon
    count=$((count + 1))
    counted reload reloaded: $count
done
count=0
for each in wrong codel large marks; do
    scenario $each
    kill -HUP $daemon
    count=$((count + 1))
    counted reload 'old settings stay' $count
done
scenario first
wait $load
tc -n router -s qdisc show dev out >/out/reload.tc
sleep 0.2
wget -q -O /out/reload.metrics http://127.0.0.1:8417/metrics
# what waits as it ends goes at once
load 100 1 0 >>/out/reload.load
end TERM
received >/out/reload.received
left >/out/reload.left
tc -n router qdisc show dev out >/out/reload.after

# marks
for aqm in pie codel; do
    scenario marks.$aqm
    start marks.$aqm --object /lab/$aqm.o --marks-at server/far
    received >/out/marks.$aqm.before
    load 10 200 2 >/out/marks.$aqm.load
    end TERM
    received >/out/marks.$aqm.received
done
left >/out/marks.left

# killed: traffic goes on, and what is left is told, twice
scenario first
start killed --object /lab/pie.o
load 10 100 0 >/out/killed.load
sluiced check --backend kernel --interface router/out >/out/check.during || true
refused --interface router/out --scenario /tmp/scenario
end KILL
load 10 100 0 >>/out/killed.load
tc -n router -s qdisc show dev out >/out/killed.tc
sluiced check --backend kernel --interface router/out >/out/check.killed || true
refused --interface router/out --scenario /tmp/scenario
sh -ec "$(tail -n 1 /out/check.killed | sed 's|^ *mend: ||')"
left >/out/killed.left

# the interface goes
start vanished --object /lab/pie.o
ip link del dev out netns router 2>/dev/null || ip -n router link del out
wait $daemon || echo "exit status $?" >>/out/vanished.told
left >/out/vanished.left

ip link add other type dummy
ip link set other up
refused --interface nowhere --aqm pie --rate 1e6
refused --interface none/out --aqm pie --rate 1e6
refused --interface other --aqm pie --rate 1e6 --limit 0
refused --interface other --aqm pie:ecn=true --rate 1e6
refused --interface other --aqm pie:ecn=true --rate 1e6 --marks-at gone
refused --interface other --aqm pie:scheduler=fq --rate 1e6
refused --interface other --aqm codel --rate 1e6
tc qdisc add dev other root pfifo
refused --interface other --aqm pie --rate 1e6
left >/out/refused.left
"""


def boot(folder):
    linux = kernel.find()
    try:
        files = {f"lab/{aqm}.o": compiled(aqm) for aqm in ("pie", "codel")}
    except SluiceError as error:
        pytest.skip(str(error))
    files |= {f"lab/{name}": text for name, text in FILES.items()}
    files["lab/load"] = load_program(folder)
    programs = ["ip", "tc", "bpftool", sluiced()]
    modules = ["dummy", "veth"]
    booted = image.build(linux, SCRIPT, programs=programs, modules=modules, files=files)
    result = machine.run(linux, booted)
    assert result.status == 0, result.stderr.decode()
    return result.files


def numbers(files, name):
    """What a daemon has counted, as a whole."""
    (record,) = json.loads(files[f"{name}.json"])
    return record


def received(text, column):
    """A count of IP in the server's namespace."""
    names, counts = (
        line.split() for line in text.decode().splitlines() if line.startswith("IpExt:")
    )
    return int(counts[names.index(column)])


def check_it_keeps_two_capabilities(files):
    held = re.findall(r"^(Cap\w+|NoNewPrivs):\t(\w+)$", files["reload.status"].decode(), re.M)
    may = f"{CAP_NET_ADMIN | CAP_BPF:016x}"
    for name, none in (("Inh", 16 * "0"), ("Prm", may), ("Eff", may), ("Bnd", may)):
        # its own thread, that which answers, and that which records
        assert held.count((f"Cap{name}", none)) == 3
    assert held.count(("NoNewPrivs", "1")) == 3
    assert len(held) == 3 * 6


def check_a_reload_under_load_loses_nothing(files):
    told, record = files["reload.told"].decode(), numbers(files, "reload")
    assert told.count("reloaded: forward: 40 Mbit/s") == 2
    sent = sum(int(line.split()[0]) for line in files["reload.load"].splitlines())
    others = record["arrivals"] - sent
    assert 0 <= others < 10, "ARP, and answers that nobody listens"
    # each packet that came was sent or dropped by a verdict, also those that waited at the end
    assert record["arrivals"] == record["sent"] + record["lost"]
    assert record["left_at_end"] == 0
    got = received(files["reload.received"], "InNoECTPkts")
    assert record["sent"] - others <= got <= record["sent"]
    assert record["lost"] == sum(record["drops"].values())
    assert record["drops"]["early"] > 0


def check_wrong_settings_leave_the_old_ones_in_force(files):
    told = files["reload.told"].decode()
    for why in (
        "disciplines.0: pie.target = -1 must lie between 0 and 10 s",
        "the AQM cannot change while its qdisc is at work: it is pie, and end sluiced before",
        "limit = 1000 must not exceed 128 (packets) while the qdisc is at work",
        "ecn must be false where no program sets marks behind the qdisc",
    ):
        assert f"the old settings stay in force: {why}" in told.replace("/tmp/scenario: ", "")
    record = numbers(files, "reload")
    assert (record["rate_bps"], record["limit"]) == (40_000_000, 50)


def check_what_is_told_is_what_tc_shows(files):
    lines = [json.loads(line) for line in files["reload.lines"].splitlines()]
    assert len(lines) > 5
    # at 0.2 s and later the last reload is past: a queue of 50 at 40 Mbit/s is 10.42 ms
    assert lines[-1]["sojourn_ms"]["max"] > 10
    sums = {key: sum(line["interval"][key] for line in lines) for key in ("sent", "lost")}
    record = numbers(files, "reload")
    assert sums == {key: record[key] for key in sums}
    metrics = files["reload.metrics"].decode()
    shown = int(re.search(r"sluiced_sent_total{link=\"forward\"} (\d+)", metrics)[1])
    tc_sent = int(re.search(rb" (\d+) pkt \(dropped", files["reload.tc"])[1])
    tc_waiting = int(re.search(rb"b (\d+)p requeues", files["reload.tc"])[1])
    assert shown == tc_sent + tc_waiting
    (flow,) = {each["flow"] for each in lines[5]["flows"]["heaviest"]}
    assert re.fullmatch(r"10\.9\.0\.1:\d+ > 10\.9\.0\.2:9 udp", flow)


def check_each_mark_arrives(files, aqm):
    record = numbers(files, f"marks.{aqm}")
    assert record["marked"] > 100
    assert record["unmarkable"] == 0
    marked = [received(files[f"marks.{aqm}.{when}"], "InCEPkts") for when in ("before", "received")]
    assert marked[1] - marked[0] == record["marked"]


def check_after_a_kill_traffic_goes_on_and_what_is_left_is_told(files):
    sent, dropped = map(int, re.search(rb" (\d+) pkt \(dropped (\d+)", files["killed.tc"]).groups())
    assert sent + dropped > 1900
    for name in ("check.killed", "refused"):
        told = files[name].decode()
        assert "which was killed; it goes on before router/out" in told
        assert "tc -n router qdisc del dev out root && sluiced qdisc remove sluiced" in told
    assert b"ok       kind sluiced: of sluiced, process" in files["check.during"]


def check_nothing_is_left(files):
    assert files["reload.after"].startswith(b"qdisc noqueue")
    for name in ("reload", "marks", "killed", "vanished", "refused"):
        assert files[f"{name}.left"] == b"0\n", name


def check_what_cannot_be_is_told(files):
    assert b"router/out is there, with the kernel's own qdisc" in files["check.before"]
    told = files["vanished.told"].decode()
    assert "the qdisc before router/out has been taken away, or the interface has" in told
    assert told.endswith("exit status 2\n")
    told = files["refused"].decode()
    for line in (
        "nowhere: No such device",
        "none/out: No such file or directory",
        "limit = 0 must be at least 1 (packets)",
        "in the kernel, ecn takes --marks-at",
        "marks cannot be set at gone: No such device",
        "the object is pie, not pie with flow queues compiled as a qdisc",
        "the object is pie, not codel compiled as a qdisc",
        "other has a qdisc already: tc qdisc del dev other root",
    ):
        assert f"sluiced: {line}" in told


# one test, as each process that runs tests would boot a machine of its own
@needs_lab
def test_a_daemon_whose_back_end_is_the_kernel(tmp_path):
    files = boot(tmp_path)
    check_it_keeps_two_capabilities(files)
    check_a_reload_under_load_loses_nothing(files)
    check_wrong_settings_leave_the_old_ones_in_force(files)
    check_what_is_told_is_what_tc_shows(files)
    check_each_mark_arrives(files, "pie")
    check_each_mark_arrives(files, "codel")
    check_after_a_kill_traffic_goes_on_and_what_is_left_is_told(files)
    check_nothing_is_left(files)
    check_what_cannot_be_is_told(files)
