"""The destination of Keras' messages: standard output, or the log."""

from __future__ import annotations

import logging
import sys

# absl's logger has this name: whoever set that one up finds the lines there.
_LOG = logging.getLogger("absl")


class _Destination:
    interactive = True


_destination = _Destination()


def enable_interactive_logging() -> None:
    """Have progress and summaries written to standard output, as they are at first."""
    _destination.interactive = True


def disable_interactive_logging() -> None:
    """Have progress and summaries written to the logger `absl`, as information.

    For jobs on servers: nothing is drawn over, and each line is a record.
    """
    _destination.interactive = False


def is_interactive_logging_enabled() -> bool:
    """Whether progress and summaries are written to standard output."""
    return _destination.interactive


def write(text: str) -> None:
    """Write text to where messages go; a record of the log has no end of line of its own."""
    if _destination.interactive:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        _LOG.info("%s", text.rstrip("\n"))
