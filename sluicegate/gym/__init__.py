"""Environments for learning AQMs, by the interface of Gymnasium.

Importing this registers `sluicegate/Slotted-v0` and `sluicegate/Network-v0`.
"""

from sluicegate.extras import require

require("gymnasium", "an environment for learning")

import gymnasium  # noqa: E402

from sluicegate.gym.judge import Baseline, TradeOff, baselines, optimum, regret_of_table  # noqa: E402
from sluicegate.gym.network import NetworkEnv  # noqa: E402
from sluicegate.gym.slotted import SlottedEnv, SlottedVectorEnv  # noqa: E402

__all__ = [
    "Baseline",
    "NetworkEnv",
    "SlottedEnv",
    "SlottedVectorEnv",
    "TradeOff",
    "baselines",
    "optimum",
    "regret_of_table",
]

gymnasium.register(
    "sluicegate/Slotted-v0",
    entry_point="sluicegate.gym.slotted:SlottedEnv",
    vector_entry_point="sluicegate.gym.slotted:SlottedVectorEnv",
)
gymnasium.register("sluicegate/Network-v0", entry_point="sluicegate.gym.network:NetworkEnv")
