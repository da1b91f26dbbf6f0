"""A scenario with one discipline, as `sluiced` reads it."""

from __future__ import annotations

from pathlib import Path

from sluicegate.scenario import Discipline, NetworkScenario
from sluicegate.toml import toml


def alone(scenario: NetworkScenario, discipline: Discipline) -> str:
    """A scenario with one discipline, as TOML, for a daemon in another folder."""
    table = scenario.replace(disciplines=[discipline]).table()
    # a path in a file starts at the file's folder
    for flows in table["flows"]:
        if "capture" in flows:
            flows["capture"] = str(Path(flows["capture"]).resolve())
    for link in table["links"].values():
        if "path" in (rate := link.get("rate", {})):
            rate["path"] = str(Path(rate["path"]).resolve())
    own = [each["discipline"] for each in table["links"].values() if "discipline" in each]
    disciplines = [*table["disciplines"], *own]
    of_classes = [each for given in disciplines for each in given.get("classes", [])]
    for given in [*disciplines, *of_classes]:
        if (given.get("aqm") or "").endswith(".h"):
            given["aqm"] = str(Path(given["aqm"]).resolve())
    return toml(table)
