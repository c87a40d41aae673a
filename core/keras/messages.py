"""The destination of Keras' messages: standard output, or the log."""

from __future__ import annotations

import logging
import sys

# The name of absl's logger, so that a program's configuration of absl applies.
_LOG = logging.getLogger("absl")


class _Destination:
    interactive = True


_destination = _Destination()


def enable_interactive_logging() -> None:
    """Write progress and summaries to standard output, the default."""
    _destination.interactive = True


def disable_interactive_logging() -> None:
    """Have progress and summaries written to the logger `absl`, as information.

    For jobs on servers: nothing is redrawn, and each line is a record.
    """
    _destination.interactive = False


def is_interactive_logging_enabled() -> bool:
    """Whether progress and summaries are written to standard output."""
    return _destination.interactive


def write(text: str) -> None:
    """Write text to the destination of messages; log records get no trailing line feed."""
    if _destination.interactive:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        _LOG.info("%s", text.rstrip("\n"))
