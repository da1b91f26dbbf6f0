"""`sluiced run --backend kernel` under the faults with which the gate in user space is tested, in
the laboratory: one boot, many checks."""

import json
import re

import pytest
from kernel_needs import needs_qdiscs
from test_lab import c_program, load_program
from test_lab_run import SETUP, numbers, received, scenario

from sluicegate.daemon import compiled, sluiced
from sluicegate.lab import image, kernel, machine

pytestmark = pytest.mark.slow

FRAMES, SUPER_PACKETS, SEGMENTS = 4000, 40, 44
FILES = {
    "first": scenario(),
    "second": scenario(rate="40e6", limit=50),
    "odd": scenario(
        rate="2e6", ecn="true", aqm="red", params="min_th = 2, max_th = 90, max_p = 1, w = 0.1"
    ),
    # of the shortest program: to load PIE's takes three times as long
    "plain": scenario(aqm="drop_tail", params=""),
    "tail": scenario(rate="200e6", aqm="drop_tail", params=""),
}
SCRIPT = (
    SETUP.replace("sleep 60", "sleep 240")
    + r"""
counts() {
    ls /proc/$daemon/fd | wc -l
    sed -n 's/^Threads:[^0-9]*//p' /proc/$daemon/status
    for each in prog map link; do bpftool $each list | grep -c '^[0-9]' || true; done
}
drained() {
    until tc -n router -s qdisc show dev out | grep -q 'backlog 0b 0p'; do sleep 0.05; done
}
arrived() { ip netns exec server cat /sys/class/net/far/statistics/rx_packets; }

# reloads under a little load
scenario first
start reloads --object /lab/pie.o
for each in $(seq 60); do
    load 2 5 0 >>/out/reloads.load
    case $((each % 2)) in 0) scenario first;; 1) scenario second;; esac
    kill -HUP $daemon
    counted reloads reloaded: $each
    case $each in 20) counts >/out/reloads.early;; 60) counts >/out/reloads.late;; esac
done
drained
end TERM

# a daemon that stands still: the kernel goes on without it
scenario first
start stopped --object /lab/pie.o
load 10 50 0 >/out/stopped.load
kill -STOP $daemon
load 10 300 0 >>/out/stopped.load
drained
kill -CONT $daemon
load 10 50 0 >>/out/stopped.load
drained
end TERM

# steps of the clock, by an hour and back
scenario plain
start clock --object /lab/drop_tail.o
load 10 300 0 >/out/clock.load &
load=$!
for each in 1 2 3; do
    date -s "@$(($(date +%s) + 3600))" >/dev/null
    sleep 0.03
    date -s "@$(($(date +%s) - 3600))" >/dev/null
    sleep 0.03
done
wait $load
drained
end TERM

# a full disk under the records
mkdir /tmp/disk
mount -t tmpfs -o size=64k none /tmp/disk
sluiced run --backend kernel --interface router/out --scenario /tmp/scenario --interval 0.005 \
    --object /lab/drop_tail.o --jsonl /tmp/disk/lines --json /out/disk.json >/out/disk.told 2>&1 &
daemon=$!
told disk ^ready
load 10 400 0 >/out/disk.load
drained
kill -TERM $daemon
wait $daemon || echo "exit status $?" >>/out/disk.told
cp /tmp/disk/lines /out/disk.lines

# somebody else takes the qdisc away, or puts another one there
start taken --object /lab/drop_tail.o
tc -n router qdisc del dev out root
wait $daemon || echo "exit status $?" >>/out/taken.told
start replaced --object /lab/drop_tail.o
tc -n router qdisc replace dev out root pfifo limit 7
wait $daemon || echo "exit status $?" >>/out/replaced.told
tc -n router qdisc show dev out >/out/replaced.after
tc -n router qdisc del dev out root
left >/out/taken.left

# frames of PPPoE and VLANs, and damaged packets, of which many look as if they could be marked
scenario odd
start odd --object /lab/red.o --marks-at server/far
arrived >/out/odd.arrived
ip netns exec router /lab/odd_packets frames out FRAMES 1
drained
arrived >>/out/odd.arrived
end TERM

# datagrams that the kernel cuts into packets behind the qdisc
scenario tail
start segments --object /lab/drop_tail.o
received >/out/segments.before
ip netns exec router /lab/odd_packets segments 10.9.0.2 SUPER_PACKETS
drained
received >/out/segments.after
end TERM
dmesg | grep -i 'bug:\|oops\|warning:' >/out/complaints || true
left >/out/left
"""
)


