"""Ctrl-C before there is any result to keep.

The command then ends as a program in C would: Python would print a traceback into its imports.
The system's default action is not enough: a library that puts its own handler in front of it does
not pass Ctrl-C on.

The script `sluice` starts Python with Ctrl-C held back (`wheel/scripts/sluice`), so that it waits
until this module can handle it.

Nothing is imported at the top here: imports take the longest part of the time to guard.
"""

import sys


def is_command() -> bool:
    """Whether this process is the command `sluice`, and no program that imports the package."""
    called = sys.argv[0] if sys.argv else ""
    if called == "-m":  # Python's name for a module until it is found
        return "sluicegate" in sys.orig_argv
    return called.rpartition("/")[2] == "sluice-python"


def end_at_once() -> None:
    """Let Ctrl-C end the process silently from now on, even one that is already pending."""
    usual, sys.excepthook = sys.excepthook, _without_ctrl_c
    import signal

    # a job in the background still ignores it
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
