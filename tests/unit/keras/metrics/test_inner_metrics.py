"""Metrics made of metrics, and what a reset does. Expectations: Keras 3.15."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf

keras = tf.keras
TRUE = np.array([1.0, 0.0, 1.0, 1.0])
BAD = np.array([0.0, 1.0, 0.0, 1.0])


class F1(keras.metrics.Metric):
    def __init__(self, place: str = "attributes", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        pair = keras.metrics.Precision(), keras.metrics.Recall()
        if place == "attributes":
            self.precision, self.recall = pair
        elif place == "dict":
            self.parts: Any = dict(enumerate(pair))
        elif place == "nested":
            self.parts = {"both": list(pair)}
        else:
            self.parts = {"list": list, "tuple": tuple}[place](pair)
        self.pair = lambda: pair

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        for metric in self.pair():
            metric.update_state(y_true, y_pred, sample_weight)

    def result(self) -> Any:
        precision, recall = (metric.result() for metric in self.pair())
        return 2 * precision * recall / (precision + recall + 1e-7)


class FromOnes(keras.metrics.Metric):
    def __init__(self) -> None:
        super().__init__(name="from_ones")
        self.extra = keras.Variable([3.0, 4.0])
        self.values = self.add_variable((2,), initializer="ones", name="values")

    def update_state(self, *_: Any, **__: Any) -> None:
        self.values.assign_add([1.0, 2.0])

    def result(self) -> Any:
        return tf.reduce_sum(self.values)


PLACES = ("attributes", "list", "tuple", "dict", "nested")


@pytest.mark.parametrize("place", PLACES)
def test_the_state_of_inner_metrics_is_part_of_the_state(place: str) -> None:
    metric = F1(place)
    metric.update_state(TRUE, BAD)
    assert len(metric.variables) == 4
    np.testing.assert_allclose(metric.result(), 0.4, rtol=1e-4)
    metric.reset_state()
    metric.update_state(TRUE, TRUE)
    np.testing.assert_allclose(metric.result(), 1.0, rtol=1e-4)


@pytest.mark.parametrize("place", PLACES)
def test_inner_metrics_are_stateless_too(place: str) -> None:
    metric = F1(place)
    state = metric.stateless_update_state(metric.stateless_reset_state(), TRUE, BAD)
    np.testing.assert_allclose(metric.stateless_result(state), 0.4, rtol=1e-4)
    assert all(float(variable.numpy()[0]) == 0.0 for variable in metric.variables)


@pytest.mark.parametrize("place", PLACES)
def test_evaluate_counts_only_its_own_data(place: str) -> None:
    inputs = keras.Input((1,))
    model = keras.Model(inputs, keras.layers.Identity()(inputs))
    model.compile(loss="mse", metrics=[F1(place, name="f1")])
    found = [
        model.evaluate(x[:, None], TRUE[:, None], verbose=0, return_dict=True)["f1"]
        for x in (BAD, TRUE, BAD)
    ]
    np.testing.assert_allclose(found, [0.4, 1.0, 0.4], rtol=1e-4)


def test_metrics_in_metrics_in_metrics() -> None:
    metric = F1()
    metric.deeper = F1("list")
    metric.deeper.deepest = F1("dict")
    assert len(metric.variables) == 12
    assert len({id(variable) for variable in metric.variables}) == 12


def test_own_variables_come_before_those_of_attributes() -> None:
    metric = FromOnes()
    assert [variable.shape for variable in metric.variables] == [[2], [2]]
    assert metric.variables[0] is metric.values


def test_a_reset_sets_zeros_whatever_the_initializer() -> None:
    metric = FromOnes()
    metric.update_state()
    assert float(metric.result()) == 5.0
    metric.reset_state()
    assert float(metric.result()) == 0.0
    assert metric.extra.numpy().tolist() == [0.0, 0.0]


def test_the_first_evaluation_starts_from_the_initial_values() -> None:
    inputs = keras.Input((1,))
    model = keras.Model(inputs, keras.layers.Identity()(inputs))
    model.compile(loss="mse", metrics=[FromOnes()])
    found = [
        model.evaluate(TRUE[:, None], TRUE[:, None], verbose=0, return_dict=True)["from_ones"]
        for _ in range(3)
    ]
    assert found == [5.0, 3.0, 3.0]
