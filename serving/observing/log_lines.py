"""The server's own log: lines of text or JSON, which text of clients and models cannot forge."""

from __future__ import annotations

import logging
import time

import orjson

from pinnace.framework.visible_text import visible, visible_json
from pinnace.serving.errors import LOG

FORMATS = ("text", "json")


class TextLines(logging.Formatter):
    """`time LEVEL message`, for workers with the process ID; continuation lines are indented.

    Args:
        has_pid: whether the lines have the process ID.
    """

    def __init__(self, *, has_pid: bool) -> None:
        pid = " [%(process)d]" if has_pid else ""
        super().__init__(f"%(asctime)s %(levelname)s{pid} %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """The lines of a record."""
        return visible(super().format(record)).replace("\n", "\n    ")


class JsonLines(logging.Formatter):
    """An object with `time` (UTC), `level`, `message`, `pid` and, for a fault, `traceback`."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {
            "time": f"{moment}.{int(record.msecs * 1e3):06d}Z",
            "level": record.levelname,
            "message": record.getMessage(),
            "pid": record.process,
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        whole = {
            key: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
            for key, value in line.items()
        }
        return visible_json(orjson.dumps(whole)).decode()


def log_to_stderr(form: str, *, is_worker: bool = False, is_first: bool = True) -> None:
    """Log to stderr while the server runs, unless the process logs already.

    Args:
        form: one of `FORMATS`.
        is_worker: whether several processes answer.
        is_first: whether it logs for all of them; another one logs its own faults only.
    """
    if LOG.hasHandlers() and not (is_worker and LOG.handlers):  # the supervisor's are replaced
        return
    formatter = JsonLines() if form == "json" else TextLines(has_pid=is_worker)
    handlers: list[logging.Handler] = LOG.handlers or [logging.StreamHandler()]
    for handler in handlers:
        handler.setFormatter(formatter)
    LOG.handlers = handlers
    LOG.setLevel(logging.INFO if is_first else logging.WARNING)
