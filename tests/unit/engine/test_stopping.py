"""A run stops soon after a request, in machine code as in plans."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework import config
from pinnace.framework.context import state
from pinnace.framework.errors import DeadlineExceededError
from pinnace.ops.running import Stop

if TYPE_CHECKING:
    from collections.abc import Callable


def endless_numbers(x: Any) -> Any:
    return tf.while_loop(lambda a: a < 1e30, lambda a: (tf.sin(a) + 1.0,), [x])[0]


def endless_arrays(x: Any) -> Any:
    x = tf.fill([64, 128], x)
    w = tf.eye(128) * 0.5
    return tf.while_loop(
        lambda a: tf.reduce_sum(a) < 1e30, lambda a: (tf.tanh(tf.matmul(a, w) + a),), [x]
    )[0]


def endless_lists(x: Any) -> Any:
    made = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[])
    return tf.while_loop(
        lambda i, *_: i >= 0,
        lambda i, a, made: (tf.minimum(i + 1, 1000), tf.sin(a), made.write(i, a)),
        [0, x, made],
    )[1]


def endless_turns(x: Any) -> Any:
    x = tf.fill([64, 512], x)
    return tf.while_loop(
        lambda a: a[0, 0] < 1e30,
        lambda a: (tf.tanh(a * 0.5) + tf.cumsum(a, 0, exclusive=True) * 1e-3,),
        [x],
    )[0]


@pytest.mark.parametrize("tier", ["auto", "plan", "compiled"])
@pytest.mark.parametrize("program", [endless_numbers, endless_arrays, endless_lists, endless_turns])
def test_a_loop_without_end_ends(
    program: Callable[[Any], Any], tier: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config.settings, "tier", tier)
    function = tf.function(program)
    x = tf.constant(np.float32(0.25))
    function.get_concrete_function(x)
    told: list[float] = []
    stop = Stop()

    def end() -> None:
        told.append(time.perf_counter())
        stop.end(DeadlineExceededError("too late"))

    timer = threading.Timer(0.15, end)
    state.stop = stop
    timer.start()
    try:
        with pytest.raises(DeadlineExceededError, match="too late"):
            function(x)
        ended = time.perf_counter()
    finally:
        state.stop = None
        timer.cancel()
    # The flag is polled every few hundredths of a second, on a busy machine; a kernel that is
    # compiled in the call is awaited.
    assert ended - told[0] < (20 if tier == "compiled" else 2)
