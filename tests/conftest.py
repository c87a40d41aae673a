"""Shared by all tests: hypothesis profiles, and the marks of folders."""

import functools
import gc
import hashlib
import os
import time
import zlib
from collections.abc import Generator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, core, settings
from hypothesis.internal.conjecture import providers

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
        gc.freeze()
        gc.enable()
        # Every 700 objects, as Python does by default, was a tenth of the time of tests.
        gc.set_threshold(10_000, 10, 20)


def pytest_configure(config: pytest.Config) -> None:
    """Draw constants of the sources in `make deep` only.

    Hypothesis parses all modules for them, at the start and whenever a test has imported another
    one: a fifth of collection. Examples of CI would depend on what other tests had imported, too.
    """
    if config.getoption("--hypothesis-profile") is None:
        providers._get_local_constants = lambda: providers._local_constants


def _digest(function: Any) -> bytes:
    """The key of a test's examples: its name and parameters.

    Hypothesis reads and parses its source, too, and does so again for each set of parameters, which
    took longer than many tests.
    """
    name = f"{function.__module__}.{function.__qualname__}".encode()
    parameters = getattr(function, "_hypothesis_internal_add_digest", b"")
    return hashlib.sha384(name + b"\0" + parameters).digest()


core.function_digest = _digest


@functools.cache
def _mark_of(path: Path) -> pytest.MarkDecorator | None:
    """The mark of the folder that a file of tests is in."""
    return MARKED_FOLDERS.get(path.relative_to(TESTS).parts[0]) if TESTS in path.parents else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of folders with a `make` target, before `-m` selects among them."""
    for item in items:
        if mark := _mark_of(item.path):
            item.add_marker(mark)
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
def _each_test_stands_alone(request: pytest.FixtureRequest) -> Generator[None, None, None]:
    """A test finds nothing of those that its worker ran before, and leaves nothing.

    - A module's generator gives it the same numbers, whichever tests ran before.
    - A global seed that it set is undone, since the next one may draw numbers with its own.
    - Unrestored values are not logged in the next one, when they are garbage-collected.
    - It fails if a table was rejected: its results are right, so nothing else shows it. The
      engine's tests inject faults into tables, and check rejections themselves.

    One fixture, because each costs every test as much as what it does.
    """
    for generator in _generators(request.module):
        seed = zlib.crc32(request.node.nodeid.encode())
        generator.bit_generator.state = type(generator.bit_generator)(seed).state
    before = rejections.count()
    yield
    if global_seed() is not None:
        set_seed(None)
    for one in list(restoring._OPEN):
        one.expect_partial()
    if rejections.count() > before and not {"engine", "hot"}.intersection(request.path.parts):
        last = rejections.rejected()[-1]
        pytest.fail(f"a table was rejected, {last.kind}: {last.difference}\n{last.text[:2000]}")


@pytest.fixture(scope="session")
def tensorflow_python() -> str:
    """The interpreter with TensorFlow, which `make oracle` and `make interop` create."""
    path = os.environ.get("PINNACE_TF_PYTHON")
    if not path:
        pytest.fail("PINNACE_TF_PYTHON is not set. Try: make oracle, or make interop")
    return path
