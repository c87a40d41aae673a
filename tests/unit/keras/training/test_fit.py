"""fit, evaluate, predict: learning, kinds of data, results and refusals."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from pinnace import keras
from pinnace.framework import no_effect
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras import layers

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 5)).astype(np.float32)
Y = (X[:, 0] + X[:, 1] > 0).astype(np.int64)


def model(seed: int | None = 0, **options: Any) -> Any:
    if seed is not None:
        keras.utils.set_random_seed(seed)
    made = keras.Sequential(
        [
            keras.Input((5,)),
            layers.Dense(8, "relu"),
            layers.Dropout(0.1),
            layers.Dense(2, "softmax"),
        ]
    )
    settings = {
        "optimizer": "adam",
        "loss": "sparse_categorical_crossentropy",
        "metrics": ["accuracy"],
    }
    made.compile(**{**settings, **options})
    return made


def test_it_learns_and_repeats_itself() -> None:
    runs = []
    for _ in range(2):
        made = model(optimizer=keras.optimizers.Adam(0.02))
        history = made.fit(X, Y, batch_size=16, epochs=20, verbose=0).history
        runs.append((history, made.get_weights()))
    assert runs[0][0] == runs[1][0]
    assert all(np.array_equal(a, b) for a, b in zip(runs[0][1], runs[1][1], strict=True))
    assert runs[0][0]["accuracy"][-1] > 0.9
    assert list(runs[0][0]) == ["accuracy", "loss"]


def test_traced_and_eager_steps_do_the_same() -> None:
    found = []
    for run_eagerly in (False, True):
        made = model(run_eagerly=run_eagerly)
        made.fit(X, Y, epochs=2, verbose=0)
        found.append(made.get_weights())
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)


def test_evaluate_weighs_the_last_batch_by_its_size() -> None:
    made = model()
    p = made.predict(X, verbose=0)
    loss = -np.log(p[np.arange(90), Y]).mean()
    accuracy = (p.argmax(1) == Y).mean()
    assert made.evaluate(X, Y, batch_size=32, verbose=0) == pytest.approx(
        [loss, accuracy], rel=1e-4
    )
    found = made.evaluate(X, Y, verbose=0, return_dict=True)
    assert found == pytest.approx({"accuracy": accuracy, "loss": loss}, rel=1e-4)
    alone = model(metrics=None)
    assert alone.evaluate(X, Y, verbose=0) == pytest.approx(loss, rel=1e-4)


def test_predict_joins_batches() -> None:
    made = model()
    p = made.predict(X, batch_size=32, verbose=0)
    assert isinstance(p, np.ndarray)
    np.testing.assert_allclose(p, made(X).numpy(), rtol=1e-5)
    np.testing.assert_allclose(made.predict_on_batch(X[:3]), p[:3], rtol=1e-5)


def test_the_metrics_of_an_epoch_begin_anew() -> None:
    made = model(optimizer=keras.optimizers.SGD(0.0))
    keras.utils.set_random_seed(1)
    history = made.fit(X, Y, epochs=2, verbose=0, shuffle=False, validation_data=(X, Y)).history
    assert history["val_loss"][0] == history["val_loss"][1]
    assert history["val_loss"][0] == pytest.approx(made.evaluate(X, Y, verbose=0)[0])


def test_validation_is_split_off_the_end() -> None:
    made = model()
    made.fit(X, Y, validation_split=0.2, epochs=1, verbose=0)
    history = made.history.history
    p = made.predict(X[72:], verbose=0)
    assert history["val_accuracy"][0] == pytest.approx((p.argmax(1) == Y[72:]).mean())


def test_validation_takes_place_when_it_is_due() -> None:
    seen: list[int] = []
    callback = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: seen.append(epoch) if "val_loss" in logs else None
    )
    made = model()
    options = {"validation_data": (X, Y), "verbose": 0, "callbacks": callback}
    made.fit(X, Y, epochs=4, validation_freq=2, **options)
    made.fit(X, Y, epochs=4, validation_freq=[1, 4], **options)
    assert seen == [1, 3, 0, 3]


def batches(size: int = 30) -> list[tuple[Any, Any]]:
    return [(X[i : i + size], Y[i : i + size]) for i in range(0, 90, size)]


class Pairs:
    """A class with the interface of a PyDataset."""

    ended = 0

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return batches()[index]

    def on_epoch_end(self) -> None:
        self.ended += 1


class Dataset:
    """A reusable iterable."""

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return iter([(convert_to_tensor(x), convert_to_tensor(y)) for x, y in batches()])


def forever() -> Iterator[tuple[Any, Any]]:
    while True:
        yield from batches()


def test_all_sources_of_batches_train_alike() -> None:
    found = []
    pairs = Pairs()
    for x, options in (
        (Dataset(), {}),
        (forever(), {"steps_per_epoch": 3}),
        (pairs, {}),
        (X, {"y": Y, "batch_size": 30}),
    ):
        made = model()
        history = made.fit(x, epochs=2, shuffle=False, verbose=0, **options).history
        found.append((history["loss"], made.get_weights()[0].tolist()))
    assert found[0] == found[1] == found[2] == found[3]
    assert pairs.ended == 2
    made = model()
    wanted = made.evaluate(X, Y, batch_size=30, verbose=0)
    assert made.evaluate(Dataset(), verbose=0) == wanted
    assert made.evaluate(forever(), steps=3, verbose=0) == wanted
    np.testing.assert_array_equal(
        made.predict(Dataset(), verbose=0), made.predict(X, batch_size=30, verbose=0)
    )


def test_steps_shorten_an_epoch() -> None:
    made = model()
    made.fit(X, Y, batch_size=10, steps_per_epoch=2, epochs=3, verbose=0)
    assert int(made.optimizer.iterations) == 6


def test_lists_are_arrays() -> None:
    made = model()
    made.fit(X.tolist(), Y.tolist(), epochs=1, verbose=0)
    assert int(made.optimizer.iterations) == 3


def test_weights_of_samples_and_classes_scale_the_loss() -> None:
    made = model(metrics=None, weighted_metrics=["accuracy"], optimizer=keras.optimizers.SGD(0.0))
    weights = RNG.uniform(0, 2, 90).astype(np.float32)
    p = made.predict(X, verbose=0)
    each = -np.log(p[np.arange(90), Y])
    loss, accuracy = made.evaluate(X, Y, sample_weight=weights, batch_size=90, verbose=0)
    assert loss == pytest.approx((each * weights).mean(), rel=1e-4)
    assert accuracy == pytest.approx(np.average(p.argmax(1) == Y, weights=weights), rel=1e-4)
    factors = np.where(Y == 1, 3.0, 0.5)
    for truth in (Y, Y[:, None]):
        still = keras.Sequential([keras.Input((5,)), layers.Dense(2, "softmax")])
        still.compile(keras.optimizers.SGD(0.0), "sparse_categorical_crossentropy")
        q = still.predict(X, verbose=0)
        wanted = (-np.log(q[np.arange(90), Y]) * factors).mean()
        logs = still.train_on_batch(X, truth, class_weight={0: 0.5, 1: 3.0}, return_dict=True)
        assert logs["loss"] == pytest.approx(wanted, rel=1e-4)


def test_losses_of_layers_are_added() -> None:
    made = keras.Sequential(
        [
            keras.Input((5,)),
            layers.Dense(2, "softmax", kernel_initializer="ones", kernel_regularizer="l1"),
        ]
    )
    made.compile(keras.optimizers.SGD(0.0), "sparse_categorical_crossentropy")
    assert made.train_on_batch(X, Y) == pytest.approx(np.log(2) + 0.1, rel=1e-5)


@pytest.mark.parametrize(
    ("y", "outputs", "activation", "kind"),
    [
        (Y, 2, "softmax", keras.metrics.SparseCategoricalAccuracy),
        (Y[:, None], 2, "softmax", keras.metrics.SparseCategoricalAccuracy),
        (np.eye(2)[Y], 2, "softmax", keras.metrics.CategoricalAccuracy),
        (Y, 1, "sigmoid", keras.metrics.BinaryAccuracy),
    ],
)
def test_accuracy_is_chosen_by_shapes(y: Any, outputs: int, activation: str, kind: type) -> None:
    made = keras.Sequential([keras.Input((5,)), layers.Dense(outputs, activation)])
    loss = {1: "binary_crossentropy", 2: "mse"}[outputs]
    made.compile(
        "sgd",
        loss if y.ndim > 1 or outputs == 1 else "sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    if y.shape == (90, 1):
        made.compile("sgd", "sparse_categorical_crossentropy", metrics=["acc"])
    made.fit(X, y, verbose=0)
    assert [type(m) for m in made.metrics[1].metrics] == [kind]


def test_the_first_step_makes_every_variable() -> None:
    made = keras.Sequential([layers.Dense(3), layers.Dense(2, "softmax")])
    made.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    made.fit(X, Y, batch_size=90, verbose=0)
    assert len(made.optimizer.variables) == 2 + 2 * 4
    functions = [f for key, f in made._step_functions.made.items() if key[0] == "train"]
    assert [f.experimental_get_tracing_count() for f in functions] == [1]


def test_batches_of_all_sizes_need_two_traces() -> None:
    made = model()
    sizes = [30, 7, 20, 1, 3]
    ends = np.cumsum(sizes)
    source = [(X[e - s : e], Y[e - s : e]) for s, e in zip(sizes, ends, strict=True)]
    made.fit(iter(source), verbose=0)
    functions = [f for key, f in made._step_functions.made.items() if key[0] == "train"]
    assert [f.experimental_get_tracing_count() for f in functions] == [2]
    slow = model(run_eagerly=True)
    slow.fit(iter(source), verbose=0)
    for one, other in zip(made.get_weights(), slow.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)


def test_initial_epoch_and_stopping() -> None:
    made = model()
    history = made.fit(X, Y, epochs=5, initial_epoch=3, verbose=0)
    assert history.epoch == [3, 4]

    class Stop(keras.callbacks.Callback):
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002 (Keras')
            self.model.stop_training = epoch == 1

    assert made.fit(X, Y, epochs=9, verbose=0, callbacks=[Stop()]).epoch == [0, 1]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda m: m.fit(X, Y[:10]),
            r"fit: all arrays must have the same number of samples, got 90 and 10",
        ),
        (lambda m: m.fit(X[:0], Y[:0]), "fit: there must be at least one sample, got none"),
        (lambda m: m.fit(X, Y, batch_size=0), "batch_size must be at least 1, got 0"),
        (
            lambda m: m.fit(X, Y, validation_split=1.5),
            "validation_split must be between 0 and 1, got 1.5",
        ),
        (lambda m: m.fit(X, Y, epoch=3), "fit: unknown arguments epoch"),
        (
            lambda m: m.fit(Dataset(), Y),
            "y and sample_weight go with arrays; Dataset gives batches",
        ),
        (lambda m: m.fit(Dataset(), sample_weight=Y), "`sample_weights` should not be passed"),
        (
            lambda m: m.fit(Dataset(), validation_split=0.2),
            "`validation_split` is only supported for tensors or NumPy arrays, got Dataset",
        ),
        (lambda m: m.fit(3), "fit: x must be arrays or give batches, got int: 3"),
        (lambda m: m.fit(X[:, :3], Y), r"must have size 5 on axis -1, got float32\[\?, 3\]"),
        (
            lambda m: m.fit(X, np.eye(3)[Y]),
            r"y_true must have y_pred's shape without the last axis",
        ),
        (lambda m: m.fit(X), "there is no loss\n  Try: compile"),
        (lambda m: m.fit(X, Y, callbacks=[print]), "callbacks must hold Callbacks"),
        (lambda m: m.compile(loss="msee"), "loss: name must be one of .*, got 'msee'"),
        (
            lambda m: m.compile("adam", "mse", ["accuracy"]) or m.fit(X, Y),
            "loss_weights must be numbers, got 'accuracy'",
        ),
        (lambda m: m.compile("adams"), "optimizer: name must be one of .*, got 'adams'"),
        (
            lambda m: m.compile("adam", "mse", metrics=["exactness"]) or m.fit(X, Y),
            "got 'exactness'",
        ),
    ],
)
def test_what_cannot_be_is_told(call: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        call(model())


def test_a_model_must_be_compiled() -> None:
    made = keras.Sequential([layers.Dense(2)])
    with pytest.raises(ValueError, match=r"fit: Sequential '\w+' must be compiled first"):
        made.fit(X, Y)
    made.predict(X, verbose=0)


def test_progress_is_told_in_lines(capsys: pytest.CaptureFixture[str]) -> None:
    made = model()
    made.fit(X, Y, epochs=2, verbose=2, validation_data=(X, Y))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" - ")[0] for line in lines] == ["Epoch 1/2", "3/3", "Epoch 2/2", "3/3"]
    assert "accuracy: " in lines[1]
    assert "val_loss: " in lines[1]
    made.evaluate(X, Y, verbose=2)
    assert capsys.readouterr().out.startswith("3/3 - ")
    made.fit(X, Y, verbose=0)
    assert capsys.readouterr().out == ""


def test_a_batch_size_beside_batches_is_told_to_have_no_effect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Keras: it is accepted, and the batches stay unchanged.
    monkeypatch.setattr(no_effect, "_told", set())
    with pytest.warns(UserWarning, match="fit: batch_size has no effect: Dataset gives batches"):
        model().fit(Dataset(), batch_size=3, verbose=0)


def test_a_history_is_sorted_by_name() -> None:
    x = keras.Input([2])
    model = keras.Model(x, {"z": layers.Dense(1, name="z")(x), "a": layers.Dense(1, name="a")(x)})
    model.compile("sgd", {"z": "mse", "a": "mse"}, metrics={"z": ["mae"], "a": ["mape"]})
    data, target = np.ones([4, 2], np.float32), np.ones([4, 1], np.float32)
    y = {"z": target, "a": target}
    history = model.fit(data, y, validation_data=(data, y), verbose=0).history
    assert list(history) == sorted(history)
    assert "val_z_mae" in history
