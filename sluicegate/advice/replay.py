"""The capture itself through the settings: beside the advice, not for it."""

from __future__ import annotations

from sluicegate.advice.advice import Advice
from sluicegate.advice.of_capture import Recorded
from sluicegate.advice.settings import Setting
from sluicegate.report.text import measure_text
from sluicegate.scenario import Dumbbell, NetworkScenario, ReplayFlows
from sluicegate.worlds.network.simulate import simulate

HEADER = ["setting", "mean sojourn (ms)", "p99 sojourn (ms)", "lost (%)", "link busy (%)"]
NOTE = (
    "The recorded packets themselves through the same queues (replay). Their senders do not react: "
    "an AQM that drops early loses packets here and gains nothing, so this does not say which "
    "is better under TCP. It does say how bursty the recorded load was for this link."
)
_SHOWN = {"sojourn_mean": 1e3, "sojourn_p99": 1e3, "loss_ratio": 1e2, "utilization": 1e2}


def replay_cells(advice: Advice, recorded: Recorded) -> list[list[str]]:
    """A row for the baseline and each setting worth having, below `HEADER`."""
    found = dict.fromkeys([*advice.worth_having, advice.baseline])
    return [_cells(each, advice, recorded) for each in found]


def _cells(setting: Setting, advice: Advice, recorded: Recorded) -> list[str]:
    link = advice.question
    discipline = setting.discipline(link)
    seconds = recorded.capture.duration_s
    record = simulate(
        NetworkScenario(
            topology=Dumbbell(
                rate_bps=link.rate_bps, access_rate_bps=max(10 * link.rate_bps, 1e10)
            ),
            flows=[ReplayFlows(capture=str(recorded.capture.path.resolve()))],
            queue=setting.queue(link),
            disciplines=[discipline],
            duration_s=seconds,
            warm_up_s=0,
            sample_s=seconds,
            replications=1,
        ),
        discipline,
    )
    return [
        setting.name,
        *(measure_text(record[name].times(factor), 3) for name, factor in _SHOWN.items()),
    ]
