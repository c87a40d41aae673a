"""save and load_model: our own .keras and .h5 files, and refusals in those of others."""

import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace import keras
from pinnace.framework.errors import (
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    ResourceExhaustedError,
)
from pinnace.keras import layers
from support.golden import golden
from support.keras_exchange import argument, flat, read, write
from support.keras_models import CASES, inputs_of

h5py = pytest.importorskip("h5py")
ENDINGS = [".keras", ".h5"]
X = np.linspace(-1, 1, 12).reshape(3, 4).astype(np.float32)


def small() -> Any:
    model = keras.Sequential([keras.Input([4]), layers.Dense(3, activation="relu", name="first")])
    model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
    return model


# A head without a loss has no gradient.
@pytest.mark.filterwarnings("ignore:.*the loss does not depend on")
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", CASES)
def test_it_comes_back_and_trains_on(name: str, ending: str, tmp_path: Path) -> None:
    if ending == ".h5" and not CASES[name].h5:
        pytest.skip("the older form cannot hold it")
    write(tf, tmp_path, name)
    found = read(tf, tmp_path, name, ending)
    assert set(found) == ({"output", "loss", "trained"} if CASES[name].train else {"output"})
    # Equal sums on both sides, in another order if a kernel was compiled in between.
    assert max(found.values()) <= 1e-6, found


