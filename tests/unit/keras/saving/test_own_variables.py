"""save_own_variables and load_own_variables: the contents of Keras' files for custom classes."""

import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import pinnace as tf
from pinnace import keras
from pinnace.keras import layers


@keras.saving.register_keras_serializable("own")
class Halved(layers.Layer):
    """Stores half of its weight, and a number that is not a variable."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.seen = 0

    def build(self, input_shape: Any) -> None:
        self.inner = layers.Dense(2)
        self.inner.build(input_shape)
        self.w = self.add_weight(shape=(input_shape[-1],), initializer="ones", name="w")

    def call(self, x: Any) -> Any:
        return self.inner(x * self.w)

    def save_own_variables(self, store: Any) -> None:
        store["half"] = self.w.numpy() / 2
        store["seen"] = np.int64(self.seen)

    def load_own_variables(self, store: Any) -> None:
        self.w.assign(store["half"] * 2)
        self.seen = int(store["seen"])


def halved() -> Any:
    model = keras.Sequential([keras.Input((3,)), layers.Dense(3), Halved(name="halved")])
    model.layers[1].w.assign([1.0, 2.0, 4.0])
    model.layers[1].seen = 7
    return model


X = np.array([[1, 2, 3], [0, -1, 1]], np.float32)


def test_a_file_holds_what_the_layer_puts_into_it(tmp_path: Path) -> None:
    halved().save_weights(tmp_path / "own.weights.h5")
    with h5py.File(tmp_path / "own.weights.h5") as file:
        group = file["layers/halved/vars"]
        assert sorted(group) == ["half", "seen"]
        np.testing.assert_array_equal(group["half"][()], [0.5, 1.0, 2.0])
        assert group["seen"][()] == 7
        # The inner layer is a different one, which stores the default variables.
        assert sorted(file["layers/halved/inner/vars"]) == ["0", "1"]


@pytest.mark.parametrize("whole", [True, False])
def test_the_layer_takes_it_back(whole: bool, tmp_path: Path) -> None:
    model = halved()
    wanted = model(X).numpy()
    if whole:
        model.save(tmp_path / "own.keras")
        other = keras.models.load_model(tmp_path / "own.keras")
    else:
        model.save_weights(tmp_path / "own.weights.h5")
        other = halved()
        other.layers[1].seen = 0
        other.load_weights(tmp_path / "own.weights.h5")
    np.testing.assert_array_equal(other.layers[1].w, [1.0, 2.0, 4.0])
    assert other.layers[1].seen == 7
    np.testing.assert_allclose(other(X), wanted, rtol=1e-6)


def test_a_layer_that_refuses_a_file_leaves_all_weights_as_they_were(tmp_path: Path) -> None:
    halved().save_weights(tmp_path / "own.weights.h5")
    with h5py.File(tmp_path / "own.weights.h5", "a") as file:
        del file["layers/halved/vars/seen"]
    other = halved()
    before = [w.numpy() for w in other.weights]
    with pytest.raises(ValueError, match=r"'halved'.*load_own_variables: KeyError: 'seen'"):
        other.load_weights(tmp_path / "own.weights.h5")
    for weight, value in zip(other.weights, before, strict=True):
        np.testing.assert_array_equal(weight, value)


def test_what_is_no_number_is_refused(tmp_path: Path) -> None:
    class Named(layers.Layer):
        def call(self, x: Any) -> Any:
            return x

        def save_own_variables(self, store: Any) -> None:
            store["name"] = "texts are not"

    model = keras.Sequential([keras.Input((3,)), Named()])
    with pytest.raises(ValueError, match=r"save_own_variables: values must be numbers"):
        model.save_weights(tmp_path / "own.weights.h5")
    assert not (tmp_path / "own.weights.h5").exists()


def test_a_dict_takes_and_gives_the_variables_of_a_layer() -> None:
    layer = layers.BatchNormalization()
    layer.build((None, 2))
    store: dict[str, Any] = {}
    layer.save_own_variables(store)
    # Keras: gamma, beta, then non-trainable variables.
    assert [store[str(i)].name for i in range(4)] == [v.name for v in layer.weights]
    layer.load_own_variables({str(i): np.full(2, i + 1.0) for i in range(4)})
    assert [w[0] for w in layer.get_weights()] == [1, 2, 3, 4]
    with pytest.raises(ValueError, match=r"has 4 variables, the file has '0'"):
        layer.load_own_variables({"0": np.ones(2)})
    with pytest.raises(ValueError, match=r"must have shape \[2\], the file has \[3\]"):
        layer.load_own_variables({str(i): np.ones(3 if i == 3 else 2) for i in range(4)})
    assert [w[0] for w in layer.get_weights()] == [1, 2, 3, 4]


@keras.saving.register_keras_serializable("own")
class Doubled(keras.optimizers.SGD):
    """Stores twice its number of steps."""

    def save_own_variables(self, store: Any) -> None:
        super().save_own_variables(store)
        store["0"] = self.iterations.numpy() * 2

    def load_own_variables(self, store: Any) -> None:
        super().load_own_variables(store)
        self.iterations.assign(store["0"] // 2)


def test_an_optimizer_says_what_is_kept_of_it(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((3,)), layers.Dense(1)])
    model.compile(Doubled(0.25, momentum=0.5), "mse")
    for _ in range(3):
        model.train_on_batch(X, np.ones((2, 1), np.float32))
    model.save(tmp_path / "own.keras")
    with h5py.File(_weights_of(tmp_path / "own.keras", tmp_path)) as file:
        assert file["optimizer/vars/0"][()] == 6
    other = keras.models.load_model(tmp_path / "own.keras")
    assert other.optimizer.iterations.numpy() == 3
    for mine, theirs in zip(other.optimizer.variables, model.optimizer.variables, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_the_state_of_another_optimizer_is_left_with_a_warning() -> None:
    optimizer = keras.optimizers.SGD(0.5)
    optimizer.build([tf.Variable([1.0])])
    with pytest.warns(UserWarning, match="it has 2 variables, the file has 1"):
        optimizer.load_own_variables({"0": np.int64(3)})
    assert optimizer.iterations.numpy() == 0


def _weights_of(path: Path, folder: Path) -> Path:
    with zipfile.ZipFile(path) as archive:
        return Path(archive.extract("model.weights.h5", folder))


@keras.saving.register_keras_serializable("test_own_variables")
class Worded(keras.layers.Dense):
    """A layer with files: the program of Keras' guide to saving."""

    words: str | None = None

    def save_assets(self, path: str) -> None:
        if self.words is not None:
            Path(path, "inner").mkdir()
            Path(path, "inner", "words.txt").write_text(self.words)

    def load_assets(self, path: str | None) -> None:
        self.words = path and Path(path, "inner", "words.txt").read_text()


@pytest.mark.parametrize("zipped", [True, False])
def test_layers_write_and_read_files_of_their_own(tmp_path: Path, zipped: bool) -> None:
    model = keras.Sequential([keras.Input((2,)), Worded(3), keras.Sequential([Worded(1)])])
    model.layers[0].words = "Mary had a lamb"
    path = str(tmp_path / ("model.keras" if zipped else "model"))
    model.save(path, zipped=zipped)
    if zipped:
        # Where TensorFlow's Keras 3.15 puts it.
        assert "assets/layers/worded/inner/words.txt" in zipfile.ZipFile(path).namelist()
    restored = keras.models.load_model(path)
    assert restored.layers[0].words == "Mary had a lamb"
    assert restored.layers[1].layers[0].words is None
    np.testing.assert_array_equal(restored.layers[0].kernel, model.layers[0].kernel)
