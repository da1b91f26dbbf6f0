"""A loader of qdiscs that is killed: whatever it was about to do, nothing is left, or `sluiced
check` says what and by which command it goes; packets pass all the same. And who may set the rate
of a kind, also after one who did was killed. One boot of the lab."""

import json
import re

import pytest
from kernel_needs import needs_qdiscs
from test_lab import c_program, load_program

from sluicegate.daemon import compiled, sluiced
from sluicegate.lab import image, kernel, machine

pytestmark = pytest.mark.slow

SCRIPT = """
set -e
# whatever is waited for in vain
(sleep 300; kill $$) &
modprobe dummy
sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
ip link add out type dummy
ip link set out up
ip address add 10.9.0.1/24 dev out
ip neighbour add 10.9.0.2 lladdr 02:00:00:00:00:02 dev out
# programs, maps and links are freed a while after nobody has them
held() {
    sleep 1
    echo $(for each in prog map link; do bpftool $each list | grep -c '^[0-9]' || true; done) \\
        $(find /sys/fs/bpf -mindepth 2 | wc -l) >/out/held.$1
}
sent() { cat /sys/class/net/out/statistics/tx_packets; }
list() { echo $(ls $* 2>/dev/null); }

# kills the loader NAME at its call NUMBER, looks, and cleans up as it is told
trial() {
    name=$1 number=$2; shift 2
    /lab/killed_at $number $* >/tmp/told 2>&1 &
    loader=$!
    # seldom: to look takes instructions, and to wait takes none
    until grep -q ^ready /tmp/told || ! kill -0 $loader 2>/dev/null; do sleep 0.2; done
    kill -TERM $loader 2>/dev/null || true
    status=0
    wait $loader || status=$?
    [ $status = 137 ] || return 0
    before=$(sent)
    /lab/load 2 20 0 >/dev/null
    sleep 0.01
    passed=$(($(sent) - before))
    kinds=$(list /sys/fs/bpf/sluice)
    files=$(list /sys/fs/bpf/sluice/swept)
    stands=$(tc qdisc show dev out | grep -c swept || true)
    sluiced check --backend kernel --interface out >/tmp/check || true
    told=$(sed -n 's/^missing  kind //p' /tmp/check)
    fix=$(sed -n '/^missing  kind/{n;s/^ *fix: //p}' /tmp/check)
    sh -ec "$fix"
    cat >>/out/$name <<END
{"number": $number, "passed": $passed, "files": "$files", "stands": $stands, "told": "$told",
 "fix": "$fix", "kinds": "$kinds", "kept": "$(list /sys/fs/bpf/sluice)",
 "qdisc": "$(tc qdisc show dev out)"}
END
}
# from the call NUMBER on every fourth, and each one from where something is left
sweep() {
    name=$1 number=$2 step=4; shift 2
    while trial $name $number $*; [ $status = 137 ]; do
        [ $step = 1 ] || [ -z "$kinds" ] || { number=$((number - step)); step=1; }
        number=$((number + step))
    done
    echo $status >/out/$name.status
    cp /tmp/told /out/$name.told
}
held before
queue="--aqm drop_tail --rate 1e9 --limit 10 --marks-at out --object /lab/drop_tail.o"
# the calls before leave nothing, as those from here up to the first part do
sweep run 13 sluiced run --backend kernel --kind swept --interface out $queue --interval 3600
held run
# one with rates that vary has more parts
printf 'time_s,rate_bps\n0,1e9\n' >/tmp/rates.csv
sweep install 13 sluiced qdisc install swept $queue --rate-file /tmp/rates.csv
sluiced qdisc remove swept
held install

# one who sets rates was killed in the midst: the next one is heard
rates="--aqm drop_tail --limit 10 --object /lab/drop_tail.o --rate-file /tmp/rates.csv"
edition=/sys/fs/bpf/sluice/swept/edition
sluiced qdisc install swept $rates
bpftool map update pinned $edition key 0 0 0 0 value 7 0 0 0 0 0 0 0
sluiced qdisc follow swept --aqm drop_tail --limit 10 --rate-file /tmp/rates.csv
bpftool -j map dump pinned $edition >/out/edition
not() { ! sluiced qdisc follow swept --aqm drop_tail --limit 10 --rate-file /tmp/rates.csv $*; }
not --start 18446744073709551615 2>/out/not.ahead
sluiced qdisc remove swept
sluiced qdisc install swept $queue
not 2>/out/not.constant
sluiced qdisc remove swept
sluiced run --backend kernel --kind swept --interface out $rates >/tmp/told &
daemon=$!
until grep -q ^ready /tmp/told; do kill -0 $daemon; sleep 0.02; done
not 2>/out/not.owned
kill -TERM $daemon
wait $daemon
not 2>/out/not.missing
"""


