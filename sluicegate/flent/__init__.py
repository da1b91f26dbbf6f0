"""Measurements in the data format of flent (https://flent.org), read, written and compared."""

from sluicegate.flent.measurement import DIRECTIONS, Measurement
from sluicegate.flent.of_record import of_record, packet_bytes
from sluicegate.flent.summary import summary_rows

__all__ = ["DIRECTIONS", "Measurement", "of_record", "packet_bytes", "summary_rows"]
