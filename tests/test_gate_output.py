"""What `sluiced` prints and writes, also where nothing more can be printed or written."""

import json
import os
import resource
import struct
import subprocess
from pathlib import Path

import pytest
from gate_run import SLUICED

pytestmark = pytest.mark.slow

NO_SPACE = "cannot write to stdout: No space left on device (os error 28)"
FULL = Path("/dev/full")
REPLAY = ("--aqm", "red", "--rate", "1e6")
PRINTING = {
    "help": ["--help"],
    "help of a command": ["replay", "--help"],
    "version": ["--version"],
    "check": ["check"],
    "check tun": ["check", "--tun", "a", "b"],
    "rules": ["rules", "--interface", "lo", "--fail", "open", "--tool", "nft"],
    "replay": ["replay", "CAPTURE", *REPLAY],
    "qdisc log": ["qdisc", "log", "none"],
    "qdisc show": ["qdisc", "show", "none"],
    "verify": ["verify", "red"],
    "top": ["top"],
    "run": ["run", "--fail", "open", "--aqm", "none"],
}


def sluiced(*options, **process):
    command = [SLUICED, *options]
    return subprocess.run(command, **{"capture_output": True, "text": True, **process}, check=False)


@pytest.fixture(params=PRINTING)
def command(request, gateway):
    """Options that print something, or a command that is refused here before it prints."""
    if request.param == "verify" and os.geteuid():
        pytest.skip("the kernel's verifier is asked by root only")
    return [gateway if word == "CAPTURE" else word for word in PRINTING[request.param]]


def test_a_full_stdout_is_told_of(command):
    usual = sluiced(*command)
    with FULL.open("w") as out:
        done = sluiced(*command, capture_output=False, stdout=out, stderr=subprocess.PIPE)
    assert done.returncode == 2
    if usual.stdout:
        assert done.stderr.endswith(f"sluiced: {NO_SPACE}\n")
    assert "panicked" not in done.stderr


