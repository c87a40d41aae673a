"""Ragged tensors printed, indexed and resized: texts and numbers of TensorFlow 2.21."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework.errors import InvalidArgumentError

_LONG = [[1, 2, 3, 4, 5, 6, 7, 8, 9], [10], [], [], [], [], [11, 12]]


@pytest.mark.parametrize(
    ("values", "options", "expected"),
    [
        ([_LONG], {}, "[[1, 2, 3, ..., 7, 8, 9], [10], [], ..., [], [], [11, 12]]"),
        ([_LONG], {"summarize": 2}, "[[1, 2, ..., 8, 9], [10], ..., [], [11, 12]]"),
        ([_LONG], {"summarize": -1}, str(_LONG)),
        ([[["a", "b"], ["c'\\d"]]], {}, r"[['a', 'b'], ['c\'\\d']]"),
        ([[[1.5, 2], [1e-7]]], {}, "[[1.500000, 2.000000], [0.000000]]"),
        ([[[True], [False]]], {}, "[[true], [false]]"),
        ([[[[1, 2], [3]], []]], {}, "[[[1, 2], [3]], []]"),
        ([[[1]], [[2, 3]]], {}, "[[1]] [[2, 3]]"),
    ],
)
def test_ragged_tensors_print_as_lists(
    values: list[Any], options: dict[str, Any], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tf.print(*map(tf.ragged.constant, values), output_stream=sys.stdout, **options)
    assert capsys.readouterr().out == expected + "\n"


def test_composites_print_among_other_values(capsys: pytest.CaptureFixture[str]) -> None:
    ragged, sparse = tf.ragged.constant([[1], [2, 3]]), tf.sparse.from_dense([[4]])
    tf.print("x", ragged, tf.constant([1, 2]), "{}", output_stream=sys.stdout)
    tf.print({"r": ragged}, [ragged], output_stream=sys.stdout)
    tf.print("s", sparse, {"x": sparse}, output_stream=sys.stdout)
    said = "'SparseTensor(indices=[[0 0]], values=[4], shape=[1 1])'"
    assert capsys.readouterr().out.splitlines() == [
        "x [[1], [2, 3]] [1 2] {}",
        "{'r': [[1], [2, 3]]} [[[1], [2, 3]]]",
        f"s {said} {{'x': {said}}}",
    ]


def test_ragged_tensors_print_in_functions(capsys: pytest.CaptureFixture[str]) -> None:
    @tf.function
    def shown(x: Any) -> None:
        tf.print("x:", x, output_stream=sys.stdout)

    shown(tf.ragged.constant([["a", "b"], ["c"]]))
    shown(tf.RaggedTensor.from_row_splits(tf.ones([3, 2], tf.int32), [0, 1, 3]))
    said = ["x: [['a', 'b'], ['c']]", "x: [[[1, 1]], [[1, 1], [1, 1]]]"]
    assert capsys.readouterr().out.splitlines() == said


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(("index", "expected"), [(2, [2, 5]), (-3, [0, 3]), (3, None), (-4, None)])
def test_a_tensor_indexes_a_uniform_axis_within_its_bounds(
    index: int, expected: list[int] | None, traced: bool
) -> None:
    x = tf.RaggedTensor.from_uniform_row_length(tf.range(6), 3)

    def column(at: Any) -> Any:
        return x[:, at]

    call = tf.function(column) if traced else column
    if expected is None:
        with pytest.raises(InvalidArgumentError, match="out of bounds"):
            call(tf.constant(index))
    else:
        np.testing.assert_array_equal(call(tf.constant(index)), expected)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: tf.ragged.constant([[1, 2], [3]])[:, 0.5:1.5], TypeError),
        (lambda: tf.RaggedTensor.from_tensor([[1]], lengths=[0.5]), TypeError),
        (
            lambda: tf.RaggedTensor.from_tensor(
                tf.ones([1, 2, 3, 4]), ([2], [1, 1]), ragged_rank=3
            ),
            ValueError,
        ),
        (lambda: tf.ragged.stack_dynamic_partitions(["a", "b", "c"], [1, 2], 10), ValueError),
        (lambda: tf.image.resize(tf.ragged.constant([[1]]), [2, 2]), ValueError),
    ],
)
def test_what_tensorflow_refuses(call: Callable[[], Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("method", ["bilinear", "nearest"])
def test_images_of_different_sizes_are_resized_one_by_one(method: str, traced: bool) -> None:
    one, other = tf.reshape(tf.range(24.0), [4, 2, 3]), tf.reshape(tf.range(27.0), [3, 3, 3])

    def resized(x: Any) -> Any:
        return tf.image.resize(x, [4, 5], method=method)

    found = (tf.function(resized) if traced else resized)(tf.ragged.stack([one, other]))
    expected = [resized(one), resized(other)]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert tf.image.resize(tf.ragged.stack([one, other])[:0], [4, 5]).shape == [0, 4, 5, 3]


def test_uniform_rows_of_any_argument_are_kept() -> None:
    x = tf.RaggedTensor.from_uniform_row_length(tf.ragged.constant([[1, 2], [3]]), 2)
    y = tf.ragged.constant([[[1, 2], [3]]])
    for both in ((x, y), (y, x)):
        total = tf.ragged.map_flat_values(tf.add, *both)
        assert int(total.uniform_row_length) == 2
        assert total.to_list() == [[[2, 4], [6]]]


def test_gather_nd_of_ragged_tensors_takes_the_default_policy_only() -> None:
    x = tf.ragged.constant([["a", "b", "c"], ["d", "e"]])
    found = tf.gather_nd(x, [[0, 1], [1, 1]], bad_indices_policy="")
    assert found.numpy().tolist() == [b"b", b"e"]
    with pytest.raises(ValueError, match="bad_indices_policy"):
        tf.gather_nd(x, [[0, 1]], bad_indices_policy="IGNORE")
