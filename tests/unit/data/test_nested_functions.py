"""Datasets made by functions within functions: each symbol is computed by the function it is of."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pinnace as tf

_Dataset = tf.data.Dataset
_PAIRS = np.array([[1, 2], [3, 0]], np.int64)


def _repeated(pair: Any) -> Any:
    numbers = _Dataset.from_tensor_slices(pair)
    return numbers.flat_map(lambda y: _Dataset.from_tensors(y).repeat(y))


def _windows(x: Any) -> Any:
    return _Dataset.range(4).window(x + 1).flat_map(lambda window: window.batch(x + 1))


def _three_deep(x: Any) -> Any:
    return _Dataset.range(x).flat_map(
        lambda y: _Dataset.range(y + 1).flat_map(lambda z: _Dataset.from_tensors([x, y, z]))
    )


@pytest.mark.parametrize(
    ("source", "function", "expected"),
    [
        (_Dataset.from_tensor_slices(_PAIRS), _repeated, [1, 2, 2, 3, 3, 3]),
        (_Dataset.range(3), _windows, [[0], [1], [2], [3], [0, 1], [2, 3], [0, 1, 2], [3]]),
        (_Dataset.range(3), _three_deep, [[1, 0, 0], [2, 0, 0], [2, 1, 0], [2, 1, 1]]),
        (
            _Dataset.range(3),
            lambda x: _Dataset.range(x).flat_map(lambda y: _Dataset.range(y + x)),
            [0, 0, 1, 0, 1, 2],
        ),
        (
            _Dataset.range(3),
            lambda x: _Dataset.range(3).interleave(lambda y: _Dataset.from_tensors(x * y)),
            [0, 0, 0, 0, 1, 2, 0, 2, 4],
        ),
    ],
)
def test_functions_nest(source: Any, function: Callable[[Any], Any], expected: Any) -> None:
    found = [x.tolist() for x in source.flat_map(function).as_numpy_iterator()]
    assert found == expected


def test_a_variable_may_be_a_count_within_a_function() -> None:
    count = tf.Variable(2, dtype=tf.int64)
    dataset = _Dataset.range(2).flat_map(lambda x: _Dataset.from_tensors(x).repeat(count))
    assert [int(x) for x in dataset] == [0, 0, 1, 1]
