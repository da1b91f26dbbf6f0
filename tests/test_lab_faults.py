"""Qdiscs of ours where memory runs out, packets are giants, or a part of a kind is missing; nothing
leaks. One boot of the laboratory, many checks."""

import json
import re
import subprocess

import pytest
from kernel_needs import needs_qdiscs
from test_lab import load_program, numbers

from sluicegate.daemon import compiled, sluiced
from sluicegate.lab import image, kernel, machine

pytestmark = pytest.mark.slow

LOOKS = ("begin", "before", "waiting", "gone", "after")
SCRIPT = """
set -e
# whatever is waited for in vain
(sleep 180; kill $$) &
modprobe -a veth dummy sch_tbf
mkdir -p /dev/pts
mount -t devpts devpts /dev/pts || true
sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
for name in router server; do ip netns add $name; ip -n $name link set lo up; done
ip link add out netns router type veth peer name far netns server
ip -n router link set out up
ip -n server link set far up
ip -n router address add 10.9.0.1/24 dev out
ip -n server address add 10.9.0.2/24 dev far
ip link add spare type dummy
ip link set spare up
ip address add 10.8.0.1/24 dev spare
ip neighbour add 10.9.0.2 lladdr 02:00:00:00:00:02 dev spare
ip route add 10.9.0.2 dev spare

# giants: TCP hands down up to 64 kB as one, since nobody says otherwise
giants() {
    sluiced qdisc install giants --aqm codel:scheduler=$1 --rate 50e6 --limit 1000 --object /lab/$2
    tc -n router qdisc add dev out root giants
    # nc ends with its input
    sleep 3 | ip netns exec server nc -l -p 9000 >/tmp/got &
    sleep 0.2
    ip netns exec router time -f %e -o /out/$1.took nc 10.9.0.2 9000 </tmp/sent
    wait $!
    cmp /tmp/sent /tmp/got && echo same >/out/$1.same
    tc -n router -s qdisc show dev out >/out/$1.tc
    sluiced qdisc show giants >/out/$1.counts
    tc -n router qdisc del dev out root
    sluiced qdisc remove giants
}
head -c 2000000 /dev/urandom >/tmp/sent
giants fifo codel.o
giants fq flows.o

# a kind whose map is gone
sluiced qdisc install torn --aqm drop_tail --rate 1e6 --limit 10 --object /lab/drop_tail.o
rm /sys/fs/bpf/sluice/torn/instances
! sluiced qdisc show torn 2>>/out/refused
sluiced qdisc remove torn
# more than there shall be memory for
! sluiced qdisc install vast --aqm drop_tail --rate 1e6 --limit 50000000 \\
    --object /lab/drop_tail.o 2>>/out/refused
ls /sys/fs/bpf/sluice >/out/left.vast
umount /sys/fs/bpf
! sluiced qdisc install bare --aqm drop_tail --rate 1e6 --limit 10 --object /lab/drop_tail.o \\
    2>>/out/refused
mount -t bpf bpf /sys/fs/bpf

# memory runs out while packets pass: what takes it is killed, and nothing else
sluiced qdisc install tight --aqm pie --rate 20e6 --limit 1000 --object /lab/pie.o
tc qdisc add dev spare root tight
(tail /dev/zero || echo $? >/out/hungry) 2>/dev/null &
/lab/load 4 1500 0 >/out/tight.load
wait $!
/lab/load 4 200 0 >>/out/tight.load
sleep 1
tc -s qdisc show dev spare >/out/tight.tc
sluiced qdisc show tight >/out/tight.counts
dmesg | grep -i 'bug:\\|oops\\|warning:' >/out/complaints || true
tc qdisc del dev spare root
sluiced qdisc remove tight

# leaks: 3000 packets wait each time that a qdisc goes; programs and maps are freed a while later
caches="skbuff_head_cache skbuff_small_head"
count() {
    sleep 1
    for cache in $caches; do
        # what is kept to be used again is no leak, and without it the count is exact
        echo 1 >/sys/kernel/slab/$cache/shrink
        sed -n "s/^$cache *\\([0-9]*\\).*/\\1/p" /proc/slabinfo
    done
    for each in prog map link; do bpftool $each list | grep -c '^[0-9]' || true; done
    find /sys/fs/bpf -mindepth 2 | wc -l
}
fill() { /lab/load 3200 1 0 >/dev/null; tc -s qdisc show dev spare >/out/leaks.tc; }
round() {
    sluiced qdisc install leaks --aqm $1 --rate 100 --limit 3000 --object /lab/$2
    tc qdisc add dev spare root leaks
    fill
    count >/out/leaks.waiting
    tc qdisc del dev spare root
    count >/out/leaks.gone
    sluiced qdisc remove leaks
}
# the same steps without a qdisc of ours: what the counts change by of themselves
count >/out/leaks.begin
for time in 1 2 3 4 5 6; do
    tc qdisc add dev spare root handle 1: tbf rate 100kbit burst 1600 limit 10000000
    tc qdisc add dev spare parent 1: pfifo limit 3000
    fill
    tc qdisc del dev spare root
done
count >/out/leaks.before
for time in 1 2 3; do
    round drop_tail:victim=random drop_tail.o
    round codel:scheduler=fq flows.o
done
count >/out/leaks.after

# sluiced top, in a terminal
sluiced run --backend kernel --interface spare --aqm drop_tail --rate 50e6 --limit 100 \\
    --object /lab/drop_tail.o --interval 0.1 --jsonl /out/lines --metrics 127.0.0.1:8417 \\
    >/out/told 2>&1 &
daemon=$!
until grep -q ^ready /out/told; do kill -0 $daemon; sleep 0.05; done
/lab/load 10 500 0 >/dev/null &
(sleep 1; echo q) | TERM=xterm script -qec 'stty rows 40 cols 100; sluiced top' /out/top >/dev/null
kill -TERM $daemon
wait $daemon
"""


