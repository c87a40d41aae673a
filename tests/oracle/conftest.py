"""Shared by the tests of this folder: TensorFlow's process, and the report at the end."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from oracle.coverage import Coverage
from oracle.drawing import ASKED, load_all
from oracle.peer import Peer
from pinnace.ops.registry import registered

if TYPE_CHECKING:
    from collections.abc import Iterator

COVERAGE = pytest.StashKey[Coverage]()
WHOLE = pytest.StashKey[bool]()
# Number of comparisons closest to their tolerances that are reported; ORACLE_CLOSEST=N changes it.
CLOSEST = 5


@pytest.fixture(scope="session")
def peer(tensorflow_python: str) -> Iterator[Peer]:
    """TensorFlow's process, waiting for calls."""
    found = Peer(tensorflow_python)
    yield found
    found.forget()


@pytest.fixture(scope="session")
def coverage(request: pytest.FixtureRequest) -> Coverage:
    """The coverage of this run."""
    return request.config.stash.setdefault(COVERAGE, Coverage())


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note whether tests of this folder are deselected; load modules that tests draw from."""
    narrowed = session.config.option.keyword or session.config.option.ignore
    paths = [str(arg) for arg in session.config.args]
    session.config.stash[WHOLE] = not narrowed and not any("::" in path for path in paths)
    if any(item.path.parent == Path(__file__).parent for item in session.items):
        load_all()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """A complete run fails if an op was not compared without a stated reason."""
    found = session.config.stash.get(COVERAGE, None)
    if ASKED:  # so few examples may miss features of an op
        return
    if found is None or exitstatus or not session.config.stash[WHOLE] or session.config.option.lf:
        return
    if not all(found.missing(set(registered())).values()):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the covered ops, of the census and of the registry, and the others with the reason."""
    config = terminalreporter.config
    found = config.stash.get(COVERAGE, None)
    if found is None:
        return
    terminalreporter.section("oracle")
    lines = found.lines(set(registered()))
    if not config.stash[WHOLE]:
        lines = ["a part of the tests ran, so most ops are not covered", *lines[:4]]
    lines += found.closest.lines(int(os.environ.get("ORACLE_CLOSEST") or CLOSEST))
    for line in (*_repeating(config), *lines):
        terminalreporter.line(line)


def _repeating(config: pytest.Config) -> list[str]:
    """The command that repeats this run."""
    seed = config.getoption("--hypothesis-seed")
    if seed is None:
        return ["no seed: the next run draws others; `make oracle` gives one"]
    short = f" ORACLE_EXAMPLES={ASKED}" if ASKED else ""
    return [f"this run again: make oracle ORACLE_SEED={seed}{short}"]
