"""The laboratory, and our qdiscs in it. Nothing is fetched here: without a kernel in the user's
cache (`sluice lab --fetch`), what boots is skipped."""

import json
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from kernel_needs import needs_lab, needs_qdiscs

from sluicegate.daemon import compiled, sluiced
from sluicegate.errors import SluiceError
from sluicegate.lab import image, kernel, machine
from sluicegate.lab.archive import Link, pack, unpack

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
SLUICE = ROOT / ".venv" / "bin" / "sluice"
FILES = {"a/b/c": b"\0\1\2", "a/empty": b"", "long": bytes(range(256)) * 41}


def sluice(*words, **environment):
    return subprocess.run(
        [SLUICE, "lab", *words],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_archive_has_what_was_put_into_it():
    assert unpack(pack(FILES | {"a/link": Link("b/c")})) == FILES


def test_an_archive_is_the_same_whatever_the_order():
    assert pack(dict(reversed(FILES.items()))) == pack(FILES)


@pytest.mark.parametrize("size", [0, 50, 200, 9000])
def test_a_torn_archive_is_told(size):
    whole = pack(FILES)
    assert size < len(whole)
    with pytest.raises(SluiceError, match="damaged archive"):
        unpack(whole[:size])


def test_another_reader_finds_the_same_in_an_archive(tmp_path):
    try:
        subprocess.run(
            ["cpio", "--extract", "--quiet"], input=pack(FILES), cwd=tmp_path, check=True
        )
    except FileNotFoundError:
        pytest.skip("apt install cpio")
    for path, content in FILES.items():
        assert (tmp_path / path).read_bytes() == content


def test_without_a_kernel_the_command_says_how_to_get_one(tmp_path):
    done = sluice("true", XDG_CACHE_HOME=str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert "sluice lab --fetch" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", [(), ("--check", "true"), ("--fetch", "--check")])
def test_one_thing_is_done_at_a_time(words):
    done = sluice(*words)
    assert done.returncode == 2
    assert "give one of COMMAND, --fetch, --dualpi2 and --check" in done.stderr


def test_missing_programs_are_told_with_the_command_that_brings_them(tmp_path):
    done = sluice("--check", XDG_CACHE_HOME=str(tmp_path), PATH=str(tmp_path))
    assert done.returncode == 1
    assert "kernel: missing: sluice lab --fetch" in done.stdout
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("programs:")]
    named = line.removeprefix("programs: missing: apt install ").split()
    assert {"apt", "busybox-static", "dpkg", "qemu-system-x86"} <= set(named)


@needs_lab
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"programs": ["no-such-program"]}, "no-such-program: there is no such program"),
        ({"modules": ["no_such_module"]}, "no_such_module: Linux .* has no module of that name"),
    ],
)
def test_what_an_image_cannot_have_is_told(wrong, told):
    with pytest.raises(SluiceError, match=told):
        image.build(kernel.find(), "true", **wrong)


@needs_lab
def test_a_machine_that_hangs_is_stopped():
    linux = kernel.find()
    with pytest.raises(SluiceError, match="nothing came back within 1 s of processor time"):
        machine.run(linux, image.build(linux, "sleep 1e6"), patience_s=1)


def test_a_machine_that_takes_no_processor_time_is_stopped_too():
    with subprocess.Popen(["sleep", "1000"]) as emulator:
        assert machine._wait(emulator, 0.05, None) == "1 s"
        emulator.kill()


@pytest.fixture
def program(tmp_path):
    """A program with a loader of its own, as those of other distributions have."""
    (theirs,) = [path for path in image.libraries(Path("/bin/sh")) if path.name.startswith("ld-")]
    own, source, made = tmp_path / "own-loader.so", tmp_path / "hello.c", tmp_path / "hello"
    shutil.copy(theirs, own)
    source.write_text('#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n')
    subprocess.run(["cc", f"-Wl,--dynamic-linker={own}", "-o", made, source], check=True)
    return made


def test_a_program_with_a_loader_of_its_own_comes_with_that(program):
    found = image.libraries(program)
    assert program.parent / "own-loader.so" in found
    (libc,) = [path for path in found if path.name.startswith("libc.")]
    assert image.libraries(libc), "a library names no loader"


@needs_lab
def test_another_seed_gives_other_random_numbers(program):
    """And such a program runs there. That one seed gives one result, to the byte, is tested with a
    scenario of the kernel world."""
    linux = kernel.find()
    script = f"{program.name} && head -c 16 /dev/urandom >/out/random"
    booted = image.build(linux, script, programs=[str(program)])
    with ThreadPoolExecutor(2) as pool:
        first, other = pool.map(lambda seed: machine.run(linux, booted, seed=seed), [1, 2])
    assert first.stdout == other.stdout == b"hello\n"
    assert len(first.files["random"]) == len(other.files["random"]) == 16
    assert first.files["random"] != other.files["random"]


