"""The weights of a model are freed with it, without a garbage collection."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

RANDOM = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


def network(w: Any, x: Any) -> Any:
    for _ in range(3):
        x = tf.nn.relu(x @ w)
    return x


def steps(w: Any, x: Any) -> Any:
    return tf.math.cumsum(tf.sort(x) @ w, axis=1)


def loop(w: Any, x: Any) -> Any:
    def iteration(i: Any, state: Any) -> Any:
        return i + 1, tf.tanh(state @ w)

    return tf.while_loop(lambda i, _: i < 5, iteration, [0, x])[1]


# A network, one table for the whole plan, steps with a product, and a loop.
MODELS: dict[str, tuple[Callable[..., Any], int, int]] = {
    "network": (network, 512, 32),
    "small plan": (network, 16, 1),
    "steps": (steps, 64, 8),
    "loop": (loop, 32, 8),
}


@pytest.fixture(params=sorted(MODELS))
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, int, int]:
    function, width, rows = MODELS[request.param]
    module = tf.Module()
    module.w = tf.Variable(normal(width, width) / width)
    spec = tf.TensorSpec((None, width), tf.float32)
    serve = tf.function(lambda x: {"y": function(module.w, x)}).get_concrete_function(spec)
    tf.saved_model.save(module, str(tmp_path), signatures={"serving_default": serve})
    return str(tmp_path), width, rows


@pytest.fixture
def uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("calls", [0, 1, 3])
def test_weights_go_with_the_model(saved: tuple[str, int, int], calls: int) -> None:
    path, width, rows = saved
    loaded = tf.saved_model.load(path)
    signature = loaded.signatures["serving_default"]
    for number in range(calls):
        signature(tf.constant(normal(rows + number % 2, width)))
    (variable,) = signature.variables
    held = [weakref.ref(variable)]
    if calls:
        held.append(weakref.ref(signature.plan))
    del loaded, signature, variable
    assert [one() for one in held] == [None] * len(held)
