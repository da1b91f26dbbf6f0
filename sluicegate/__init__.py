"""Sluicegate: one AQM, written once, judged in every world where it matters."""
