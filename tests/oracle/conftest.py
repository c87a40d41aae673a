"""What the tests of this folder share: TensorFlow's process, and the report at the end."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from oracle.coverage import Coverage
from oracle.peer import Peer
from pinnace.ops.registry import registered

if TYPE_CHECKING:
    from collections.abc import Iterator

COVERAGE = pytest.StashKey[Coverage]()
WHOLE = pytest.StashKey[bool]()


@pytest.fixture(scope="session")
def peer(tensorflow_python: str) -> Iterator[Peer]:
    """TensorFlow, waiting for calls."""
    found = Peer(tensorflow_python)
    yield found
    found.forget()


@pytest.fixture(scope="session")
def coverage(request: pytest.FixtureRequest) -> Coverage:
    """What this run compared."""
    return request.config.stash.setdefault(COVERAGE, Coverage())


def pytest_collection_finish(session: pytest.Session) -> None:
    """Remember whether anything was left out of this folder's tests."""
    narrowed = session.config.option.keyword or session.config.option.ignore
    paths = [str(arg) for arg in session.config.args]
    session.config.stash[WHOLE] = not narrowed and not any("::" in path for path in paths)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """A whole run fails if an op was not compared and nothing says why."""
    found = session.config.stash.get(COVERAGE, None)
    if os.environ.get("ORACLE_EXAMPLES"):  # so few examples may miss what an op does
        return
    if found is None or exitstatus or not session.config.stash[WHOLE] or session.config.option.lf:
        return
    if not all(found.missing(set(registered())).values()):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Ops covered, of the census and of the registry, and what is not covered and why."""
    config = terminalreporter.config
    found = config.stash.get(COVERAGE, None)
    if found is None:
        return
    terminalreporter.section("oracle")
    lines = found.lines(set(registered()))
    if not config.stash[WHOLE]:
        lines = ["a part of the tests ran, so most ops are not covered", *lines[:4]]
    if os.environ.get("ORACLE_EXAMPLES"):
        lines.insert(0, f"short form: {os.environ['ORACLE_EXAMPLES']} examples of each case")
    for line in lines:
        terminalreporter.line(line)
