"""Permitted results of functions over elements, and their effects on arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

import pinnace as tf


def test_a_list_is_a_tuple_of_components() -> None:
    """TensorFlow: whether it can be stacked or not, a list has one component for each tensor."""
    rows = tf.data.Dataset.from_tensor_slices(["1,2.5,a", "3,4.5,b"])
    found = rows.map(lambda row: tf.io.decode_csv(row, [0, 0.0, ""]))
    assert isinstance(found.element_spec, tuple)
    assert [tuple(x.numpy() for x in one) for one in found] == [(1, 2.5, b"a"), (3, 4.5, b"b")]
    same = tf.data.Dataset.range(2).map(lambda x: [x, x + 1])
    assert isinstance(same.element_spec, tuple)


def test_a_list_of_scan_is_a_tuple_too() -> None:
    given = tf.data.Dataset.range(3)
    found = given.scan(np.int64(0), lambda state, x: [state + x, state * 2])
    assert [int(x) for x in found] == [0, 0, 2]


def test_a_function_may_change_the_dictionary_it_is_given() -> None:
    def split(features: Any) -> Any:
        label = features.pop("label")
        features["double"] = features["x"] * 2
        return features, label

    given = tf.data.Dataset.from_tensor_slices({"x": [1, 2], "label": [0, 1]})
    found = given.map(split)
    assert set(given.element_spec) == {"x", "label"}
    assert [(int(x["double"]), int(y)) for x, y in found] == [(2, 0), (4, 1)]


def test_the_state_of_a_reduction_may_be_changed() -> None:
    def count(state: Any, x: Any) -> Any:
        state["n"] += 1
        state["sum"] += x
        return state

    start = {"n": np.int64(0), "sum": np.int64(0)}
    found = tf.data.Dataset.range(5).reduce(start, count)
    assert {key: int(value) for key, value in found.items()} == {"n": 5, "sum": 10}
    assert int(start["n"]) == 0
