"""What every test has: hypothesis profiles, and the mark of its folder."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

TESTS = Path(__file__).parent
MARKED_FOLDERS = {
    "clients": pytest.mark.clients,
    "edge": pytest.mark.edge,
    "interop": pytest.mark.interop,
    "oracle": pytest.mark.oracle,
    "page": pytest.mark.page,
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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of the folders that `make` has targets for, before `-m` chooses among them."""
    for item in items:
        if item.path.is_relative_to(TESTS):
            folder = item.path.relative_to(TESTS).parts[0]
            if folder in MARKED_FOLDERS:
                item.add_marker(MARKED_FOLDERS[folder])


@pytest.fixture(scope="session")
def tensorflow_python() -> str:
    """The interpreter that has TensorFlow; `make oracle` and `make interop` make it and name it."""
    path = os.environ.get("PINNACE_TF_PYTHON")
    if not path:
        pytest.fail("PINNACE_TF_PYTHON is not set. Try: make oracle, or make interop")
    return path
