"""What a worker does for an evaluation: replications of scenarios, one after the other."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sluicegate import store
from sluicegate.errors import InterruptError
from sluicegate.evaluate.case import Fitted
from sluicegate.evaluate.measured import measured
from sluicegate.evaluate.profile import Profile
from sluicegate.evaluate.suite import case_named
from sluicegate.scenario import Discipline, NetworkScenario
from sluicegate.sweeps.work import Done, Work
from sluicegate.worlds import world
from sluicegate.worlds.network.record import NetworkRecord
from sluicegate.worlds.network.simulate import simulate

# the world that can do all scenarios
NETWORK = "network"


@dataclass(frozen=True)
class Run:
    """One replication of a scenario with one discipline.

    Attributes:
        identity: Hash of everything that determines it.
        case: Name of the scenario.
        name: Of the discipline, in results.
        fitted: The discipline as the scenario has it.
        replication: From 0 on.
    """

    identity: str
    case: str
    name: str
    fitted: Fitted
    replication: int


@dataclass(frozen=True)
class Replications(Work):
    """Runs of an evaluation.

    Attributes:
        profile: The path.
        seed: Of the evaluation.
        world: Name of that in which they are made.
        runs: Which.
    """

    profile: Profile
    seed: int
    world: str
    runs: Sequence[Run]

    def done(self) -> Done:
        """Make them; results are kept in the evaluation's folder, not in the store."""
        start_s = time.monotonic()
        with store.unused():
            columns = [self._made(run) for run in self.runs]
        return Done(columns, time.monotonic() - start_s)

    def _made(self, run: Run) -> dict[str, Any]:
        case = case_named(run.case)
        scenario = case.scenario(self.profile, run.fitted, run.replication, self.seed)
        with tempfile.TemporaryDirectory() as folder:
            logs = case.loses_together and self.world == NETWORK
            log = Path(folder) / "decisions.csv" if logs else None
            record = self._record(scenario, run.fitted.discipline, log)
            if record.interrupted:
                raise InterruptError("interrupted")
            return asdict(measured(case, self.profile, run.fitted.discipline, record, log))

    def _record(
        self, scenario: NetworkScenario, discipline: Discipline, log: Path | None
    ) -> NetworkRecord:
        if self.world == NETWORK:
            return simulate(scenario, threads=1, decisions=log)
        found: NetworkRecord = world(self.world)().run(
            scenario, discipline, threads=1, on_progress=lambda *_: None, fresh=True
        )
        return found