def test_a_reader_that_has_gone_changes_nothing(command):
    usual = sluiced(*command)
    ours, theirs = os.pipe()
    os.close(ours)
    done = sluiced(*command, capture_output=False, stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    assert (done.returncode, done.stderr) == (usual.returncode, usual.stderr)


def test_a_closed_stdout_changes_nothing(command):
    usual = sluiced(*command)
    shell = ["sh", "-c", 'exec "$@" >&-', "sh", SLUICED, *command]
    done = subprocess.run(shell, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (usual.returncode, usual.stderr)


def records(path):
    """The parts of a capture of pcap: its header, and its records."""
    data = path.read_bytes()
    parts, place = [data[:24]], 24
    while place < len(data):
        end = place + 16 + struct.unpack("<I", data[place + 8 : place + 12])[0]
        parts.append(data[place:end])
        place = end
    return parts


def test_a_replay_tells_what_the_reader_left_out(gateway, tmp_path):
    header, *packets = records(gateway)
    assert sluiced("replay", gateway, *REPLAY).stderr == ""
    untimed = bytes(8) + packets[7][8:]
    capture = tmp_path / "odd.pcap"
    capture.write_bytes(b"".join([header, *packets[:7], untimed, *packets[8:], packets[0][:-3]]))
    done = sluiced("replay", capture, *REPLAY)
    assert done.returncode == 0
    said = done.stderr.splitlines()
    assert said == [
        f"sluiced: {capture}: 1 packet with a time of 0 is left out: all others came after 1970",
        f"sluiced: {capture}: the file ends within packet {len(packets) + 1}, which is left out",
    ]
    assert f"arrivals   {len(packets) - 1} packets" in done.stdout


def test_a_replay_with_an_aqm_that_changes_its_view_is_refused(gateway, tmp_path, root):
    text = (root / "tests" / "shorter.h").read_text()
    # the trial has other limits
    late = "if (view->limit_packets == 777) ((struct aqm_view *)(u64)view)->queue_packets = 9;"
    (tmp_path / "shorter.h").write_text(text.replace("(void)s;", f"(void)s; {late}"))
    of = ("replay", gateway, "--aqm", tmp_path / "shorter.h", "--rate", "1e6")
    assert sluiced(*of, "--limit", "776").returncode == 0
    done = sluiced(*of, "--limit", "777")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "sluiced: shorter.h: shorter_arrive changes the view, which is not its own; it only reads "
        "it\n"
    )


def limited(file_bytes):
    """Before a program starts: no file of its gets longer than this."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))


@pytest.mark.parametrize("room", [0, 70_001, 200_003])
def test_a_decision_log_without_room_is_whole_lines_and_is_said_to_be_incomplete(
    room, gateway, tmp_path
):
    whole, cut, measures = (tmp_path / name for name in ("whole.csv", "cut.csv", "measures.json"))
    usual = sluiced("replay", gateway, *REPLAY, "--decisions", whole)
    wanted = ["--decisions", cut, "--json", measures]
    done = sluiced("replay", gateway, *REPLAY, *wanted, preexec_fn=limited(room))
    assert done.returncode == 2
    assert done.stderr.startswith(f"sluiced: cannot write {cut}: File too large")
    assert "the decision log is incomplete, it ends early (with a whole line)" in done.stderr
    # the rest of the run is as it is with room
    assert done.stdout == usual.stdout
    if room:
        assert json.loads(measures.read_text())["arrivals"] > 0
    text = cut.read_text()
    assert whole.read_text().startswith(text)
    assert text == "" or text.endswith("\n")
    assert len(text) <= room
    # not much is given away: what was not yet written
    assert len(text) > room - 70_000


def test_a_decision_log_on_a_full_disk(gateway):
    done = sluiced("replay", gateway, *REPLAY, "--decisions", FULL)
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert "the decision log is incomplete" in done.stderr


def test_json_without_room_is_left_empty(gateway, tmp_path):
    path = tmp_path / "measures.json"
    done = sluiced("replay", gateway, *REPLAY, "--json", path, preexec_fn=limited(100))
    assert done.returncode == 2
    assert done.stderr.endswith(f"{path}: File too large (os error 27): it is left empty\n")
    assert path.read_text() == ""


def test_a_capture_that_does_not_fit_into_memory_is_an_error(tmp_path):
    frame = bytes.fromhex("4500001c0000000040110000 0a000001 0a000002 0001003500080000")
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    # with fewer packets, the memory that a program starts with would be enough
    records = [struct.pack("<IIII", second, 0, 28, 28) + frame for second in range(1_500_000)]
    capture = tmp_path / "long.pcap"
    capture.write_bytes(header + b"".join(records))
    room = 40 << 20

    def little():
        resource.setrlimit(resource.RLIMIT_AS, (room, room))

    done = sluiced("replay", capture, *REPLAY, preexec_fn=little)
    assert done.returncode == 2
    assert done.stderr.startswith(f"sluiced: {capture}: not enough memory for more than ")
    assert done.stderr.endswith(" packets; each needs up to 80 bytes while the file is read\n")


def test_checks_are_the_same_for_people_and_as_json():
    told, lines = (
        subprocess.run([SLUICED, "check", *words], capture_output=True, text=True, check=False)
        for words in ([], ["--json"])
    )
    assert told.returncode == lines.returncode
    found = [json.loads(line) for line in lines.stdout.splitlines()]
    assert all(list(each) == ["check", "result", "what", "remedy"] for each in found)
    text = ""
    for each in found:
        text += f"{each['result']:7}  {each['check']}: {each['what']}\n"
        if each["result"] != "ok":
            then = "check" if each["result"] == "unknown" else "fix"
            # what only root sees is asked for with the same options
            remedy = each["remedy"].removesuffix(" --json")
            text += f"         {then}: {remedy}\n"
    assert text == told.stdout
