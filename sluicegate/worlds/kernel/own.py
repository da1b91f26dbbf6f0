"""A discipline of ours as a qdisc."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sluicegate.daemon import compiled, sluiced
from sluicegate.scenario import Discipline, NetworkScenario, RateFile
from sluicegate.testbed.addresses import SIDES
from sluicegate.testbed.command import NEAR
from sluicegate.testbed.job import FOLDER
from sluicegate.worlds.kernel.plan import Layer, LayerOf
from sluicegate.worlds.real.alone import alone
from sluicegate.worlds.real.varying import LINK

KIND = "sluice"
# where sluiced pins the maps of kinds (kernel/src/qdisc.rs)
_KINDS = "/sys/fs/bpf/sluice"
# the far ends of a router's links: the hosts, whose namespaces have their names
FAR_ENDS = tuple(f"{side}/{NEAR}" for side in SIDES)
_OBJECT, _SCENARIO, _RATES = "qdisc.o", "scenario.toml", "rates.csv"


def _aqms(discipline: Discipline) -> list[str]:
    """The AQM of its queues, or those of its classes, each once."""
    given = [each.aqm or discipline.aqm for each in discipline.classes] or [discipline.aqm]
    return [aqm for aqm in dict.fromkeys(given) if isinstance(aqm, str)]


def own(
    scenario: NetworkScenario,
    discipline: Discipline,
    *,
    kind: str = KIND,
    daemon: str = "sluiced",
    far_ends: Sequence[str] = FAR_ENDS,
) -> LayerOf:
    """The discipline as what `sluiced qdisc install` gives to the kernel.

    Args:
        scenario: The link, and what holds for all disciplines.
        discipline: Which discipline.
        kind: Name of the kind of qdisc; the kernel has one of a name.
        daemon: How `sluiced` is called.
        far_ends: Of the links that it stands before, as `sluiced` takes them.

    Raises:
        SluiceError: If there is no `sluiced`, or if the compiler refuses the AQM.
    """
    aqm, *also = _aqms(discipline)
    names = [name if kind == KIND else f"{kind}-{name}" for name in (_OBJECT, _SCENARIO, _RATES)]
    object_, toml, table = names
    files = {
        object_: compiled(aqm, scheduler=discipline.scheduler.kind, also=also),
        # the same bytes for the same replication, however many there are
        toml: alone(scenario.replace(replications=1), discipline).encode(),
    }
    link = ["--scenario", f"{FOLDER}/{toml}"]
    rate = None if (given := scenario.links.get(LINK)) is None else given.rate
    if isinstance(rate, RateFile):
        # it is read there from another place
        files[table] = Path(rate.path).read_bytes()
        files[toml] = alone(scenario.replace(replications=1, links={}), discipline).encode()
        link += ["--rate-file", f"{FOLDER}/{table}"]
    install = [daemon, "qdisc", "install", kind, "--object", f"{FOLDER}/{object_}", *link]
    marks = scenario.queue.ecn if discipline.ecn is None else discipline.ecn
    if marks:
        install += [word for end in far_ends for word in ("--marks-at", end)]

    def layer(seed: int) -> Layer:
        return Layer(
            words=kind,
            marks=f"{_KINDS}/{kind}/bands" if marks and discipline.bands else "",
            shapes=True,
            keeps=rate is not None,
            marks_behind=marks,
            before=[[*install, "--seed", str(seed)]],
            during=[daemon, "qdisc", "follow", kind, *link, "--start"] if rate else (),
            after=[daemon, "qdisc", "show", kind],
            undo=[daemon, "qdisc", "remove", kind],
            programs=[sluiced()],
            files=files,
        )

    return layer
