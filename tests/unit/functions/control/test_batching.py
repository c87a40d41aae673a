"""vectorized_map computes all rows at once, with the same results as map_fn row by row."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.functions.control.mapping import map_rows
from pinnace.ops.execute import execute
from pinnace.ops.registry import lookup

if TYPE_CHECKING:
    from collections.abc import Callable

RNG = np.random.default_rng(7)
ROWS = tf.constant(RNG.standard_normal((5, 3, 4)))
MORE = tf.constant(RNG.standard_normal((5, 4, 3)))
LINES = tf.constant(RNG.standard_normal((5, 4)))
NUMBERS = tf.constant(RNG.standard_normal(5))
PLACES = tf.constant([[0, 2], [1, 1], [2, 0], [0, 0], [2, 2]])
WEIGHTS = tf.constant(RNG.standard_normal((4, 3)))
KERNEL = tf.constant(RNG.standard_normal((2, 2, 1, 3)))
POSITIVE = tf.matmul(ROWS, ROWS, transpose_b=True) + tf.eye(3, dtype=tf.float64) * 5.0

FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "elementwise": (lambda x: tf.sin(x) * x + tf.exp(-x), ROWS),
    "numbers": (lambda x: x * 2.0 - tf.sqrt(tf.abs(x)), NUMBERS),
    "ranks": (lambda p: p[0] * p[1] + p[2], (ROWS, LINES, NUMBERS)),
    "rank_against_constant": (lambda x: x + tf.reduce_sum(WEIGHTS, 1), NUMBERS),
    "constant_of_higher_rank": (lambda x: x * tf.transpose(WEIGHTS), LINES),
    "sum": (lambda x: (tf.reduce_sum(x), tf.reduce_mean(x, 0), tf.reduce_max(x, -1)), ROWS),
    "kept": (lambda x: x - tf.reduce_mean(x, axis=[0, 1], keepdims=True), ROWS),
    "largest": (lambda x: (tf.argmax(x, 0), tf.argmin(x, -1)), ROWS),
    "product": (lambda p: tf.matmul(p[0], p[1]), (ROWS, MORE)),
    "transposed_product": (lambda x: tf.matmul(x, WEIGHTS, transpose_a=True), MORE[:, :, :3]),
    "product_with_constant": (lambda x: tf.matmul(x, WEIGHTS), ROWS),
    "constant_with_product": (lambda x: tf.matmul(WEIGHTS, x), ROWS),
    "reshape": (lambda x: tf.reshape(x, [2, -1]), ROWS),
    "axes_from_the_end": (lambda x: execute(lookup("Transpose"), x, tf.constant([-1, 0])), ROWS),
    "axes": (lambda x: tf.squeeze(tf.expand_dims(tf.expand_dims(x, 0), -1), [0]), ROWS),
    "squeeze_all": (lambda x: tf.squeeze(tf.expand_dims(x, 1)), LINES),
    "transpose": (lambda x: tf.transpose(x), ROWS),
    "concat": (
        lambda p: tf.concat([p[0], [p[1]], WEIGHTS[:1, 0:1] * 0.0 + [[1, 2, 3, 4.0]]], 0),
        (ROWS, LINES),
    ),
    "concat_last": (lambda x: tf.concat([x, x * 2.0], -1), ROWS),
    "stack": (lambda x: (tf.stack([x, x + 1.0]), tf.stack([x, tf.zeros_like(x)], -1)), LINES),
    "unstack": (lambda x: tf.unstack(x) + tf.unstack(x, axis=-1), ROWS),
    "slices": (lambda x: (x[1], x[:, 1:3], x[..., -1], x[0, ::2], x[None, 1:]), ROWS),
    "gather_constant": (lambda x: tf.gather(x, [2, 0], axis=1), ROWS),
    "gather_from_constant": (lambda i: tf.gather(WEIGHTS, i), PLACES),
    "gather_columns_from_constant": (lambda i: tf.gather(WEIGHTS, i, axis=1), PLACES),
    "gather_both": (lambda p: tf.gather(p[0], p[1]), (ROWS, PLACES)),
    "gather_both_columns": (lambda p: tf.gather(p[0], p[1], axis=-1), (ROWS, PLACES)),
    "softmax": (lambda x: (tf.nn.softmax(x), tf.nn.log_softmax(x)), ROWS),
    "where": (lambda p: tf.where(p[0] > p[1], p[0], 0.0), (ROWS, NUMBERS)),
    "cumsum": (lambda x: (tf.cumsum(x), tf.cumsum(x, -1)), ROWS),
    "tile": (lambda x: tf.tile(x, [2, 3]), ROWS),
    "pad": (lambda x: tf.pad(x, [[1, 0], [0, 2]]), ROWS),
    "shape": (
        lambda x: x / tf.cast(tf.size(x), tf.float64) + tf.cast(tf.shape(x)[1], tf.float64),
        ROWS,
    ),
    "factors": (lambda x: (tf.linalg.cholesky(x), tf.linalg.inv(x), tf.linalg.det(x)), POSITIVE),
    "solve": (lambda p: tf.linalg.solve(p[0], p[1]), (POSITIVE, ROWS)),
    "constant_result": (lambda x: (x, tf.constant([1, 2])), NUMBERS),
    "traced": (tf.function(lambda x: tf.tanh(x) @ WEIGHTS), ROWS),
    "einsum": (lambda p: tf.einsum("ij,jk->ki", p[0], p[1]), (ROWS, MORE)),
    "einsum_with_constant": (lambda x: tf.einsum("...j,jk->...k", x, WEIGHTS), ROWS),
    "dense": (lambda x: tf.nn.bias_add(x @ WEIGHTS, tf.reduce_sum(WEIGHTS, 0)), ROWS),
    "convolution": (
        lambda x: tf.nn.max_pool2d(
            tf.nn.conv2d(x[None, :, :, None], KERNEL, strides=1, padding="SAME"), 2, 1, "VALID"
        ),
        ROWS,
    ),
    "comparison": (lambda p: p[0] == p[1], (PLACES, PLACES[::-1])),
    "norm": (lambda x: tf.nn.relu(x) / tf.norm(x), ROWS),
}


def _compare(found: Any, wanted: Any) -> None:
    tf.nest.assert_same_structure(found, wanted)
    for a, b in zip(tf.nest.flatten(found), tf.nest.flatten(wanted), strict=True):
        assert a.dtype is b.dtype
        # Sums of a dozen numbers in another order.
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_rows_at_once_are_the_rows_one_by_one(name: str, traced: bool) -> None:
    function, elems = FUNCTIONS[name]

    def at_once(rows: Any) -> Any:
        return tf.vectorized_map(function, rows, fallback_to_while_loop=False)

    _compare((tf.function(at_once) if traced else at_once)(elems), map_rows(function, elems))


@pytest.mark.parametrize("name", ["ranks", "product", "slices", "gather_both", "softmax", "solve"])
def test_gradients_flow_through(name: str) -> None:
    function, elems = FUNCTIONS[name]
    floats = [x for x in tf.nest.flatten(elems) if x.dtype.is_floating]

    def gradients(mapped: Callable[..., Any]) -> list[Any]:
        with tf.GradientTape() as tape:
            tape.watch(floats)
            results = tf.nest.flatten(mapped(function, elems))
            target = sum((tf.reduce_sum(y**2) for y in results), start=0.0)
        return [tf.convert_to_tensor(g) for g in tape.gradient(target, floats)]

    for a, b in zip(gradients(tf.vectorized_map), gradients(map_rows), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-10, atol=1e-10)


def test_variables_are_read_once_and_have_gradients() -> None:
    weights = tf.Variable(WEIGHTS)
    with tf.GradientTape() as tape:
        target = tf.reduce_sum(
            tf.vectorized_map(lambda x: x @ weights, ROWS, fallback_to_while_loop=False)
        )
    (found,) = tape.gradient(target, [weights])
    np.testing.assert_allclose(found.numpy(), np.tile(ROWS.numpy().sum((0, 1))[:, None], (1, 3)))


def test_a_first_axis_of_one_is_the_same_in_all_rows() -> None:
    found = tf.vectorized_map(
        lambda p: p[0] + p[1], (LINES, tf.constant([[1.0, 2, 3, 4]], tf.float64))
    )
    np.testing.assert_array_equal(found.numpy(), LINES.numpy() + np.arange(1, 5))


def test_what_has_effects_goes_row_by_row(caplog: pytest.LogCaptureFixture) -> None:
    drawn = tf.vectorized_map(lambda x: x + tf.random.uniform([], dtype=tf.float64), NUMBERS)
    assert len(set(drawn.numpy() - NUMBERS.numpy())) == 5
    assert "row by row: RandomUniform has effects" in caplog.text


def test_branches_go_row_by_row_also_where_sizes_differ(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    one = tf.constant([10.0], tf.float64)
    found = tf.vectorized_map(
        lambda p: tf.cond(p[0] > 0, lambda: p[0], lambda: p[1]), (NUMBERS, one)
    )
    np.testing.assert_array_equal(found.numpy(), np.where(NUMBERS > 0, NUMBERS, 10.0))


def test_without_fallback_the_op_is_named() -> None:
    with pytest.raises(ValueError, match="vectorized_map: ReverseV2 has no rule"):
        tf.vectorized_map(lambda x: tf.reverse(x, [0]), ROWS, fallback_to_while_loop=False)
    with pytest.raises(ValueError, match="all elems must have one first axis, got"):
        tf.vectorized_map(lambda p: p[0] + p[1], (NUMBERS, NUMBERS[:3]))
