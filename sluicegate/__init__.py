"""Sluicegate: one AQM, written once, judged in every world where it matters."""

from sluicegate import interrupt

# before all other imports: they are most of what there is to interrupt
if interrupt.is_command():
    interrupt.end_at_once()

import lazy_loader

# the names stand in __init__.pyi; each is loaded when it is first asked for, so that a command
# does not wait for what it does not need
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
