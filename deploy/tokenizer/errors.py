"""The error for what a tokenizer does not support."""


class UnsupportedError(ValueError):
    """A tokenizer has no step for an op, or no tree for an expression; the message says why."""
