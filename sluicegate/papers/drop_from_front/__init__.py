"""Domanska, Domanski & Czachorski 2008: RED and DSRED that drop from the front."""

from sluicegate.papers.drop_from_front.reproduction import reproduce

__all__ = ["reproduce"]
