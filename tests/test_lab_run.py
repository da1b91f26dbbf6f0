"""`sluiced run --backend kernel` with real packets, in the laboratory: one boot, many checks."""

import json
import re

import pytest
from test_lab import ROOT, load_program, needs_lab

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


def scenario(rate="50e6", limit=100, ecn="false", aqm="pie", params="target = 0.005"):
    return SCENARIO.format(rate=rate, limit=limit, ecn=ecn, aqm=aqm, params=params).encode()


FILES = {
    "first": scenario(),
    "second": scenario(rate="40e6", limit=50, params="target = 0.002"),
    "wrong": scenario(params="target = -1"),
    "codel": scenario(aqm="codel", params=""),
    "large": scenario(limit=1000),
    "marks": scenario(ecn="true"),
    # the first marks as packets arrive, the second as they leave
    "marks.pie": scenario(ecn="true", params="t_update = 0.001, max_burst = 0, mark_ecnth = 1"),
    "marks.codel": scenario(ecn="true", aqm="codel", params="ce_threshold = 0.001"),
}

SCRIPT = """
set -e
# whatever is waited for in vain
(sleep 60; kill $$) &
modprobe -a veth dummy
sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
for name in router server; do ip netns add $name; ip -n $name link set lo up; done
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
refused() { ! timeout 5 sluiced run --backend kernel --object /lab/pie.o $* >/dev/null 2>>/out/refused; }

sluiced check --backend kernel --interface router/out >/out/check.before || true

# settings change under a load of 83 Mbit/s
scenario first
start reload --object /lab/pie.o --metrics 127.0.0.1:8417
load 10 1000 >/out/reload.load &
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
load 100 1 >>/out/reload.load
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
load 10 100 >/out/killed.load
sluiced check --backend kernel --interface router/out >/out/check.during || true
refused --interface router/out --scenario /tmp/scenario
end KILL
load 10 100 >>/out/killed.load
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
    result = machine.run(linux, booted, patience_s=100)
    if result.status:
        for n in sorted(result.files): print('==', n, result.files[n].decode()[-800:])
    assert result.status == 0, result.stderr.decode()
    return result.files


@needs_lab
def test_a_daemon_of_the_kernels_backend(tmp_path):
    files = boot(tmp_path)
    for name, content in sorted(files.items()):
        print("==", name)
        print(content.decode()[-1500:])
