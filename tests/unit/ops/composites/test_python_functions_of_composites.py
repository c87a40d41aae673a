"""`py_function` of ragged and sparse tensors, and with their specs as `Tout`."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework.errors import InvalidArgumentError

_SPEC = tf.RaggedTensorSpec([None, None], tf.int32)


def _ragged() -> Any:
    return tf.ragged.constant([[1, 2, 3], [4], [5, 6]])


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(
    ("function", "tout", "expected"),
    [
        (tf.reduce_sum, tf.int32, 21),
        (lambda x: x * 2, _SPEC, [[2, 4, 6], [8], [10, 12]]),
        (lambda x: [x], [_SPEC], [[[1, 2, 3], [4], [5, 6]]]),
        (lambda x: (x, tf.reduce_max(x)), [_SPEC, tf.int32], [[[1, 2, 3], [4], [5, 6]], 6]),
        (
            lambda x: x.to_tensor(),
            tf.TensorSpec([3, 3], tf.int32),
            [[1, 2, 3], [4, 0, 0], [5, 6, 0]],
        ),
        (lambda _: None, [], []),
    ],
)
def test_ragged_arguments_and_results(
    function: Callable[[Any], Any], tout: Any, expected: Any, traced: bool
) -> None:
    def call(x: Any) -> Any:
        return tf.py_function(function, [x], tout)

    found = (tf.function(call) if traced else call)(_ragged())
    plain = [
        x.to_list() if isinstance(x, tf.RaggedTensor) else x.numpy().tolist()
        for x in (found if isinstance(found, list) else [found])
    ]
    assert (plain if isinstance(tout, list) else plain[0]) == expected


def test_the_spec_of_a_ragged_result_tells_its_shape() -> None:
    @tf.function
    def call(x: Any) -> Any:
        made = tf.py_function(lambda v: v * 2, [x], tf.RaggedTensorSpec([3, None], tf.int32))
        assert made.shape.as_list() == [3, None]
        return made + x

    assert call(_ragged()).to_list() == [[3, 6, 9], [12], [15, 18]]


def test_sparse_arguments_and_results() -> None:
    given = tf.sparse.from_dense([[0, 3], [4, 0]])
    made = tf.py_function(tf.sparse.reorder, [given], tf.SparseTensorSpec([None, None], tf.int32))
    np.testing.assert_array_equal(tf.sparse.to_dense(made), [[0, 3], [4, 0]])


def test_gradients_flow_through_the_values() -> None:
    x = tf.ragged.constant([[1.0, 2], [3]])
    with tf.GradientTape() as tape:
        tape.watch(x.flat_values)
        spec = tf.RaggedTensorSpec([None, None], tf.float32)
        y = tf.reduce_sum(tf.py_function(lambda v: v * v, [x], spec).flat_values)
    np.testing.assert_array_equal(tape.gradient(y, x.flat_values), [2, 4, 6])


@pytest.mark.parametrize(
    ("function", "given", "tout"),
    [(lambda x: x, _ragged(), [tf.int32]), (lambda x: x, tf.ones([1, 2], tf.int32), [_SPEC])],
)
def test_other_results_than_tout_are_refused(function: Any, given: Any, tout: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="which did not match Tout"):
        tf.py_function(function, [given], tout)
