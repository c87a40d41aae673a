"""Assertions of `debugging` and print: immediately if values are known, else in the graph's run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.ops.control import assertions as debugging
from pinnace.ops.control.printing import tf_print

HOLD = [
    (debugging.assert_equal, 2, 2, 3),
    (debugging.assert_none_equal, 2, 3, 2),
    (debugging.assert_less, 1, 2, 1),
    (debugging.assert_less_equal, 2, 2, 1),
    (debugging.assert_greater, 3, 2, 3),
    (debugging.assert_greater_equal, 3, 3, 4),
    (debugging.assert_near, 1.0, 1.0, 1.1),
]


@pytest.mark.parametrize(("check", "x", "good", "bad"), HOLD)
def test_comparisons_hold_or_say_so(check: Any, x: Any, good: Any, bad: Any) -> None:
    def f(x: Any, y: Any) -> Any:
        check(x, y, message="my check")
        return x

    for wrap in (lambda f: f, tf.function):
        program = wrap(f)
        program(tf.constant([x, x]), tf.constant(good))
        with pytest.raises(tf.errors.InvalidArgumentError, match="my check"):
            program(tf.constant([x, x]), tf.constant(bad))


def test_ranks_types_and_shapes_are_checked_as_soon_as_known() -> None:
    x = tf.ones([2, 3])
    debugging.assert_rank(x, 2)
    debugging.assert_rank_at_least(x, 1)
    debugging.assert_rank_in(x, [1, 2])
    debugging.assert_type(x, tf.float32)
    debugging.assert_shapes([(x, ("n", "m")), (tf.ones([3, 5]), ("m", None))])
    with pytest.raises(ValueError, match=r"x must have rank 1, got shape \[2, 3\]"):
        debugging.assert_rank(x, 1)
    with pytest.raises(ValueError, match=r"must have size 3 \('m'\), got 4"):
        debugging.assert_shapes([(x, ("n", "m")), (tf.ones([4]), ("m",))])
    with pytest.raises(TypeError, match="must be int32, got float32"):
        debugging.assert_type(x, tf.int32)


def test_print_shows_what_tensorflow_shows(capfd: pytest.CaptureFixture[str]) -> None:
    tf_print(tf.reshape(tf.range(8), [2, 2, 2]), tf.range(20), "hi", tf.constant(["a"]), sep="|")
    tf_print({"a": tf.constant(1.5), "b": [tf.constant(b"x")]}, output_stream="stdout", end="!")
    found = capfd.readouterr()
    assert found.err == '[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]|[0 1 2 ... 17 18 19]|hi|["a"]\n'
    assert found.out == "{'a': 1.5, 'b': [\"x\"]}!"


def test_print_shows_braces_of_the_users_own(capfd: pytest.CaptureFixture[str]) -> None:
    tf_print("{}", tf.constant(1), "{0}")
    assert capfd.readouterr().err == "{} 1 {0}\n"


def test_numbers_in_errors_are_plain() -> None:
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"assertion failed: low \[1 2 3\.\.\.\]"
    ):
        debugging.Assert(tf.constant(False), ["low", tf.constant(np.arange(1, 6))])
