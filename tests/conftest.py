"""Shared by all tests: hypothesis profiles, and the marks of folders."""

import functools
import gc
import os
import time
import zlib
from collections.abc import Generator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import slow_tests
from pinnace.checkpoint import restoring
from pinnace.engine import rejections
from pinnace.framework import tracebacks
from pinnace.ops.random.seeds import global_seed, set_seed

# The end time of `tools/quick.py`; for the workers, too, but not for processes that tests start.
_UNTIL = float(os.environ.get("PINNACE_TESTS_UNTIL", "inf"))
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.pop("PINNACE_TESTS_UNTIL", None)

# A failure should show the library's lines.
tracebacks.disable_traceback_filtering()

TESTS = Path(__file__).parent
_SETTINGS = "_hypothesis_internal_use_settings"
MARKED_FOLDERS = {
    "clients": pytest.mark.clients,
    "edge": pytest.mark.edge,
    "interop": pytest.mark.interop,
    "oracle": pytest.mark.oracle,
    "page": pytest.mark.page,
    "reports": pytest.mark.reports,
}

# No deadline: the first example of an op may compile a kernel. In CI the same examples every time.
for name, examples in {"fast": 10, "deep": 500}.items():
    settings.register_profile(
        name,
        max_examples=examples,
        deadline=None,
        derandomize="CI" in os.environ,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("fast")  # --hypothesis-profile=deep wins over this


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import folders whose mark `-m` deselects, as it does by default."""
    if collection_path.parent == TESTS and collection_path.name in MARKED_FOLDERS:
        terms = config.getoption("markexpr").split(" and ")
        return True if f"not {collection_path.name}" in terms else None
    return None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Run the garbage collector on the objects of tests, not on those of collection.

    Collection makes almost no garbage, and searching for it was a quarter of its time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of folders with a `make` target, before `-m` selects among them."""
    for item in items:
        if item.path.is_relative_to(TESTS):
            folder = item.path.relative_to(TESTS).parts[0]
            if folder in MARKED_FOLDERS:
                item.add_marker(MARKED_FOLDERS[folder])
    slow_tests.mark(items)


def pytest_runtest_setup() -> None:
    """`make quick` has a time limit: tests that did not run before it are skipped."""
    if time.time() > _UNTIL:
        pytest.skip("no time left; make test runs it")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """See `slow_tests`; with xdist, in the process that gets all reports."""
    slow_tests.note(report)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """See `slow_tests`."""
    if not hasattr(session.config, "workerinput"):
        slow_tests.record()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Leave the settings of a parametrised test as they were.

    Hypothesis' plugin wraps them again for each set of parameters, and searches all the wrappers
    for a database if there is none (in CI): after 900 of them the recursion is too deep.
    """
    function = getattr(getattr(item, "obj", None), "__func__", getattr(item, "obj", None))
    before = getattr(function, _SETTINGS, None)
    try:
        return (yield)
    finally:
        if before is not None:
            setattr(function, _SETTINGS, before)


@functools.cache
def _generators(module: ModuleType) -> list[np.random.Generator]:
    """The module's own generators, and those that functions it took from others draw from."""
    found = {}
    for value in list(vars(module).values()):
        for one in (value, *getattr(value, "__globals__", {}).values()):
            if isinstance(one, np.random.Generator):
                found[id(one)] = one
    return list(found.values())


@pytest.fixture(autouse=True)
def _numbers_are_the_tests_own(request: pytest.FixtureRequest) -> None:
    """A module's generator gives a test the same numbers, whichever tests its worker ran before."""
    for generator in _generators(request.module):
        seed = zlib.crc32(request.node.nodeid.encode())
        generator.bit_generator.state = type(generator.bit_generator)(seed).state


@pytest.fixture(autouse=True)
def _no_seed_is_left() -> Generator[None, None, None]:
    """Undo a global seed that a test set, since the next one may draw numbers with its own."""
    yield
    if global_seed() is not None:
        set_seed(None)


@pytest.fixture(autouse=True)
def _no_table_is_rejected(request: pytest.FixtureRequest) -> Generator[None, None, None]:
    """Fail a test in which a table was rejected: its results are right, so nothing else shows it.

    The engine's tests inject faults into tables, and check rejections themselves.
    """
    before = rejections.count()
    yield
    if rejections.count() > before and not {"engine", "hot"}.intersection(request.path.parts):
        last = rejections.rejected()[-1]
        pytest.fail(f"a table was rejected, {last.kind}: {last.difference}\n{last.text[:2000]}")


@pytest.fixture(autouse=True)
def _no_restoration_is_told_later() -> Generator[None, None, None]:
    """Do not log unrestored values of a test in the next one, when they are garbage-collected."""
    yield
    for one in list(restoring._OPEN):
        one.expect_partial()


@pytest.fixture(scope="session")
def tensorflow_python() -> str:
    """The interpreter with TensorFlow, which `make oracle` and `make interop` create."""
    path = os.environ.get("PINNACE_TF_PYTHON")
    if not path:
        pytest.fail("PINNACE_TF_PYTHON is not set. Try: make oracle, or make interop")
    return path
