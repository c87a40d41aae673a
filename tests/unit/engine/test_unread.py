"""Loops do not compute unused values, and give all other results as before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine.build import plan_of
from pinnace.framework import config

X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
START = np.float32(1.0)


@pytest.fixture(params=["plan", "compiled"], autouse=True)
def _tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", request.param)


def kept(function: Any) -> int:
    """The number of variables of the loop in a function's plan."""
    plan = function.get_concrete_function().plan
    (node,) = [step.node for step in plan.steps if step.node.op.runs == "loop"]
    body, cond = (plan_of(node.attrs[name].graph) for name in ("body", "cond"))
    assert len(node.inputs) == len(node.outputs) == len(body.graph.inputs)
    assert len(body.graph.inputs) == len(body.graph.outputs) == len(cond.graph.inputs)
    return len(node.inputs)


def scan(which: Any) -> Any:
    """A function of x that returns some results of a loop: counter, state, rows, and a sum."""

    @tf.function(input_signature=[tf.TensorSpec([None, 4])])
    def function(x: Any) -> Any:
        rows = tf.raw_ops.TensorListReserve(
            element_shape=tf.constant([-1, 4]), num_elements=5, element_dtype=tf.float32
        )

        def body(i: Any, h: Any, rows: Any, total: Any) -> Any:
            h = tf.tanh(h * 0.5 + x)
            rows = tf.raw_ops.TensorListSetItem(input_handle=rows, index=i, item=h)
            return i + 1, h, rows, total + tf.reduce_sum(h)

        found = tf.while_loop(lambda i, *_: i < 5, body, (tf.constant(0), x, rows, START))
        stacked = tf.raw_ops.TensorListStack(
            input_handle=found[2], element_shape=tf.constant([-1, 4]), element_dtype=tf.float32
        )
        return which(found[0], found[1], stacked, found[3])

    return function


def reference() -> tuple[Any, Any, Any, Any]:
    h, rows = X, []
    for _ in range(5):
        h = np.tanh(h * 0.5 + X)
        rows.append(h)
    return 5, h, np.stack(rows), START + sum(one.sum() for one in rows)


# The returned results -> the number of variables, including x, which the loop captures.
TAKEN: dict[str, tuple[Any, int]] = {
    "all": (lambda i, h, rows, total: (i, h, rows, total), 5),
    "state": (lambda _i, h, _rows, _total: (h,), 3),
    "rows": (lambda _i, _h, rows, _total: (rows,), 4),
    "sum": (lambda _i, _h, _rows, total: (total,), 4),
    "counter": (lambda i, _h, _rows, _total: (i,), 1),
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_taken_is_what_it_was(name: str) -> None:
    which, count = TAKEN[name]
    function = scan(which)
    for _ in range(3):
        for found, wanted in zip(function(X), which(*reference()), strict=True):
            np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5)
    assert kept(function) == count


def test_what_the_condition_reads_stays() -> None:
    @tf.function(input_signature=[])
    def function() -> Any:
        def body(i: Any, size: Any, total: Any) -> Any:
            return i + 1, size * 2.0, total + float(1)

        return tf.while_loop(
            lambda _, size, __: size < 100.0, body, (tf.constant(0), tf.constant(1.0), START)
        )[0]

    assert function().numpy() == 7
    assert kept(function) == 2


def test_effects_and_what_they_need_stay() -> None:
    counted = tf.Variable(0.0)

    @tf.function(input_signature=[])
    def function() -> Any:
        def body(i: Any, size: Any, unread: Any) -> Any:
            counted.assign_add(size)
            return i + 1, size * 2.0, unread * size

        return tf.while_loop(lambda i, *_: i < 4, body, (tf.constant(0), tf.constant(1.0), START))[
            0
        ]

    assert function().numpy() == 4
    assert counted.numpy() == 15
    # The counter, the size, and the handle.
    assert kept(function) == 3


def test_variables_that_only_need_one_another_go_together() -> None:
    @tf.function(input_signature=[])
    def function() -> Any:
        def body(i: Any, x: Any, y: Any, z: Any) -> Any:
            return i + 1, y, x + 1.0, z + 2.0

        found = tf.while_loop(lambda i, *_: i < 3, body, (tf.constant(0), START, START, START))
        return found[3]

    assert function().numpy() == 7
    assert kept(function) == 2
