"""Arguments and names that are removed or misspelt: a warning, or a suggestion."""

import json
import warnings
import zipfile

import h5py
import numpy as np
import pytest

from pinnace import keras
from pinnace.framework import no_effect
from pinnace.keras import (
    activations,
    initializers,
    layers,
    losses,
    metrics,
    optimizers,
    regularizers,
)

X = np.ones((4, 3), "float32")


@pytest.fixture(autouse=True)
def _nothing_was_told(monkeypatch):
    monkeypatch.setattr(no_effect, "_told", set())


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Adagrad", "Adadelta", "Nadam", "Ftrl"])
def test_decay_is_taken_with_a_notice(name):
    with pytest.warns(UserWarning, match=f"{name}: decay has no effect"):
        optimizer = getattr(optimizers, name)(learning_rate=0.25, decay=1e-6)
    assert float(optimizer.learning_rate) == 0.25
    assert float(getattr(optimizers, name)(lr=0.5).learning_rate) == 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        getattr(optimizers, name)(decay=0.0)  # as in many files
    with pytest.raises(ValueError, match="unknown arguments momentun"):
        getattr(optimizers, name)(momentun=0.9)


@pytest.mark.parametrize(
    ("get", "wrong", "meant"),
    [
        (losses.get, "binary_crossentropi", "binary_crossentropy"),
        (losses.get, "categorical_cross_entropy", "categorical_crossentropy"),
        (metrics.get, "recal", "recall"),
        (metrics.get, "AUROC", "auc"),
        (optimizers.get, "adm", "adam"),
        (optimizers.get, "rms_prop", "rmsprop"),
        (activations.get, "rellu", "relu"),
        (activations.get, "sigmod", "sigmoid"),
        (initializers.get, "glorot_unifrom", "glorot_uniform"),
        (initializers.get, "henormal", "henormal"),
        (regularizers.get, "l1l3", "l1l2"),
    ],
)
def test_a_misspelt_name_is_told_what_was_probably_meant(get, wrong, meant):
    with pytest.raises(ValueError, match=f"(?i)did you mean '{meant}'"):
        get(wrong)


def test_a_name_like_no_other_gets_no_advice():
    with pytest.raises(ValueError, match="name must be one of") as told:
        losses.get("zzzzqqqq")
    assert "Did you mean" not in str(told.value)


def saved(path):
    """A compiled model in a file."""
    model = keras.Sequential([keras.Input((3,)), layers.Dense(2)])
    model.compile(optimizers.Nadam(), "mse", metrics=[metrics.BinaryAccuracy(threshold=0.0)])
    model.fit(X, np.zeros((4, 2)), verbose=0)
    model.save(path)
    return model


def changed(path, change):
    """Change the training configuration in the file."""
    if path.suffix == ".h5":
        with h5py.File(path, "r+") as file:
            file.attrs.pop("pinnace_crc32c", None)
            told = json.loads(file.attrs["training_config"])
            change(told["optimizer_config"]["config"])
            file.attrs["training_config"] = json.dumps(told)
        return
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    told = json.loads(members["config.json"])
    change(told["compile_config"]["optimizer"]["config"])
    members["config.json"] = json.dumps(told).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


@pytest.mark.parametrize("ending", [".keras", ".h5"])
def test_thresholds_of_logits_come_back_compiled(tmp_path, ending):
    path = tmp_path / f"m{ending}"
    model = saved(path)
    again = keras.models.load_model(path)
    found = again.evaluate(X, np.zeros((4, 2)), verbose=0)
    np.testing.assert_allclose(found, model.evaluate(X, np.zeros((4, 2)), verbose=0), rtol=1e-6)


@pytest.mark.parametrize("ending", [".keras", ".h5"])
@pytest.mark.parametrize(
    "change",
    [
        lambda config: config.update(schedule_decay=0.004),
        lambda config: config.update(clipnorm=1.0, clipvalue=1.0),
        lambda config: config.update(weight_decay=-1.0),
        lambda config: config.update(gradient_accumulation_steps=1),
    ],
)
def test_what_cannot_be_compiled_is_loaded_without(tmp_path, ending, change):
    path = tmp_path / f"m{ending}"
    model = saved(path)
    changed(path, change)
    with pytest.warns(UserWarning, match=r"(?s)is not compiled: .*Try: model.compile"):
        again = keras.models.load_model(path)
    np.testing.assert_allclose(again(X), model(X), rtol=1e-6)
    with pytest.raises(ValueError, match="must be compiled first"):
        again.fit(X, np.zeros((4, 2)), verbose=0)
    again.compile("sgd", "mse")
    again.fit(X, np.zeros((4, 2)), verbose=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        keras.models.load_model(path, compile=False)


def test_an_unknown_loss_is_still_an_error(tmp_path):
    def own(y, y_pred):
        return y_pred - y

    model = keras.Sequential([keras.Input((3,)), layers.Dense(2)])
    model.compile("sgd", own)
    model.save(tmp_path / "m.keras")
    with pytest.raises(ValueError, match="own"):
        keras.models.load_model(tmp_path / "m.keras")
