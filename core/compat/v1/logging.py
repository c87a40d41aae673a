"""`tf.compat.v1.logging`: messages to the logger "tensorflow"."""

from __future__ import annotations

import sys
from collections import Counter
from logging import DEBUG as DEBUG
from logging import ERROR as ERROR
from logging import FATAL as FATAL
from logging import INFO as INFO
from logging import WARN as WARN
from typing import Any

from pinnace.framework.logger import get_logger

# File and line of a call -> how often it was made; see `log_every_n`.
_calls: Counter[tuple[str, int]] = Counter()


def log(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Write a message of a level.

    Args:
        level: as `INFO`.
        msg: a text; `%` puts the arguments into it.
        args: the values inserted.
        kwargs: as `logging.Logger.log` takes.
    """
    get_logger().log(level, msg, *args, **kwargs)


def debug(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Write a message of the level `DEBUG`."""
    get_logger().debug(msg, *args, **kwargs)


def info(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Write a message of the level `INFO`."""
    get_logger().info(msg, *args, **kwargs)


def warning(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Write a message of the level `WARN`."""
    get_logger().warning(msg, *args, **kwargs)


warn = warning


def error(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Write a message of the level `ERROR`."""
    get_logger().error(msg, *args, **kwargs)


def fatal(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Write a message of the level `FATAL`; the program goes on."""
    get_logger().critical(msg, *args, **kwargs)


def vlog(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Write a message of a level; another name for `log`."""
    get_logger().log(level, msg, *args, **kwargs)


def log_if(level: int, msg: Any, condition: Any, *args: Any) -> None:
    """Write a message if a condition is true."""
    if condition:
        vlog(level, msg, *args)


def log_every_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Write a message at the first and then every n-th call from the same line."""
    log_if(level, msg, not _count() % n, *args)


def log_first_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Write a message at the first n calls from the same line."""
    log_if(level, msg, _count() < n, *args)


def set_verbosity(v: int) -> None:
    """Set the level below which no messages are written."""
    get_logger().setLevel(v)


def get_verbosity() -> int:
    """The level below which nothing is written."""
    return get_logger().getEffectiveLevel()


def flush() -> None:
    """Does nothing: handlers write each message at once."""


def TaskLevelStatusMessage(msg: Any) -> None:  # noqa: N802 (TensorFlow's name)
    """Write a message of the level `ERROR`."""
    error(msg)


def _count() -> int:
    """The number of earlier calls from the line that called the caller."""
    frame = sys._getframe(2)
    place = (frame.f_code.co_filename, frame.f_lineno)
    _calls[place] += 1
    return _calls[place] - 1
