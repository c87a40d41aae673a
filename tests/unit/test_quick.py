"""Which tests `make quick` chooses."""

import sys
from pathlib import Path

import pytest

TOOLS = str(Path(__file__).resolve().parents[2] / "tools")


@pytest.fixture(scope="module")
def quick() -> object:
    sys.path.insert(0, TOOLS)
    try:
        import quick
    finally:
        sys.path.remove(TOOLS)
    return quick


def test_the_nearest_come_first(quick: object) -> None:
    found = quick.tests_of(["core/keras/saving/older_weights.py", "tests/unit/test_quick.py"])  # type: ignore[attr-defined]
    assert found[0] == "tests/unit/keras/saving/test_weights.py"  # its own folder, its own words
    assert "tests/unit/test_quick.py" in found[:3]
    assert "tests/unit/keras/saving/test_oldest_files.py" in found
    assert "tests/architecture/test_layers.py" in found
    assert len(found) == len(set(found)) < 200


def test_nothing_changed_that_has_tests(quick: object) -> None:
    assert quick.tests_of(["README.md", "core/gone.py"]) == []  # type: ignore[attr-defined]


def test_ops_of_a_file_are_drawn(quick: object) -> None:
    ops = quick.ops_of(["core/ops/math/arithmetic.py", "deploy/cli/main.py"])  # type: ignore[attr-defined]
    assert {"AddV2", "Mul"} <= set(ops)
    assert quick.ops_of(["core/keras/layer.py"]) == []  # type: ignore[attr-defined]
