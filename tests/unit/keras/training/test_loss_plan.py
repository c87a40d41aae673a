"""Losses of nested outputs: names in the history, values, and mismatches."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import pinnace as tf


class Pair(NamedTuple):
    """Two outputs by name."""

    left: Any
    right: Any


X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
Y = np.linspace(0, 1, 4, dtype=np.float32).reshape(4, 1)


def _model(form: Any) -> Any:
    x = tf.keras.Input((3,))
    left, right = (tf.keras.layers.Dense(1, name=name)(x) for name in ("left", "right"))
    return tf.keras.Model(x, form(left, right))


def _gap(y: Any, y_pred: Any) -> Any:
    """Mean absolute error over all components of a structure."""
    parts = zip(tf.nest.flatten(y), tf.nest.flatten(y_pred), strict=True)
    return sum(tf.reduce_mean(tf.abs(a - b)) for a, b in parts)


def _fitted(model: Any, y: Any, **how: Any) -> dict[str, Any]:
    model.compile("sgd", **how)
    # With a learning rate of 0 the figures are those of one set of weights.
    model.optimizer.learning_rate = 0.0
    history = model.fit(X, y, batch_size=4, verbose=0).history
    return {name: values[0] for name, values in history.items()}


def test_a_list_beside_a_dict_is_several_losses_of_one_part() -> None:
    model = _model(lambda left, right: {"a": left, "b": right})
    loss = [_gap, {"a": "mse", "b": "mae"}]
    logs = _fitted(model, {"a": Y, "b": Y}, loss=loss)
    assert set(logs) == {"loss", "a_b_loss", "a_loss", "b_loss"}
    parts = sum(value for name, value in logs.items() if name != "loss")
    np.testing.assert_allclose(logs["loss"], parts, rtol=1e-6)  # float32 sums of three


def test_factors_go_with_their_losses_however_nested() -> None:
    model = _model(lambda left, right: {"a": left, "b": right})
    loss, factors = [_gap, {"a": "mse", "b": "mae"}], [0.5, {"a": 2.0, "b": 4.0}]
    logs = _fitted(model, {"a": Y, "b": Y}, loss=loss, loss_weights=factors)
    wanted = 0.5 * logs["a_b_loss"] + 2 * logs["a_loss"] + 4 * logs["b_loss"]
    np.testing.assert_allclose(logs["loss"], wanted, rtol=1e-6)  # float32 sums of three


def test_a_path_of_keys_is_the_name_of_a_nested_loss() -> None:
    model = _model(lambda left, right: {"c": {"d": left, "e": right}, "f": (left, right)})
    loss = {"c": [_gap, {"d": "mse"}], "f": [_gap, (None, "mae")]}
    logs = _fitted(model, {"c": {"d": Y, "e": Y}, "f": (Y, Y)}, loss=loss)
    assert set(logs) == {"loss", "c_loss", "c/d_loss", "f_loss", "f/right_loss"}


def test_named_tuples_of_outputs_have_named_tuples_of_truths() -> None:
    model = _model(Pair)
    logs = _fitted(model, Pair(Y, Y), loss=[_gap, Pair("mse", "mse")])
    assert set(logs) == {"loss", "left_loss", "right_loss", "left_right_loss"}


@pytest.mark.filterwarnings("ignore:.*does not depend on:UserWarning")
def test_outputs_without_a_loss_need_no_truth() -> None:
    model = _model(lambda left, right: [left, right])
    logs = _fitted(model, Y, loss=[None, "mse"])
    predicted = model.predict(X, verbose=0)[1]
    # The mean in float32 and in NumPy's order.
    np.testing.assert_allclose(logs["loss"], np.mean((predicted - Y) ** 2), rtol=1e-5)


@pytest.mark.parametrize(
    ("form", "loss", "error", "told"),
    [
        (lambda a, b: {"a": a, "b": b}, {"a": "mse", "z": "mse"}, KeyError, "can't be found"),
        (lambda a, b: [a, b], {"left": "mse", "z": "mse"}, ValueError, "Expected keys"),
    ],
)
def test_losses_of_outputs_that_are_not_there(form: Any, loss: Any, error: Any, told: str) -> None:
    model = _model(form)
    model.compile("sgd", loss=loss)
    with pytest.raises(error, match=told):
        model.fit(X, [Y, Y] if isinstance(model.output, list) else {"a": Y, "b": Y}, verbose=0)


def test_as_many_factors_as_losses() -> None:
    model = _model(lambda left, right: [left, right])
    model.compile("sgd", loss=["mse", "mse"], loss_weights=[1.0])
    with pytest.raises(ValueError, match="must match the number of losses"):
        model.fit(X, [Y, Y], verbose=0)


def test_variables_of_metrics_optimizers_and_seeds_have_paths() -> None:
    model = _model(lambda left, right: [left, right])
    _fitted(model, [Y, Y], loss="mse")
    for variable in [*model.optimizer.variables, *model.metrics_variables]:
        assert variable.path.rpartition("/")[2] == variable.name
    assert tf.keras.random.SeedGenerator(1).state.path.endswith("/seed_generator_state")


def test_no_custom_objects_is_an_empty_scope() -> None:
    with tf.keras.saving.custom_object_scope(None):
        assert tf.keras.saving.get_custom_objects() == {}


def test_configurations_of_optimizers_may_name_them_in_small_letters() -> None:
    made = tf.keras.optimizers.get({"class_name": "adam", "config": {"beta_1": 0.25}})
    assert type(made) is tf.keras.optimizers.Adam
    assert made.get_config()["beta_1"] == 0.25


def _one(**given: Any) -> dict[str, float]:
    """The results of evaluate for a model with one output; the numbers are Keras 3.15's."""
    x = np.arange(12, dtype="float32").reshape(4, 3) / 10
    y = np.linspace(0, 1, 8).astype("float32").reshape(4, 2)
    inputs = tf.keras.Input((3,))
    layer = tf.keras.layers.Dense(2, name="o", kernel_initializer="ones")
    model = tf.keras.Model(inputs, layer(inputs))
    model.compile("sgd", **given)
    found: dict[str, float] = model.evaluate(x, y, verbose=0, return_dict=True)
    return {key: round(float(value), 4) for key, value in found.items()}


