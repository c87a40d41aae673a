"""Jacobians, custom_gradient and recompute_grad inside functions, py_function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.functions import jacobian as jacobian  # fills the slot of the tape
from pinnace.functions.control.looping import while_loop
from pinnace.functions.custom_gradients import recompute_grad
from pinnace.ops.functional.python_calls import numpy_function, py_function

_W = tf.constant(np.random.default_rng(0).standard_normal((3, 4)))
_X = tf.constant(np.random.default_rng(1).standard_normal((2, 3)))


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "traced"])
def test_jacobian_and_batch_jacobian_are_the_matrices_of_the_textbook(wrap: Any) -> None:
    def both(x: tf.Tensor) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = tf.sin(tf.matmul(x, _W))
        return tape.jacobian(y, x), tape.batch_jacobian(y, x)

    whole, by_row = wrap(both)(_X)
    cosine = np.cos(_X.numpy() @ _W.numpy())
    expected = np.einsum("bj,ij->bji", cosine, _W.numpy())
    np.testing.assert_allclose(by_row.numpy(), expected)
    np.testing.assert_allclose(whole.numpy(), np.einsum("bji,bc->bjci", expected, np.eye(2)))


def test_a_hessian_is_the_jacobian_of_a_gradient() -> None:
    with tf.GradientTape() as outer:
        outer.watch(_X)
        with tf.GradientTape() as inner:
            inner.watch(_X)
            y = tf.reduce_sum(_X * _X * _X)
        dy = inner.gradient(y, _X)
    hessian = outer.jacobian(dy, _X).numpy().reshape(6, 6)
    np.testing.assert_allclose(hessian, np.diag(6 * _X.numpy().ravel()))


def test_jacobian_of_what_does_not_depend_is_none_or_zero() -> None:
    v = tf.Variable([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        y = v * 1.0
    other = tf.constant([1.0])
    assert tape.jacobian(y, [v, other])[1] is None
    assert tape.jacobian(y, other, unconnected_gradients="zero").shape == (2, 1)
    np.testing.assert_array_equal(tape.jacobian(y, v).numpy(), np.eye(2))


@tf.custom_gradient
def _marked(x: Any) -> Any:
    e = tf.exp(x)
    return x * x, lambda dy: dy * 100.0 * e


def _two_derivatives(f: Any, value: float) -> tuple[float, float, float]:
    x = tf.constant(value, tf.float64)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        dy = inner.gradient(y, x)
    return float(y), float(dy), float(outer.gradient(dy, x))


def test_custom_gradients_hold_inside_functions_loops_and_for_tapes_inside() -> None:
    twice = lambda x: _marked(_marked(x))  # noqa: E731 (two forms of one program)
    looped = lambda x: while_loop(  # noqa: E731
        lambda i, _: i < 2, lambda i, y: (i + 1, _marked(y)), (0, x)
    )[1]
    expected = _two_derivatives(twice, 0.3)
    for program in (tf.function(twice), looped, tf.function(looped)):
        np.testing.assert_allclose(_two_derivatives(program, 0.3), expected)

    @tf.function
    def inside(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = twice(x)
        return tape.gradient(y, x)

    np.testing.assert_allclose(float(inside(tf.constant(0.3, tf.float64))), expected[1])


def test_a_custom_gradient_that_reads_variables_takes_them() -> None:
    v = tf.Variable(3.0)

    @tf.custom_gradient
    def f(x: Any) -> Any:
        def gradient(dy: Any, variables: Any = None) -> Any:
            assert variables[0] is v
            return dy * 10.0, [dy * 20.0]

        return x * v, gradient

    for program in (f, tf.function(f)):
        x = tf.constant(2.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = program(x)
        assert [float(one) for one in tape.gradient(y, [x, v])] == [10.0, 20.0]

    @tf.custom_gradient
    def g(x: Any) -> Any:
        return x * v, lambda dy: dy

    with pytest.raises(TypeError, match="variables=None"):
        g(tf.constant(1.0))


def test_recompute_grad_gives_the_same_gradients() -> None:
    v = tf.Variable(3.0)
    f = recompute_grad(lambda x: tf.sin(x * v))
    x = tf.constant(0.3)
    for program in (f, tf.function(f)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = program(x)
        found = [float(one) for one in tape.gradient(y, [x, v])]
        np.testing.assert_allclose(found, [3 * np.cos(0.9), 0.3 * np.cos(0.9)], rtol=1e-6)


def test_python_functions_run_when_the_graph_runs() -> None:
    seen = []

    def square(x: tf.Tensor) -> tf.Tensor:
        seen.append(float(x))
        return x * x

    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        y = py_function(square, [x], tf.float32)
        return y + numpy_function(np.sin, [x], tf.float32)

    for value in (0.5, 2.0):
        np.testing.assert_allclose(
            float(f(tf.constant(value))), value * value + np.sin(value), rtol=1e-6
        )
    assert seen == [0.5, 2.0]
    g = tf.function(lambda x: py_function(square, [x], tf.float32) * 3.0)
    x = tf.constant(0.5)
    for program in (g, lambda x: py_function(square, [x], tf.float32) * 3.0):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = program(x)
        assert float(tape.gradient(y, x)) == 3.0
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="must give int32, as Tout says, gave float32"
    ):
        py_function(lambda: tf.constant(1.0), [], tf.int32)


def test_slices_leave_python_functions_branches_and_loops_summed() -> None:
    table = tf.Variable(np.ones((4, 2), np.float32))

    @tf.function
    def looped(n: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            total = tf.constant(0.0)
            for i in tf.range(n):
                total += tf.reduce_sum(tf.gather(table, [i, i]) * 2.0)
        return tf.convert_to_tensor(tape.gradient(total, table))

    @tf.function
    def branched(n: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            total = tf.cond(
                n > 1, lambda: tf.reduce_sum(tf.gather(table, [1])), lambda: tf.reduce_sum(table)
            )
        return tf.convert_to_tensor(tape.gradient(total, table))

    assert looped(tf.constant(3)).numpy().tolist() == [[4, 4], [4, 4], [4, 4], [0, 0]]
    assert branched(tf.constant(3)).numpy().tolist() == [[0, 0], [1, 1], [0, 0], [0, 0]]
    assert branched(tf.constant(1)).numpy().tolist() == [[1, 1]] * 4
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.py_function(lambda a: tf.reduce_sum(tf.gather(a, [1, 1]) ** 2), [x], tf.float32)
    assert tape.gradient(y, x).numpy().tolist() == [0, 8, 0]
