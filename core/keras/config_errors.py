"""Errors in configurations that nothing can be made of."""


class UnknownNameError(ValueError):
    """Nothing here has the name that a configuration tells, or may have it."""


class MalformedConfigError(TypeError, ValueError):
    """A configuration that is none: with a number where a dict should be, for instance."""