# 200 datagrams of 1042 bytes at once into a queue for 10 before 100 kbit/s; one more is in service
SCRIPT = """
set -e
# the second is built into the kernel
modprobe -a dummy tcp_cubic
# it sends packets of its own
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
count() { bpftool prog list | grep -c struct_ops || true; }
put() { ip link add $1 type dummy; ip link set $1 up; tc qdisc add dev $1 root $2; }
install() { sluiced qdisc install $1 --aqm $2 --rate 1e5 --limit 10 --object /lab/drop_tail.o; }
ip link add out type dummy
ip link set out up
ip address add 10.9.0.1/24 dev out
ip neighbour add 10.9.0.2 lladdr 02:00:00:00:00:02 dev out
for victim in tail front; do
    install $victim drop_tail:victim=$victim
    tc qdisc add dev out root $victim
    /lab/load 200 1 >/dev/null
    tc -s qdisc show dev out >/out/$victim.waiting
    sleep 2
    tc -s qdisc show dev out >/out/$victim.after
    sluiced qdisc show $victim >/out/$victim.counts
    tc qdisc del dev out root
    sluiced qdisc show $victim >/out/$victim.nothing
    sluiced qdisc remove $victim
done
# a limit in bytes: 5000 hold four of 1042
sluiced qdisc install bytes --aqm drop_tail --rate 1e5 --limit 10 --limit-bytes 5000 \
    --object /lab/drop_tail.o
tc qdisc add dev out root bytes
/lab/load 200 1 >/dev/null
tc -s qdisc show dev out >/out/bytes
tc qdisc del dev out root
sluiced qdisc remove bytes
sleep 1
count >/out/left.after

# what is refused
install one drop_tail >/dev/null
for wrong in "one drop_tail" "other red" "marks drop_tail:ecn=true" "fq drop_tail:scheduler=fq" \
        "much/too/long drop_tail"; do
    ! install $wrong 2>>/out/refused
done

# a kind that is taken away goes on where it stands, until the interface vanishes under a load
put two one
sluiced qdisc remove one
tc qdisc add dev out root one 2>>/out/refused || true
ip link set out down; ip link set two up
ip address add 10.9.0.1/24 dev two
ip neighbour add 10.9.0.2 lladdr 02:00:00:00:00:02 dev two
/lab/load 200 1 >/dev/null
tc -s qdisc show dev two >/out/unregistered
ip link del two
sleep 1
count >/out/left.vanished

# a loader that is killed while the verifier looks: kill fails if it is through
sluiced qdisc install killed --aqm red --rate 1e6 --object /lab/red.o &
sleep 0.3
kill -9 $!
wait $! || true
sleep 1
count >/out/left.killed
! sluiced qdisc remove killed 2>>/out/refused

# eight interfaces, each with a queue of its own
install many drop_tail >/dev/null
for number in 1 2 3 4 5 6 7 8; do put many$number many; done
! put many9 many 2>>/out/refused
tc qdisc del dev many3 root
tc qdisc add dev many9 root many
ip address add 10.9.0.1/24 dev many9
ip neighbour add 10.9.0.2 lladdr 02:00:00:00:00:02 dev many9
/lab/load 200 1 >/dev/null
sluiced qdisc show many >/out/many

# the memory for eight interfaces
bpftool -j map list >/out/maps.before
sluiced qdisc install large --aqm drop_tail --rate 1e5 --limit 10000 --object /lab/drop_tail.o \
    >/out/large
bpftool -j map list >/out/maps.after
sluiced qdisc remove large

cat /proc/uptime
echo to stderr >&2
exit 3
"""


def c_program(folder, source):
    """A program without libraries, of a file in C."""
    program = folder / Path(source).stem
    subprocess.run(["cc", "-O2", "-static", "-o", program, ROOT / source], check=True)
    return program.read_bytes()


def load_program(folder):
    """It sends datagrams."""
    return c_program(folder, "bench/qdisc_load.c")


def boot(folder):
    linux = kernel.find()
    files = {f"lab/{aqm}.o": compiled(aqm) for aqm in ("drop_tail", "red")}
    files["lab/load"] = load_program(folder)
    programs = ["ip", "tc", "bpftool", sluiced()]
    modules = ["dummy", "tcp_cubic"]
    booted = image.build(linux, SCRIPT, programs=programs, modules=modules, files=files)
    return machine.run(linux, booted)


def check_what_a_script_leaves_comes_back(result):
    assert result.status == 3, result.stderr.decode()
    assert result.stderr.endswith(b"to stderr\n")


def check_tc_shows_what_a_qdisc_holds_sends_and_drops(result):
    for victim in ("tail", "front"):
        _check(result.files, victim)


