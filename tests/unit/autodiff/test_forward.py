"""ForwardAccumulator: against finite differences, against tapes, and its refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pinnace as tf

if TYPE_CHECKING:
    from collections.abc import Callable

FUNCTIONS: dict[str, Callable[[tf.Tensor], tf.Tensor]] = {
    "smooth": lambda x: tf.sin(x) * tf.exp(-x * x),
    "matrices": lambda x: tf.matmul(x, x, transpose_b=True),
    "reduction": lambda x: tf.reduce_logsumexp(x, axis=0) * tf.reduce_sum(x),
    "softmax": tf.nn.softmax,
    "shapes": lambda x: tf.concat([tf.transpose(x)[1:], tf.reshape(x, [3, 2])], 0),
    "gathered": lambda x: tf.gather(x * x, [1, 0, 1]) ** 2,
    "parts": lambda x: tf.add_n(tf.unstack(x, axis=1)) * x[0, 1],
    "condition": lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: x * x, lambda: tf.sin(x)),
    "loop": lambda x: tf.while_loop(
        lambda i, _: i < 3, lambda i, a: (i + 1, tf.tanh(a) * x), (0, x)
    )[1],
    "map": lambda x: tf.map_fn(lambda row: row * tf.reduce_sum(row), x),
}


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000))
@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_the_derivative_along_the_tangent(name: str, traced: bool, seed: int) -> None:
    generator = np.random.default_rng(seed)
    x, t = generator.standard_normal((2, 2, 3))
    function = tf.function(FUNCTIONS[name]) if traced else FUNCTIONS[name]
    primal = tf.constant(x)
    with tf.autodiff.ForwardAccumulator(primal, tf.constant(t)) as forward:
        y = function(primal)
    found = forward.jvp(y)
    assert found.shape == y.shape
    # Central differences: an error of h² times third derivatives of a few hundred at most.
    h = 1e-5
    numeric = (
        FUNCTIONS[name](tf.constant(x + h * t)) - FUNCTIONS[name](tf.constant(x - h * t))
    ) / (2 * h)
    np.testing.assert_allclose(found.numpy(), numeric.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_product_with_a_hessian_is_that_of_two_tapes(name: str) -> None:
    generator = np.random.default_rng(3)
    x, t = (tf.constant(a) for a in generator.standard_normal((2, 2, 3)))

    def slope(tape_around: Callable[[], tf.Tensor]) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tape_around()
        return tf.convert_to_tensor(tape.gradient(y, x))

    def target() -> tf.Tensor:
        return tf.reduce_sum(FUNCTIONS[name](x) ** 2)

    with tf.autodiff.ForwardAccumulator(x, t) as forward:
        gradient = slope(target)
    wanted = slope(lambda: tf.reduce_sum(slope(target) * t))
    np.testing.assert_allclose(forward.jvp(gradient).numpy(), wanted.numpy(), rtol=1e-9, atol=1e-9)


def test_a_model_with_variables_is_moved_by_its_weights() -> None:
    weights = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    step = tf.constant([[0.5, 0.0], [0.0, -1.0]])
    x = tf.constant([[1.0, -1.0]])

    @tf.function
    def model(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.matmul(x, weights) ** 2)

    with tf.autodiff.ForwardAccumulator(weights, step) as forward:
        y = model(x)
    # d|xW|² along S is 2 xW·xS: xW = (-2, -2), xS = (0.5, 1).
    assert float(forward.jvp(y)) == pytest.approx(-6.0)


def test_what_does_not_depend_on_the_primals_has_no_derivative() -> None:
    x = tf.constant([1.0, 2.0])
    with tf.autodiff.ForwardAccumulator(x, x) as forward:
        y = {"a": tf.constant([3.0]), "b": x}
    assert forward.jvp(y)["a"] is None
    zero = forward.jvp(y, unconnected_gradients=tf.UnconnectedGradients.ZERO)["a"]
    assert zero.numpy().tolist() == [0.0]
    with pytest.raises(ValueError, match="must be 'none' or 'zero', got 'some'"):
        forward.jvp(y, unconnected_gradients="some")


def test_what_happens_outside_the_block_is_not_seen() -> None:
    x = tf.constant(2.0)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as forward:
        y = x * x
    assert forward.jvp(y * 1.0) is None


def test_bad_primals_are_refused() -> None:
    x = tf.constant([1.0])
    with pytest.raises(ValueError, match="given twice among the primals"):
        tf.autodiff.ForwardAccumulator([x, x], [x, x])
    with pytest.raises(ValueError, match=r"the primal's shape \[1\], got \[2\]"):
        tf.autodiff.ForwardAccumulator(x, tf.constant([1.0, 2.0]))
    with pytest.raises(TypeError, match="primals must be tensors or variables, got float"):
        tf.autodiff.ForwardAccumulator(1.0, tf.constant(1.0))
    with pytest.raises((ValueError, TypeError), match="structures differ"):
        tf.autodiff.ForwardAccumulator([x], x)
    forward = tf.autodiff.ForwardAccumulator(x, x)
    with forward, pytest.raises(ValueError, match="recording already"):
        forward.__enter__()
