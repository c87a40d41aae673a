"""Functional models: calls on KerasTensors, several inputs and outputs, shared layers."""

from typing import Any

import numpy as np
import pytest

from pinnace import keras
from pinnace.keras import layers

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 6)).astype(np.float32)
Z = RNG.normal(size=(4, 3)).astype(np.float32)


def two_by_two() -> Any:
    x, z = keras.Input((6,), name="x"), keras.Input((3,), name="z")
    shared = layers.Dense(3, activation="tanh", name="shared")
    first = shared(x)
    joined = layers.Concatenate(name="joined")([first, z])
    score = layers.Dense(1, name="score")(joined)
    kind = layers.Dense(2, activation="softmax", name="kind")(joined)
    return keras.Model(inputs=[x, z], outputs=[score, kind], name="two")


def test_layers_run_in_order() -> None:
    model = two_by_two()
    score, kind = model([X, Z])
    hidden = np.tanh(X @ model.get_layer("shared").kernel.numpy())
    joined = np.concatenate([hidden, Z], 1)
    wanted = joined @ model.get_layer("score").kernel.numpy()
    np.testing.assert_allclose(score.numpy(), wanted, rtol=1e-4, atol=1e-6)
    assert kind.shape == (4, 2)
    assert [layer.name for layer in model.layers] == ["x", "shared", "z", "joined", "score", "kind"]
    assert model.input_names == ["x", "z"]
    assert model.output_names == ["score", "kind"]


def test_inputs_come_by_name_too() -> None:
    model = two_by_two()
    by_place, by_name = model([X, Z]), model({"z": Z, "x": X})
    np.testing.assert_array_equal(by_place[0].numpy(), by_name[0].numpy())
    with pytest.raises(ValueError, match="inputs z are missing, got x"):
        model({"x": X})


def test_a_layer_called_twice_has_one_set_of_weights() -> None:
    x = keras.Input((6,))
    layer = layers.Dense(6)
    model = keras.Model(x, layer(layer(x)))
    assert len(model.weights) == 2
    again = type(model).from_config(model.get_config())
    again.set_weights(model.get_weights())
    np.testing.assert_allclose(again(X).numpy(), model(X).numpy(), rtol=1e-6)


def test_operators_are_layers() -> None:
    x = keras.Input((6,))
    y = (2.0 * x + 1.0 - x[:, :1]) / 2.0
    model = keras.Model(x, -(y**2.0))
    wanted = -(((2 * X + 1 - X[:, :1]) / 2) ** 2)
    np.testing.assert_allclose(model(X).numpy(), wanted, rtol=1e-6)
    again = type(model).from_config(model.get_config())
    np.testing.assert_allclose(again(X).numpy(), wanted, rtol=1e-6)


def test_dicts_of_inputs_and_outputs() -> None:
    inputs = {"a": keras.Input((6,)), "b": keras.Input((3,))}
    outputs = {"sum": layers.Dense(2)(inputs["a"]) + layers.Dense(2)(inputs["b"])}
    model = keras.Model(inputs, outputs)
    assert model({"a": X, "b": Z})["sum"].shape == (4, 2)


def test_dropout_inside_follows_training() -> None:
    x = keras.Input((6,))
    model = keras.Model(x, layers.Dropout(0.5, seed=1)(x))
    np.testing.assert_array_equal(model(X).numpy(), X)
    assert (model(X, training=True).numpy() == 0).any()


def test_models_inside_models() -> None:
    inner = two_by_two()
    x, z = keras.Input((6,)), keras.Input((3,))
    score, kind = inner([x, z])
    outer = keras.Model([x, z], layers.Concatenate()([score, kind]))
    assert outer([X, Z]).shape == (4, 3)
    assert len(outer.weights) == len(inner.weights)


def test_a_part_of_a_model_is_a_model() -> None:
    model = keras.Sequential([keras.Input((6,)), layers.Dense(5, name="a"), layers.Dense(2)])
    part = keras.Model(model.inputs, model.get_layer("a").output)
    assert part(X).shape == (4, 5)
    assert part.weights[0] is model.weights[0]


