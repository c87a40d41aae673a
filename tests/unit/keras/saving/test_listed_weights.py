"""load_weights from older .h5 files and .keras files: by position, by name, with mismatches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from architecture.sources import ROOT
from pinnace import keras
from pinnace.keras import layers
from support.keras_exchange import argument
from support.keras_exchange import flat as outputs_of
from support.keras_models import CASES, inputs_of

h5py = pytest.importorskip("h5py")
GOLDEN = ROOT / "tests" / "golden" / "keras_files"


# Keras warns, too: the state of the optimizer is not loaded until the optimizer is built.
@pytest.mark.filterwarnings("ignore:load_weights. Skipping variable loading for optimizer")
@pytest.mark.parametrize("folder", ["keras_2", "keras_3"])
@pytest.mark.parametrize("name", ["dense.h5", "heads.h5", "pictures.h5", "pictures.keras"])
def test_weights_of_whole_models_of_keras_are_read(folder: str, name: str) -> None:
    """Files that Keras wrote, with its outputs."""
    case = Path(name).stem
    model = CASES[case].make(keras)
    model.load_weights(GOLDEN / folder / name)
    wanted = np.load(GOLDEN / folder / f"{case}.npz")
    found = outputs_of(model(argument(model, inputs_of(case), tf), training=False))
    for index, output in enumerate(found):
        # float32: sums in another order.
        np.testing.assert_allclose(output, wanted[f"output_{index}"], rtol=1e-5, atol=1e-5)


def made(units: int = 3, *, names: tuple[str, str] = ("first", "last")) -> Any:
    inputs = keras.Input((4,))
    x = layers.Dense(units, name=names[0])(inputs)
    x = layers.BatchNormalization(name="normalization")(layers.ReLU()(x))
    return keras.Model(inputs, layers.Dense(2, name=names[1])(x))


def listed(path: Path, groups: dict[str, dict[str, Any]], inside: str = "") -> Path:
    """A file as from Keras 2, with attributes and groups written directly."""
    with h5py.File(path, "w") as file:
        owner = file.create_group(inside) if inside else file
        owner.attrs["layer_names"] = [name.encode() for name in groups]
        owner.attrs["backend"] = b"tensorflow"
        for name, arrays in groups.items():
            group = owner.create_group(name)
            group.attrs["weight_names"] = [key.encode() for key in arrays]
            for key, array in arrays.items():
                group.create_dataset(key, data=array)
    return path


def arrays(units: int = 3) -> dict[str, dict[str, Any]]:
    rng = np.random.default_rng(5)

    def drawn(*sizes: int) -> Any:
        return rng.normal(size=sizes).astype(np.float32)

    moving = {f"normalization/moving_{kind}:0": drawn(units) for kind in ("mean", "variance")}
    trained = {f"normalization/{kind}:0": drawn(units) for kind in ("gamma", "beta")}
    return {
        "input_1": {},
        "first": {"first/kernel:0": drawn(4, units), "first/bias:0": drawn(units)},
        "re_lu": {},
        "normalization": {**trained, **moving},
        "last": {"last/kernel:0": drawn(units, 2), "last/bias:0": drawn(2)},
    }


def flat(groups: dict[str, dict[str, Any]]) -> list[Any]:
    return [array for group in groups.values() for array in group.values()]


def same(found: list[Any], wanted: list[Any]) -> bool:
    return all(map(np.array_equal, found, wanted))


@pytest.mark.parametrize("inside", ["", "model_weights"])
@pytest.mark.parametrize("name", ["file.h5", "file.hdf5", "file.weights.h5"])
def test_layers_are_found_by_their_places(tmp_path: Path, inside: str, name: str) -> None:
    groups = arrays()
    model = made(names=("another", "name"))
    assert model.load_weights(listed(tmp_path / name, groups, inside)) is None
    assert same(model.get_weights(), flat(groups))


def test_long_lists_of_names_are_in_parts(tmp_path: Path) -> None:
    groups = arrays()
    path = listed(tmp_path / "file.h5", groups)
    with h5py.File(path, "a") as file:
        names = file.attrs["layer_names"]
        del file.attrs["layer_names"]
        file.attrs["layer_names0"], file.attrs["layer_names1"] = names[:2], names[2:]
    model = made()
    model.load_weights(path)
    assert same(model.get_weights(), flat(groups))


def test_layers_are_found_by_their_names(tmp_path: Path) -> None:
    groups = arrays()
    model = made(names=("first", "mine"))
    before = model.get_weights()
    path = listed(tmp_path / "file.h5", groups)
    model.load_weights(path, by_name=True)
    assert same(model.get_weights(), [*flat(groups)[:6], *before[6:]])
    with pytest.raises(ValueError, match=r"by_name is for \.h5 files"):
        model.load_weights(tmp_path / "checkpoint", by_name=True)
    model.save_weights(tmp_path / "model.weights.h5")
    with pytest.raises(ValueError, match=r"by_name is for \.h5 files"):
        model.load_weights(tmp_path / "model.weights.h5", by_name=True)
    with pytest.raises(ValueError, match="takes no argument by_names"):
        model.load_weights(path, by_names=True)


def test_what_does_not_fit_changes_nothing(tmp_path: Path) -> None:
    groups = arrays(5)
    path = listed(tmp_path / "file.h5", groups)
    model = made(3)
    before = model.get_weights()
    for options in ({}, {"by_name": True}):
        with pytest.raises(ValueError, match=r"file\.h5.*'first'.* shape \[4, 3\].*\[4, 5\]"):
            model.load_weights(path, **options)
    assert same(model.get_weights(), before)
    fewer = {name: groups[name] for name in ("first", "last")}
    with pytest.raises(ValueError, match="the model has 3 layers with weights, the file 2"):
        model.load_weights(listed(tmp_path / "fewer.h5", fewer), skip_mismatch=True)
    with h5py.File(path, "a") as file:
        del file["last"]
    with pytest.raises(ValueError, match="layer 'last' is listed, but missing"):
        model.load_weights(path)
    with pytest.raises(ValueError, match="no weights before it is built"):
        keras.Sequential([layers.Dense(2)]).load_weights(path)


def test_what_does_not_fit_stays_as_it_is_if_asked(tmp_path: Path) -> None:
    """Keras: arrays of another shape; by name, also layers with another number of arrays."""
    groups = arrays(5)
    model = made(3)
    before = model.get_weights()
    with pytest.warns(UserWarning, match="has shape") as told:
        model.load_weights(listed(tmp_path / "file.h5", groups), skip_mismatch=True)
    assert "'first/kernel:0' has shape [4, 3], the file has [4, 5]" in str(told[0].message)
    assert len(told) == 7
    assert {one.filename for one in told} == {__file__}
    # Only the bias of the last layer has the same shape in both.
    assert same(model.get_weights(), [*before[:-1], groups["last"]["last/bias:0"]])
    del groups["first"]["first/bias:0"]
    model = made(5)
    before = model.get_weights()
    path = listed(tmp_path / "other.h5", groups)
    with pytest.raises(ValueError, match="has 2 variables, the file has 1"):
        model.load_weights(path, skip_mismatch=True)
    with pytest.warns(UserWarning, match="has 2 variables, the file has 1"):
        model.load_weights(path, skip_mismatch=True, by_name=True)
    assert same(model.get_weights(), [*before[:2], *flat(groups)[1:]])


def test_the_weights_of_a_whole_file_go_into_a_model(tmp_path: Path) -> None:
    model, other, wider = made(), made(), made(5)
    model.save(tmp_path / "model.keras")
    other.load_weights(tmp_path / "model.keras")
    assert same(other.get_weights(), model.get_weights())
    before = wider.get_weights()
    with pytest.raises(ValueError, match=r"load_weights: layers/dense .*must have shape \[4, 5\]"):
        wider.load_weights(tmp_path / "model.keras")
    assert same(wider.get_weights(), before)
    with pytest.warns(UserWarning, match="must have shape") as told:
        wider.load_weights(tmp_path / "model.keras", skip_mismatch=True)
    assert [str(one.message).split()[1] for one in told] == [
        "layers/dense",
        "layers/batch_normalization",
        "layers/dense_1",
    ]
    assert {one.filename for one in told} == {__file__}
    (tmp_path / "model.keras").write_bytes(b"no archive")
    with pytest.raises(tf.errors.DataLossError, match=r"load_weights: .* is no \.keras file"):
        other.load_weights(tmp_path / "model.keras")


def test_links_in_a_file_are_not_followed(tmp_path: Path) -> None:
    path = listed(tmp_path / "file.h5", arrays())
    with h5py.File(path, "a") as file:
        del file["last"]
        file["last"] = h5py.ExternalLink(str(listed(tmp_path / "other.h5", arrays())), "last")
    with pytest.raises(ValueError, match="link"):
        made().load_weights(path)


@pytest.mark.parametrize("frozen", [False, True])
def test_a_model_inside_has_one_of_two_orders(tmp_path: Path, frozen: bool) -> None:
    """Keras lists trainable weights first, but a frozen model layer by layer."""
    parts = [layers.BatchNormalization(name="first"), layers.BatchNormalization(name="second")]
    inside = keras.Sequential([keras.Input((3,)), *parts], name="inside")
    inputs = keras.Input((3,))
    model = keras.Model(inputs, inside(inputs))
    kinds = ["gamma", "beta", "moving_mean", "moving_variance"]
    by_layer = [f"{part}/{kind}:0" for part in ("first", "second") for kind in kinds]
    trainable_first = sorted(by_layer, key=lambda name: "moving" in name)
    # All have one shape, so that only names determine the order.
    values = {name: np.full(3, place, np.float32) for place, name in enumerate(by_layer)}
    names = by_layer if frozen else trainable_first
    path = listed(tmp_path / "file.h5", {"inside": {name: values[name] for name in names}})
    model.load_weights(path)
    found = [*parts[0].get_weights(), *parts[1].get_weights()]
    assert same(found, list(values.values()))
