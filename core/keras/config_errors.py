"""Errors of invalid configurations."""


class UnknownNameError(ValueError):
    """A configuration names a class or function that is unknown or not allowed."""


class MalformedConfigError(TypeError, ValueError):
    """A configuration is malformed, for instance a number in place of a dict."""