def test_it_is_made_again_and_cloned() -> None:
    model = two_by_two()
    for again in (type(model).from_config(model.get_config()), keras.models.clone_model(model)):
        again.set_weights(model.get_weights())
        for one, other in zip(model([X, Z]), again([X, Z]), strict=True):
            np.testing.assert_array_equal(one.numpy(), other.numpy())
        assert again.get_config() == model.get_config()


def test_a_subclass_may_be_functional() -> None:
    class Named(keras.Model):
        def extra(self) -> int:
            return 3

    x = keras.Input((6,))
    model = Named(inputs=x, outputs=layers.Dense(2)(x))
    assert model(X).shape == (4, 2)
    assert model.extra() == 3


def test_it_is_trained_on_several_outputs() -> None:
    model = two_by_two()
    model.compile(
        "adam", ["mse", "sparse_categorical_crossentropy"], metrics=[["mae"], ["accuracy"]]
    )
    y = [RNG.normal(size=(4, 1)), RNG.integers(0, 2, 4)]
    history = model.fit([X, Z], y, epochs=2, verbose=0).history
    # Keras: outputs in a list are named after their layers.
    first, second = model.output_names
    assert set(history) == {
        *("loss", f"{first}_loss", f"{first}_mae", f"{second}_accuracy", f"{second}_loss"),
    }
    found = model.evaluate([X, Z], y, verbose=0, return_dict=True)
    assert found["loss"] == pytest.approx(
        found[f"{first}_loss"] + found[f"{second}_loss"], rel=1e-5
    )
    score, kind = model.predict([X, Z], verbose=0)
    assert (score.shape, kind.shape) == ((4, 1), (4, 2))


def test_what_cannot_be_is_told() -> None:
    x, z = keras.Input((6,)), keras.Input((6,))
    with pytest.raises(ValueError, match="is needed for the outputs and is not among the inputs"):
        keras.Model(x, layers.Add()([x, z]))
    with pytest.raises(ValueError, match=r"All `inputs` values must be .* got ndarray"):
        keras.Model(X, layers.Dense(1)(x))
    with pytest.raises(ValueError, match=r"Model expects 1 input\(s\), got 2"):
        keras.Model(x, layers.Dense(1)(x))([X, X])
    with pytest.raises(
        ValueError, match="stands for the future output of a layer and has no value"
    ):
        bool(x)
    with pytest.raises(ValueError, match=r"get_layer: name must be one of .*, got 'nobody'"):
        two_by_two().get_layer("nobody")


def test_the_configuration_names_the_class_where_keras_has_it() -> None:
    inputs = keras.Input((3,))
    stored = keras.saving.serialize_keras_object(keras.Model(inputs, layers.Dense(1)(inputs)))
    # As written by Keras 3.15, which only looks there.
    assert stored["module"] == "keras.src.models.functional"
    assert isinstance(keras.saving.deserialize_keras_object(stored), keras.Functional)


def test_shapes_may_be_told_of_the_inputs_that_are_needed_alone() -> None:
    class Sum(layers.Layer):
        def call(self, x: Any, y: Any = None) -> Any:
            return x if y is None else x + y

        def compute_output_shape(self, x_shape: Any) -> Any:
            return x_shape

    x, y = keras.Input((2,)), keras.Input((2,))
    model = keras.Model([x, y], Sum()(x, y))
    assert model.output_shape == (None, 2)
    np.testing.assert_array_equal(model([np.ones((1, 2)), np.ones((1, 2))]), [[2, 2]])


@pytest.mark.parametrize("kind", [list, tuple])
def test_a_list_of_one_output_is_told_as_a_list_and_given_as_a_tensor(kind: Any) -> None:
    # Keras 3.15
    x = keras.Input((3,))
    model = keras.Model(x, kind([keras.layers.Dense(2, name="d")(x)]))
    data, truth = np.ones((4, 3), np.float32), np.ones((4, 2), np.float32)
    assert isinstance(model.output, kind)
    assert isinstance(model(keras.Input((3,))), kind)
    assert model(data).shape == (4, 2)
    model.compile("sgd", ["mse"], metrics={"d": ["mae"]})
    assert set(model.fit(data, truth, verbose=0).history) == {"loss", "mae"}
    model.fit(data, [truth], verbose=0)
    assert model.predict(data, verbose=0).shape == (4, 2)
    assert keras.models.clone_model(model)(data).shape == (4, 2)
