"""The laboratory, and our qdiscs in it. Nothing is fetched here: without a kernel in the user's
cache (`sluice lab --fetch`), what boots is skipped."""

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sluicegate.errors import SluiceError
from sluicegate.lab import image, kernel, machine
from sluicegate.lab.archive import Link, pack, unpack
from sluicegate.lab.bottleneck import compiled, sluiced
from sluicegate.lab.check import missing_to_run

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


def lacking():
    """Why nothing can boot here; empty if it can."""
    if packages := missing_to_run():
        return f"apt install {' '.join(packages)}"
    return "" if kernel.find() else "no kernel: sluice lab --fetch"


needs_lab = pytest.mark.skipif(bool(lacking()), reason=f"no laboratory here: {lacking()}")


def test_an_archive_has_what_was_put_into_it():
    assert unpack(pack(FILES | {"a/link": Link("b/c")})) == FILES


def test_an_archive_is_the_same_whatever_the_order():
    assert pack(dict(reversed(FILES.items()))) == pack(FILES)


@pytest.mark.parametrize("size", [0, 50, 200, 9000])
def test_a_torn_archive_is_told(size):
    whole = pack(FILES)
    assert size < len(whole)
    with pytest.raises(SluiceError, match="no whole archive"):
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
    with pytest.raises(SluiceError, match="nothing came back within 1 s"):
        machine.run(linux, image.build(linux, "true"), patience_s=1)


LINK = """
set -e
modprobe dummy
ip link add out type dummy
ip link set out up
ip address add 10.9.0.1/24 dev out
ip neighbour add 10.9.0.2 lladdr 02:00:00:00:00:02 dev out
"""
# 200 datagrams of 1042 bytes at once into a queue for 10 before 1 Mbit/s: one is in service
FLOOD = """
for victim in tail front; do
    sluiced qdisc install $victim --aqm drop_tail:victim=$victim --rate 1e6 --limit 10 \
        --object /lab/qdisc.o
    tc qdisc add dev out root $victim
    head -c 200000 /dev/zero | nc -u -w 1 10.9.0.2 9 || true
    sleep 1
    tc -s qdisc show dev out
    sluiced qdisc show $victim >/out/$victim
    tc qdisc del dev out root
    test -z "$(sluiced qdisc show $victim)"
    sluiced qdisc remove $victim
done
head -c 16 /dev/urandom >/out/random
cat /proc/uptime
echo to stderr >&2
exit 3
"""


@pytest.fixture(scope="module")
def results():
    """Of seeds 1, 1 and 2."""
    linux = kernel.find()
    try:
        files = {"lab/qdisc.o": compiled("drop_tail")}
    except SluiceError as error:
        pytest.skip(str(error))
    booted = image.build(
        linux,
        LINK + FLOOD,
        programs=["ip", "tc", sluiced()],
        modules=["dummy"],
        files=files,
    )
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda seed: machine.run(linux, booted, seed=seed), [1, 1, 2]))


@needs_lab
def test_one_seed_gives_one_result_to_the_byte(results):
    first, again, other = results
    assert first == again
    assert first.files["random"] != other.files["random"]


@needs_lab
def test_what_a_script_leaves_comes_back(results):
    assert results[0].status == 3
    assert results[0].stderr.endswith(b"to stderr\n")
    assert b"qdisc tail" in results[0].stdout
    assert len(results[0].files["random"]) == 16