def boot(folder):
    linux = kernel.find()
    files = {
        "lab/drop_tail.o": compiled("drop_tail"),
        "lab/load": load_program(folder),
        "lab/killed_at": c_program(folder, "tests/killed_at.c"),
    }
    programs = ["ip", "tc", "bpftool", sluiced()]
    booted = image.build(linux, SCRIPT, programs=programs, modules=["dummy"], files=files)
    result = machine.run(linux, booted)
    assert result.status == 0, result.stderr.decode() + result.console
    return result.files


CONSTANT = [
    "",
    "owner",
    "marks0 owner",
    "instances marks0 owner",
    "instances link marks0 owner",
]
FOLLOWED = [
    *CONSTANT[:4],
    "instances marks0 owner params",
    "edition instances marks0 owner params",
    "edition instances link marks0 owner params",
]


def trials(files, name):
    """What was found after each kill."""
    assert files[f"{name}.status"] == b"0\n", files[f"{name}.told"].decode()
    decoder, text, found = json.JSONDecoder(), files[name].decode(), []
    while text := text.lstrip():
        trial, length = decoder.raw_decode(text)
        text = text[length:]
        found.append(trial)
    return found


def check_what_is_left_is_told_and_goes(trial):
    assert trial["passed"] == 40
    if trial["kinds"]:
        assert trial["kinds"] == "swept"
        # in the first and the last instant there is but an empty folder
        who = r"process \d+, which" if trial["files"] else "a process that"
        where = "; it goes on before out" if trial["stands"] else ""
        assert re.fullmatch(f"swept: left by {who} was killed{where}", trial["told"])
        words = ["tc qdisc del dev out root"] * trial["stands"] + ["sluiced qdisc remove swept"]
        assert trial["fix"] == " && ".join(words)
    else:
        assert (trial["told"], trial["stands"]) == ("", 0)
    # after what was told was done
    assert trial["kept"] == ""
    assert trial["qdisc"].startswith("qdisc noqueue")


def check_each_instant_was_among_them(trials, parts, most):
    """Before anything is left, with each part that is kept, and back to nothing."""
    assert not trials[0]["kinds"]
    found = [trial["files"] for trial in trials if trial["kinds"]]
    assert len(found) >= 10
    assert sorted(set(found), key=len) == parts
    assert found[-1] == most


def check_who_may_set_a_rate(files):
    (edition,) = json.loads(files["edition"])
    assert [int(each, 16) for each in edition["value"]] == [8, 0, 0, 0, 0, 0, 0, 0]
    for why, told in (
        ("ahead", r"--start 18446744073709551615 must be at most a day ahead: CLOCK_MONOTONIC is"),
        ("constant", "swept: its rate is constant: install it with the rates that it is to follow"),
        ("owned", r"swept: process \d+ owns this kind and sets its rate: follow one of sluiced"),
        ("missing", "swept: there is no kind of that name"),
    ):
        assert re.search(told, files[f"not.{why}"].decode()), why


# one test, as each process that runs tests would boot a machine of its own
@needs_qdiscs
def test_a_loader_that_is_killed_at_any_instant_leaves_nothing_untold(tmp_path):
    files = boot(tmp_path)
    runs, installs = trials(files, "run"), trials(files, "install")
    for trial in runs + installs:
        check_what_is_left_is_told_and_goes(trial)
    assert {trial["stands"] for trial in runs} == {0, 1}
    check_each_instant_was_among_them(runs, CONSTANT, most="")
    check_each_instant_was_among_them(installs, FOLLOWED, most=FOLLOWED[-1])
    assert files["held.before"] == files["held.run"] == files["held.install"] == b"0 0 0 0\n"
    check_who_may_set_a_rate(files)
