"""Sluicegate: one AQM, written once, judged in every world where it matters."""

from sluicegate import interrupt

# before all other imports: most of the time that Ctrl-C can interrupt is theirs
if interrupt.is_command():
    interrupt.end_at_once()

import lazy_loader

# the names are in __init__.pyi; each is loaded on first use, so that a command loads only what it
# needs
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
