import itertools
import os
import re
import signal
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import settings

# property tests try the same cases in every run
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")

# a background job ignores SIGINT: tests of Ctrl-C would fail in it
signal.signal(signal.SIGINT, signal.default_int_handler)

# those that boot machines or compile copies of the sources: each takes a minute or more
LONG = ("test_lab", "test_kernel", "test_contributing", "test_guides", "test_wheel")

# a module all of whose tests are slow
SLOW_MODULE = re.compile(r"^pytestmark = \[?\s*pytest\.mark\.slow\b", re.MULTILINE)


def pytest_ignore_collect(collection_path, config):
    """Leave slow modules unread where they are left out: reading takes as long as many tests."""
    if config.option.markexpr == "not slow" and collection_path.suffix == ".py":
        return bool(SLOW_MODULE.search(collection_path.read_text())) or None
    return None


def _rank(item):
    """Return 0 for a test that may take a minute, 1 for one of a slow module, else 2."""
    if item.path.name.startswith(LONG):
        return 0
    return 1 if item.get_closest_marker("slow") else 2


def pytest_collection_modifyitems(items):
    """Put the longest first for each worker, so that no processor waits for one of them at the end.

    With `--dist worksteal` each worker begins with an equal part of the list, in its order.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    parts = [[] for _ in range(workers)]
    for _, module in itertools.groupby(sorted(items, key=_rank), lambda item: item.path):
        min(parts, key=len).extend(module)
    items[:] = itertools.chain.from_iterable(parts)


@pytest.fixture(autouse=True)
def _own_store(tmp_path_factory, monkeypatch):
    """Give every test its own empty store of runs; the user's store is not touched."""
    monkeypatch.setenv("SLUICE_RUNS", str(tmp_path_factory.mktemp("runs")))


@pytest.fixture
def undrawn(monkeypatch):
    """Leave figures in pages undrawn: two drawings of each take most of the time of a page.

    For tests of what a page or a command says. Figures are put together all the same, and those
    that are saved as files are drawn. They are not copied for narrow screens.
    """
    monkeypatch.setattr("sluicegate.report.page._inline", lambda figure, name: "<svg></svg>")
    monkeypatch.setattr("sluicegate.report.page.narrow", lambda figure: figure)


@pytest.fixture
def small_disk(tmp_path):
    """Return a folder with room for a few files, and a function that mounts it anew."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=48k", "tmpfs", folder]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"a small disk cannot be mounted here: {error}")
    yield folder, lambda how: subprocess.run(["mount", "-o", f"remount,{how}", folder], check=True)
    subprocess.run(["umount", folder], check=True)


@pytest.fixture(scope="session")
def root():
    """Return the folder of the repository."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def gateway(root):
    """Return the path of the repository's capture."""
    return root / "captures" / "gateway.pcap"


@pytest.fixture(scope="module")
def sixth(tmp_path_factory):
    """Return an evaluation of CoDel, sections 5.1.1 and 8.2.2, on a short path, and its folder."""
    from evaluations import BRIEF

    from sluicegate.evaluate import evaluate

    out = tmp_path_factory.mktemp("evaluation") / "out"
    return evaluate(["codel"], out, profile=BRIEF, sections=["5.1.1", "8.2.2"], workers=1), out


@pytest.fixture(scope="session")
def write_pcap():
    """Return a function that writes packets (ms, IP bytes, optional flow) as a raw IP capture.

    Only headers are written.
    """

    def write(path, packets):
        blob = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
        for ms, size, *flow in packets:
            ip = struct.pack(">BBHIBBHII", 0x45, 0, size, 0, 64, 17, 0, 0x0A000001, 0x0A000002)
            headers = ip + struct.pack(">HHHH", 1000 + sum(flow), 2000, size - 20, 0)
            seconds, rest_ms = divmod(ms, 1000)
            blob += struct.pack("<IIII", seconds, rest_ms * 1000, len(headers), size) + headers
        path.write_bytes(blob)

    return write
