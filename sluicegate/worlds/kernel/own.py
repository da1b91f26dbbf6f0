"""A discipline of ours as a qdisc."""

from __future__ import annotations

from sluicegate.lab.bottleneck import compiled, sluiced
from sluicegate.scenario import Discipline, NetworkScenario
from sluicegate.testbed.job import SIDES
from sluicegate.testbed.links import NEAR
from sluicegate.worlds.gate.plan import alone
from sluicegate.worlds.kernel.plan import Layer, LayerOf

_KIND = "sluice"
_OBJECT, _SCENARIO = "lab/qdisc.o", "lab/scenario.toml"


def own(scenario: NetworkScenario, discipline: Discipline) -> LayerOf:
    """The discipline as what `sluiced qdisc install` gives to the kernel.

    Raises:
        SluiceError: If there is no `sluiced`, or if the compiler refuses the AQM.
    """
    assert isinstance(discipline.aqm, str)
    files = {
        _OBJECT: compiled(discipline.aqm, flow_queues=discipline.scheduler.kind != "fifo"),
        # the same bytes for the same replication, however many there are
        _SCENARIO: alone(scenario.replace(replications=1), discipline).encode(),
    }
    install = ["sluiced", "qdisc", "install", _KIND, "--object", f"/{_OBJECT}"]
    marks = scenario.queue.ecn if discipline.ecn is None else discipline.ecn
    if marks:
        # the hosts, whose namespaces have their names
        install += [word for side in SIDES for word in ("--marks-at", f"{side}/{NEAR}")]

    def layer(seed: int) -> Layer:
        return Layer(
            words=_KIND,
            shapes=True,
            marks_behind=marks,
            before=[[*install, "--scenario", f"/{_SCENARIO}", "--seed", str(seed)]],
            after=["sluiced", "qdisc", "show", _KIND],
            programs=[sluiced()],
            files=files,
        )

    return layer
