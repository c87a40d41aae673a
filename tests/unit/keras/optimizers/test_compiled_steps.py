"""An optimizer's step as machine code gives the plan's results over many steps, in one pass.

A step has a dozen float32 roundings (6e-8 each), in another order in machine code: after six steps
a number may have an error of 3e-6 relative to itself or, if terms cancel, to the largest in its
array.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import pinnace as tf
from pinnace.framework import config

OPTIMIZERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "adam": (tf.keras.optimizers.Adam, {}),
    "amsgrad": (tf.keras.optimizers.Adam, {"amsgrad": True}),
    "adamw": (tf.keras.optimizers.AdamW, {}),
    "adamax": (tf.keras.optimizers.Adamax, {}),
    "nadam": (tf.keras.optimizers.Nadam, {}),
    "adagrad": (tf.keras.optimizers.Adagrad, {}),
    "adadelta": (tf.keras.optimizers.Adadelta, {}),
    "rmsprop": (tf.keras.optimizers.RMSprop, {}),
    "centered": (tf.keras.optimizers.RMSprop, {"centered": True, "momentum": 0.9, "rho": 0.5}),
    "sgd": (tf.keras.optimizers.SGD, {}),
    "momentum": (tf.keras.optimizers.SGD, {"momentum": 0.9}),
    "nesterov": (tf.keras.optimizers.SGD, {"momentum": 0.9, "nesterov": True}),
    "ftrl": (tf.keras.optimizers.Ftrl, {"l1_regularization_strength": 0.01}),
    "lion": (tf.keras.optimizers.Lion, {}),
    "lamb": (tf.keras.optimizers.Lamb, {}),
    "adafactor": (tf.keras.optimizers.Adafactor, {}),
    "clipped": (tf.keras.optimizers.Adam, {"global_clipnorm": 1.0}),
    "averaged": (tf.keras.optimizers.RMSprop, {"use_ema": True}),
}
# One pass over each variable, except for Lion, whose two results are independent. Sums over a whole
# array (Lamb, Adafactor) are separate passes.
PASSES = {"adamax": 1, "nadam": 1, "adagrad": 1, "adadelta": 1, "rmsprop": 1, "amsgrad": 1}
PASSES |= {"centered": 1, "lion": 2, "ftrl": 1}
STEPS = 6


def _trained(name: str, tier: Any, shapes: list[tuple[int, ...]], seed: int) -> list[np.ndarray]:
    """The variables, including the optimizer's, after some steps in a tier."""
    make, options = OPTIMIZERS[name]
    random = np.random.default_rng(seed)
    variables = [tf.Variable(random.standard_normal(s).astype(np.float32)) for s in shapes]
    optimizer = make(0.01, **options)
    optimizer.build(variables)

    @tf.function
    def step(gradients: list[Any]) -> None:
        optimizer.apply([tf.identity(one) for one in gradients], variables)

    before = config.settings.tier
    tf.config.set_tier(tier)
    try:
        for count in range(STEPS):
            # With zeros, and gradients whose squares are denormal.
            size = np.float32(1e-21 if count == STEPS - 1 else 1)
            step(
                [
                    tf.constant(
                        random.standard_normal(s).astype(np.float32)
                        * random.choice([0, 1], s).astype(np.float32)
                        * size
                    )
                    for s in shapes
                ]
            )
    finally:
        config.settings.tier = before
    return [np.asarray(one) for one in (*variables, *optimizer.variables)]


def _compare(name: str, shapes: list[tuple[int, ...]], seed: int) -> None:
    wanted = _trained(name, "plan", shapes, seed)
    found = _trained(name, "compiled", shapes, seed)
    for number, (one, other) in enumerate(zip(wanted, found, strict=True)):
        assert one.dtype == other.dtype, number
        most = np.max(np.abs(one), initial=0).astype(np.float64)
        np.testing.assert_allclose(other, one, rtol=3e-6, atol=3e-6 * most, err_msg=str(number))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_are_the_plans(name: str) -> None:
    @settings(max_examples=3, deadline=None)
    @given(
        st.lists(
            st.lists(st.integers(1, 40), min_size=0, max_size=3).map(tuple), min_size=1, max_size=2
        ),
        st.integers(0, 99),
    )
    @example([(70, 33), (1025,)], 1)
    def compare(shapes: list[tuple[int, ...]], seed: int) -> None:
        _compare(name, shapes, seed)

    compare()


def test_a_large_variable_is_shared_among_threads() -> None:
    for name in ("adam", "nesterov", "sgd"):
        _compare(name, [(513, 700)], 3)


@pytest.mark.parametrize("name", PASSES)
def test_a_step_is_one_pass_over_a_variable(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, options = OPTIMIZERS[name]
    variable = tf.Variable(tf.ones([128, 256]))
    optimizer = make(0.01, **options)
    optimizer.build([variable])
    step = tf.function(lambda gradient: optimizer.apply([gradient], [variable]))
    gradient = tf.ones([128, 256])
    monkeypatch.setattr(config.settings, "tier", "compiled")
    step(gradient)
    plan = step.get_concrete_function(gradient).plan
    (prepared,) = plan.tiers._tier.prepared.values()
    assert prepared is not None
    regions = {
        name: one
        for name, one in prepared.layout.function.__globals__.items()
        if name[0] == "f" and name[1:].isdigit()
    }
    assert len(regions) == PASSES[name]


def test_values_that_were_read_before_a_step_stay_as_they_were() -> None:
    variable = tf.Variable(tf.ones([300, 300]))
    optimizer = tf.keras.optimizers.Adam(0.1)
    optimizer.build([variable])
    step = tf.function(lambda gradient: optimizer.apply([gradient], [variable]))
    before = config.settings.tier
    config.settings.tier = "compiled"
    try:
        read, copies = [], []
        for _ in range(8):
            step(tf.fill([300, 300], 0.5))
            read.append(variable.read_value())
            copies.append(np.array(read[-1]))
        for one, copy in zip(read, copies, strict=True):
            np.testing.assert_array_equal(one, copy)
    finally:
        config.settings.tier = before
