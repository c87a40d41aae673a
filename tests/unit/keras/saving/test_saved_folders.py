"""Folders that Keras 2 wrote: models with layers are restored, with its predictions and weights."""

from __future__ import annotations

import json
import shutil
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pinnace import keras, saved_model
from pinnace.framework.errors import DataLossError, ResourceExhaustedError
from pinnace.keras import layers
from pinnace.keras.saving.restored_models import RestoredModel
from pinnace.proto.keras_metadata_pb2 import KerasMetadata
from pinnace.proto.saved_model_pb2 import SavedModel
from pinnace.saved_model import keras_objects
from support.changed_models import write_changed
from support.golden import golden

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAMES = ("sequential", "functional", "without_traces", "adapted")
# float32, sums in another order.
NEAR: Any = {"rtol": 1e-5, "atol": 1e-6}
pytestmark = pytest.mark.filterwarnings("ignore:.*state of the optimizer is not restored")


def case(name: str) -> tuple[Path, Any]:
    folder = golden(f"keras_folders/{name}")
    return folder / "model", np.load(folder / "io.npz")


def copy_of(name: str, folder: Path) -> Path:
    shutil.copytree(case(name)[0], folder, copy_function=shutil.copyfile)
    return folder


def with_root(folder: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    """Keras's metadata of the root, changed."""
    path = folder / keras_objects.FILE
    told = KerasMetadata.FromString(path.read_bytes())
    root = json.loads(told.nodes[0].metadata)
    change(root)
    told.nodes[0].metadata = json.dumps(root)
    path.write_bytes(told.SerializeToString())
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_it_is_the_model_of_layers_that_it_was(name: str, tmp_path: Path) -> None:
    path, told = case(name)
    model = keras.models.load_model(path)
    assert isinstance(model, keras.Sequential if name == "sequential" else keras.models.Functional)
    np.testing.assert_allclose(model.predict(told["x"], verbose=0), told["output"], **NEAR)
    loss = np.ravel(model.evaluate(told["x"], told["y"], verbose=0))[:1]
    np.testing.assert_allclose(loss, told["loss"], **NEAR)
    model.save(tmp_path / "m.keras")
    again = keras.models.load_model(tmp_path / "m.keras")
    for one in (model, again):
        one.fit(told["x"], told["y"], epochs=2, batch_size=5, shuffle=False, verbose=0)
        np.testing.assert_allclose(one.predict(told["x"], verbose=0), told["trained"], **NEAR)


def test_layers_are_as_they_were() -> None:
    model = keras.models.load_model(case("sequential")[0])
    assert [layer.name for layer in model.layers] == ["first", "normal", "last"]
    assert len(model.get_layer("normal").weights) == 4
    assert not model.get_layer("last").trainable
    assert model.get_config()["layers"][1]["config"]["activation"] == "relu"


def test_what_adapt_found_comes_back() -> None:
    model = keras.models.load_model(case("adapted")[0])
    # The most frequent first.
    assert model.get_layer("known").get_vocabulary() == [-1, 5, 8, 3]
    np.testing.assert_allclose(np.ravel(model.get_layer("normal").mean), [21 / 4, 21 / 4], **NEAR)


@pytest.mark.parametrize("name", ["sequential", "functional", "adapted"])
def test_signatures_are_there_and_share_the_weights(name: str) -> None:
    path, told = case(name)
    model = keras.models.load_model(path)
    (argument,) = model.signatures["serving_default"].structured_input_signature[1].items()
    x = told["x"].astype(argument[1].dtype.as_numpy_dtype)
    (found,) = model.signatures["serving_default"](**{argument[0]: x}).values()
    np.testing.assert_allclose(found, told["output"], **NEAR)
    model.layers[-1].bias.assign_add([1.0] * model.layers[-1].bias.shape[0])
    (moved,) = model.signatures["serving_default"](**{argument[0]: x}).values()
    np.testing.assert_allclose(moved, model.predict(told["x"], verbose=0), **NEAR)
    assert np.abs(np.asarray(moved) - told["output"]).max() > 1e-2


def test_not_compiled_if_not_wanted() -> None:
    path, told = case("sequential")
    model = keras.models.load_model(path, compile=False)
    assert not model.compiled
    np.testing.assert_allclose(model.predict(told["x"], verbose=0), told["output"], **NEAR)


@pytest.mark.parametrize("name", ["sequential", "functional", "adapted"])
def test_older_files_hold_the_texts_in_the_graph(name: str, tmp_path: Path) -> None:
    """TensorFlow 2.0 to 2.4: no separate file, the same metadata in each object."""
    folder = copy_of(name, tmp_path / "m")
    told = KerasMetadata.FromString((folder / keras_objects.FILE).read_bytes())
    file = folder / "saved_model.pb"
    model = SavedModel.FromString(file.read_bytes())
    for one in told.nodes:
        user = model.meta_graphs[0].object_graph_def.nodes[one.node_id].user_object
        assert user.identifier == one.identifier
        user.metadata = one.metadata
    write_changed(file, model)
    (folder / keras_objects.FILE).unlink()
    loaded = keras.models.load_model(folder)
    assert not isinstance(loaded, RestoredModel)
    values = case(name)[1]
    np.testing.assert_allclose(loaded.predict(values["x"], verbose=0), values["output"], **NEAR)


# A model that cannot be rebuilt consists of its functions.


def other_class(root: dict[str, Any]) -> None:
    root["config"]["layers"][-1]["class_name"] = "Custom>Unknown"


def other_shape(root: dict[str, Any]) -> None:
    root["config"]["layers"][-1]["config"]["units"] = 3


def other_name(root: dict[str, Any]) -> None:
    root["config"]["layers"][-1]["config"]["name"] = "other"


def fewer_layers(root: dict[str, Any]) -> None:
    del root["config"]["layers"][-1]


def many_weights(root: dict[str, Any]) -> None:
    root["config"]["layers"][-1]["config"]["units"] = 1 << 40


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (other_class, "Unknown is not known"),
        (other_shape, "in the file a float32"),
        (other_name, "has layer 'last' in the place of 'other'"),
        (fewer_layers, "the file has 3 for it"),
        (many_weights, "more values than the file holds"),
    ],
)
def test_what_cannot_be_built_is_its_functions_and_says_why(
    change: Callable[[dict[str, Any]], Any], why: str, tmp_path: Path
) -> None:
    folder = with_root(copy_of("sequential", tmp_path / "m"), change)
    with pytest.warns(UserWarning, match=why):
        model = keras.models.load_model(folder)
    assert isinstance(model, RestoredModel)
    told = case("sequential")[1]
    np.testing.assert_allclose(model.predict(told["x"], verbose=0), told["output"], **NEAR)