def boot(folder):
    linux = kernel.find()
    files = {f"lab/{aqm}.o": compiled(aqm) for aqm in ("drop_tail", "codel", "pie")}
    files["lab/flows.o"] = compiled("codel", scheduler="fq")
    files["lab/load"] = load_program(folder)
    programs = ["ip", "tc", "bpftool", "script", "cmp", sluiced()]
    modules = ["dummy", "sch_tbf", "veth"]
    booted = image.build(linux, SCRIPT, programs=programs, modules=modules, files=files)
    result = machine.run(linux, booted)
    assert result.status == 0, result.stderr.decode() + result.console
    return result.files


def check_giants_pass_at_the_links_rate(files, name):
    assert files[f"{name}.same"] == b"same\n"
    told = re.search(rb"Sent (\d+) bytes (\d+) pkt", files[f"{name}.tc"])
    sent, segments = map(int, told.groups())
    # all headers count; tc counts the packets that a giant will be cut into
    assert sent > 2_000_000 + 54 * 1000
    assert segments > 5 * json.loads(files[f"{name}.counts"])["sent"]
    assert float(files[f"{name}.took"]) > 0.9 * 2_000_000 * 8 / 50e6


def check_what_is_missing_is_told(files):
    told = files["refused"].decode()
    for line in (
        "sluiced: torn: its map instances is missing: sluiced qdisc remove torn",
        "sluiced: --limit = 50000000 must be at most 100000 (packets)",
        "(mount -t bpf bpf /sys/fs/bpf)",
    ):
        assert line in told
    assert files["left.vast"] == b""


def check_traffic_goes_on_while_memory_runs_out(files):
    assert int(files["hungry"]) == 128 + 9
    offered = sum(int(line.split()[0]) for line in files["tight.load"].splitlines())
    sent, dropped, _, waiting = numbers(files["tight.tc"])
    assert waiting == 0
    # a packet for which there was no memory never came to the qdisc
    assert 0.9 * offered < sent + dropped <= offered
    counts = json.loads(files["tight.counts"])
    assert counts["sent"] == sent
    assert files["complaints"] == b""


def check_nothing_leaks(files):
    _, _, _, waiting = numbers(files["leaks.tc"])
    assert waiting == 3000
    # buffers and small heads of packets; BPF's programs, maps, links and pins
    counts = {name: list(map(int, files[f"leaks.{name}"].split())) for name in LOOKS}
    assert counts["begin"] == counts["before"], "pfifo leaves nothing, to the buffer"
    assert counts["after"] == counts["before"]
    assert counts["before"][2:] == [0, 0, 0, 0]
    # the count sees packets that wait, and those of a kind that stays are freed with its qdisc
    assert counts["waiting"][0] - counts["before"][0] == 3000
    assert min(counts["waiting"][2:]) > 0
    assert counts["gone"][:2] == counts["before"][:2]


def check_top_and_parquet(files, folder):
    screen = files["top"].decode(errors="replace")
    assert "forward: 50 Mbit/s, limit 100 packets, drop_tail" in screen
    # a full queue of 100 at 50 Mbit/s: the sojourn, ms
    assert re.search(r"\b16\.\d\d\b", screen)
    lines = folder / "lines.jsonl"
    lines.write_bytes(files["lines"])
    sluice = [".venv/bin/sluice", "records", str(lines), "--parquet", str(folder / "lines.parquet")]
    subprocess.run(sluice, check=True, capture_output=True)
    assert (folder / "lines.parquet").stat().st_size > 1000


# one test, as each process that runs tests would boot a machine of its own
@needs_qdiscs
def test_faults_of_qdiscs_in_the_laboratory(tmp_path):
    files = boot(tmp_path)
    check_giants_pass_at_the_links_rate(files, "fifo")
    check_giants_pass_at_the_links_rate(files, "fq")
    check_what_is_missing_is_told(files)
    check_traffic_goes_on_while_memory_runs_out(files)
    check_nothing_leaks(files)
    check_top_and_parquet(files, tmp_path)
