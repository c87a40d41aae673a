"""The assertions pass and fail where they should."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf


class Asserting(tf.test.TestCase):
    def runTest(self) -> None:  # noqa: N802 (what unittest calls)
        """Do nothing: the assertions are called one by one."""


@pytest.fixture(name="case")
def _case() -> Asserting:
    return Asserting()


HOLDS: list[tuple[str, tuple[Any, ...]]] = [
    ("assertAllEqual", ([1, 2], tf.constant([1, 2]))),
    ("assertAllEqual", (["a", "bc"], tf.constant(["a", "bc"]))),
    ("assertAllEqual", (np.nan, tf.constant(np.nan))),
    ("assertAllEqual", (tf.TensorShape([1, 2]), [1, 2])),
    ("assertNotAllEqual", ([1, 2], [1, 3])),
    ("assertAllClose", ({"a": [1.0, tf.constant([2.0])]}, {"a": [1.0, [2.0 + 1e-7]]})),
    ("assertNotAllClose", ([1.0], [1.1])),
    ("assertAllCloseAccordingToType", (tf.constant(1.0, tf.float16), tf.constant(1.0009))),
    ("assertAllGreater", ([1, 2], 0)),
    ("assertAllGreaterEqual", ([0, 2], 0)),
    ("assertAllLess", ([1, 2], 3)),
    ("assertAllLessEqual", ([1, 3], 3)),
    ("assertAllInRange", ([1, 3], 1, 3)),
    ("assertAllInSet", ([1, 3], [1, 2, 3])),
    ("assertNear", (1.0, 1.05, 0.1)),
    ("assertArrayNear", ([1.0, 2.0], [1.05, 2.0], 0.1)),
    ("assertShapeEqual", (tf.ones([2, 3]), np.ones([2, 3]))),
    ("assertDTypeEqual", (tf.ones([2, 3]), np.float32)),
    ("assertStartsWith", ("abc", "ab")),
]
FAILS: list[tuple[str, tuple[Any, ...], str]] = [
    ("assertAllEqual", ([1, 2], [1, 3]), "not equal"),
    ("assertAllEqual", ([1, 2], [[1, 2]]), "shapes differ"),
    ("assertAllEqual", (["a"], ["b"]), "not equal"),
    ("assertNotAllEqual", ([1], [1]), "equal at all elements"),
    ("assertAllClose", ([1.0], [1.1]), "Not equal to tolerance"),
    ("assertAllClose", ({"a": [1.0]}, {"b": [1.0]}), "keys differ"),
    ("assertAllClose", ([[1.0], [2.0]], [[1.0]]), "lengths differ"),
    ("assertNotAllClose", ([1.0], [1.0]), "close at all elements"),
    ("assertAllCloseAccordingToType", (1.0, 1.0009), "Not equal to tolerance"),
    ("assertAllGreater", ([[1, 0]], 0), r"> 0: .*0.* at \[0, 1\]"),
    ("assertAllGreaterEqual", ([-1], 0), ">= 0"),
    ("assertAllLess", ([3], 3), "< 3"),
    ("assertAllLessEqual", ([4], 3), "<= 3"),
    ("assertAllInRange", ([1, 3], 1, 3, True), "between 1 and 3"),
    ("assertAllInSet", ([4], [1, 2]), "in "),
    ("assertNear", (1.0, 1.2, 0.1), "1.2"),
    ("assertShapeEqual", (tf.ones([2]), tf.ones([3])), "!="),
    ("assertDTypeEqual", (tf.ones([2]), tf.int32), "!="),
    ("assertStartsWith", ("abc", "b"), "start"),
]


@pytest.mark.parametrize(("name", "args"), HOLDS)
def test_an_assertion_holds(case: Asserting, name: str, args: tuple[Any, ...]) -> None:
    getattr(case, name)(*args)


@pytest.mark.parametrize(("name", "args", "message"), FAILS)
def test_an_assertion_fails(
    case: Asserting, name: str, args: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(AssertionError, match=message):
        getattr(case, name)(*args)


def test_errors_of_ops_are_expected_by_text_or_by_predicate(case: Asserting) -> None:
    with case.assertRaisesOpError("MatMul"):
        tf.matmul([[1.0]], [[1.0], [2.0]])
    with case.assertRaisesWithPredicateMatch(ValueError, lambda error: "x" in str(error)):
        raise ValueError("x")
    with (
        pytest.raises(AssertionError, match="does not match"),
        case.assertRaisesWithPredicateMatch(ValueError, "y"),
    ):
        raise ValueError("x")
    with pytest.raises(AssertionError, match="was not raised"), case.assertRaisesOpError("x"):
        pass


def test_every_test_starts_from_one_seed_and_has_a_folder_of_its_own() -> None:
    drawn, folders = [], []

    class Drawing(tf.test.TestCase):
        def test_one(self) -> None:
            drawn.append(self.evaluate(tf.random.uniform([3])))
            folders.append(Path(self.get_temp_dir()))
            assert folders[-1].is_dir()
            assert self.get_temp_dir() == str(folders[-1])

    for _ in range(2):
        result = Drawing("test_one").run()
        assert result is not None
        assert result.wasSuccessful(), result.errors
    np.testing.assert_array_equal(*drawn)
    assert folders[0] != folders[1]
    assert not any(folder.exists() for folder in folders)


def test_gradients_stand_beside_central_differences() -> None:
    x = np.array([0.5, 1.5])
    mine, numeric = tf.test.compute_gradient(
        lambda a, b: tf.sin(a) * b, [x, np.array(2.0)], delta=1e-4
    )
    # Central differences err by h²/6 times the third derivative: below 4e-9 here.
    for one, other in zip(mine, numeric, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-7)
    np.testing.assert_allclose(mine[0], np.diag(2 * np.cos(x)))
    np.testing.assert_allclose(mine[1], np.sin(x)[:, None])


def test_a_row_of_a_jacobian_is_an_entry_of_the_result() -> None:
    for found in tf.test.compute_gradient(
        lambda u: tf.stack([u[0] * 2, u[1] * 3, u[0] * u[1]]), [np.array([1.0, 2.0])]
    ):
        np.testing.assert_allclose(found[0], [[2, 0], [0, 3], [2, 1]], rtol=1e-9)
    empty = tf.test.compute_gradient(lambda u: tf.reduce_sum(u) * [1.0, 2.0], [np.zeros(0, "f4")])
    assert [one[0].shape for one in empty] == [(2, 0), (2, 0)]


def test_gradients_of_complex_numbers_are_matrices_of_real_derivatives() -> None:
    z = np.array([1 + 2j])
    mine, numeric = tf.test.compute_gradient(lambda a: a * a, [z], delta=1e-4)
    np.testing.assert_allclose(mine[0], numeric[0], atol=1e-7)
    with pytest.raises(ValueError, match="floating or complex"):
        tf.test.compute_gradient(lambda a: a, [np.array([1])])
