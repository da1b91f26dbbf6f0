"""Prague in the laboratory: Linux's TCP has none, so ours is given to it as a BPF program."""

from __future__ import annotations

from dataclasses import replace

from sluicegate.daemon import compiled_prague, sluiced
from sluicegate.scenario import NetworkScenario
from sluicegate.testbed.job import FOLDER
from sluicegate.worlds.kernel.plan import Layer
from sluicegate.worlds.real.refusals import PRAGUE, controls

_OBJECT = "prague.o"


def with_prague(layer: Layer, scenario: NetworkScenario, congestion_control: str | None) -> Layer:
    """The layer, whose commands also give Prague to the kernel if a flow asks for it.

    Args:
        layer: A discipline as a qdisc, in the laboratory.
        scenario: What is run.
        congestion_control: Of all TCP flows; None: as the scenario says.

    Raises:
        SluiceError: If there is no `sluiced`, or no compiler for BPF.
    """
    if PRAGUE not in controls(scenario, congestion_control):
        return layer
    return replace(
        layer,
        before=[["sluiced", "prague", "install", f"{FOLDER}/{_OBJECT}"], *layer.before],
        programs=list(dict.fromkeys([*layer.programs, sluiced()])),
        files={**layer.files, _OBJECT: compiled_prague()},
    )
