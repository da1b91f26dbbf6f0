"""`sluiced run --backend kernel` with real packets, in the laboratory: one boot, many checks."""

import json
import re

import pytest
from gate_run import CAP_BPF, CAP_NET_ADMIN
from kernel_needs import needs_qdiscs
from lab_headers import with_header
from test_lab import ROOT, c_program, load_program

from sluicegate.daemon import compiled, sluiced
from sluicegate.lab import image, kernel, machine

pytestmark = pytest.mark.slow

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

# of the load, with IP and Ethernet
PACKET_BYTES = 1042
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
    "slow": scenario(rate="1e6"),
    "marks": scenario(ecn="true"),
    # the first marks as packets arrive, the second as they leave
    "marks.pie": scenario(ecn="true", params=f"target = 0.001, {QUICK}"),
    # of 15,000 that wait at once
    "marks.red": scenario(
        ecn="true", limit=20000, aqm="red", params="max_th = 20000, max_p = 0.5, w = 0.02"
    ),
    "kept": scenario(rate="1e6", limit=1000, aqm="red", params="max_th = 1000, w = 0.02"),
    "kept.other": scenario(rate="1e6", limit=1000, aqm="red", params="max_th = 1000, w = 0.03"),
    # beside /tmp/scenario: it holds `most` packets
    "header": scenario(rate="10e6", aqm="shorter.h", params="most = 20"),
    "header.less": scenario(rate="10e6", aqm="shorter.h", params="most = 10"),
    "marks.codel": scenario(ecn="true", aqm="codel", params="ce_threshold = 0.001"),
}

