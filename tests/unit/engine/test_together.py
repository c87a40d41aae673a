"""Optimizer steps combined in one call: the same as one by one, and errors name the step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pinnace as tf

SHAPES = st.lists(st.sampled_from([(), (3,), (40,), (64, 3), (5, 7, 11)]), min_size=1, max_size=6)


def _adam(variables: Any, grad: Any, rate: Any, nesterov: bool) -> None:
    var, m, v = (one.handle for one in variables)
    tf.raw_ops.ResourceApplyAdam(
        var=var,
        m=m,
        v=v,
        beta1_power=np.float32(0.9),
        beta2_power=np.float32(0.99),
        lr=rate,
        beta1=np.float32(0.9),
        beta2=np.float32(0.99),
        epsilon=np.float32(1e-7),
        grad=grad,
        use_nesterov=nesterov,
    )


def _variables(shapes: list[tuple[int, ...]], seed: int) -> list[list[tf.Variable]]:
    random = np.random.default_rng(seed)
    return [
        [tf.Variable(np.abs(random.standard_normal(shape)).astype(np.float32)) for _ in range(3)]
        for shape in shapes
    ]


@pytest.mark.parametrize("tier", ["plan", "compiled"])
def test_steps_together_are_those_one_by_one(tier: Any) -> None:
    @settings(deadline=None)
    @given(
        SHAPES,
        st.lists(st.booleans(), min_size=6, max_size=6),
        st.lists(st.integers(0, 1), min_size=6, max_size=6),
        st.integers(0, 2**31),
    )
    def check(
        shapes: list[tuple[int, ...]], nesterov: list[bool], rates: list[int], seed: int
    ) -> None:
        random = np.random.default_rng(seed)
        grads = [random.standard_normal(shape).astype(np.float32) for shape in shapes]
        joined, alone = _variables(shapes, seed), _variables(shapes, seed)
        steps = list(zip(joined, nesterov, rates, strict=False))

        @tf.function
        def step(first: Any, second: Any, *grads: Any) -> None:
            for (variables, is_nesterov, rate), grad in zip(steps, grads, strict=True):
                _adam(variables, grad, (first, second)[rate], is_nesterov)

        numbers = np.float32(0.1), np.float32(0.01)
        before = tf.config.get_tier()
        tf.config.set_tier(tier)
        try:
            for _ in range(2):
                step(*(tf.constant(one) for one in (*numbers, *grads)))
                for variables, is_nesterov, rate, grad in zip(
                    alone, nesterov, rates, grads, strict=False
                ):
                    _adam(variables, grad, numbers[rate], is_nesterov)
        finally:
            tf.config.set_tier(before)
        for found, wanted in zip(joined, alone, strict=True):
            for one, other in zip(found, wanted, strict=True):
                np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-6, atol=1e-6)

    check()


@pytest.mark.parametrize("wrong", [0, 1, 2])
def test_an_error_names_the_step_and_those_before_are_done(wrong: int) -> None:
    variables = _variables([(2,)] * 3, 0)
    starts = [trio[0].numpy() for trio in variables]

    @tf.function(input_signature=[tf.TensorSpec(None, tf.float32)] * 3)
    def step(a: Any, b: Any, c: Any) -> None:
        for number, (trio, grad) in enumerate(zip(variables, (a, b, c), strict=True)):
            with tf.name_scope(f"trio{number}"):
                _adam(trio, grad, np.float32(0.1), False)

    grads = [np.ones(5 if number == wrong else 2, np.float32) for number in range(3)]
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"node 'trio{wrong}/"):
        step(*map(tf.constant, grads))
    for number, (trio, start) in enumerate(zip(variables, starts, strict=True)):
        assert (trio[0].numpy() != start).any() == (number < wrong)
