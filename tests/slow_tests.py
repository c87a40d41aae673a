"""The slow tests: those for which `make durations` measured more than two seconds.

`tests/slow.txt` has a line for each: the seconds of its longest case, and its name without
parameters; or the name of a file, whose fixture takes more than ten. Tests in the list get the mark
`slow`, so that `make test` stays fast. `make slow` runs them, and CI at least once a week.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

LIST = Path(__file__).with_name("slow.txt")
LIMIT_S = 2.0
FIXTURE_LIMIT_S = 10.0
RECORDING = "PINNACE_RECORD_DURATIONS"

# Only in this process: some tests start pytest themselves.
_RECORDS = os.environ.pop(RECORDING, None) is not None
_longest: dict[str, float] = {}


def listed() -> dict[str, float]:
    """The seconds of the slow tests, by name."""
    lines = LIST.read_text().splitlines() if LIST.exists() else []
    pairs = (line.split(maxsplit=1) for line in lines if not line.startswith("#"))
    return {name: float(seconds) for seconds, name in pairs}


def function_of(node: str) -> str:
    """The name of a test without its parameters."""
    return node.partition("[")[0]


def file_of(node: str) -> str:
    """The file of a test."""
    return node.partition("::")[0]


def mark(items: list[pytest.Item]) -> None:
    """Mark the tests in the list."""
    slow = listed()
    for item in items:
        if not slow.keys().isdisjoint((function_of(item.nodeid), file_of(item.nodeid))):
            item.add_marker(pytest.mark.slow)


def note(report: pytest.TestReport) -> None:
    """Record the time of a case; a slow fixture counts for its file."""
    if report.when == "call":
        name = function_of(report.nodeid)
    elif report.when == "setup" and report.duration > FIXTURE_LIMIT_S:
        name = file_of(report.nodeid)
    else:
        return
    _longest[name] = max(_longest.get(name, 0.0), report.duration)


def record() -> None:
    """Rewrite the list for the tests that ran, if requested."""
    if not _RECORDS or not _longest:
        return
    slow = {name: seconds for name, seconds in listed().items() if name not in _longest}
    slow |= {name: seconds for name, seconds in _longest.items() if seconds > LIMIT_S}
    head = "# Written by `make durations`: seconds of the longest case, and the test.\n"
    lines = (f"{seconds:5.1f} {name}\n" for name, seconds in sorted(slow.items()))
    LIST.write_text(head + "".join(lines))
