"""The error for unsupported parts of a tokenizer."""


class UnsupportedError(ValueError):
    """An op has no step, or an expression no tree; the message gives the reason."""
