"""Files of Keras 1.2 and of 2.0 to 2.3, which ran on Theano: all weights, equal outputs."""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import pinnace as tf
from support.golden import golden

FOLDER = golden("keras_files/keras_2").parent
FOLDERS = ("keras_1", "keras_2_cudnn", "keras_2_0", "keras_2_1", "keras_2_2", "keras_2_3")
FILES = sorted(
    path.relative_to(FOLDER).as_posix()
    for folder in FOLDERS
    for path in golden(f"keras_files/{folder}").glob("*.h5")
    if not path.name.endswith(".weights.h5")
)


def arrays_of(file: Path) -> tuple[list[Any], list[Any]]:
    found = np.load(file.with_suffix(".npz"))
    inputs, outputs = ([found[k] for k in found.files if k.startswith(side)] for side in "xy")
    return inputs, outputs


def answers(model: Any, inputs: list[Any]) -> list[Any]:
    found = model(inputs if len(inputs) > 1 else inputs[0])
    return found if isinstance(found, list) else [found]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.filterwarnings("ignore:load_model. the state of the optimizer:UserWarning")
def test_it_opens_with_its_weights(file: str) -> None:
    model = tf.keras.models.load_model(FOLDER / file)
    inputs, outputs = arrays_of(FOLDER / file)
    for mine, theirs in zip(answers(model, inputs), outputs, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=2e-5)


@pytest.mark.parametrize("name", ["recurrent", "pictures_first"])
@pytest.mark.parametrize("by_name", [False, True])
def test_weights_alone_that_tell_no_version(name: str, by_name: bool) -> None:
    file = FOLDER / "keras_1" / f"{name}.h5"
    model = tf.keras.models.load_model(file)
    inputs, outputs = arrays_of(file)
    model.set_weights([np.zeros_like(w) for w in model.get_weights()])
    model.load_weights(file.with_name(f"{name}.weights.h5"), by_name=by_name)
    np.testing.assert_allclose(answers(model, inputs)[0], outputs[0], atol=2e-5)


@pytest.mark.parametrize(
    "file", ["keras_1/branches.h5", "keras_1/merges.h5", "keras_2_0/nested.h5"]
)
def test_saved_again_in_todays_form(file: str, tmp_path: Path) -> None:
    inputs, outputs = arrays_of(FOLDER / file)
    model = tf.keras.models.load_model(FOLDER / file)
    model.save(tmp_path / "again.keras")
    again = tf.keras.models.load_model(tmp_path / "again.keras")
    for mine, theirs in zip(answers(again, inputs), outputs, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=2e-5)


@pytest.mark.parametrize("version", ["2_0", "2_1", "2_2", "2_3"])
def test_the_state_of_an_optimizer(version: str) -> None:
    file = FOLDER / f"keras_{version}" / "dense.h5"
    optimizer = tf.keras.models.load_model(file).optimizer
    with h5py.File(file) as opened:
        group = opened["optimizer_weights"]
        values = [group[name][()] for name in group.attrs["weight_names"]]
    count = len(optimizer._targets)
    assert int(optimizer.iterations) == values[0] == 1
    for at, variable in enumerate(optimizer._targets):
        for kind, slot in enumerate(("momentum", "velocity")):
            mine = optimizer.slot(slot, variable)
            np.testing.assert_array_equal(mine, values[1 + kind * count + at])


def test_that_of_keras_1_is_told_as_lost() -> None:
    with pytest.warns(UserWarning, match="the optimizer is not restored: Keras 1"):
        model = tf.keras.models.load_model(FOLDER / "keras_1" / "dense.h5")
    assert model.optimizer is not None


def config_of(*layers: tuple[str, dict[str, Any]], version: str | None = "1.2.2") -> str:
    config: dict[str, Any] = {
        "class_name": "Sequential",
        "config": [{"class_name": kind, "config": inner} for kind, inner in layers],
    }
    return json.dumps(config if version is None else {**config, "keras_version": version})


DENSE = {"name": "dense_1", "batch_input_shape": [None, 4], "output_dim": 2, "init": "uniform"}


@pytest.mark.parametrize("version", ["1.0.8", "1.2.2", None])
def test_a_configuration_alone(version: str | None) -> None:
    text = config_of(
        ("Dense", {**DENSE, "W_regularizer": {"name": "WeightRegularizer", "l1": 0.0, "l2": 0.5}}),
        ("BatchNormalization", {"name": "b", "mode": 0, "axis": -1, "epsilon": 1e-5}),
        ("Dropout", {"name": "drop", "p": 0.25}),
        ("ELU", {"name": "elu", "alpha": 0.5}),
        version=version,
    )
    model = tf.keras.models.model_from_json(text)
    dense, norm, drop, elu = model.layers
    assert (dense.units, norm.epsilon, drop.rate, elu.alpha) == (2, 1e-5, 0.25, 0.5)
    assert float(dense.kernel_regularizer(np.ones((2, 2), np.float32))) == 2.0


@pytest.mark.parametrize(
    ("kind", "arguments", "told"),
    [
        ("Highway", {}, "is a Highway of Keras 1, a gate"),
        ("MaxoutDense", {"output_dim": 2, "nb_feature": 3}, "is a MaxoutDense of Keras 1"),
        ("SReLU", {}, "is a SReLU of Keras 1"),
        ("BatchNormalization", {"mode": 1}, "with mode=1"),
        ("BatchNormalization", {"mode": 2}, "with mode=2"),
        ("Merge", {"mode": "abc", "mode_type": "lambda"}, "by a function of Python"),
        (
            "Dense",
            {"output_dim": 1, "W_regularizer": {"name": "EigenvalueRegularizer", "k": 1.0}},
            "a regularizer of Keras 1, EigenvalueRegularizer",
        ),
    ],
)
def test_what_no_later_keras_has_is_refused_by_name(
    kind: str, arguments: dict[str, Any], told: str
) -> None:
    with pytest.raises(ValueError, match=told):
        tf.keras.models.model_from_json(
            config_of(("Dense", DENSE), (kind, {"name": "it", **arguments}))
        )
