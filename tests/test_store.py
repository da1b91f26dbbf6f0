"""A run's identity contains all code that makes its record, and no code that only shows it."""

import importlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sluicegate as sg
from sluicegate import network, store
from sluicegate.worlds import Chain

pytestmark = pytest.mark.slow

PACKAGE = Path(sg.__file__).parent
SLOTTED = sg.Scenario(
    arrivals=sg.SelfSimilarArrivals(rate=0.3, a=5.0, states=3),
    service=sg.GeometricService(mu=0.5),
    disciplines=[sg.Discipline(aqm="drop_tail")],
    queue=sg.Queue(limit=10, victim="front"),
    slots=1000,
)
NETWORK = network.NetworkScenario(
    topology=network.Dumbbell(rate_bps=1e6),
    flows=[network.TcpFlows(count=2), network.DatagramFlows(rate_bps=1e5)],
    disciplines=[sg.Discipline(aqm="drop_tail")],
    duration_s=1.0,
    replications=2,
)


def runs(world):
    return f"sluicegate.worlds.{world}"


MAKERS = {
    runs("slotted.simulate"): lambda: sg.simulate(SLOTTED, fresh=True),
    runs("chain.run"): lambda: sg.compare(SLOTTED, world=Chain(grid=1.0), fresh=True),
    runs("network.simulate"): lambda: network.simulate(NETWORK, fresh=True),
}
# modules that only pass a scenario on to a world and collect the records
ONLY_PASSES_ON = {"comparison.py", "worlds/__init__.py", "worlds/world.py", "worlds/chain/world.py"}


def names(paths):
    return {path.relative_to(PACKAGE).as_posix() for path in paths}


@pytest.mark.parametrize("maker", MAKERS)
def test_all_code_that_runs_while_a_record_is_made_is_in_its_identity(maker):
    executed = set()

    def note(frame, _event, _argument):
        executed.add(frame.f_code.co_filename)

    # imported before profiling starts: code that runs at import does not make the record
    importlib.import_module(maker)
    sys.setprofile(note)
    try:
        MAKERS[maker]()
    finally:
        sys.setprofile(None)
    here = names(Path(file) for file in executed if Path(file).is_relative_to(PACKAGE))
    assert len(here - ONLY_PASSES_ON) > 5
    assert here - ONLY_PASSES_ON <= names(store.modules_behind(maker))


@pytest.mark.parametrize("maker", MAKERS)
def test_nothing_that_shows_records_is_in_their_identity(maker):
    behind = names(store.modules_behind(maker))
    assert not {name for name in behind if name.startswith(("cli/", "papers/", "report/"))}


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return a copy of the package, with links to its compiled files."""
    folder = tmp_path_factory.mktemp("copy") / "sluicegate"
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    for compiled in PACKAGE.glob("*.so"):
        (folder / compiled.name).symlink_to(compiled)
    return folder


SHOW = """
import functools, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from sluicegate import _engine, store
# of some 150 files all but one are the same each time
store.ast.parse = functools.cache(store.ast.parse)
package = Path(sys.argv[1]) / "sluicegate"
assert store._PACKAGE == package
# the real one has 30 MB
_engine.__file__ = str(package / "py.typed")
def build():
    store.build.cache_clear()
    return store.build(sys.argv[2])
first = build()
def is_another(paths):
    contents = {path: path.read_bytes() for path in paths}
    for path, content in contents.items():
        path.write_bytes(content + b"\\n# changed\\n")
    found = build()
    for path, content in contents.items():
        path.write_bytes(content)
    return found != first
behind = {package / name for name in sys.argv[3:]}
print([str(path) for path in behind if not is_another([path])])
# each of these alone is the same run if all of them together are
print(is_another(set(package.rglob("*.py")) - behind))
assert build() == first
"""


@pytest.mark.parametrize("maker", MAKERS)
def test_a_change_in_any_such_module_is_another_run_and_in_no_other(maker, copy):
    behind = {"py.typed", *names(store.modules_behind(maker))}
    done = subprocess.run(
        [sys.executable, "-c", SHOW, copy.parent, maker, *behind],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["[]", "False"]
