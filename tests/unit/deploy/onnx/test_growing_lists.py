"""Lists that a loop fills in any order, with elements of unknown size until the first write."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy.onnx import export
from pinnace.framework.errors import UnimplementedError
from unit.deploy.onnx.one_op import run_model

ROWS = tf.TensorSpec([None, None, 3], tf.float32, "x")


def backwards(x: Any) -> Any:
    """Sums from the last step on, like `tf.scan(..., reverse=True)`."""
    steps = tf.transpose(x, [1, 0, 2])
    count = tf.shape(steps)[0]
    sums = tf.TensorArray(tf.float32, count)

    def body(i: Any, total: Any, sums: Any) -> Any:
        place = count - 1 - i
        total = total + steps[place]
        return i + 1, total, sums.write(place, total)

    start = (0, tf.zeros_like(steps[0]), sums)
    return tf.while_loop(lambda i, *_: i < count, body, start)[2].stack()


def test_a_list_is_filled_from_its_end() -> None:
    report = export(tf.function(backwards).get_concrete_function(ROWS))
    for rows, count in ((2, 4), (5, 1), (1, 7)):
        x = np.random.default_rng(count).standard_normal((rows, count, 3)).astype(np.float32)
        (found,) = run_model(report, [x])
        wanted = np.cumsum(x[:, ::-1], 1)[:, ::-1].transpose(1, 0, 2)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "int64", "bool"])
def test_every_second_element_is_written_and_read_again(dtype: str) -> None:
    """Elements not written are zeros; those written are read in later iterations."""

    def spread(x: Any) -> Any:
        count = tf.shape(x)[0]
        made = tf.TensorArray(x.dtype, 2 * count)
        made = made.write(2 * count - 1, x[0])

        def body(i: Any, made: Any) -> Any:
            last = made.read(2 * count - 1)
            value = x[i] if dtype == "bool" else x[i] + last
            return i + 1, made.write(
                2 * i, tf.logical_or(value, last) if dtype == "bool" else value
            )

        return tf.while_loop(lambda i, *_: i < count, body, (0, made))[1].gather([0, 2, 3])

    spec = tf.TensorSpec([None, None], dtype, "x")
    function = tf.function(spread)
    x = np.random.default_rng(0).integers(0, 2, (2, 5)).astype(dtype)
    wanted = function(tf.constant(x)).numpy()
    (found,) = run_model(export(function.get_concrete_function(spec)), [x])
    np.testing.assert_array_equal(found, wanted)


def test_a_list_in_a_loop_in_a_loop() -> None:
    """Both lists grow, and the inner one's elements have the sizes of the outer one's."""

    def table(x: Any) -> Any:
        count = tf.shape(x)[0]

        def row(i: Any, rows: Any) -> Any:
            inner = tf.TensorArray(tf.float32, count)

            def cell(j: Any, cells: Any) -> Any:
                return j + 1, cells.write(count - 1 - j, x[i] * tf.cast(j, tf.float32))

            cells = tf.while_loop(lambda j, *_: j < count, cell, (0, inner))[1]
            return i + 1, rows.write(count - 1 - i, cells.stack())

        rows = tf.TensorArray(tf.float32, count)
        return tf.while_loop(lambda i, *_: i < count, row, (0, rows))[1].stack()

    spec = tf.TensorSpec([None, None], tf.float32, "x")
    report = export(tf.function(table).get_concrete_function(spec))
    x = np.random.default_rng(3).standard_normal((3, 2)).astype(np.float32)
    (found,) = run_model(report, [x])
    factors = np.arange(3, dtype=np.float32)[::-1, None]
    np.testing.assert_allclose(found, x[::-1][:, None] * factors, rtol=1e-6)


def test_texts_of_unknown_sizes_are_refused() -> None:
    def texts(x: Any) -> Any:
        count = tf.shape(x)[0]
        made = tf.TensorArray(tf.string, count)

        def body(i: Any, made: Any) -> Any:
            return i + 1, made.write(count - 1 - i, x[i])

        return tf.while_loop(lambda i, *_: i < count, body, (0, made))[1].stack()

    spec = tf.TensorSpec([None, None], tf.string, "x")
    with pytest.raises(UnimplementedError, match="must be known before the first one is written"):
        export(tf.function(texts).get_concrete_function(spec))
