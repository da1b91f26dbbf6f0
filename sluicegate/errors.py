"""What a user can cause: bad input, and Ctrl-C."""


class SluiceError(ValueError):
    """Bad input: says what was wrong, where, and what would be right."""


class UsageError(SluiceError):
    """A command was called with options or arguments that it does not take."""


class InterruptError(SluiceError):
    """Ctrl-C came before all was finished."""


# what a run says that was ended before it had a result
NOTHING_FINISHED = "interrupted before anything was finished"
