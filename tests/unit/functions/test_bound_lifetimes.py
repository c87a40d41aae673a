"""A function belongs to its object: it is deleted with it, and a copy has separate functions."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import pinnace as tf


class Scaled(tf.Module):
    """Calls Python from its graph, by a function that refers to the object."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    @tf.function
    def __call__(self, x: Any) -> Any:
        return tf.py_function(lambda y: y * self.factor, [x], tf.float32)

    @tf.function
    def plain(self, x: Any) -> Any:
        return x * self.factor


class Slotted:
    """A class that accepts no additional attributes."""

    __slots__ = ("__weakref__", "factor")

    def __init__(self, factor: float) -> None:
        self.factor = factor

    @tf.function
    def plain(self, x: Any) -> Any:
        return x * self.factor


def test_an_object_whose_graph_calls_python_is_freed() -> None:
    model = Scaled(3.0)
    assert model(tf.constant(2.0)).numpy() == 6
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_a_keras_model_whose_step_calls_python_is_freed() -> None:
    class Model(tf.keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = tf.keras.layers.Dense(1)

        def call(self, x: Any) -> Any:
            return self.dense(
                tf.ensure_shape(tf.numpy_function(self.twice, [x], tf.float32), [None, 2])
            )

        def twice(self, x: Any) -> Any:
            return x * np.float32(2)

    model = Model()
    model.compile("sgd", "mse")
    model.fit(np.ones((4, 2), np.float32), np.ones((4, 1), np.float32), verbose=0)
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("kind", [Scaled, Slotted])
def test_each_object_has_functions_of_its_own(kind: Any) -> None:
    one, other = kind(2.0), kind(5.0)
    x = tf.constant(1.0)
    assert [float(one.plain(x)), float(other.plain(x)), float(one.plain(x))] == [2, 5, 2]
    assert one.plain is one.plain
    assert one.plain is not other.plain


@pytest.mark.parametrize(
    "again",
    [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))],  # noqa: S301
)
def test_a_copy_calls_with_itself(again: Any) -> None:
    model = Scaled(2.0)
    x = tf.constant(1.0)
    assert float(model.plain(x)) == 2
    twin = again(model)
    twin.factor = 7.0
    assert float(twin.plain(x)) == 7
    assert float(model.plain(x)) == 2
    assert twin.plain is not model.plain


def test_what_an_object_shows_does_not_change() -> None:
    model = Scaled(2.0)
    before = (model.submodules, model.variables, model._trackable_children().keys())
    model.plain(tf.constant(1.0))
    assert (model.submodules, model.variables, model._trackable_children().keys()) == before
