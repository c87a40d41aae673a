"""A graph's digest depends on the computation only."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.graph.fingerprint import fingerprint_of

if TYPE_CHECKING:
    from collections.abc import Callable

SPEC = tf.TensorSpec([None, 4], tf.float32)


def fingerprint(program: Callable[..., Any], *specs: Any) -> str | None:
    graph = tf.function(program).get_concrete_function(*(specs or (SPEC,))).graph
    found = fingerprint_of(graph)
    assert found == fingerprint_of(graph)
    return found


def chain(ops: list[str], scale: float) -> Callable[..., Any]:
    def program(x: Any) -> Any:
        for name in ops:
            x = getattr(tf, name)(x) * scale
        return x

    return program


OPS = st.lists(st.sampled_from(["tanh", "exp", "sigmoid", "square", "negative"]), max_size=5)


@given(first=OPS, second=OPS, scales=st.tuples(*[st.sampled_from([0.5, 2.0])] * 2))
def test_it_is_the_same_where_the_programs_are(
    first: list[str], second: list[str], scales: tuple[float, float]
) -> None:
    same = first == second and (not first or scales[0] == scales[1])
    one, other = fingerprint(chain(first, scales[0])), fingerprint(chain(second, scales[1]))
    assert one is not None
    assert (one == other) is same


def test_names_say_nothing() -> None:
    def named(x: Any) -> Any:
        return tf.tanh(x, name="one") + tf.exp(x, name="two")

    def other(y: Any) -> Any:
        return tf.tanh(y, name="first") + tf.exp(y)

    assert fingerprint(named) == fingerprint(other)


DIFFERENT: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "order": (lambda x: tf.tanh(x) - tf.exp(x), lambda x: tf.exp(x) - tf.tanh(x)),
    "attribute": (lambda x: tf.transpose(x) @ x, lambda x: tf.matmul(x, x, transpose_a=True)),
    "constant": (lambda x: tf.reshape(x, [2, -1]), lambda x: tf.reshape(x, [4, -1])),
    "float": (lambda x: x * 0.1, lambda x: x * float(np.nextafter(np.float32(0.1), 1))),
    "strings": (
        lambda x: tf.where(tf.constant(["a"]) == "b", x, -x),
        lambda x: tf.where(tf.constant(["b"]) == "b", x, -x),
    ),
    "outputs": (lambda x: (tf.exp(x), x), lambda x: (x, tf.exp(x))),
    "body": (
        lambda x: tf.while_loop(lambda a: tf.reduce_sum(a) < 9.0, lambda a: a + 1.0, [x]),
        lambda x: tf.while_loop(lambda a: tf.reduce_sum(a) < 9.0, lambda a: a + 2.0, [x]),
    ),
}


@pytest.mark.parametrize("kind", DIFFERENT)
def test_what_computes_something_else_differs(kind: str) -> None:
    one, other = DIFFERENT[kind]
    assert fingerprint(one) == fingerprint(one)
    assert fingerprint(one) != fingerprint(other)


def test_argument_types_count() -> None:
    shapes = [SPEC, tf.TensorSpec([2, 4], tf.float32), tf.TensorSpec([None, 4], tf.float64)]
    assert len({fingerprint(lambda x: x + x, spec) for spec in shapes}) == 3


def test_numbers_of_large_constants_are_weights_and_do_not_count() -> None:
    one, other = (np.full([600, 600], number, np.float32) for number in (1, 2))
    spec = tf.TensorSpec([None, 600], tf.float32)

    def times(weights: Any) -> str | None:
        return fingerprint(lambda x: x @ tf.constant(weights), spec)

    whole = [times(weights) for weights in (one, other, one[:, :500])]
    assert whole[0] == whole[1] != whole[2]
    small = [times(weights) for weights in (one[:, :9], other[:, :9])]
    assert small[0] != small[1]


def test_a_function_of_python_has_no_digest() -> None:
    class Odd:
        """A class that cannot be stored as an attribute in a file."""

    graph = tf.function(tf.exp).get_concrete_function(SPEC).graph
    graph.nodes[-1].attrs["odd"] = Odd()
    assert fingerprint_of(graph) is None


PROGRAM = """
import pinnace as tf
from pinnace.graph.fingerprint import fingerprint_of

model = tf.keras.Sequential([tf.keras.layers.Dense(4, "tanh"), tf.keras.layers.LSTM(3)])
f = tf.function(model).get_concrete_function(tf.TensorSpec([None, 5, 2]))
print(fingerprint_of(f.graph))
"""


def test_every_process_finds_the_same() -> None:
    found = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            check=True,
            capture_output=True,
            text=True,
            env={"PYTHONHASHSEED": str(seed), "PINNACE_CACHE": ""},
        ).stdout
        for seed in range(2)
    }
    assert len(found) == 1
    assert len(found.pop().strip()) == 64
