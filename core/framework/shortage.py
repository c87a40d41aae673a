"""Out-of-memory errors that name where memory was requested."""

from __future__ import annotations

from pinnace.framework.errors import ResourceExhaustedError


def without_memory(error: MemoryError, where: str) -> ResourceExhaustedError:
    """The error with the place where memory ran out, added once: the innermost.

    Args:
        error: the error raised there.
        where: a node, a layer.
    """
    if not isinstance(error, ResourceExhaustedError):
        made = ResourceExhaustedError(f"{where}: {str(error) or 'there is no memory'}")
        made.__cause__ = error
    elif getattr(error, "located", False):
        return error
    else:
        made = error
        made.message = f"{error.message}\n  in {where}"
        made.args = (made.message,)
    made.located = True  # type: ignore[attr-defined]
    return made
