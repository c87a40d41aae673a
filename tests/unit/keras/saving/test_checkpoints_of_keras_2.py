"""Weights that Keras 2 wrote as checkpoints, and checkpoints that do not fit."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from support.golden import golden

FOLDER = golden("keras_checkpoints/keras_2")
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
keras = tf.keras


def model_of(name: str, kind: str) -> tuple[Any, Any, Any]:
    """A model for the values of a checkpoint, its inputs and expected outputs."""
    model = keras.models.model_from_json((FOLDER / f"{name}.json").read_text())
    arrays = np.load(FOLDER / f"{name}.npz")
    xs = [arrays[key] for key in arrays if key.startswith(f"{kind}_x")]
    optimizers = {"adam": keras.optimizers.Adam, "sgd": keras.optimizers.SGD}
    if kind != "none":
        model.compile(optimizers.get(kind, keras.optimizers.Adam)(0.01), "mse")
        model.optimizer.build(model.trainable_variables)
    return model, xs if len(xs) > 1 else xs[0], arrays


@pytest.mark.parametrize("by", ["load_weights", "Checkpoint"])
@pytest.mark.parametrize("kind", ["none", "adam", "sgd", "legacy"])
@pytest.mark.parametrize("name", NAMES)
def test_weights_and_optimizer_go_on(name: str, kind: str, by: str) -> None:
    model, x, wanted = model_of(name, kind)
    path = FOLDER / f"{name}-{kind}"
    if by == "load_weights":
        model.load_weights(path)
    else:
        tf.train.Checkpoint(root=model).read(path)
    np.testing.assert_allclose(model(x), wanted[f"{kind}_y"], atol=1e-5)
    if kind != "none":
        model.train_on_batch(x, np.ones_like(wanted[f"{kind}_y"]))
        # Keras 2 uses the unbiased variance of a batch of images, and Keras 3 does not.
        far = 2e-4 if name == "pictures" else 1e-5
        np.testing.assert_allclose(model(x), wanted[f"{kind}_trained"], atol=far)


def test_before_it_is_compiled_the_optimizer_of_the_file_does_not_matter() -> None:
    model, x, wanted = model_of("nested", "none")
    model.load_weights(FOLDER / "nested-adam").expect_partial()
    x = wanted["adam_x0"]
    np.testing.assert_allclose(model(x), wanted["adam_y"], atol=1e-5)


def dense(*sizes: int, **options: Any) -> Any:
    inputs = keras.Input([4])
    x = inputs
    for size in sizes:
        x = keras.layers.Dense(size, **options)(x)
    return keras.Model(inputs, x)


def attributes(*names: str) -> Any:
    class Net(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            for name in names:
                setattr(self, name, keras.layers.Dense(4))

        def call(self, x: Any) -> Any:
            for name in names:
                x = getattr(self, name)(x)
            return x

    net = Net()
    net(np.zeros([1, 4], "float32"))
    return net


def sequential(*sizes: int) -> Any:
    layers = [keras.layers.Dense(size) for size in sizes]
    return keras.Sequential([keras.Input([4]), *layers])


PAIRS = {
    "functional, one more in the model": (lambda: dense(4, 4), lambda: dense(4, 4, 4)),
    "functional, one more in the file": (lambda: dense(4, 4, 4), lambda: dense(4, 4)),
    "no bias in the model": (lambda: dense(4), lambda: dense(4, use_bias=False)),
    "no bias in the file": (lambda: dense(4, use_bias=False), lambda: dense(4)),
    "attributes, one more in the model": (lambda: attributes("a"), lambda: attributes("a", "b")),
    "attributes, one more in the file": (lambda: attributes("a", "b"), lambda: attributes("a")),
    "other attributes": (lambda: attributes("a"), lambda: attributes("b")),
    "sequential, one more in the model": (lambda: sequential(4, 4), lambda: sequential(4, 4, 4)),
    "sequential, one more in the file": (lambda: sequential(4, 4, 4), lambda: sequential(4, 4)),
    "attributes in a sequential": (lambda: attributes("a"), lambda: sequential(4)),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_what_does_not_fit_is_told(pair: str, tmp_path: Path) -> None:
    written, read = (make() for make in PAIRS[pair])
    written.save_weights(tmp_path / "cp")
    before = read.get_weights()
    with pytest.raises(ValueError, match=r"is not that of(.|\n)*without a (value|weight)"):
        read.load_weights(tmp_path / "cp")
    assert len(before) == len(read.get_weights())
    with pytest.warns(UserWarning, match="is not that of"):
        read.load_weights(tmp_path / "cp", skip_mismatch=True)
    tf.train.Checkpoint(root=read).read(tmp_path / "cp").expect_partial()


def test_a_checkpoint_of_keras_2_for_another_model_is_refused() -> None:
    with pytest.raises(ValueError, match="layer_with_weights-1/bias"):
        dense(3).load_weights(FOLDER / "shared-none")
    model = dense(3, 4)
    before = model.get_weights()
    with pytest.raises(ValueError, match="has shape"):
        model.load_weights(FOLDER / "shared-none")
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
    unbuilt = keras.Sequential([keras.layers.Dense(4)])
    with pytest.raises(ValueError, match="before it is built"):
        unbuilt.load_weights(FOLDER / "shared-none")


def test_what_is_not_built_yet_gets_its_values_when_it_is(tmp_path: Path) -> None:
    written = attributes("a", "b")
    written.save_weights(tmp_path / "cp")
    read = type(written)()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read.load_weights(tmp_path / "cp")
    x = np.ones([2, 4], "float32")
    np.testing.assert_array_equal(read(x), written(x))
