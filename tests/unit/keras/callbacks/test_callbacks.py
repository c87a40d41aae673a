"""Callbacks: the order of their calls, and the built-in ones."""

import math
from typing import Any

import numpy as np
import pytest

from pinnace import keras
from pinnace.keras import callbacks, layers

X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
Y = X.sum(1, keepdims=True)


def model(rate: float = 0.05) -> Any:
    keras.utils.set_random_seed(0)
    made = keras.Sequential([keras.Input((3,)), layers.Dense(1)])
    made.compile(keras.optimizers.SGD(rate), "mse")
    return made


class Diary(callbacks.Callback):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("on_"):
            return lambda *args: self.lines.append(" ".join([name[3:], *map(str, args[:-1])]))
        return super().__getattribute__(name)


class Watching(Diary):
    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Do nothing: overriding it makes `fit` call the batch hooks."""


def test_hooks_are_called_in_order() -> None:
    diary = Watching()
    model().fit(
        X,
        Y,
        batch_size=10,
        validation_data=(X, Y),
        validation_batch_size=20,
        callbacks=[diary],
        verbose=0,
    )
    assert diary.lines == [
        "train_begin",
        "epoch_begin 0",
        *("train_batch_begin 0", "train_batch_end 0", "train_batch_begin 1", "train_batch_end 1"),
        *("test_begin", "test_batch_begin 0", "test_batch_end 0", "test_end"),
        "epoch_end 0",
        "train_end",
    ]
    diary.lines.clear()
    model().predict(X, callbacks=[diary], verbose=0)
    assert diary.lines == [
        "predict_begin",
        "predict_batch_begin 0",
        "predict_batch_end 0",
        "predict_end",
    ]


def test_batches_are_told_the_numbers_so_far() -> None:
    seen: list[float] = []
    callback = callbacks.LambdaCallback(
        on_train_batch_end=lambda _, logs: seen.append(logs["loss"])
    )
    history = model(0.0).fit(X, Y, batch_size=10, callbacks=[callback], verbose=0)
    assert seen[-1] == history.history["loss"][0]
    with pytest.raises(TypeError, match="unknown hooks on_lunch"):
        callbacks.LambdaCallback(on_lunch=print)


def run(callback: Any, values: list[float], name: str = "val_loss") -> Any:
    """Run `callback` with epochs that end with these values."""
    made = model()
    made.stop_training = False
    callback.set_model(made)
    callback.on_train_begin({})
    made.ran = 0
    for epoch, value in enumerate(values):
        callback.on_epoch_begin(epoch, {})
        made.ran = epoch + 1
        made.layers[0].bias.assign([epoch])
        callback.on_epoch_end(epoch, {name: value})
        if made.stop_training:
            break
    callback.on_train_end({})
    return made


@pytest.mark.parametrize(
    ("options", "values", "ran"),
    [
        ({}, [3, 2, 1, 2, 1], 4),
        ({"patience": 2}, [3, 2, 3, 1, 2, 2, 0], 6),
        ({"min_delta": 0.5}, [3, 2.8, 2.7], 2),
        ({"mode": "max"}, [1, 2, 1], 3),
        ({"baseline": 2, "patience": 1}, [3, 4, 3], 2),
        ({"start_from_epoch": 3}, [1, 2, 3, 1, 2, 0], 5),
    ],
)
def test_early_stopping(options: dict[str, Any], values: list[float], ran: int) -> None:
    assert run(callbacks.EarlyStopping(**options), values).ran == ran


def test_early_stopping_restores_the_best_weights() -> None:
    callback = callbacks.EarlyStopping(patience=2, restore_best_weights=True)
    made = run(callback, [3, 1, 2, 2, 2])
    assert float(made.layers[0].bias.numpy()[0]) == 1
    assert (callback.best_epoch, callback.stopped_epoch) == (1, 3)


def test_accuracies_are_better_when_larger() -> None:
    callback = callbacks.EarlyStopping(monitor="val_accuracy")
    assert run(callback, [0.1, 0.2, 0.1, 0.3], "val_accuracy").ran == 3


@pytest.mark.parametrize(
    ("metric", "is_more_better"),
    [
        (lambda: keras.metrics.Precision(name="m"), True),
        (lambda: keras.metrics.F1Score(name="m"), True),
        (lambda: keras.metrics.CosineSimilarity(name="m"), True),
        (lambda: keras.metrics.MeanAbsoluteError(name="m"), False),
        (lambda: keras.metrics.BinaryCrossentropy(name="m"), False),
        (lambda: keras.metrics.Hinge(name="m"), False),
        (lambda: keras.metrics.MeanMetricWrapper(keras.losses.get("mse"), name="m"), False),
    ],
)
@pytest.mark.parametrize("outputs", [1, 2])
def test_the_metric_says_what_is_better(metric: Any, is_more_better: bool, outputs: int) -> None:
    """As in Keras, also with several outputs, after which logs are named."""
    x = keras.Input((2,))
    heads = {f"out{n}": keras.layers.Dense(1, name=f"out{n}")(x) for n in range(outputs)}
    made = keras.Model(x, heads["out0"] if outputs == 1 else heads)
    metrics = [metric()] if outputs == 1 else {"out1": [metric()]}
    losses = "mse" if outputs == 1 else dict.fromkeys(heads, "mse")
    made.compile("sgd", losses, metrics=metrics)
    monitor = "val_m" if outputs == 1 else "val_out1_m"
    callback = callbacks.EarlyStopping(monitor)
    assert callback.monitor_op is None
    y = np.ones((4, 1), np.float32)
    truth = y if outputs == 1 else dict.fromkeys(heads, y)
    given = np.zeros((4, 2), np.float32)
    made.fit(given, truth, validation_data=(given, truth), callbacks=[callback], verbose=0)
    assert callback.best is not None
    assert callback.monitor_op is (keras.ops.greater if is_more_better else keras.ops.less)


def test_a_number_of_unknown_direction_needs_a_mode() -> None:
    for make in (callbacks.EarlyStopping, callbacks.ReduceLROnPlateau):
        with pytest.raises(ValueError, match=r"'purity'.*\n  Try: mode=\"max\""):
            run(make(monitor="purity"), [1.0, 2.0], "purity")
        run(make(monitor="purity", mode="max"), [1.0, 2.0], "purity")


def test_a_missing_number_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="monitor 'val_loss' is not among loss"):
        run(callbacks.EarlyStopping(), [1.0], "loss")


def test_the_learning_rate_follows_a_schedule() -> None:
    made = model()
    scheduler = callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2 if epoch else 0.5)
    history = made.fit(X, Y, epochs=3, callbacks=[scheduler], verbose=0).history
    assert history["learning_rate"] == [0.5, 0.25, 0.125]
    simple = callbacks.LearningRateScheduler(lambda _: 0.1)
    assert made.fit(X, Y, callbacks=[simple], verbose=0).history["learning_rate"] == pytest.approx(
        [0.1]
    )


def test_the_learning_rate_falls_on_a_plateau() -> None:
    callback = callbacks.ReduceLROnPlateau(factor=0.5, patience=2, min_lr=0.02)
    made = run(callback, [3, 3, 3, 3, 3, 3])
    assert float(made.optimizer.learning_rate) == pytest.approx(0.02)
    assert float(
        run(callbacks.ReduceLROnPlateau(patience=2), [3, 2, 1]).optimizer.learning_rate
    ) == pytest.approx(0.05)


def test_training_ends_when_the_loss_is_no_number() -> None:
    made = model(1e30)
    history = made.fit(
        X, Y, batch_size=5, epochs=5, callbacks=[callbacks.TerminateOnNaN()], verbose=0
    )
    assert len(history.epoch) == 1
    assert not math.isfinite(history.history["loss"][0])


@pytest.mark.parametrize(
    ("monitor", "mode", "op"),
    [
        ("val_loss", "auto", keras.ops.less),
        ("accuracy", "auto", keras.ops.greater),
        ("loss", "max", keras.ops.greater),
    ],
)
def test_a_monitor_tells_what_it_compares_with(monitor: str, mode: str, op: Any) -> None:
    assert callbacks.EarlyStopping(monitor, mode=mode).monitor_op is op