# a router before a server, and how a daemon is begun and ended there
SETUP = """
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
"""
SCRIPT = (
    SETUP
    + """
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

# its AQM keeps its state: a hundred packets wait, then the weight of the average changes
scenario kept
start kept --object /lab/red.o
load 100 1 0 >/out/kept.load
sleep 0.2
scenario kept.other
kill -HUP $daemon
counted kept reloaded: 1
load 1 1 0 >>/out/kept.load
sleep 0.2
end TERM

# marks
marks() {
    scenario marks.$1
    start marks.$1 --object /lab/$1.o --marks-at server/far
    received >/out/marks.$1.before
    load $2 2 >/out/marks.$1.load
    until tc -n router -s qdisc show dev out | grep -q 'backlog 0b 0p'; do sleep 0.05; done
    end TERM
    received >/out/marks.$1.received
}
marks pie '10 200'
marks codel '10 200'
marks red '25 800'
left >/out/marks.left

# where the queue builds, asked from outside and inside
scenario first
start watched --object /lab/pie.o --metrics unix:/tmp/metrics
load 10 1600 0 >/dev/null &
load=$!
sleep 0.1
watch="--watch 0.5 --metrics unix:/tmp/metrics"
sluiced check --interface router/out $watch >/out/watched.outside
ip netns exec router sluiced check --interface out $watch >/out/watched.inside
! sluiced check --tun near far $watch 2>/out/watched.tun
wait $load
end TERM

# what another discipline would do with the same arrivals
start shadow --object /lab/pie.o --metrics 127.0.0.1:8417 --shadow drop_tail
wget -q -O /out/shadow.events http://127.0.0.1:8417/events &
viewer=$!
load 10 500 0 >/out/shadow.load
sleep 0.3
kill $viewer
end TERM

# its rate falls as a file says
printf 'time_s,rate_bps\n0,50e6\n0.3,10e6\n' >/tmp/rates.csv
start rated --object /lab/pie.o --rate-file /tmp/rates.csv
load 10 700 0 >/dev/null
end TERM

# an interface that takes 2 packets of 1028 bytes each ms: 16.4 Mbit/s
modprobe tun
/lab/slow_tun slow 2 &
slow=$!
until ip link set slow txqueuelen 20 up 2>/dev/null; do kill -0 $slow; sleep 0.05; done
ip address add 10.9.0.1/24 dev slow
sluiced run --backend kernel --interface slow --aqm pie --rate 50e6 --limit 100 \\
    --object /lab/pie.o --interval 0.1 --metrics unix:/tmp/metrics >/out/slower.told 2>&1 &
daemon=$!
told slower ^ready
/lab/load 10 800 0 >/dev/null &
load=$!
sleep 0.1
! sluiced check --interface slow $watch >/out/watched.slower
wait $load
kill -TERM $daemon
wait $daemon
kill $slow

# a header of the user's own: it may not change at work
header() { cp /lab/$1.h /tmp/shorter.h; }
header first
scenario header
start header --object /lab/shorter.o
load 10 100 0 >/out/header.load
header second
kill -HUP $daemon
counted header 'old settings stay' 1
load 10 100 0 >>/out/header.load
tc -n router -s qdisc show dev out >/out/header.tc
header first
scenario header.less
kill -HUP $daemon
counted header reloaded: 1
load 10 100 0 >>/out/header.load
end TERM
# without a scenario it cannot be read again
run="sluiced run --backend kernel --interface router/out --rate 10e6 --object /lab/shorter.o"
$run --aqm /tmp/shorter.h --json /out/once.json >/out/once.told 2>&1 &
daemon=$!
told once ^ready
load 10 10 0 >/dev/null
end TERM
header second
! $run --aqm /tmp/shorter.h 2>>/out/refused
left >/out/header.left

# killed: traffic goes on, and what is left is told, twice
scenario first
start killed --object /lab/pie.o
load 10 100 0 >/out/killed.load
sluiced check --backend kernel --interface router/out >/out/check.during || true
refused --interface router/out --scenario /tmp/scenario
refused --interface router/out --scenario /tmp/scenario --kind other
end KILL
load 10 100 0 >>/out/killed.load
tc -n router -s qdisc show dev out >/out/killed.tc
sluiced check --backend kernel >/out/check.elsewhere || true
unshare -m sh -c 'mount -t tmpfs none /run/netns; sluiced check --backend kernel' \\
    >/out/check.unknown || true
sluiced check --backend kernel --interface router/out >/out/check.killed || true
refused --interface router/out --scenario /tmp/scenario
sh -ec "$(tail -n 1 /out/check.killed | sed 's|^ *fix: ||')"
left >/out/killed.left

# the interface goes down while 100 packets wait, and comes up again
scenario slow
start reset --object /lab/pie.o
load 100 1 0 >/out/reset.load
ip -n router link set out down
ip -n router link set out up
ip -n router neighbour add 10.9.0.2 lladdr $(mac server far) dev out
load 50 1 0 >>/out/reset.load
sleep 0.3
end TERM

# the interface goes
scenario first
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
sluiced qdisc install stays --aqm pie --rate 1e6 --object /lab/pie.o >/dev/null
tc qdisc add dev other root stays
refused --interface other --aqm pie --rate 1e6
tc qdisc del dev other root
sluiced qdisc remove stays
tc qdisc add dev other root pfifo
refused --interface other --aqm pie --rate 1e6
left >/out/refused.left
"""
)


def headers(folder):
    """`shorter.h`, and as if somebody had put another number into its config."""
    files = {}
    first = (ROOT / "tests" / "shorter.h").read_text()
    second = first.replace("{ s64 most; }", "{ u64 before; s64 most; }")
    second = second.replace("c->most = p", "c->before = 0;\n\tc->most = p")
    for name, text in (("second", second), ("first", first)):
        (folder / "shorter.h").write_text(text)
        more, files["lab/shorter.o"] = with_header(folder / "shorter.h", folder / name)
        files |= more | {f"lab/{name}.h": text.encode()}
    return files


def boot(folder):
    linux = kernel.find()
    files = {f"lab/{aqm}.o": compiled(aqm) for aqm in ("pie", "codel", "red")}
    files |= headers(folder)
    files |= {f"lab/{name}": text for name, text in FILES.items()}
    files["lab/load"] = load_program(folder)
    files["lab/slow_tun"] = c_program(folder, "tests/slow_tun.c")
    programs = ["ip", "tc", "bpftool", "unshare", sluiced()]
    modules = ["dummy", "tun", "veth"]
    booted = image.build(linux, SCRIPT, programs=programs, modules=modules, files=files)
    result = machine.run(linux, booted)
    assert result.status == 0, result.stderr.decode() + str(result.files)
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


