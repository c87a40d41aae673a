"""Loops that end before a TensorArray is full: the rest is zeros, also in the file."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy.onnx import export
from unit.deploy.onnx.one_op import Array, run_model

VECTOR = tf.TensorSpec([None], tf.float32, name="x")
COUNT = tf.TensorSpec([], tf.int32, name="n")


def rows_of(x: Any, element: Any = ()) -> Any:
    return tf.TensorArray(tf.float32, tf.shape(x)[0], element_shape=element)


def at_most_twenty(x: Any, n: Any) -> Any:
    rows = rows_of(x)
    for i in tf.range(tf.minimum(tf.shape(x)[0], 20)):
        rows = rows.write(i, x[i])
    return rows.stack() + 0.0 * tf.cast(n, tf.float32)


def as_many_as_told(x: Any, n: Any) -> Any:
    rows = rows_of(x)
    for i in tf.range(n):
        rows = rows.write(i, x[i])
    return rows.stack()


def while_both(x: Any, n: Any) -> Any:
    rows, i = rows_of(x), 0
    while i < n and i < 5:
        rows = rows.write(i, 2.0 * x[i])
        i += 1
    return rows.stack()


def joined(x: Any, n: Any) -> Any:
    rows = rows_of(x, [2])
    for i in tf.range(n):
        rows = rows.write(i, tf.stack([x[i], -x[i]]))
    return rows.concat()


def read_behind(x: Any, n: Any) -> Any:
    rows = tf.TensorArray(tf.float32, 40, element_shape=[], clear_after_read=False)
    for i in tf.range(n):
        rows = rows.write(i, x[i])
    return tf.stack([rows.read(0), rows.read(39)])


def gathered(x: Any, n: Any) -> Any:
    rows = tf.TensorArray(tf.float32, 40, element_shape=[])
    for i in tf.range(n):
        rows = rows.write(i, x[i])
    return rows.gather([39, 0, 3])


def sized(x: Any, n: Any) -> Any:
    rows = rows_of(x)
    for i in tf.range(n):
        rows = rows.write(i, x[i])
    return tf.cast(rows.size(), tf.float32) + rows.stack()


def a_loop_behind(x: Any, n: Any) -> Any:
    rows = rows_of(x)
    for i in tf.range(n):
        rows = rows.write(i, x[i])
    total = tf.zeros([])
    for row in rows.stack():
        total = 0.5 * total + row
    return total


def nested(x: Any, n: Any) -> Any:
    """A triangular matrix, built by an inner loop."""
    outer = rows_of(x, [6])
    for i in tf.range(n):
        inner = tf.TensorArray(tf.float32, 6, element_shape=[])
        for j in tf.range(tf.minimum(i, 6)):
            inner = inner.write(j, x[j])
        outer = outer.write(i, inner.stack())
    return outer.stack()


def only_one(x: Any, n: Any) -> Any:
    """The last element, zero if there is none, in an array of one element as Keras keeps it."""
    rows = tf.TensorArray(tf.float32, 1, element_shape=[], clear_after_read=False)
    for i in tf.range(n):
        rows = rows.write(0, x[i])
    return rows.read(0)


def filled(x: Array, n: int) -> Array:
    return np.concatenate([x[:n], np.zeros(len(x) - n, "f4")])


def wanted_triangle(x: Array, n: int) -> Array:
    rows = [np.pad(x[:i][:6], (0, 6 - min(i, 6))) if i < n else np.zeros(6) for i in range(len(x))]
    return np.array(rows, "f4").reshape(len(x), 6)


def wanted_total(x: Array, n: int) -> Array:
    total = np.float32(0)
    for row in filled(x, n):
        total = np.float32(0.5) * total + row
    return np.asarray(total)


PROGRAMS: dict[Callable[..., Any], Callable[[Array, int], Array]] = {
    at_most_twenty: lambda x, _: filled(x, min(20, len(x))),
    as_many_as_told: filled,
    while_both: lambda x, n: 2 * filled(x, min(n, 5)),
    joined: lambda x, n: np.stack([filled(x, n), -filled(x, n)], 1).reshape(-1),
    read_behind: lambda x, n: np.array([x[0] if n else 0, x[39] if n > 39 else 0], "f4"),
    gathered: lambda x, n: np.pad(x[:n], (0, 40))[[39, 0, 3]],
    sized: lambda x, n: len(x) + filled(x, n),
    a_loop_behind: wanted_total,
    nested: wanted_triangle,
    only_one: lambda x, n: np.asarray(x[n - 1] if n else np.float32(0)),
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_the_rest_of_an_array_is_zeros(program: Any) -> None:
    function = tf.function(program, input_signature=[VECTOR, COUNT])
    report = export(function.get_concrete_function())
    rng = np.random.default_rng(0)
    for size, n in ((7, 3), (7, 7), (7, 0), (30, 25), (30, 1), (1, 1), (1, 0)):
        x = rng.standard_normal(size).astype("f4")
        (got,) = run_model(report, [x, np.array(n, np.int32)])
        wanted = PROGRAMS[program](x, n)
        assert got.shape == wanted.shape, (size, n)
        np.testing.assert_allclose(got, wanted, atol=1e-6, err_msg=f"{size}, {n}")


def test_a_full_array_needs_no_zeros() -> None:
    def doubled(x: Any) -> Any:
        rows = rows_of(x)
        for i in tf.range(tf.shape(x)[0]):
            rows = rows.write(i, 2.0 * x[i])
        return rows.stack()

    function = tf.function(doubled, input_signature=[VECTOR])
    counts = export(function.get_concrete_function()).op_counts
    assert counts["Loop"] == 1
    assert "Pad" not in counts
