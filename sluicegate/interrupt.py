"""Ctrl-C while there is nothing yet that could be kept.

The command ends then as a program in C would: an import would show where it was. That does not
rest on the system's own handling: a library that puts a handler before it calls none behind.

The script `sluice` starts Python with Ctrl-C held back (`wheel/scripts/sluice`), so that it waits
until we can answer it.

Nothing is imported here at once: that is the longest part of what is to be guarded.
"""

import sys


def is_command() -> bool:
    """Whether this process is the command `sluice`, and no program that imports the package."""
    called = sys.argv[0] if sys.argv else ""
    if called == "-m":  # so Python calls a module until it is found
        return "sluicegate" in sys.orig_argv
    return called.rpartition("/")[2] == "sluice-python"


def end_at_once() -> None:
    """Let Ctrl-C end the process from now on, without a word; also one that has waited."""
    usual, sys.excepthook = sys.excepthook, _without_ctrl_c
    import signal

    # a job in the background goes on to ignore it
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    sys.excepthook = usual


def raise_again() -> None:
    """Let Ctrl-C raise `KeyboardInterrupt` again."""
    import signal

    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _without_ctrl_c(kind, error, trace) -> None:  # type: ignore[no-untyped-def]
    if kind is not KeyboardInterrupt:
        sys.__excepthook__(kind, error, trace)


def _end(_number: int, _frame: object) -> None:
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.raise_signal(signal.SIGINT)
