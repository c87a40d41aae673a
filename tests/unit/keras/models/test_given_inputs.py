"""Permitted inputs of functional models: names, nesting, structures, None, partial models."""

import warnings

import numpy as np
import pytest

import pinnace as tf

keras = tf.keras
layers = keras.layers


def test_nested_dicts_are_taken_by_their_names():
    one, two, three = keras.Input((1,)), keras.Input((2,)), keras.Input((3,))
    inputs = {"1": one, "others": {"2": two, "3": three}}
    model = keras.Model(inputs, {"1": one * 2, "others": {"2": two * 3, "3": three * 4}})
    # Another order of the names, and an additional one.
    given = {
        "others": {"3": np.full((2, 3), 3.0), "2": np.full((2, 2), 2.0)},
        "1": np.ones((2, 1)),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = model(given)
    np.testing.assert_array_equal(out["1"], np.full((2, 1), 2.0))
    np.testing.assert_array_equal(out["others"]["2"], np.full((2, 2), 6.0))
    np.testing.assert_array_equal(out["others"]["3"], np.full((2, 3), 12.0))


def test_another_structure_is_told_of():
    a, b = keras.Input((2,), name="a"), keras.Input((2,), name="b")
    model = keras.Model({"a": a, "b": b}, a - b)
    x, y = np.ones((1, 2)), np.full((1, 2), 3.0)
    with pytest.warns(UserWarning, match="The structure of `inputs` doesn't match the expected"):
        np.testing.assert_array_equal(model([x, y]), np.full((1, 2), -2.0))
    with pytest.warns(UserWarning, match="The structure of `inputs` doesn't match the expected"):
        model({"a": x, "b": y, "c": x})
    listed = keras.Model([a, b], a - b)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        listed((x, y))
        listed({"b": y, "a": x})


def test_a_list_for_a_dict_in_another_order_is_refused():
    a, b = keras.Input((2,), name="a"), keras.Input((2,), name="b")
    model = keras.Model({"b": b, "a": a}, a - b)
    with pytest.raises(ValueError, match="The structure of `inputs` doesn't match the expected"):
        model([np.ones((1, 2)), np.ones((1, 2))])


def test_errors_say_which_input():
    inputs = [{"foo": keras.Input((3,), name="my_input")}]
    model = keras.Model(inputs, layers.Dense(3)(inputs[0]["foo"]))
    with pytest.raises(ValueError, match=r"name 'my_input' .* path '0\.foo'"):
        model([{"foo": tf.constant(1.0)}])
    one = keras.Input((4,))
    with pytest.raises(ValueError, match=r"expected shape=\(None, 4\), found shape=\(2, 3\)"):
        keras.Model(one, layers.Dense(2)(one))(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="expects 1 input"):
        keras.Model(one, layers.Dense(2)(one))([np.zeros((2, 4)), np.zeros((2, 4))])
    two = keras.Input((4,))
    with pytest.raises(ValueError, match="Output with path `second` is not connected"):
        keras.Model(one, {"first": one * 2, "second": two * 2})


class AddIfThere(layers.Layer):
    def call(self, x, y=None):
        return x if y is None else x + y

    def compute_output_shape(self, x_shape):
        return x_shape


def test_only_an_optional_input_may_be_none():
    x, y = keras.Input((2,), name="x"), keras.Input((2,), name="y", optional=True)
    model = keras.Model({"x": x, "y": y}, AddIfThere()(x, y))
    ones = np.ones((4, 2), "float32")
    np.testing.assert_array_equal(model({"x": ones, "y": None}), ones)
    np.testing.assert_array_equal(model({"x": ones, "y": ones}), 2 * ones)
    with pytest.raises(ValueError, match="not optional"):
        model({"x": None, "y": ones})
    model.compile(loss="mse")
    model.fit({"x": ones, "y": None}, ones, verbose=0)
    assert model.evaluate({"x": ones, "y": None}, ones, verbose=0) == 0
    np.testing.assert_array_equal(model.predict({"x": ones, "y": None}, verbose=0), ones)
    batches = iter([({"x": ones, "y": None}, ones)])
    assert model.evaluate(batches, verbose=0) == 0
    again = keras.Model.from_config(model.get_config(), {"AddIfThere": AddIfThere})
    assert again.get_layer("y").optional


def test_a_part_of_a_model_is_a_model_of_its_own(tmp_path):
    begin = keras.Input((3,))
    middle = layers.Dense(4, name="middle")(begin)
    whole = keras.Model(begin, layers.Dense(5, name="last")(layers.ReLU()(middle)))
    part = keras.Model(middle, whole.output)
    assert isinstance(part.layers[0], layers.InputLayer)
    assert [layer.name for layer in part.layers[1:]] == [x.name for x in whole.layers[2:]]
    assert part.get_layer("last") is whole.get_layer("last")
    part.save(tmp_path / "part.keras")
    loaded = keras.models.load_model(tmp_path / "part.keras")
    x = np.random.default_rng(0).normal(size=(2, 4)).astype("float32")
    np.testing.assert_array_equal(part(x), loaded(x))
    kernel, bias = (w.numpy() for w in whole.get_layer("last").weights)
    np.testing.assert_allclose(part(x), np.maximum(x, 0) @ kernel + bias, rtol=1e-5)
    clone = keras.models.clone_model(part)
    assert clone(x).shape == (2, 5)


def test_a_tuple_of_outputs_stays_one():
    begin = keras.Input((3,))
    model = keras.Model(begin, (begin * 2, begin * 3))
    assert isinstance(keras.Model.from_config(model.get_config())(np.ones((1, 3))), tuple)


def test_what_is_not_trainable_holds_for_the_layers():
    begin = keras.Input((3,))
    model = keras.Model(begin, layers.Dense(2)(begin), trainable=False)
    assert not model.layers[1].trainable
    assert model.trainable_variables == []
    assert [type(x).__name__ for x in model.operations] == ["InputLayer", "Dense"]


def test_sequential_says_what_is_wrong():
    model = keras.Sequential([keras.Input((2,), batch_size=3), layers.Dense(2)])
    with pytest.raises(ValueError, match="already been configured"):
        model.build((3, 4))
    model.build((3, 2))
    with pytest.raises(AttributeError, match=r"Use `add\(\)` and `pop\(\)`"):
        model.layers = []

    class Two(layers.Layer):
        def call(self, inputs, training):
            del training
            return inputs

    bad = keras.Sequential([Two()])
    with pytest.raises(ValueError, match="can only have a single positional"):
        bad.build((None, 2))


def test_names_of_types():
    assert keras.backend.standardize_dtype(tf.int32) == "int32"
    assert keras.backend.standardize_dtype(tf.int64) == "int64"
    assert keras.backend.standardize_dtype(int) == "int64"
    assert keras.backend.standardize_dtype(float) == "float32"
