"""Harm in the runs of two scenarios: a workload alone, and beside another."""

from __future__ import annotations

from sluicegate.errors import SluiceError
from sluicegate.estimate import Measure
from sluicegate.measures.harm import mean_harm
from sluicegate.measures.names import more_is_better
from sluicegate.worlds.network.record import NetworkRecord


def harm(alone: NetworkRecord, beside: NetworkRecord, measure: str) -> Measure | None:
    """How much worse a workload fares beside another than alone (Ware et al. 2019).

    Args:
        alone: Of a scenario in which the workload is alone.
        beside: Of one in which the other is there, too; with as many replications.
        measure: Of both records, such as `call.one_way_delay_p99`.

    Returns:
        0 for no harm, 1 for the greatest, negative where it fares better: the mean over the
        replications with its interval. A replication without a value, or with nothing to divide
        by, is left out; None if all are.

    Raises:
        SluiceError: If a record does not have the measure, or the numbers of replications differ.
    """
    for record in (alone, beside):
        if measure not in record.replications.columns:
            raise SluiceError(f"harm: {measure} has no value in the record of {record.discipline}")
    rows = [record.values(measure) for record in (alone, beside)]
    if len(rows[0]) != len(rows[1]):
        raise SluiceError(
            f"harm: the records have {len(rows[0])} and {len(rows[1])} replications; "
            "it is taken replication by replication, so they must be as many"
        )
    return mean_harm(*rows, more_is_better=more_is_better(measure))