def numbers(text):
    """Packets sent and dropped, and bytes and packets that wait, as `tc -s` tells."""
    found = re.search(rb"(\d+) pkt \(dropped (\d+),.*\n backlog (\d+)b (\d+)p", text)
    return tuple(int(number) for number in found.groups())


def _check(files, victim):
    sent, dropped, waiting_bytes, waiting = numbers(files[f"{victim}.waiting"])
    # the one in service has left, as with tbf
    assert sent + waiting == 11
    assert 0 < waiting < 11
    assert waiting_bytes == 1042 * waiting
    assert dropped == 189
    assert numbers(files[f"{victim}.after"]) == (11, 189, 0, 0)


def check_a_limit_in_bytes_holds(result):
    sent, dropped, waiting_bytes, waiting = numbers(result.files["bytes"])
    assert (sent + waiting, dropped, waiting_bytes) == (5, 195, 1042 * waiting)
    assert 0 < waiting <= 4


def check_the_victim_is_who_goes(result):
    counts = {}
    for victim in ("tail", "front"):
        counts[victim] = json.loads(result.files[f"{victim}.counts"])
        assert counts[victim]["sent"] == 11
        assert counts[victim]["verdicts"]["ADMIT"] == 11
        assert counts[victim]["verdicts"]["DROP_OVERFLOW"] == 189
    # all arrive within a millisecond, and each takes 83.36 ms: the k-th to leave has waited for k
    assert counts["tail"]["sojourn_mean_s"] == pytest.approx(83.36e-3 * 5, rel=0.01)
    assert counts["tail"]["sojourn_max_s"] == pytest.approx(83.36e-3 * 10, rel=0.01)
    # the first to wait have gone in favour of the last to arrive
    assert counts["front"]["sojourn_max_s"] < counts["tail"]["sojourn_max_s"]


def check_nothing_is_left_of_a_kind_that_was_removed(result):
    files = result.files
    for name in ("tail.nothing", "front.nothing"):
        assert files[name] == b""
    assert files["left.after"] == b"0\n"
    assert files["left.vanished"] == b"0\n"
    assert files["left.killed"] == b"0\n"


def check_a_kind_that_is_taken_away_goes_on_where_it_stands(result):
    assert b"qdisc one" in result.files["unregistered"]
    sent, dropped, _, waiting = numbers(result.files["unregistered"])
    assert (sent + waiting, dropped) == (11, 189)


def check_each_interface_has_a_queue_of_its_own(result):
    counts = [json.loads(line) for line in result.files["many"].splitlines()]
    assert len(counts) == 8
    assert sum(each["verdicts"]["DROP_OVERFLOW"] > 0 for each in counts) == 1


def check_the_memory_that_is_told_first_is_what_all_interfaces_take(result):
    first, second = result.files["large"].decode().splitlines()
    words = (
        r"memory: at most (\d+) MB in the kernel for 80000 packets \(of 1500 bytes each\), before "
        r"8 interfaces"
    )
    told = 1e6 * int(re.fullmatch(words, first)[1])
    assert second.startswith("large: drop_tail; the kernel's verifier looked at")
    before, after = (
        sum(int(each["bytes_memlock"]) for each in json.loads(result.files[f"maps.{when}"]))
        for when in ("before", "after")
    )
    # what a packet of 1500 bytes takes (truesize)
    taken = after - before + 80_000 * 2304
    assert taken < told < taken + 3e6


def check_what_cannot_be_is_told(result):
    told = result.files["refused"].decode()
    for line in (
        "sluiced: one: there is a kind of that name: remove it first",
        "sluiced: the object is drop_tail, not red compiled as a qdisc",
        "sluiced: in the kernel, ecn takes --marks-at: a BPF qdisc cannot write to packets",
        "sluiced: the object is drop_tail, not drop_tail with fq compiled as a qdisc",
        "sluiced: much/too/long: the name of a kind of qdisc has 1 to 15 letters, digits or",
        "Specified qdisc kind is unknown",
        "sluiced: killed: there is no kind of that name",
        "No space left on device",
    ):
        assert line in told


# one test, as each process that runs tests would boot machines of its own
@needs_qdiscs
def test_qdiscs_in_the_laboratory(tmp_path):
    result = boot(tmp_path)
    check_what_a_script_leaves_comes_back(result)
    check_tc_shows_what_a_qdisc_holds_sends_and_drops(result)
    check_a_limit_in_bytes_holds(result)
    check_the_victim_is_who_goes(result)
    check_nothing_is_left_of_a_kind_that_was_removed(result)
    check_a_kind_that_is_taken_away_goes_on_where_it_stands(result)
    check_each_interface_has_a_queue_of_its_own(result)
    check_the_memory_that_is_told_first_is_what_all_interfaces_take(result)
    check_what_cannot_be_is_told(result)
