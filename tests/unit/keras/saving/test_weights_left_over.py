"""No reader of weights silently restores only a part, or nothing.

Where Keras 3 raises or warns, so does this library; it also warns about weights without a layer,
and about files with unknown names only, which Keras ignores.
"""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinnace import keras
from pinnace.keras import layers


class Listed(keras.Model):
    def __init__(self, parts: Any) -> None:
        super().__init__()
        self.parts = parts

    def call(self, x: Any) -> Any:
        for part in self.parts.values() if hasattr(self.parts, "values") else self.parts:
            x = part(x)
        return x


def listed(parts: Any) -> Any:
    model = Listed(parts)
    model.build((None, 3))
    model(np.ones((1, 3), "float32"))
    return model


def chain(*parts: Any, optimizer: Any = None) -> Any:
    model = keras.Sequential([keras.Input((3,)), *parts])
    if optimizer is not None:
        model.compile(optimizer, "mse")
        model.optimizer.build(model.trainable_variables)
    return model


def dense(units: int = 3, **kwargs: Any) -> Any:
    return layers.Dense(units, **kwargs)


# A file's model, a smaller one, and the message.
LESS: dict[str, Any] = {
    "a layer": (lambda: chain(dense(), dense()), lambda: chain(dense()), "layers/dense_1"),
    "a kind": (
        lambda: chain(dense(), layers.BatchNormalization()),
        lambda: chain(dense()),
        "layers/batch_normalization",
    ),
    "of a list": (lambda: listed([dense(), dense()]), lambda: listed([dense()]), "layers/dense_1"),
    "of a dict": (
        lambda: listed({"x": dense(), "y": dense()}),
        lambda: listed({"x": dense()}),
        "layers/dense_1",
    ),
    "in a model": (
        lambda: chain(chain(dense(), dense())),
        lambda: chain(chain(dense())),
        "layers/sequential/layers/dense_1",
    ),
}


@pytest.mark.parametrize("ending", [".weights.h5", ".weights.json"])
@pytest.mark.parametrize("case", LESS)
def test_layers_that_only_the_file_has_are_named(tmp_path: Path, case: str, ending: str) -> None:
    write, read, place = LESS[case]
    path = str(tmp_path / f"more{ending}")
    write().save_weights(path, max_shard_size=None if ending == ".weights.h5" else 1.0)
    with pytest.warns(UserWarning, match=rf"1 layers in the file are not in .*: {place}$"):
        read().load_weights(path)


def test_what_layers_have_beside_weights_is_not_said(tmp_path: Path) -> None:
    path = str(tmp_path / "all.weights.h5")
    model = chain(dense(), layers.Dropout(0.5), layers.GaussianNoise(0.1), optimizer="adam")
    model.fit(np.ones((2, 3)), np.ones((2, 3)), verbose=0)
    model.save_weights(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.load_weights(path)
        chain(dense(), layers.Dropout(0.5), layers.GaussianNoise(0.1)).load_weights(path)


# As Keras 3.15 warns.
@pytest.mark.parametrize("ending", [".weights.h5", ".keras", ".weights.json"])
def test_an_optimizer_without_state_in_the_file_is_told(tmp_path: Path, ending: str) -> None:
    path = str(tmp_path / f"plain{ending}")
    model = chain(dense())
    if ending == ".keras":
        model.save(path)
    else:
        model.save_weights(path, max_shard_size=1.0 if ending == ".weights.json" else None)
    other = chain(dense(), optimizer="adam")
    with pytest.warns(UserWarning, match="it has 6 variables whereas the saved optimizer has 0 v"):
        other.load_weights(path)
    if ending == ".weights.h5":
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            other.load_weights(path, objects_to_skip=[other.optimizer])


@pytest.mark.parametrize("ending", [".weights.h5", ".keras", ".weights.json"])
def test_the_state_of_an_optimizer_comes_back(tmp_path: Path, ending: str) -> None:
    path = str(tmp_path / f"trained{ending}")
    model = chain(dense(), optimizer="adam")
    model.fit(np.ones((2, 3)), np.zeros((2, 3)), verbose=0)
    if ending == ".keras":
        model.save(path)
    else:
        model.save_weights(path, max_shard_size=1.0 if ending == ".weights.json" else None)
    other = chain(dense(), optimizer="adam")
    other.load_weights(path)
    for ours, theirs in zip(other.optimizer.variables, model.optimizer.variables, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def test_an_optimizer_of_other_shapes_is_left_as_it_is_with_skip_mismatch(tmp_path: Path) -> None:
    path = str(tmp_path / "three.weights.h5")
    chain(dense(3), dense(2), optimizer="adam").save_weights(path)
    other = chain(dense(4), dense(2), optimizer="adam")
    with pytest.raises(ValueError, match="must have shape"):
        other.load_weights(path)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        other.load_weights(path, skip_mismatch=True)
    assert [str(one.message).split()[1] for one in told] == [
        *("layers/dense", "layers/dense_1", "optimizer"),
    ]


def test_names_of_which_none_is_known_are_told(tmp_path: Path) -> None:
    path = str(tmp_path / "names.h5")
    chain(dense(name="a"), dense(name="b")).save(path)
    with pytest.warns(UserWarning, match=r"no layer .* has the name of one in the file \('a', 'b'"):
        chain(dense(name="c"), dense(name="d")).load_weights(path, by_name=True)
    with warnings.catch_warnings():  # by_name is meant to skip some
        warnings.simplefilter("error")
        chain(dense(name="a"), dense(name="d")).load_weights(path, by_name=True)


def test_a_refused_checkpoint_leaves_the_optimizer_too(tmp_path: Path) -> None:
    path = str(tmp_path / "more")
    written = chain(dense(), dense(), optimizer="adam")
    written.fit(np.ones((2, 3)), np.zeros((2, 3)), verbose=0)
    written.save_weights(path)
    other = chain(dense(), optimizer="adam")
    before = [one.numpy() for one in (*other.weights, *other.optimizer.variables)]
    with pytest.raises(ValueError, match="its values without a weight in the model"):
        other.load_weights(path)
    for was, one in zip(before, (*other.weights, *other.optimizer.variables), strict=True):
        np.testing.assert_array_equal(one.numpy(), was)


def test_a_backup_of_another_model_is_refused(tmp_path: Path) -> None:
    """Keras 3 raises in load_weights; here training once continued with random weights."""
    x, y = np.ones((2, 3)), np.ones((2, 3))

    class Broken(keras.callbacks.Callback):
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            del logs
            if epoch == 1:
                raise KeyboardInterrupt

    backup = keras.callbacks.BackupAndRestore(tmp_path / "backup")
    with pytest.raises(KeyboardInterrupt):
        chain(dense(), optimizer="adam").fit(
            x, y, epochs=3, verbose=0, callbacks=[backup, Broken()]
        )
    other = chain(dense(), dense(), optimizer="adam")
    backup = keras.callbacks.BackupAndRestore(tmp_path / "backup")
    with pytest.raises(ValueError, match=r"BackupAndRestore: checkpoint .* is not that of"):
        other.fit(x, y, epochs=3, verbose=0, callbacks=[backup])