@pytest.mark.parametrize("ending", ENDINGS)
def test_how_it_is_trained_comes_back(ending: str, tmp_path: Path) -> None:
    model = small()
    model.fit(X, X[:, :3], verbose=0)
    path = tmp_path / f"m{ending}"
    model.save(path)
    again = keras.models.load_model(path)
    assert again.optimizer.iterations.numpy() == 1
    for one, other in zip(again.optimizer.variables, model.optimizer.variables, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
    assert again.evaluate(X, X[:, :3], verbose=0, return_dict=True) == model.evaluate(
        X, X[:, :3], verbose=0, return_dict=True
    )
    assert not keras.models.load_model(path, compile=False).compiled
    model.save(path, include_optimizer=False)
    assert not keras.saving.load_model(path).compiled


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_is_replaced_whole_or_not_at_all(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"deep/m{ending}"
    small().save(path)
    before = path.read_bytes()
    with pytest.raises(FileExistsError):
        small().save(path, overwrite=False)
    bad = keras.Sequential([keras.Input([4]), layers.Lambda(lambda x: x + 1)])
    with pytest.raises(NotImplementedError, match="Files never hold code"):
        bad.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_subclass_needs_its_class(tmp_path: Path) -> None:
    class Unknown(layers.Layer):
        def call(self, x: Any) -> Any:
            return x * 2.0

    model = keras.Sequential([keras.Input([4]), Unknown()])
    model.save(tmp_path / "m.keras")
    with pytest.raises(InvalidArgumentError, match="Unknown is not known") as told:
        keras.models.load_model(tmp_path / "m.keras")
    assert "custom_objects={'Unknown': ...}" in str(told.value)
    again = keras.models.load_model(tmp_path / "m.keras", custom_objects={"Unknown": Unknown})
    np.testing.assert_array_equal(again(X), X * 2)


@pytest.mark.parametrize(
    ("module", "named", "place"),
    [
        ("larq.layers", "QuantConv2D", "where larq is installed"),
        (None, "kapre>STFT", "where kapre is installed"),
        (None, "QuantConv2D", "where it is defined"),
        ("__main__", "Mine", "where it is defined"),
        (None, "Custom>Mine", "where it is defined"),
    ],
)
def test_a_class_of_another_package_says_how_to_do_without(
    module: str | None, named: str, place: str
) -> None:
    """Its configuration does not contain its computation, which a SavedModel does."""
    config = {"class_name": named, "config": {}, "module": module}
    with pytest.raises(ValueError, match="is not known") as told:
        keras.saving.deserialize_keras_object(config)
    assert f"model.export(FOLDER) of TensorFlow's Keras, {place}: a SavedModel" in str(told.value)
    assert "--import MODULE" in str(told.value)


def doubled(x: Any) -> Any:
    return x * 2.0


@pytest.mark.parametrize("ending", ENDINGS)
def test_functions_in_lambdas_are_found_by_name(ending: str, tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input([4]), layers.Lambda(doubled, name="twice")])
    path = tmp_path / f"m{ending}"
    model.save(path)
    with pytest.raises(InvalidArgumentError, match="doubled is not known"):
        keras.models.load_model(path)
    for name in ("doubled", "twice"):
        again = keras.models.load_model(path, custom_objects={name: doubled})
        np.testing.assert_array_equal(again(X), X * 2)


@pytest.mark.filterwarnings("ignore:load_model. safe_mode has no effect:UserWarning")
@pytest.mark.parametrize("ending", ENDINGS)
def test_bytecode_is_not_run_in_any_mode(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"m{ending}"
    model = keras.Sequential([keras.Input([4]), layers.Lambda(doubled, name="twice")])
    model.save(path)
    code = {"class_name": "__lambda__", "config": {"code": "4wAAAA==", "defaults": None}}

    def change(config: Any) -> None:
        config["config"]["layers"][1]["config"]["function"] = code

    changed(path, change)
    with pytest.raises(InvalidArgumentError, match="bytecode of a function, which is never run"):
        keras.models.load_model(path, safe_mode=False)
    again = keras.models.load_model(path, custom_objects={"twice": doubled})
    np.testing.assert_array_equal(again(X), X * 2)


def changed(path: Path, change: Callable[[Any], None]) -> None:
    """Rewrite a file with another configuration."""
    if path.suffix == ".h5":
        with h5py.File(path, "r+") as file:
            file.attrs.pop("pinnace_crc32c", None)
            config = json.loads(file.attrs["model_config"])
            change(config)
            file.attrs["model_config"] = json.dumps(config)
        return
    rewritten(
        path, "config.json", lambda data: json.dumps(_with(json.loads(data), change)).encode()
    )


def _with(config: Any, change: Callable[[Any], None]) -> Any:
    change(config)
    return config


def rewritten(path: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    """Rewrite an archive with another member, with a valid checksum."""
    with zipfile.ZipFile(path) as archive:
        members = {one: archive.read(one) for one in archive.namelist()}
    members[name] = change(members[name])
    with zipfile.ZipFile(path, "w") as archive:
        for one, data in members.items():
            archive.writestr(one, data)


# Malicious files.


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("units", 10**9, "needs more values than the file holds"),
        ("activation", {"class_name": "function", "config": "load_model"}, "is not known"),
        ("activation", {"class_name": "function", "config": "get"}, "is not known"),
        (
            "activation",
            {"class_name": "function", "module": "os", "config": "system"},
            "is not known",
        ),
        ("kernel_initializer", {"module": "os", "class_name": "x", "config": {}}, "is not known"),
        ("kernel_initializer", {"class_name": ["x"], "config": {}}, "must be texts"),
    ],
)
def test_a_configuration_can_name_nothing_else(
    ending: str, key: str, value: Any, message: str, tmp_path: Path
) -> None:
    path = tmp_path / f"m{ending}"
    small().save(path)
    changed(path, lambda config: config["config"]["layers"][1]["config"].update({key: value}))
    with pytest.raises(OpError, match=message):
        keras.models.load_model(path)


@pytest.mark.parametrize(
    ("metric", "key"),
    [
        (keras.metrics.AUC(), "num_thresholds"),
        (keras.metrics.PrecisionAtRecall(0.5), "num_thresholds"),
        (keras.metrics.MeanIoU(3), "num_classes"),
    ],
)
def test_a_metric_takes_no_memory_that_the_file_does_not(
    metric: Any, key: str, tmp_path: Path
) -> None:
    path = tmp_path / "m.keras"
    model = small()
    model.compile("sgd", "mse", metrics=[metric])
    model.save(path)

    def change(config: Any) -> None:
        config["compile_config"]["metrics"][0]["config"][key] = 10**9

    changed(path, change)
    with pytest.warns(UserWarning, match=f"is not compiled: .*{key}=1000000000 needs .* numbers"):
        model = keras.models.load_model(path)
    assert not model.compiled


def test_a_configuration_reads_no_file(tmp_path: Path) -> None:
    words = keras.Input([1], dtype="string")
    model = keras.Model(words, layers.StringLookup(vocabulary=["a"])(words))
    model.save(tmp_path / "m.keras")
    secret = tmp_path / "secret"
    secret.write_text("b\n")

    def change(config: Any) -> None:
        config["config"]["layers"][1]["config"]["vocabulary"] = str(secret)

    changed(tmp_path / "m.keras", change)
    with pytest.raises(InvalidArgumentError, match="a file is not read"):
        keras.models.load_model(tmp_path / "m.keras")


def test_an_archive_that_grows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.keras"
    small().save(path)
    with zipfile.ZipFile(path) as archive:
        members = {one: archive.read(one) for one in archive.namelist()}
    members["config.json"] += b" " * (64 << 20)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for one, data in members.items():
            archive.writestr(one, data)
    with pytest.raises(ResourceExhaustedError, match="would grow from"):
        keras.models.load_model(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", ["config.json", "../x", "/etc/x", "a\\..\\b"])
def test_members_have_names_inside_and_one_each(name: str, tmp_path: Path) -> None:
    path = tmp_path / "m.keras"
    small().save(path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, b"{}")
    with pytest.raises(DataLossError, match=r"two members|no name inside"):
        keras.models.load_model(path)


def test_damaged_weights_are_told(tmp_path: Path) -> None:
    path = tmp_path / "m.keras"
    small().save(path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(DataLossError, match="checksum is wrong"):
        keras.models.load_model(path)


def with_other_kernel(data: bytes, change: Callable[[Any, str], None]) -> bytes:
    memory = io.BytesIO(data)
    with h5py.File(memory, "r+") as file:
        file.attrs.pop("pinnace_crc32c", None)
        names: list[str] = []
        file.visititems(lambda name, item: names.append(name) if hasattr(item, "shape") else None)
        name = next(n for n in names if n.endswith(("first/kernel", "dense/vars/0")))
        del file[name]
        change(file, name)
    return memory.getvalue()


CHANGES: dict[str, Callable[[Any, str], None]] = {
    "another shape": lambda file, name: file.create_dataset(name, (4, 4), "f4"),
    "no numbers": lambda file, name: file.create_dataset(name, data=np.array([b"x"])),
    "a link outside": lambda file, name: file.__setitem__(name, h5py.ExternalLink("x.h5", "/")),
    "a link inside": lambda file, name: file.__setitem__(name, h5py.SoftLink("/")),
    "a group": lambda file, name: file.create_group(name),
    "nothing": lambda *_: None,
    "another file": lambda file, name: file.create_dataset(
        name, (4, 3), "f4", external=[("/etc/hostname", 0, 48)]
    ),
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("what", CHANGES)
def test_other_weights_are_told(what: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"m{ending}"
    small().save(path)
    if ending == ".h5":
        path.write_bytes(with_other_kernel(path.read_bytes(), CHANGES[what]))
    else:
        rewritten(path, "model.weights.h5", lambda d: with_other_kernel(d, CHANGES[what]))
    with pytest.raises(
        InvalidArgumentError, match=r"plain array|must have shape|is a link|variabl"
    ):
        keras.models.load_model(path)


def test_other_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        keras.models.load_model(tmp_path / "none.keras")
    for name in ("m.keras", "m.h5"):
        (tmp_path / name).write_bytes(os.urandom(100))
        with pytest.raises(DataLossError, match=r"is no .keras file|not an HDF5 file"):
            keras.models.load_model(tmp_path / name)
    small().save_weights(tmp_path / "m.weights.h5")
    with pytest.raises(InvalidArgumentError, match="it holds weights alone"):
        keras.models.load_model(tmp_path / "m.weights.h5")


def test_a_folder_is_a_saved_model(tmp_path: Path) -> None:
    model = small()
    model.save(tmp_path / "m")
    again = keras.models.load_model(tmp_path / "m")
    np.testing.assert_allclose(again(tf.constant(X)), model(X), rtol=1e-6)


def test_a_folder_predicts_and_once_compiled_evaluates_and_trains(tmp_path: Path) -> None:
    model = small()
    x, y = np.asarray(X, np.float32), np.asarray(model(X)) + 1
    model.compile("sgd", "mse")
    wanted = model.predict(x, verbose=0), model.evaluate(x, y, verbose=0)
    for store, folder in ((model.save, tmp_path / "saved"), (model.export, tmp_path / "exported")):
        store(folder)
        again = keras.models.load_model(folder)
        assert "serving_default" in again.signatures
        again.compile("sgd", "mse")
        np.testing.assert_allclose(again.predict(x, verbose=0), wanted[0], rtol=1e-6)
        assert again.evaluate(x, y, verbose=0) == pytest.approx(wanted[1], rel=1e-6)
        assert len(again.trainable_variables) == len(model.trainable_variables)
        losses = again.fit(x, y, epochs=4, verbose=0).history["loss"]
        assert losses[-1] < losses[0]
        again.save(tmp_path / "again")
        found = keras.models.load_model(tmp_path / "again").predict(x, verbose=0)
        np.testing.assert_allclose(found, again.predict(x, verbose=0), rtol=1e-6)
        with pytest.raises(AttributeError, match=r"no 'nothing'(?s:.*)as a \.keras file"):
            again.nothing  # noqa: B018 (it raises)
        with pytest.raises(NotImplementedError, match="holds no configuration"):
            again.get_config()


def test_a_folder_of_nothing_to_call_says_what_it_has(tmp_path: Path) -> None:
    module = tf.Module()
    for name in ("f", "g"):
        setattr(module, name, tf.function(lambda x: x, input_signature=[tf.TensorSpec([])]))
    tf.saved_model.save(module, str(tmp_path))
    with pytest.raises(ValueError, match=r"its functions are f, g\n  Try: saved_model\.load"):
        keras.models.load_model(tmp_path).predict([1.0], verbose=0)


@pytest.mark.parametrize("name", ["m.pb", "m.onnx", "m.tflite"])
def test_the_name_of_a_file_is_refused_for_a_folder(name: str, tmp_path: Path) -> None:
    for store in (small().save, small().export):
        with pytest.raises(ValueError, match="a SavedModel is a folder"):
            store(tmp_path / name)
    assert not (tmp_path / name).exists()


def test_any_name_will_do_for_what_is_inside(tmp_path: Path) -> None:
    path = tmp_path / "m.h5"
    path.write_bytes((golden("keras_files/keras_3") / "dense.keras").read_bytes())
    assert keras.models.load_model(path).name == "small"


@pytest.mark.parametrize("name", ["heads", "operators", "own_layer", "recurrent"])
def test_copies_by_json_and_clone(name: str) -> None:
    keras.utils.set_random_seed(1)
    model = CASES[name].make(keras)
    x = argument(model, inputs_of(name), tf)
    wanted = flat(model(x))
    for other in (
        keras.models.model_from_json(model.to_json()),
        keras.models.clone_model(model),
        keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(model)),
    ):
        other.set_weights(model.get_weights())
        for one, value in zip(flat(other(x)), wanted, strict=True):
            np.testing.assert_array_equal(one, value)
