"""How the laboratory's kernel is fetched, from an archive of files on this machine, with a key of
its own; and what is found again."""

import gzip
import hashlib
import json
import shutil
import subprocess

import pytest
from test_kernel_world import scenario

import sluicegate as sg
from sluicegate.errors import SluiceError
from sluicegate.lab import apt, kernel
from sluicegate.lab.check import missing_to_fetch

RELEASE = "9.9.9-cloud-amd64"
FILES = {"vmlinuz": b"kernel", "kernel/net/sched/sch_red.ko.xz": b"module"}
NEEDED = [name for name in ("gpg", "dpkg-deb", "apt-get") if not shutil.which(name)]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(NEEDED or missing_to_fetch()), reason=f"not here: {NEEDED or missing_to_fetch()}"
    ),
]


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, **options).stdout


def package(pool, name, depends="", files=()):
    """A package of Debian, and what the list says of it."""
    tree = pool / f"tree-{name}"
    (tree / "DEBIAN").mkdir(parents=True)
    control = f"Package: {name}\nVersion: 1\nArchitecture: amd64\nMaintainer: n <n@example.org>\n"
    control += f"Depends: {depends}\n" if depends else ""
    control += "Description: none\n"
    (tree / "DEBIAN" / "control").write_text(control)
    for path, content in files:
        at = tree / "usr" / "lib" / "modules" / RELEASE / path
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_bytes(content)
    made = pool / f"{name}_1_amd64.deb"
    run("dpkg-deb", "--root-owner-group", "--build", tree, made)
    sha256 = hashlib.sha256(made.read_bytes()).hexdigest()
    return f"{control}Filename: pool/{made.name}\nSize: {made.stat().st_size}\nSHA256: {sha256}\n\n"


def sign(folder, environment):
    release = folder / "Release"
    run(
        "gpg",
        "--batch",
        "--yes",
        "--clearsign",
        "-o",
        folder / "InRelease",
        release,
        env=environment,
    )


@pytest.fixture
def archive(tmp_path, monkeypatch):
    """An archive with three packages of a kernel, which is in place of Debian's."""
    root, home = tmp_path / "archive", tmp_path / "gpg"
    pool, suite = root / "pool", root / "dists" / "trixie-backports"
    binary = suite / "main" / "binary-amd64"
    for folder in (pool, binary, home):
        folder.mkdir(parents=True, mode=0o700)
    listed = package(pool, "linux-image-cloud-amd64", f"linux-image-{RELEASE}")
    listed += package(pool, f"linux-binary-{RELEASE}", files=[("vmlinuz", FILES["vmlinuz"])])
    listed += package(pool, f"linux-modules-{RELEASE}", files=list(FILES.items())[1:])
    listed += package(pool, f"linux-base-{RELEASE}", files=[("modules.builtin", b"")])
    (binary / "Packages").write_text(listed)
    (binary / "Packages.gz").write_bytes(gzip.compress(listed.encode()))
    lines = "".join(
        f" {hashlib.sha256(path.read_bytes()).hexdigest()} {path.stat().st_size} "
        f"{path.relative_to(suite)}\n"
        for path in sorted(binary.iterdir())
    )
    (suite / "Release").write_text(
        "Suite: trixie-backports\nCodename: trixie-backports\nArchitectures: amd64\n"
        f"Components: main\nDate: Mon, 01 Jan 2024 00:00:00 UTC\nSHA256:\n{lines}"
    )
    environment = {"GNUPGHOME": str(home), "PATH": "/usr/bin:/bin"}
    key = "Key-Type: EDDSA\nKey-Curve: ed25519\nName-Real: n\n%no-protection\n%commit\n"
    run("gpg", "--batch", "--gen-key", input=key.encode(), env=environment)
    keyring = tmp_path / "keys.gpg"
    keyring.write_bytes(run("gpg", "--export", env=environment))
    sign(suite, environment)
    monkeypatch.setattr(apt, "ARCHIVE", f"file://{root}")
    monkeypatch.setattr(apt, "KEYRING", keyring)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield root
    kernel._kernel.cache_clear()
    subprocess.run(["gpgconf", "--kill", "all"], env=environment, check=False)


def test_what_is_fetched_is_found_with_its_hashes(archive):
    assert kernel.find() is None
    fetched = kernel.fetch()
    assert fetched.release == RELEASE
    for name, content in FILES.items():
        assert (fetched.modules / name).read_bytes() == content
    for name, sha256 in fetched.packages.items():
        (made,) = (path for path in (archive / "pool").glob("*.deb") if path.name == name)
        assert hashlib.sha256(made.read_bytes()).hexdigest() == sha256
    assert len(fetched.packages) == 3
    assert kernel.find() == fetched
    record = fetched.folder / "fetched.json"
    before = record.stat().st_mtime_ns
    kernel.fetch()
    assert record.stat().st_mtime_ns == before, "what is there is not fetched again"


def test_a_package_that_was_changed_is_refused(archive):
    (made,) = (archive / "pool").glob("linux-binary-*.deb")
    made.write_bytes(made.read_bytes()[:-1] + b"x")
    with pytest.raises(SluiceError, match="Hash Sum mismatch"):
        kernel.fetch()
    assert kernel.find() is None
    assert list(kernel.folder().iterdir()) == []


def test_a_list_that_was_changed_is_refused(archive):
    listed = archive / "dists" / "trixie-backports" / "InRelease"
    listed.write_text(listed.read_text().replace("Components: main", "Components: main contrib"))
    with pytest.raises(SluiceError, match=r"apt-get: .*(BADSIG|invalid|not signed)"):
        kernel.fetch()
    assert kernel.find() is None


@pytest.mark.parametrize("name", FILES)
def test_what_was_changed_since_does_not_boot(archive, name):
    fetched = kernel.fetch()
    path = fetched.modules / name
    path.write_bytes(b"another")
    kernel._kernel.cache_clear()
    with pytest.raises(SluiceError, match="the files have changed since they were fetched"):
        kernel.find()
    assert kernel.fetch().contents == fetched.contents
    assert path.read_bytes() == FILES[name]
    assert kernel.find() == fetched


@pytest.mark.parametrize(
    ("programs", "line"),
    [
        ([], r"the laboratory lacks its kernel \(38 MB\): sluice lab --fetch"),
        (
            ["qemu-system-x86", "busybox-static"],
            r"the laboratory lacks programs and its kernel \(38 MB\): "
            r"apt install busybox-static qemu-system-x86 && sluice lab --fetch",
        ),
    ],
)
def test_what_is_missing_is_told_in_one_line_that_mends_it(archive, monkeypatch, programs, line):
    monkeypatch.setattr(kernel, "missing_to_run", lambda: programs)
    monkeypatch.setattr(kernel, "missing_to_fetch", list)
    with pytest.raises(SluiceError, match=f"^{line}$"):
        sg.compare(scenario(), world="kernel")
    kernel.fetch()
    if programs:
        with pytest.raises(SluiceError, match=r"^the laboratory lacks programs: apt install"):
            kernel.ready()
    else:
        assert kernel.ready().release == RELEASE


def test_a_kernel_without_a_hash_of_what_boots_is_fetched_again(archive):
    record = kernel.fetch().folder / "fetched.json"
    told = json.loads(record.read_text())
    del told["contents"]
    record.write_text(json.dumps(told))
    assert kernel.find() is None
    kernel.fetch()
    assert kernel.find() is not None
