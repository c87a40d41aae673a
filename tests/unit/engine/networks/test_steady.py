"""Variables that a plan may assign to, itself or in functions: all others are constant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine.networks.region import Network
from pinnace.engine.networks.steady import find_assigned

STATE = tf.Variable(np.ones(3, np.float32))


def _plan_of(body: Any, kind: str) -> Any:
    """A function that runs `body`, from and to three numbers, by an op with side effects."""

    @tf.function(input_signature=[tf.TensorSpec([3], tf.float32)])
    def inner(x: Any) -> Any:
        return body(x)

    @tf.function(input_signature=[tf.TensorSpec([3], tf.float32)])
    def outer(x: Any) -> Any:
        if kind == "loop":
            return tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, inner(y)), (0, x))[1]
        return tf.cond(tf.reduce_sum(x) > 0, lambda: inner(x), lambda: x)

    return outer.get_concrete_function().plan


@pytest.mark.parametrize("kind", ["loop", "branch"])
def test_functions_that_only_read_keep_weights(kind: str) -> None:
    plan = _plan_of(lambda x: x * STATE, kind)
    assert any(step.node.op.effect == "write" for step in plan.steps)
    assert find_assigned(plan.steps) == set()


@pytest.mark.parametrize("kind", ["loop", "branch"])
def test_functions_that_assign_do_not(kind: str) -> None:
    plan = _plan_of(lambda x: STATE.assign(x * 2.0) + 0.0, kind)
    assert find_assigned(plan.steps) == set(plan.graph.inputs[1:])  # of STATE


@pytest.mark.parametrize("kind", ["loop", "branch"])
def test_functions_that_call_python_do_not(kind: str) -> None:
    def body(x: Any) -> Any:
        made = tf.py_function(lambda y: y + 1.0, [x], tf.float32)
        return tf.ensure_shape(made, [3])

    assert find_assigned(_plan_of(body, kind).steps) is None


def test_only_what_is_assigned_to_is_left_out() -> None:
    other = tf.Variable(np.ones(3, np.float32))

    @tf.function(input_signature=[tf.TensorSpec([3], tf.float32)])
    def step(x: Any) -> Any:
        other.assign_sub(x * STATE)
        return other + 1.0

    plan = step.get_concrete_function().plan
    (changed,) = find_assigned(plan.steps) or ()
    handles = dict(
        zip(plan.graph.inputs[1:], step.get_concrete_function().captured_inputs, strict=True)
    )
    assert handles[changed] is other.handle


LAYERS = tf.keras.layers


def _step(trunk_trains: bool) -> Any:
    """A training step of a head on a convolutional trunk, which is trained or frozen."""
    tf.keras.utils.set_random_seed(4)
    trunk = tf.keras.Sequential(
        [
            tf.keras.Input([20, 20, 3]),
            *[LAYERS.Conv2D(16, 3, activation="relu", padding="same") for _ in range(3)],
            LAYERS.BatchNormalization(),
            LAYERS.GlobalAveragePooling2D(),
        ]
    )
    trunk.trainable = trunk_trains
    model = tf.keras.Sequential([trunk, LAYERS.Dense(8, activation="relu"), LAYERS.Dense(2)])
    optimizer = tf.keras.optimizers.SGD(0.05)

    @tf.function
    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    return step


@pytest.mark.parametrize("trains", [False, True])
def test_a_frozen_trunk_is_a_network_of_the_training_step(trains: bool) -> None:
    random = np.random.default_rng(2)
    x = tf.constant(random.normal(size=(16, 20, 20, 3)).astype(np.float32))
    y = tf.constant(random.normal(size=(16, 2)).astype(np.float32))
    before, losses = tf.config.get_tier(), {}
    try:
        for tier in ("plan", "compiled"):
            tf.config.set_tier(tier)
            step = _step(trains)
            losses[tier] = [float(step(x, y)) for _ in range(6)]
    finally:
        tf.config.set_tier(before)
    np.testing.assert_allclose(losses["compiled"], losses["plan"], rtol=2e-4)
    assert losses["plan"][-1] < losses["plan"][0]
    tiers = step.get_concrete_function(x, y).plan.tiers
    networks = [
        region
        for prepared in tiers._tiers["compiled"].prepared.values()
        if prepared is not None
        for region in prepared.layout.regions.values()
        if isinstance(region, Network)
    ]
    assert bool(networks) != trains