def test_own_classes_are_given_as_custom_objects(tmp_path: Path) -> None:
    class Unknown(layers.Dense):
        """A user-defined class."""

    folder = with_root(copy_of("sequential", tmp_path / "m"), other_class)
    model = keras.models.load_model(folder, custom_objects={"Unknown": Unknown})
    assert isinstance(model.layers[-1], Unknown)
    told = case("sequential")[1]
    np.testing.assert_allclose(model.predict(told["x"], verbose=0), told["output"], **NEAR)


def test_an_unknown_loss_leaves_it_uncompiled(tmp_path: Path) -> None:
    def change(root: dict[str, Any]) -> None:
        root["training_config"]["loss"] = "own_loss"

    folder = with_root(copy_of("sequential", tmp_path / "m"), change)
    with pytest.warns(UserWarning, match="own_loss"):
        model = keras.models.load_model(folder)
    assert isinstance(model, keras.Sequential)
    assert not model.compiled


def test_a_subclassed_model_is_its_functions(tmp_path: Path) -> None:
    folder = copy_of("sequential", tmp_path / "m")
    path = folder / keras_objects.FILE
    told = KerasMetadata.FromString(path.read_bytes())
    told.nodes[0].identifier = "_tf_keras_model"
    path.write_bytes(told.SerializeToString())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert isinstance(keras.models.load_model(folder), RestoredModel)


def test_a_subclass_that_is_not_known_is_the_class_above_it(tmp_path: Path) -> None:
    def change(root: dict[str, Any]) -> None:
        root["class_name"] = "Own"

    folder = with_root(copy_of("functional", tmp_path / "m"), change)
    assert type(keras.models.load_model(folder)) is keras.models.Functional


# Damaged files.


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def no_json(path: Path) -> None:
    told = KerasMetadata.FromString(path.read_bytes())
    told.nodes[0].metadata = told.nodes[0].metadata[:-2]
    path.write_bytes(told.SerializeToString())


def deep(path: Path) -> None:
    told = KerasMetadata.FromString(path.read_bytes())
    told.nodes[0].metadata = "[" * 200_000
    path.write_bytes(told.SerializeToString())


def a_list(path: Path) -> None:
    told = KerasMetadata.FromString(path.read_bytes())
    told.nodes[0].metadata = "[]"
    path.write_bytes(told.SerializeToString())


def other_objects(path: Path) -> None:
    told = KerasMetadata.FromString(path.read_bytes())
    told.nodes[-1].node_id = 1 << 20
    path.write_bytes(told.SerializeToString())


@pytest.mark.parametrize("damage", [truncated, no_json, deep, a_list, other_objects])
def test_a_damaged_file_is_one_error_that_says_what_helps(
    damage: Callable[[Path], None], tmp_path: Path
) -> None:
    folder = copy_of("sequential", tmp_path / "m")
    damage(folder / keras_objects.FILE)
    with pytest.raises(DataLossError, match=r"Try: saved_model\.load"):
        keras.models.load_model(folder)
    assert saved_model.load(folder).signatures


def test_a_file_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keras_objects, "MOST_BYTES", 100)
    with pytest.raises(ResourceExhaustedError, match="more than 100 bytes"):
        keras.models.load_model(case("sequential")[0])
