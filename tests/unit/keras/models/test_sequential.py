"""Sequential: building, contents, changes, and rebuilding from its configuration."""

import numpy as np
import pytest

from pinnace import keras
from pinnace.keras import layers

X = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)


def test_an_input_builds_it_at_once() -> None:
    for first in ([keras.Input((6,)), layers.Dense(3)], [layers.Dense(3, input_shape=(6,))]):
        model = keras.Sequential([*first, layers.Dense(2)])
        assert model.built
        assert [list(v.shape) for v in model.weights] == [[6, 3], [3], [3, 2], [2]]
        assert model.output_shape == (None, 2)
        assert model.input_shape == (None, 6)


def test_without_an_input_the_first_call_builds_it() -> None:
    model = keras.Sequential([layers.Dense(3), layers.Dense(2)], name="s")
    assert not model.built
    assert not model.weights
    assert model(X).shape == (4, 2)
    assert [v.path for v in model.weights][:2] == [
        f"s/{model.layers[0].name}/kernel",
        f"s/{model.layers[0].name}/bias",
    ]
    assert model(X[:2]).shape == (2, 2), "the batch size stays open"


def test_build_with_a_shape() -> None:
    model = keras.Sequential([layers.Dense(3)])
    model.build((None, 6))
    assert model.layers[0].kernel.shape == (6, 3)


def test_layers_are_added_and_taken_away() -> None:
    model = keras.Sequential()
    model.add(keras.Input((6,)))
    model.add(layers.Dense(3))
    model.add(layers.Dense(2))
    assert model(X).shape == (4, 2)
    last = model.pop()
    assert last.name not in [layer.name for layer in model.layers]
    assert model(X).shape == (4, 3)
    assert len(model.weights) == 2


def test_models_are_layers_and_share_their_weights() -> None:
    trunk = keras.Sequential([layers.Dense(5)])
    one, other = (keras.Sequential([trunk, layers.Dense(n)]) for n in (1, 2))
    assert (one(X).shape, other(X).shape) == ((4, 1), (4, 2))
    assert one.trainable_variables[0] is other.trainable_variables[0]
    assert len(one.trainable_variables) == 4


def test_it_is_made_again_from_its_configuration() -> None:
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1), name="picture"),
            layers.Conv2D(2, 3, activation="relu"),
            layers.Flatten(),
        ]
    )
    again = keras.Sequential.from_config(model.get_config())
    assert again.get_config() == model.get_config()
    again.set_weights(model.get_weights())
    x = np.ones((2, 8, 8, 1), np.float32)
    np.testing.assert_array_equal(again(x).numpy(), model(x).numpy())
    text = model.to_json()
    assert keras.models.model_from_json(text).get_config() == model.get_config()


def test_a_clone_has_weights_of_its_own() -> None:
    model = keras.Sequential([keras.Input((6,)), layers.Dense(3)])
    clone = keras.models.clone_model(model)
    assert clone.weights[0] is not model.weights[0]
    assert not np.array_equal(clone.get_weights()[0], model.get_weights()[0])
    unbuilt = keras.models.clone_model(keras.Sequential([layers.Dense(3)]))
    assert unbuilt(X).shape == (4, 3)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: keras.Sequential([abs]),
            r"Only instances of `keras.Layer` can be added.*, got .*\n  Try: Lambda\(function\)",
        ),
        (
            lambda: keras.Sequential([layers.Dense(1, name="a"), layers.Dense(1, name="a")]),
            "layers should have unique names, there is a 'a' already",
        ),
        (lambda: keras.Sequential().build((None, 2)), "has no layers: add one"),
        (lambda: keras.Sequential().pop(), "there is no layer to remove"),
        (
            lambda: keras.Sequential([layers.Dense(1), keras.Input((2,))]),
            "an Input must come first",
        ),
        (
            lambda: keras.Sequential([keras.Input((6,)), layers.Dense(2)])(X[:, :3]),
            r"must have size 6 on axis -1, got float32\[4, 3\]",
        ),
    ],
)
def test_what_cannot_be_is_told(make: object, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        make()  # type: ignore[operator]  # a function


def test_the_summary_is_a_table() -> None:
    model = keras.Sequential(
        [keras.Input((6,)), layers.Dense(3, name="one"), layers.BatchNormalization(name="two")],
        name="m",
    )
    lines: list[str] = []
    model.summary(print_fn=lines.append)
    text = "\n".join(lines)
    assert 'Model: "m"' in text
    assert "one (Dense)" in text
    assert "(None, 3)" in text
    assert " Total params: 33 (132.00 B)" in text
    assert " Trainable params: 27 (108.00 B)" in text
    assert " Non-trainable params: 6 (24.00 B)" in text


def test_the_summary_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    keras.Sequential([layers.Dense(3, name="one")]).summary()
    assert "? (not built)" in capsys.readouterr().out
