"""Tensors that a function captures: arguments of its graph, constants of the plan that runs it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf

_RANDOM = np.random.default_rng(5)
WIDE = _RANDOM.normal(size=(24, 48)).astype(np.float32)
NARROW = _RANDOM.normal(size=(48, 8)).astype(np.float32)
X = _RANDOM.normal(size=(40, 24)).astype(np.float32)
WANTED = np.maximum(X.astype(float) @ WIDE, 0) @ NARROW


def layers(*, variable: bool = False) -> Any:
    w, v = tf.constant(WIDE), (tf.Variable if variable else tf.constant)(NARROW)
    return tf.function(lambda x: tf.matmul(tf.nn.relu(tf.matmul(x, w)), v))


@pytest.mark.parametrize("variable", [False, True])
def test_no_step_reads_a_captured_tensor(*, variable: bool) -> None:
    function = layers(variable=variable)
    for _ in range(3):
        np.testing.assert_allclose(function(tf.constant(X)), WANTED, rtol=1e-5, atol=1e-5)
    concrete = function.get_concrete_function(tf.constant(X))
    assert len(concrete.captured_inputs) == len(concrete.inputs) - 1 == 2
    plan = concrete.plan
    read = {value for step in plan.steps for value in step.node.inputs}
    assert [value in read for value in plan.graph.inputs] == [True, False, variable]


def test_gradients_reach_captured_tensors() -> None:
    w = tf.constant([[2.0], [3.0]])
    function = tf.function(lambda x: tf.reduce_sum(tf.matmul(x, w) ** 2))
    x = tf.constant([[1.0, 2.0]])
    assert function(x) == 64
    with tf.GradientTape() as tape:
        tape.watch([x, w])
        y = function(x)
    dx, dw = tape.gradient(y, [x, w])
    np.testing.assert_allclose(dx, [[32, 48]])
    np.testing.assert_allclose(dw, [[16], [32]])


def test_variables_behind_captured_tensors_are_still_read() -> None:
    scale, shift = tf.Variable(1.0), tf.constant(WIDE)
    function = tf.function(lambda x: tf.matmul(x, shift) * scale)
    first = function(tf.constant(X)).numpy()
    for number in (2.0, 3.0, 4.0):
        scale.assign(number)
        np.testing.assert_allclose(function(tf.constant(X)), first * number, rtol=1e-5)


def test_loops_and_conditions_take_them() -> None:
    step = tf.constant(_RANDOM.normal(size=(24, 24)).astype(np.float32) / 5)
    texts = tf.constant([b"even", b"odd"])

    @tf.function
    def run(x: Any, n: Any) -> Any:
        for _ in tf.range(n):
            x = tf.tanh(tf.matmul(x, step))
        return x, tf.cond(n % 2 == 0, lambda: texts[0], lambda: texts[1])

    for n in (0, 3, 4):
        wanted = X.astype(float)
        for _ in range(n):
            wanted = np.tanh(wanted @ step.numpy())
        found, text = run(tf.constant(X), tf.constant(n))
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
        assert text == (b"odd" if n % 2 else b"even")


def test_an_op_that_fails_on_them_fails_in_each_call() -> None:
    table = tf.constant(NARROW)
    function = tf.function(lambda n: tf.gather(table, n))
    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError, match="70"):
            function(tf.constant(70))
    np.testing.assert_allclose(function(tf.constant(1)), NARROW[1])


def test_a_dataset_and_a_saved_model_take_them(tmp_path: Path) -> None:
    module = tf.Module()
    module.run = layers()
    module.run(tf.constant(X))
    rows = tf.data.Dataset.from_tensor_slices(X).batch(20).map(layers())
    np.testing.assert_allclose(np.concatenate([*rows]), WANTED, rtol=1e-5, atol=1e-5)
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    for _ in range(3):
        np.testing.assert_allclose(loaded.run(tf.constant(X)), WANTED, rtol=1e-5, atol=1e-5)
