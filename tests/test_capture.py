import re
import runpy
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sluicegate.errors import SluiceError
from sluicegate.traffic import Capture

SHIPPED = Path(__file__).parent.parent / "captures" / "gateway.pcap"
FILE_HEADER, RECORD_HEADER, SNAPSHOT = 24, 16, 54
RECORD = RECORD_HEADER + SNAPSHOT


@pytest.fixture(scope="module")
def shipped() -> Capture:
    return Capture.read(SHIPPED)


def ethernet_pcap(times_us: list[int], frame: bytes) -> bytes:
    """Return a little-endian pcap with one frame at each of the given times."""
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    records = [
        struct.pack("<IIII", t // 10**6, t % 10**6, len(frame), len(frame)) + frame
        for t in times_us
    ]
    return header + b"".join(records)


UDP_FRAME = bytes(12) + bytes.fromhex(
    "0800 4500001c 00000000 40110000 0a000001 0a000002 0001003500080000"
)
ARP_FRAME = bytes(12) + bytes.fromhex("0806") + bytes(28)


def test_the_shipped_capture_is_real_and_small(shipped: Capture) -> None:
    assert SHIPPED.stat().st_size < 1_000_000
    assert shipped.packets == 12_500
    assert shipped.link_types == ("Ethernet",)
    assert shipped.not_ip == 0
    assert set(shipped.protocol) == {6, 17}
    assert shipped.time_ns[0] == 0
    assert (np.diff(shipped.time_ns.astype(np.int64)) >= 0).all()
    assert shipped.bytes.min() >= 40
    assert shipped.bytes.max() == 1500
    # UDP sources do not negotiate ECN; TCP's data segments carry ECT.
    assert not shipped.ecn_capable[shipped.protocol == 17].any()
    assert shipped.ecn_capable[shipped.protocol == 6].mean() > 0.5


def test_columns_agree_with_the_bytes_of_the_file(shipped: Capture) -> None:
    """The shipped file's records, which have a fixed size, are read independently with NumPy."""
    raw = np.frombuffer(SHIPPED.read_bytes()[FILE_HEADER:], np.uint8)
    heads = []
    at = 0
    while at < raw.size:
        seconds, micros, captured, original = struct.unpack("<IIII", raw[at : at + 16].tobytes())
        ip = raw[at + 16 + 14 : at + 16 + captured]
        heads.append((seconds * 10**9 + micros * 1000, original - 14, ip[9], ip[1] & 3 in (1, 2)))
        at += 16 + captured
    time, size, protocol, ecn = (np.array(column) for column in zip(*heads, strict=True))
    order = np.argsort(time, kind="stable")
    np.testing.assert_array_equal(shipped.time_ns, (time - time.min())[order])
    np.testing.assert_array_equal(shipped.bytes, size[order])
    np.testing.assert_array_equal(shipped.protocol, protocol[order])
    np.testing.assert_array_equal(shipped.ecn_capable, ecn[order])


def test_rates_and_counts(shipped: Capture) -> None:
    assert shipped.rate_pps == pytest.approx(shipped.packets / shipped.duration_s)
    total_bits = 8 * int(shipped.bytes.astype(np.int64).sum())
    assert shipped.rate_bps == pytest.approx(total_bits / shipped.duration_s)
    counts = shipped.counts(0.1)
    assert counts.size == int(shipped.duration_s / 0.1)
    assert counts.sum() == (shipped.time_ns < counts.size * 10**8).sum()


def test_counts_of_known_times(tmp_path: Path) -> None:
    path = tmp_path / "known.pcap"
    path.write_bytes(ethernet_pcap([0, 1, 999_999, 1_000_000, 3_000_000], UDP_FRAME))
    capture = Capture.read(path)
    np.testing.assert_array_equal(capture.counts(1.0), [3, 1, 0])
    np.testing.assert_array_equal(capture.bytes, [28] * 5)


@pytest.mark.parametrize(
    ("bin_s", "message"),
    [
        (0.0, "bin_s = 0.0 must be at least 1e-9 (seconds)"),
        (-1.0, "bin_s = -1.0 must be at least 1e-9 (seconds)"),
        (float("nan"), "bin_s = nan must be at least 1e-9 (seconds)"),
        (float("inf"), "bin_s = inf must not exceed the capture's length of 72.8902 s"),
        (1e300, "bin_s = 1e+300 must not exceed the capture's length of 72.8902 s"),
        (1e-8, "bin_s = 1e-08 makes 7289018800 bins; at most 10000000 are allowed"),
        (1e6, "bin_s = 1000000.0 must not exceed the capture's length of 72.8902 s"),
    ],
)
def test_bad_bins(shipped: Capture, bin_s: float, message: str) -> None:
    with pytest.raises(SluiceError, match=f"^{re.escape(message)}$"):
        shipped.counts(bin_s)


def patched(at: int, *values: int) -> Callable[[bytes], bytes]:
    """Return a function that overwrites 32-bit little-endian fields of a file."""

    def patch(file: bytes) -> bytes:
        new = struct.pack(f"<{len(values)}I", *values)
        return file[:at] + new + file[at + len(new) :]

    return patch


SECOND = FILE_HEADER + RECORD
BAD_FILES: list[tuple[str, Callable[[bytes], bytes], str]] = [
    ("empty", lambda f: b"", "FILE is empty, not a capture"),
    (
        "text",
        lambda f: b"time,bytes\n0,1500\n",
        "FILE is not a capture: it starts with 74 69 6d 65, not with the mark of pcap or pcapng",
    ),
    (
        "three bytes",
        lambda f: f[:3],
        "FILE is not a capture: it starts with d4 c3 b2, not with the mark of pcap or pcapng",
    ),
    ("cut in the file header", lambda f: f[:20], "FILE: the file header is cut off or corrupt"),
    (
        "pcapng mark alone",
        lambda f: bytes.fromhex("0a0d0d0a") + bytes(8),
        "FILE: the file header is cut off or corrupt",
    ),
    ("file header alone", lambda f: f[:FILE_HEADER], "FILE holds no IP packet; other frames: none"),
    (
        "cut in the first record",
        lambda f: f[: FILE_HEADER + 12],
        "FILE: packet 1 is cut off (the file ends 12 bytes into its record)",
    ),
    (
        "huge captured length",
        patched(SECOND + 8, 0xFFFFFFF0),
        "FILE: packet 2 is corrupt: its record claims 4294967296 bytes; no packet has over 1048576",
    ),
    (
        "captured more than there was",
        patched(SECOND + 8, SNAPSHOT, 40),
        "FILE: packet 2 is corrupt: 54 bytes captured of 40",
    ),
    (
        "huge original length",
        patched(SECOND + 12, 1 << 30),
        "FILE: packet 2 is corrupt: it claims 1073741824 bytes; no packet has over 1048576",
    ),
    (
        "impossible fraction of a second",
        patched(SECOND + 4, 1_000_000),
        "FILE: packet 2 is corrupt: its time has 1000000 µs in a second",
    ),
    (
        "wireless link",
        patched(20, 127),
        "FILE: packet 1 has link type 127; supported are Ethernet (1), raw IP (12, 101, 228, "
        "229), Linux cooked (113, 276) and loopback (0, 108)",
    ),
    (
        "ARP alone",
        lambda f: ethernet_pcap([0, 10, 20], ARP_FRAME),
        "FILE holds no IP packet; other frames: ARP (3)",
    ),
]


@pytest.mark.parametrize(
    ("damage", "message"), [case[1:] for case in BAD_FILES], ids=[case[0] for case in BAD_FILES]
)
def test_bad_files(tmp_path: Path, damage: Callable[[bytes], bytes], message: str) -> None:
    path = tmp_path / "bad.pcap"
    path.write_bytes(damage(SHIPPED.read_bytes()))
    with pytest.raises(SluiceError) as caught:
        Capture.read(path)
    assert str(caught.value).replace(str(path), "FILE") == message


def test_missing_file_and_directory(tmp_path: Path) -> None:
    missing = tmp_path / "missing.pcap"
    with pytest.raises(SluiceError) as caught:
        Capture.read(missing)
    assert str(caught.value) == f"cannot read {missing}: No such file or directory (os error 2)"
    with pytest.raises(SluiceError) as caught:
        Capture.read(tmp_path)
    assert str(caught.value) == f"cannot read {tmp_path}: Is a directory (os error 21)"


def test_all_packets_at_one_instant_have_no_rate(tmp_path: Path) -> None:
    path = tmp_path / "instant.pcap"
    path.write_bytes(ethernet_pcap([7, 7, 7], UDP_FRAME))
    capture = Capture.read(path)
    assert capture.duration_s == 0
    with pytest.raises(SluiceError) as caught:
        _ = capture.rate_pps
    assert str(caught.value) == (
        f"{path}: a rate needs packets at two instants at least; here all 3 packets have one"
    )


def test_the_recorder_names_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = runpy.run_path(str(SHIPPED.parent / "record.py"))
    monkeypatch.setattr("shutil.which", lambda command: None if command == "tcpdump" else command)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert recorder["missing"]() == [
        "no command tcpdump (Debian package tcpdump)",
        "not root: network namespaces need it",
    ]
