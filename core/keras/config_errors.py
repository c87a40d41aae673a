"""Errors in configurations that nothing can be made of."""


class UnknownNameError(ValueError):
    """A configuration names a class or function that is not known, or not allowed."""


class MalformedConfigError(TypeError, ValueError):
    """A configuration has another form: a number where a dict should be, for instance."""
