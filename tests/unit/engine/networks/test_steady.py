"""What a plan may assign to: weights are kept where nothing that it runs assigns to a variable."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine.build import plan_of
from pinnace.engine.networks.steady import keep_weights

STATE = tf.Variable(np.ones(3, np.float32))


def _plan_of(body: Any, kind: str) -> Any:
    """A function that runs `body`, which takes and gives three numbers, by an op with effects."""

    @tf.function(input_signature=[tf.TensorSpec([3], tf.float32)])
    def inner(x: Any) -> Any:
        return body(x)

    @tf.function(input_signature=[tf.TensorSpec([3], tf.float32)])
    def outer(x: Any) -> Any:
        if kind == "loop":
            return tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, inner(y)), (0, x))[1]
        return tf.cond(tf.reduce_sum(x) > 0, lambda: inner(x), lambda: x)

    return plan_of(outer.get_concrete_function().graph)


@pytest.mark.parametrize("kind", ["loop", "branch"])
def test_functions_that_only_read_keep_weights(kind: str) -> None:
    plan = _plan_of(lambda x: x * STATE, kind)
    assert any(step.node.op.effect == "write" for step in plan.steps)
    assert keep_weights(plan.steps)


@pytest.mark.parametrize("kind", ["loop", "branch"])
def test_functions_that_assign_do_not(kind: str) -> None:
    plan = _plan_of(lambda x: STATE.assign(x * 2.0) + 0.0, kind)
    assert not keep_weights(plan.steps)


@pytest.mark.parametrize("kind", ["loop", "branch"])
def test_functions_that_call_python_do_not(kind: str) -> None:
    def body(x: Any) -> Any:
        made = tf.py_function(lambda y: y + 1.0, [x], tf.float32)
        return tf.ensure_shape(made, [3])

    assert not keep_weights(_plan_of(body, kind).steps)
