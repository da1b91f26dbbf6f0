"""The one error a user can cause."""


class SluiceError(ValueError):
    """Bad input: says what was wrong, where, and what would be right."""