@pytest.mark.parametrize(
    ("loss", "first"),
    [(["mse", "mse"], 1.7993), (["mse", "mae"], 1.7993), (("mae", "mse"), 1.15)],
)
def test_of_several_losses_for_one_output_the_first_counts(loss: Any, first: float) -> None:
    with pytest.warns(UserWarning, match="2 losses: as in Keras, only the first"):
        assert _one(loss=loss) == {"loss": first, "o_loss": 0.0}


def test_metrics_of_one_output_are_taken_whatever_they_are_called() -> None:
    assert _one(loss="mse", metrics=[["mae"], ["mse"]]) == {
        "loss": 1.7993,
        "mae": 1.15,
        "mse": 1.7993,
    }
    with pytest.warns(UserWarning, match="`metrics` names x, but the only output has another name"):
        assert _one(loss="mse", metrics={"x": "mae"}) == {"loss": 1.7993, "mae": 1.15}


def test_one_factor_in_a_list_is_that_of_every_output() -> None:
    def first_loss(factors: Any) -> float:
        model = _model(lambda left, right: [left, right])
        model.compile("sgd", loss="mse", loss_weights=factors)
        return float(model.evaluate(X, [Y, Y], verbose=0)[0])

    tf.keras.utils.set_random_seed(1)
    plain = first_loss(None)
    tf.keras.utils.set_random_seed(1)
    np.testing.assert_allclose(first_loss([2.0]), 2 * plain, rtol=1e-6)