def boot(folder):
    linux = kernel.find()
    files = {f"lab/{aqm}.o": compiled(aqm) for aqm in ("pie", "red", "drop_tail")}
    files |= {f"lab/{name}": text for name, text in FILES.items()}
    files["lab/load"] = load_program(folder)
    files["lab/odd_packets"] = c_program(folder, "tests/odd_packets.c")
    script = SCRIPT.replace("SUPER_PACKETS", str(SUPER_PACKETS)).replace("FRAMES", str(FRAMES))
    programs = ["ip", "tc", "bpftool", sluiced()]
    modules = ["dummy", "veth"]
    booted = image.build(linux, script, programs=programs, modules=modules, files=files)
    result = machine.run(linux, booted)
    assert result.status == 0, result.stderr.decode() + str(result.files)
    return result.files


def nothing_is_forgotten(files, name, least):
    """Each packet that was offered came, but for a few others (ARP), and was sent or dropped."""
    record = numbers(files, name)
    assert 0 <= record["arrivals"] - least < 10, name
    assert record["arrivals"] == record["sent"] + record["lost"], name
    assert record["lost"] == sum(record["drops"].values()), name
    assert record["left_at_end"] == 0, name
    return record


def offered(files, name):
    return sum(int(line.split()[0]) for line in files[f"{name}.load"].splitlines())


def check_reloads_leave_nothing_behind(files):
    nothing_is_forgotten(files, "reloads", offered(files, "reloads"))
    assert files["reloads.early"] == files["reloads.late"]
    assert files["reloads.told"].count(b"reloaded: ") == 60


def check_the_kernel_goes_on_while_the_daemon_stands_still(files):
    record = nothing_is_forgotten(files, "stopped", offered(files, "stopped"))
    # PIE drops as before, and packets leave at 50 Mbit/s: 0.17 ms each
    assert record["drops"]["early"] > 100
    assert record["lateness_ms"]["max"] < 5


def check_steps_of_the_clock_move_no_packet(files):
    record = nothing_is_forgotten(files, "clock", offered(files, "clock"))
    assert record["time_s"] < 60
    assert record["sojourn_ms"]["max"] < 1000
    clocks = [json.loads(line)["clock_ns"] for line in files["clock.lines"].splitlines()]
    assert clocks == sorted(clocks)


def check_a_full_disk_ends_the_recording_and_nothing_else(files):
    nothing_is_forgotten(files, "disk", offered(files, "disk"))
    told = files["disk.told"].decode()
    assert "No space left on device" in told
    assert "no more is recorded" in told
    assert told.endswith("exit status 2\n")
    assert files["disk.lines"].count(b"\n") > 5
    assert files["disk.lines"].endswith(b"\n")


def check_what_others_take_away_is_told(files):
    for name in ("taken", "replaced"):
        told = files[f"{name}.told"].decode()
        assert "the qdisc before router/out has been taken away" in told, name
        assert told.endswith("exit status 2\n"), name
    # theirs stays
    assert re.match(rb"qdisc pfifo \w+: root .*limit 7p", files["replaced.after"])
    assert files["taken.left"] == b"0\n"


def check_odd_frames_pass_or_are_dropped_and_each_is_counted(files):
    record = nothing_is_forgotten(files, "odd", FRAMES)
    before, after = map(int, files["odd.arrived"].split())
    assert after - before == record["sent"]
    assert record["lost"] > 100
    # marks are for IP: those that look like it and have no header to mark are counted, and pass
    assert record["marked"] > 100
    assert 0 < record["unmarkable"] < record["marked"]


def check_super_packets_are_one_in_the_queue_and_all_arrive(files):
    record = nothing_is_forgotten(files, "segments", SUPER_PACKETS)
    assert record["lost"] == 0
    got = [received(files[f"segments.{when}"], "InNoECTPkts") for when in ("before", "after")]
    assert 0 <= got[1] - got[0] - SUPER_PACKETS * SEGMENTS < 10


# one test, as each process that runs tests would boot a machine of its own
@needs_qdiscs
def test_faults_of_the_kernel_back_end(tmp_path):
    files = boot(tmp_path)
    check_reloads_leave_nothing_behind(files)
    check_the_kernel_goes_on_while_the_daemon_stands_still(files)
    check_steps_of_the_clock_move_no_packet(files)
    check_a_full_disk_ends_the_recording_and_nothing_else(files)
    check_what_others_take_away_is_told(files)
    check_odd_frames_pass_or_are_dropped_and_each_is_counted(files)
    check_super_packets_are_one_in_the_queue_and_all_arrive(files)
    assert files["complaints"] == b""
    assert files["left"] == b"0\n"
