"""A loader of qdiscs that is killed: whatever it was about to do, nothing is left, or `sluiced
check` says what and by which command it goes; packets pass all the same. One boot of the lab."""

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
    until grep -q ^ready /tmp/told || ! kill -0 $loader 2>/dev/null; do sleep 0.02; done
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
sweep run 1 sluiced run --backend kernel --kind swept --interface out $queue --interval 3600
held run
sweep install 13 sluiced qdisc install swept $queue
sluiced qdisc remove swept
held install
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


ALL_PARTS = "edition instances link marks0 owner params"


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


def check_each_instant_was_among_them(trials, most):
    """Before anything is left, with each part that is kept, and back to nothing."""
    assert not trials[0]["kinds"]
    found = [trial["files"] for trial in trials if trial["kinds"]]
    parts = [
        "",
        "owner",
        "marks0 owner",
        "instances marks0 owner",
        "instances marks0 owner params",
        "edition instances marks0 owner params",
        ALL_PARTS,
    ]
    assert len(found) >= 10
    assert sorted(set(found), key=len) == parts
    assert found[-1] == most


# one test, as each process that runs tests would boot a machine of its own
@needs_qdiscs
def test_a_loader_that_is_killed_at_any_instant_leaves_nothing_untold(tmp_path):
    files = boot(tmp_path)
    runs, installs = trials(files, "run"), trials(files, "install")
    for trial in runs + installs:
        check_what_is_left_is_told_and_goes(trial)
    assert {trial["stands"] for trial in runs} == {0, 1}
    check_each_instant_was_among_them(runs, most="")
    check_each_instant_was_among_them(installs, most=ALL_PARTS)
    assert files["held.before"] == files["held.run"] == files["held.install"] == b"0 0 0 0\n"
