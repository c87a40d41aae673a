"""Models as folders, sharded weights, skipped layers, and refusals."""

import json

import h5py
import numpy as np
import pytest

import pinnace as tf

keras = tf.keras
layers = keras.layers
X = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")


def model():
    return keras.Sequential([keras.Input((3,)), layers.Dense(5), layers.Dense(2)])


def test_a_model_as_a_folder(tmp_path):
    made = model()
    made.compile("adam", "mse")
    made.train_on_batch(X, np.zeros((4, 2)))
    made.save(tmp_path / "folder", zipped=False)
    names = {path.name for path in (tmp_path / "folder").iterdir()}
    assert names == {"config.json", "metadata.json", "model.weights.h5"}
    loaded = keras.models.load_model(tmp_path / "folder")
    np.testing.assert_array_equal(made(X), loaded(X))
    assert loaded.optimizer is not None
    with pytest.raises(ValueError, match="should not end in"):
        made.save(tmp_path / "m.keras", zipped=False)


def test_the_words_of_a_layer_are_in_the_folder(tmp_path):
    lookup = layers.StringLookup(vocabulary=["a", "b"])
    words = keras.Input((1,), dtype="string")
    keras.Model(words, lookup(words)).save(tmp_path / "folder", zipped=False)
    loaded = keras.models.load_model(tmp_path / "folder")
    np.testing.assert_array_equal(loaded(tf.constant([["b"], ["z"]])), [[2], [0]])


def test_weights_in_several_files(tmp_path):
    made, other = model(), model()
    path = tmp_path / "w.weights.json"
    # The first kernel is 60 bytes, its bias 20, the second kernel 40 and its bias 8.
    keras.saving.save_weights(made, path, max_shard_size=64 / 2**30)
    assert sorted(one.name for one in tmp_path.iterdir()) == [
        "w.weights.json",
        *(f"w_0000{n}.weights.h5" for n in range(3)),
    ]
    told = json.loads(path.read_text())
    assert told["metadata"]["total_size"] == 128
    assert told["weight_map"]["/layers/dense/vars"] == [
        "w_00000.weights.h5",
        "w_00001.weights.h5",
    ]
    keras.saving.load_weights(other, path)
    for a, b in zip(made.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)
    with h5py.File(tmp_path / "w_00002.weights.h5") as file:
        np.testing.assert_array_equal(file["layers/dense_1/vars/1"], made.get_weights()[3])


def test_a_file_too_small_for_a_variable(tmp_path):
    with pytest.raises(ValueError, match="max_shard_size must be at least"):
        model().save_weights(tmp_path / "w.weights.json", max_shard_size=32 / 2**30)
    with pytest.raises(ValueError, match=r"`\.weights\.json` and max_shard_size go together"):
        model().save_weights(tmp_path / "w.weights.json")


def test_a_map_may_name_files_beside_it_only(tmp_path):
    path = tmp_path / "w.weights.json"
    path.write_text(json.dumps({"weight_map": {"/layers/dense/vars": "../w.weights.h5"}}))
    with pytest.raises(tf.errors.DataLossError, match="not the name of a file in the same folder"):
        model().load_weights(path)
    path.write_text("[1, 2]")
    with pytest.raises(tf.errors.DataLossError, match="not a map of weights"):
        model().load_weights(path)


def test_layers_that_are_left_out(tmp_path):
    made, other = model(), model()
    before = other.get_weights()
    made.save_weights(tmp_path / "w.weights.h5", objects_to_skip=[made.layers[0]])
    with h5py.File(tmp_path / "w.weights.h5") as file:
        assert list(file["layers"]) == ["dense_1"]
    other.load_weights(tmp_path / "w.weights.h5", objects_to_skip=[other.layers[0]])
    np.testing.assert_array_equal(other.get_weights()[0], before[0])
    np.testing.assert_array_equal(other.get_weights()[2], made.get_weights()[2])


def test_what_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"The following argument\(s\) are not supported: other"):
        model().save(tmp_path / "m.keras", other=1)
    with pytest.raises(ValueError, match="File not found"):
        keras.models.load_model(tmp_path / "no.keras")
    with pytest.raises(ValueError, match="File format not supported"):
        keras.models.load_model(tmp_path / "no.pkl")
    with pytest.raises(ValueError, match="File format not supported"):
        model().load_weights(tmp_path / "no.pkl")
    with pytest.raises(TypeError, match="Expected 'config' to be a dict"):
        keras.saving.deserialize_keras_object({"class_name": "Dense", "config": [1]})
    with pytest.raises(ValueError, match="containing the 'name' and 'layers' keys"):
        keras.Sequential.from_config({"layers": []})


class Trained(keras.Model):
    def train_step(self, data):
        return super().train_step(data)


def test_a_subclass_made_of_inputs_and_outputs(tmp_path):
    begin = keras.Input((3,), batch_size=3)
    made = Trained(begin, layers.Dense(2)(begin))
    made.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras", {"Trained": Trained})
    assert type(loaded) is Trained
    # Another batch size than that of the Input.
    np.testing.assert_array_equal(made(X), loaded(X))


class Around(layers.Layer):
    def __init__(self, inner, function, **kwargs):
        super().__init__(**kwargs)
        self.inner, self.function = inner, function

    def call(self, x):
        return self.function(self.inner(x))

    def get_config(self):
        return {**super().get_config(), "inner": self.inner, "function": self.function}


@keras.saving.register_keras_serializable(package="folders_and_shards")
def twice(x):
    return 2 * x


def test_a_layer_in_a_configuration(tmp_path):
    begin = keras.Input((3,))
    made = keras.Model(begin, Around(layers.Dense(2), twice)(begin))
    made.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras", {"Around": Around})
    np.testing.assert_array_equal(made(X), loaded(X))


def test_bytes_and_functions_by_their_names_alone():
    told = keras.saving.serialize_keras_object(b"ab")
    assert told == {"class_name": "__bytes__", "config": {"value": "ab"}}
    assert keras.saving.deserialize_keras_object(told) == b"ab"
    for name in ("twice", "folders_and_shards>twice"):
        config = {"module": "builtins", "class_name": "function", "registered_name": "function"}
        assert keras.saving.deserialize_keras_object({**config, "config": name}) is twice
