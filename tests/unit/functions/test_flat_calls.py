"""Calls of nested tensors: the fast path finds the same graph as the slow one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.framework import structure
from pinnace.functions import flat_calls

A, B, C = tf.constant([1.0, 2.0]), tf.constant([[3.0]]), tf.constant([4, 5])

NESTS: dict[str, Any] = {
    "tuple": (A, (B, C)),
    "list": [A, [B], C],
    "dict": {"z": A, "a": (B, {"k": C})},
    "empty": (A, (), []),
}


@pytest.mark.parametrize("name", NESTS)
def test_tensors_come_in_the_order_of_leaves(name: str) -> None:
    key: list[object] = []
    tensors: list[Any] = []
    assert flat_calls.gather((NESTS[name],), key, tensors)
    assert [id(one) for one in tensors] == [id(one) for one in structure.flatten(NESTS[name])]


def test_calls_that_differ_have_other_keys() -> None:
    calls = [((A, B),), ([A, B],), (A, B), ({"a": A, "b": B},), ({"a": A, "c": B},), (A, (B,)),
             (B, A), (A, C), ((A,), B), ((A, B), ())]  # fmt: skip
    keys = []
    for call in calls:
        key: list[object] = []
        assert flat_calls.gather(call, key, [])
        keys.append(tuple(key))
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    "value", [1.0, None, tf.constant("text"), tf.Variable(1.0), np.ones(2), {1: A, "b": B}]
)
def test_anything_else_takes_the_long_way(value: Any) -> None:
    assert not flat_calls.gather((A, (value,)), [], [])


@pytest.mark.parametrize("name", [name for name in NESTS if name != "empty"])
def test_results_come_back_in_their_structure(name: str) -> None:
    function = tf.function(lambda x: tf.nest.map_structure(lambda one: one + one, x))
    for _ in range(3):
        found = function(NESTS[name])
        structure.assert_same_structure(found, NESTS[name])
        if isinstance(found, dict):
            assert list(found) == list(NESTS[name])
        for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(NESTS[name]), strict=True):
            np.testing.assert_array_equal(one, other + other)
    assert function.experimental_get_tracing_count() == 1


def test_nestings_have_graphs_of_their_own() -> None:
    traced: list[str] = []

    @tf.function
    def function(x: Any) -> Any:
        traced.append(type(x).__name__)
        return x[0] - x[1]

    for _ in range(3):
        assert float(function((tf.constant(3.0), tf.constant(1.0)))) == 2
        assert float(function([tf.constant(1.0), tf.constant(3.0)])) == -2
    assert sorted(traced) == ["list", "tuple"]


def test_parameters_left_out_have_their_defaults() -> None:
    @tf.function
    def function(pair: Any, scale: float = 2.0, negate: bool = False) -> Any:
        total = (pair[0] + pair[1]) * scale
        return -total if negate else total

    pair = (tf.constant(1.0), tf.constant(2.0))
    for _ in range(3):
        assert float(function(pair)) == 6
        assert float(function(pair, 3.0)) == 9
        assert float(function(pair, negate=True)) == -6
        assert float(function(pair, tf.constant(4.0))) == 12


def test_run_eagerly_is_heard_after_calls_were_remembered() -> None:
    seen: list[bool] = []

    @tf.function
    def function(pair: Any) -> Any:
        seen.append(tf.executing_eagerly())
        return pair[0] + pair[1]

    pair = (tf.constant(1.0), tf.constant(2.0))
    function(pair)
    function(pair)
    tf.config.run_functions_eagerly(True)
    try:
        assert float(function(pair)) == 3
    finally:
        tf.config.run_functions_eagerly(False)
    assert seen == [False, True]


@st.composite
def _nests(draw: st.DrawFn) -> Any:
    leaf = st.integers(0, 99).map(lambda number: tf.TensorSpec([number], tf.float32))
    keys = st.sampled_from(["b", "a", 'quote"', "tensors", "key0"])
    return draw(
        st.recursive(
            leaf,
            lambda inside: (
                st.lists(inside, max_size=3)
                | st.lists(inside, max_size=3).map(tuple)
                | st.dictionaries(keys, inside, max_size=3)
            ),
            max_leaves=12,
        )
    )


@given(_nests())
def test_packers_pack_as_the_long_way_does(results: Any) -> None:
    pack = flat_calls.packer(results)
    assert pack is not None
    leaves = list(range(len(structure.flatten(results))))
    found = pack(leaves)  # type: ignore[arg-type]  # numbers show their order
    assert found == structure.pack_sequence_as(results, leaves)
    assert repr(found) == repr(structure.pack_sequence_as(results, leaves))


def test_structures_without_a_packer() -> None:
    deep: Any = tf.TensorSpec([], tf.float32)
    for _ in range(150):
        deep = [deep]
    for results in (None, (None,), {1: tf.TensorSpec([]), "a": tf.TensorSpec([])}, deep):
        assert flat_calls.packer(results) is None
