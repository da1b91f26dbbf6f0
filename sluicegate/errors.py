"""What a user can cause: bad input, and Ctrl-C."""


class SluiceError(ValueError):
    """Bad input: says what was wrong, where, and what would be right."""


class UsageError(SluiceError):
    """A command was called with options or arguments that it does not take."""


class InterruptError(SluiceError):
    """Ctrl-C came before anything was finished."""
