"""User-defined conversions of classes to tensors."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework import conversions


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Undo the registrations of a test."""
    yield
    conversions._functions.clear()


class Pair:
    def __init__(self, first: int, second: int) -> None:
        self.numbers = [first, second]


class Triple(Pair):
    pass


def numbers_of(value: Any, *, dtype: Any, name: Any, as_ref: bool) -> Any:
    assert dtype in {None, tf.int32, tf.float32}
    assert not as_ref
    return tf.constant(value.numbers, name=name)


def test_objects_of_a_registered_class_go_where_tensors_go() -> None:
    tf.register_tensor_conversion_function(Pair, numbers_of)
    np.testing.assert_array_equal(tf.convert_to_tensor(Pair(7, 8)), [7, 8])
    np.testing.assert_array_equal(tf.add(Pair(7, 8), 1), [8, 9])
    np.testing.assert_array_equal(tf.constant([1, 2]) + Pair(7, 8), [8, 10])
    np.testing.assert_array_equal(Pair(7, 8) + tf.constant([1, 2]), [8, 10])  # type: ignore[operator]
    np.testing.assert_array_equal(tf.Variable(Pair(7, 8)), [7, 8])
    np.testing.assert_array_equal(tf.stack([Pair(7, 8), tf.constant([1, 2])]), [[7, 8], [1, 2]])
    np.testing.assert_array_equal(tf.function(lambda: tf.add(Pair(7, 8), 1))(), [8, 9])
    np.testing.assert_array_equal(tf.convert_to_tensor(Triple(1, 2)), [1, 2])


def test_smaller_priorities_come_first_then_earlier_registrations() -> None:
    asked = []

    def giving(number: int) -> Any:
        def function(value: Any, **given: Any) -> Any:
            assert isinstance(value, Pair)
            assert sorted(given) == ["as_ref", "dtype", "name"]
            asked.append(number)
            return NotImplemented if number != 3 else tf.constant(number)

        return function

    tf.register_tensor_conversion_function((int.__class__, Pair), giving(4), 200)
    tf.register_tensor_conversion_function(Pair, giving(2))
    tf.register_tensor_conversion_function(Pair, giving(3))
    tf.register_tensor_conversion_function(Triple, giving(1), 50)
    assert int(tf.convert_to_tensor(Triple(1, 2))) == 3
    assert asked == [1, 2, 3]


def test_what_a_function_must_not_give_is_refused() -> None:
    tf.register_tensor_conversion_function(Pair, numbers_of)
    tf.register_tensor_conversion_function(Triple, lambda *_, **__: 5, 10)
    with pytest.raises(RuntimeError, match="registered for Pair, must give a tensor of float32"):
        tf.convert_to_tensor(Pair(1, 2), tf.float32)
    with pytest.raises(RuntimeError, match="registered for Triple, must give a tensor, gave 5"):
        tf.convert_to_tensor(Triple(1, 2))


def test_what_cannot_be_registered_is_refused() -> None:
    for kind in (int, float, np.ndarray, (Pair, np.float32)):
        with pytest.raises(TypeError, match="must not be a class of numbers or arrays"):
            tf.register_tensor_conversion_function(kind, numbers_of)
    with pytest.raises(TypeError, match="base_type must be a class"):
        tf.register_tensor_conversion_function(3, numbers_of)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="conversion_func must be a function"):
        tf.register_tensor_conversion_function(Pair, 3)  # type: ignore[arg-type]