def check_a_reload_keeps_the_average(files):
    lines = [json.loads(line) for line in files["kept.lines"].splitlines()]
    # the last line is made when the qdisc is gone
    averages = [line["average_queue"] for line in lines[:-1]]
    # a hundred packets before the reload; one after it, which alone would make it 3 % of the queue
    *_, before, after = dict.fromkeys(averages)
    assert 30 < before < after < before + 3, averages


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


def check_another_discipline_gets_the_same_arrivals(files):
    rows = [
        json.loads(line.removeprefix("data: "))[0]
        for event in files["shadow.events"].decode().split("\n\n")
        if "event: shadow" in event
        for line in event.splitlines()
        if line.startswith("data: ")
    ]
    assert {row["discipline"] for row in rows} == {"drop_tail"}
    assert rows[-1]["left_out"] == 0
    sums = {key: sum(row[key] for row in rows) for key in ("arrivals", "early", "overflow")}
    record = numbers(files, "shadow")
    assert record["drops"]["early"] > 0
    assert sums["arrivals"] == record["arrivals"]
    assert sums["early"] == 0
    assert max(row["queue_max"] for row in rows) == record["limit"]
    # what neither was sent in the half second of the load nor fits into the buffer
    fits = 0.5 * record["rate_bps"] / (8 * PACKET_BYTES) + record["limit"]
    load = int(files["shadow.load"].split()[0])
    assert sums["overflow"] == pytest.approx(load - fits, rel=0.01)


def check_its_rate_follows_a_file(files):
    lines = [json.loads(line) for line in files["rated.lines"].splitlines()]
    assert {line["rate_bps"] for line in lines} == {50_000_000, 10_000_000}
    # whole intervals at the lower rate, under load; the last one is made when the qdisc is gone
    _, *slow, _ = [line["interval"] for line in lines if line["rate_bps"] == 10_000_000]
    sent = [each["sent"] / each["time_s"] for each in slow]
    assert sent == pytest.approx([10e6 / (8 * PACKET_BYTES)] * len(slow), rel=0.02)
    assert len(slow) >= 2


def check_a_users_header_stays_what_it_was(files):
    told = files["header.told"].decode()
    why = "the qdisc at work was compiled from another text than that of shorter: end sluiced"
    assert f"the old settings stay in force: {why}" in told
    (line,) = (line for line in told.splitlines() if "reloaded:" in line)
    assert line.endswith("shorter most=10")
    record = numbers(files, "header")
    # `most` of the text that is at work, before and after the reload that was refused
    assert record["queue_max"] == 20
    sent, _ = map(int, re.search(rb" (\d+) pkt \(dropped (\d+)", files["header.tc"]).groups())
    # 120 packets in 0.1 s at 10 Mbit/s, twice
    assert sent > 2 * 110
    assert "panicked" not in files["once.told"].decode()
    assert numbers(files, "once")["sent"] > 0


def check_after_a_kill_traffic_goes_on_and_what_is_left_is_told(files):
    sent, dropped = map(int, re.search(rb" (\d+) pkt \(dropped (\d+)", files["killed.tc"]).groups())
    assert sent + dropped > 1900
    for name in ("check.killed", "refused"):
        told = files[name].decode()
        assert "which was killed; it goes on before router/out" in told
        assert "tc -n router qdisc del dev out root && sluiced qdisc remove sluiced" in told
    # by name also where nobody names the interface, or by number
    assert "which was killed; it goes on before router/out\n" in files["check.elsewhere"].decode()
    told = files["check.unknown"].decode()
    assert (
        "which was killed; it goes on before 1 in namespaces that ip netns does not know\n" in told
    )


