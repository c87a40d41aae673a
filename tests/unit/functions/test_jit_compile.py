"""`function(jit_compile=True)` is accepted: machine code runs from the first call anyway."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf

if TYPE_CHECKING:
    from collections.abc import Callable


def chain(x: Any) -> Any:
    return tf.tanh(x * 2.0 + 1.0) * tf.exp(-x) + tf.sqrt(tf.abs(x))


def scalars(x: Any) -> Any:
    """A loop over scalars."""
    for _ in tf.range(200):
        x = 0.5 * (x + 2.0 / x)
    return x


def arrays(x: Any) -> Any:
    """A loop over arrays, with a product in it."""
    for _ in tf.range(200):
        x = tf.tanh(tf.matmul(x, x) * 0.5)
    return x


def matrix(size: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((size, size)).astype(np.float32)


PROGRAMS: dict[str, tuple[Callable[..., Any], Any]] = {
    "regions": (chain, matrix(512)),
    "small plan": (chain, matrix(4)),
    "loop": (scalars, np.float32(3)),
    "recurrence": (arrays, matrix(4)),
}


@pytest.mark.parametrize("name", ["jit_compile", "experimental_compile"])
@pytest.mark.parametrize("kind", PROGRAMS)
def test_it_changes_nothing(kind: str, name: str) -> None:
    program, given = PROGRAMS[kind]
    x = tf.constant(given)
    option: Any = {name: True}
    plain, function = tf.function(program), tf.function(program, **option)

    def gradient(function: Any) -> np.ndarray:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return tape.gradient(y, x).numpy()

    for _ in range(3):
        np.testing.assert_array_equal(function(x).numpy(), plain(x).numpy())
    np.testing.assert_array_equal(gradient(function), gradient(plain))
    np.testing.assert_array_equal(copy.deepcopy(function)(x).numpy(), plain(x).numpy())


def test_what_has_no_machine_code_runs_as_a_plan() -> None:
    join = tf.function(lambda x: tf.strings.join([x, x]), jit_compile=True)
    assert join(tf.constant("ab")).numpy() == b"abab"


def test_a_method() -> None:
    class Model(tf.Module):
        @tf.function(jit_compile=True)
        def run(self, x: Any) -> Any:
            return chain(x)

    model, x = Model(), tf.constant(matrix(64))
    np.testing.assert_array_equal(model.run(x).numpy(), tf.function(chain)(x).numpy())
