"""Every measure: its name, unit, formula and meaning, the same in all worlds.

Records, tables, the axes of plots and the page docs/reference/measures.md follow from these
definitions. A world takes those groups for which it has the counts.
"""

from sluicegate.measures.classes import AT_QUEUE, BETWEEN, ENDS, FELT, OF_CLASS
from sluicegate.measures.classes import names as names_of_classes
from sluicegate.measures.definition import (
    TIME,
    C,
    Definition,
    FloatArray,
    Quantile,
    Rare,
    Unit,
    bin_quantile,
    shown_unit,
)
from sluicegate.measures.fairness import demand_fairness, fair_shares, fairness
from sluicegate.measures.flows import FLOWS
from sluicegate.measures.names import (
    DEFINITIONS,
    NO_CLASSES,
    check_classes,
    check_name,
    check_names,
    symbols,
)
from sluicegate.measures.queue import QUEUE
from sluicegate.measures.wires import WIRES

# what a record has distributions of: name, and label of their axis
DISTRIBUTIONS = {"queue": "waiting packets", "sojourn": "sojourn", "delay": "delay"}

__all__ = [
    "AT_QUEUE",
    "BETWEEN",
    "DEFINITIONS",
    "DISTRIBUTIONS",
    "ENDS",
    "FELT",
    "FLOWS",
    "NO_CLASSES",
    "OF_CLASS",
    "QUEUE",
    "TIME",
    "WIRES",
    "C",
    "Definition",
    "FloatArray",
    "Quantile",
    "Rare",
    "Unit",
    "bin_quantile",
    "check_classes",
    "check_name",
    "check_names",
    "demand_fairness",
    "fair_shares",
    "fairness",
    "names_of_classes",
    "shown_unit",
    "symbols",
]
