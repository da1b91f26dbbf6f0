"""Rules that are looked at and set while a gate holds packets."""

import gate_run
from gate_run import nothing_is_forgotten


def check_nothing_was_dropped(found):
    nothing_is_forgotten(found)
    assert found["arrivals"] == 50
    assert found["numbers"] == list(range(50))


def test_who_looks_at_rules_drops_nothing_that_is_held():
    found = gate_run.measured("gate_rules_lab.py", "looked_at")
    check_nothing_was_dropped(found)