def check_a_qdisc_at_work_is_in_use_and_nobody_is_told_to_delete_it(files):
    told = files["check.during"].decode()
    process = re.search(r"^ok       kind sluiced: in use by process (\d+)$", told, re.MULTILINE)[1]
    stands = f"router/out has a qdisc, sluiced, in use by process {process}\n"
    assert f"ok       interface: {stands}" in told
    assert " del " not in told
    refused = files["refused"].decode()
    assert f"sluiced: in use by process {process}: --kind gives another name\n" in refused
    assert f"sluiced: {stands}" in refused


def check_the_queue_builds_in_the_qdisc_and_not_behind_it(files):
    for where, interface in (("outside", "router/out"), ("inside", "out")):
        told = files[f"watched.{where}"].decode()
        found = re.fullmatch(
            r"ok       forward: the queue builds here: ([\d.]+) packets in our queue \(([\d.]+) "
            rf"ms\), which is that of {interface} itself; ([\d.]+) of 50.00 Mbit/s sent\n",
            told,
        )
        assert found, told
        # 83 Mbit/s come, and PIE's target is 5 ms
        packets, sojourn_ms, sent = map(float, found.groups())
        assert 1 < packets < 100
        assert 1 < sojourn_ms < 17
        assert 45 < sent <= 50.5
    told = files["watched.slower"].decode()
    found = re.search(
        r"^note     forward: the interface is slower than --rate: .*; ([\d.]+) of 50.00 Mbit/s "
        r"sent, each packet ([\d.]+) ms later than that allows. Set --rate a little below \1 "
        r"Mbit/s\n",
        told,
    )
    assert found, told
    sent, late_ms = map(float, found.groups())
    assert sent == pytest.approx(16.4, rel=0.1)
    assert late_ms > 1
    assert "is a qdisc of the kernel, and takes no packets from --tun near far" in (
        files["watched.tun"].decode()
    )


def check_what_a_reset_throws_away_waits_no_more(files):
    lines = [json.loads(line) for line in files["reset.lines"].splitlines()]
    assert [line.split()[0] for line in files["reset.load"].splitlines()] == [b"100", b"50"]
    left, last = lines[-1]["left_at_end"], lines[-2]
    assert 80 < left < 100
    # of 50 packets, one leaves each 8 ms
    assert 5 < last["queue_packets"] < 50
    assert last["queue_bytes"] == PACKET_BYTES * last["queue_packets"]


def check_nothing_is_left(files):
    assert files["reload.after"].startswith(b"qdisc noqueue")
    for name in ("reload", "marks", "header", "killed", "vanished", "refused"):
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
        "--limit = 0 must be at least 1 (packets)",
        "in the kernel, ecn takes --marks-at",
        "marks cannot be set at gone: No such device",
        "the object is pie, not pie with fq compiled as a qdisc",
        "the object is pie, not codel compiled as a qdisc",
        "the object is shorter of another text",
        "other has a qdisc, stays: tc qdisc del dev other root",
        "other has a qdisc, pfifo: tc qdisc del dev other root",
    ):
        assert f"sluiced: {line}" in told


# one test, as each process that runs tests would boot a machine of its own
@needs_qdiscs
def test_a_daemon_whose_back_end_is_the_kernel(tmp_path):
    files = boot(tmp_path)
    check_it_keeps_two_capabilities(files)
    check_a_reload_keeps_the_average(files)
    check_a_reload_under_load_loses_nothing(files)
    check_wrong_settings_leave_the_old_ones_in_force(files)
    check_what_is_told_is_what_tc_shows(files)
    check_each_mark_arrives(files, "pie")
    check_each_mark_arrives(files, "codel")
    check_the_queue_builds_in_the_qdisc_and_not_behind_it(files)
    check_a_qdisc_at_work_is_in_use_and_nobody_is_told_to_delete_it(files)
    check_each_mark_arrives(files, "red")
    check_another_discipline_gets_the_same_arrivals(files)
    check_its_rate_follows_a_file(files)
    assert numbers(files, "marks.red")["queue_max"] > 12_000
    check_a_users_header_stays_what_it_was(files)
    check_after_a_kill_traffic_goes_on_and_what_is_left_is_told(files)
    check_what_a_reset_throws_away_waits_no_more(files)
    check_nothing_is_left(files)
    check_what_cannot_be_is_told(files)
