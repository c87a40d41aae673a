"""ModelCheckpoint, BackupAndRestore, CSVLogger, TensorBoard."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace import keras
from pinnace.keras import callbacks, layers
from pinnace.proto.event_pb2 import Event
from pinnace.storage.record import read_records

X = np.random.default_rng(0).standard_normal((32, 4)).astype(np.float32)
Y = X.sum(1, keepdims=True)


def model() -> Any:
    keras.utils.set_random_seed(4)
    made = keras.Sequential([keras.Input((4,)), layers.Dense(3, "tanh"), layers.Dense(1)])
    made.compile("adam", "mse")
    return made


def test_model_checkpoint_writes_each_epoch(tmp_path: Path) -> None:
    made = model()
    path = tmp_path / "at-{epoch:02d}-{loss:.1f}"
    hook = callbacks.ModelCheckpoint(path, save_weights_only=True)
    history = made.fit(X, Y, epochs=3, verbose=0, callbacks=[hook]).history
    names = {f"at-{i + 1:02d}-{loss:.1f}.index" for i, loss in enumerate(history["loss"])}
    assert names <= {file.name for file in tmp_path.iterdir()}
    other = model()
    other.load_weights(tf.train.latest_checkpoint(str(tmp_path)))
    np.testing.assert_array_equal(other(X), made(X))


def test_model_checkpoint_keeps_the_best(tmp_path: Path) -> None:
    made = model()
    hook = callbacks.ModelCheckpoint(
        tmp_path / "best", "loss", save_best_only=True, save_weights_only=True
    )
    hook.set_model(made)
    best = made.get_weights()
    for epoch, loss in enumerate([3.0, 1.0, 2.0]):
        made.set_weights([w + epoch for w in best])
        hook.on_epoch_begin(epoch)
        hook.on_epoch_end(epoch, {"loss": loss})
    made.load_weights(tmp_path / "best")
    np.testing.assert_array_equal(made.get_weights()[0], best[0] + 1)


def test_model_checkpoint_writes_whole_models_by_batches(tmp_path: Path) -> None:
    made = model()
    hook = callbacks.ModelCheckpoint(str(tmp_path / "{epoch}-{batch}"), save_freq=3)
    made.fit(X, Y, batch_size=8, epochs=2, verbose=0, callbacks=[hook])
    assert sorted(file.name for file in tmp_path.iterdir()) == ["1-3", "2-2"]
    assert "serving_default" in tf.saved_model.load(str(tmp_path / "1-3")).signatures
    with pytest.raises(ValueError, match="save_freq"):
        callbacks.ModelCheckpoint("x", save_freq="day")


class InterruptionError(Exception):
    """A simulated power failure."""


class Interrupting(callbacks.Callback):
    """Ends training before its last epoch."""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
        if epoch == 3:
            raise InterruptionError


def test_training_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    whole = model()
    whole.fit(X, Y, epochs=5, shuffle=False, verbose=0)
    first = model()
    hook = callbacks.BackupAndRestore(tmp_path / "backup")
    with pytest.raises(InterruptionError):
        first.fit(X, Y, epochs=5, shuffle=False, verbose=0, callbacks=[hook, Interrupting()])
    second = model()
    second.set_weights([w * 0 for w in second.get_weights()])
    hook = callbacks.BackupAndRestore(tmp_path / "backup")
    history = second.fit(X, Y, epochs=5, shuffle=False, verbose=0, callbacks=[hook])
    assert history.epoch == [3, 4]
    # Adam's slots were restored too: the steps are equal bit for bit.
    for one, other in zip(second.get_weights(), whole.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert not (tmp_path / "backup").exists()


def test_csv_logger(tmp_path: Path) -> None:
    made = model()
    path = tmp_path / "log.csv"
    history = made.fit(
        X, Y, epochs=2, validation_split=0.25, verbose=0, callbacks=[callbacks.CSVLogger(path)]
    ).history
    made.fit(X, Y, epochs=1, verbose=0, callbacks=[callbacks.CSVLogger(path, append=True)])
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert [row["epoch"] for row in rows] == ["0", "1", "0"]
    assert [float(row["loss"]) for row in rows[:2]] == history["loss"]
    assert [float(row["val_loss"]) for row in rows[:2]] == history["val_loss"]


def test_tensorboard_files_hold_the_numbers(tmp_path: Path) -> None:
    made = model()
    hook = callbacks.TensorBoard(tmp_path, histogram_freq=1, update_freq=2)
    history = made.fit(
        X, Y, epochs=2, batch_size=8, validation_split=0.25, verbose=0, callbacks=[hook]
    ).history
    found: dict[str, list[Any]] = {}
    for part in ("train", "validation"):
        (file,) = (tmp_path / part).iterdir()
        for record in read_records(file):
            for value in Event.FromString(record).summary.value:
                found.setdefault(f"{part}/{value.tag}", []).append(value)
    losses = [value.tensor.float_val[0] for value in found["train/epoch_loss"]]
    np.testing.assert_allclose(losses, history["loss"], rtol=1e-6)
    assert len(found["validation/epoch_loss"]) == 2
    assert len(found["train/batch_loss"]) == 3
    assert any("histogram" in tag for tag in found)
