"""Messages: the user's own lines, the cause of a mistake, and arguments without effect."""

from __future__ import annotations

import traceback
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework import no_effect as told
from pinnace.framework import tracebacks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

keras = tf.keras
k = keras.layers
X = np.ones((4, 3), np.float32)


def small() -> Any:
    model = keras.Sequential([keras.Input((3,)), k.Dense(3)])
    model.compile("sgd", "mse")
    return model


class Wrong(k.Layer):
    def call(self, x: Any) -> Any:
        return tf.matmul(x, tf.ones([7, 2]))


@tf.function
def wrong(x: Any) -> Any:
    return tf.matmul(x, tf.ones([7, 2]))


class WrongStep(keras.Model):
    def call(self, x: Any) -> Any:
        return x

    def train_step(self, data: Any) -> Any:  # noqa: ARG002 (it raises)
        raise LookupError("in the step")


def wrong_step() -> Any:
    model = WrongStep()
    model.compile("sgd", "mse")
    return model.fit(X, X, verbose=0)


ERRORS: dict[str, tuple[Callable[[], Any], str | None]] = {
    "a layer": (lambda: Wrong()(X), "call"),
    "a function": (lambda: wrong(X), "wrong"),
    "a step": (wrong_step, "train_step"),
    "fit": (lambda: small().fit(X, X[:, :2], verbose=0), None),
    "predict": (lambda: small().predict(X[:, :2], verbose=0), None),
    "an op": (lambda: tf.matmul(X, X), None),
    "an operator": (lambda: tf.constant(X) + tf.ones([7]), None),
    "a reflected operator": (lambda: "text" - tf.constant(X), None),
    "a variable in an operator": (lambda: tf.Variable(X) @ tf.ones([7, 2]), None),
    "an argument of no such name": (lambda: tf.reduce_sum(X, axes=0), None),  # type: ignore[call-arg]
    "a value that is no tensor": (lambda: tf.cast([[1], [2, 3]], tf.int32), None),
    "a function of Keras": (lambda: keras.ops.matmul(X, X), None),
    "an activation": (lambda: keras.activations.softmax(tf.constant(1)), None),
    "a loss": (lambda: keras.losses.MeanSquaredError()(X, tf.ones([4, 7])), None),
    "an optimizer": (
        lambda: keras.optimizers.SGD().apply_gradients([(tf.ones(3), tf.Variable(tf.ones(4)))]),
        None,
    ),
    "a dataset's function": (
        lambda: tf.data.Dataset.from_tensors(X).map(lambda x: tf.matmul(x, x)),
        "<lambda>",
    ),
    "a loop": (lambda: tf.while_loop(lambda i: i < 3, lambda i: [i + "a"], [1]), "<lambda>"),
    "a folder": (lambda: tf.saved_model.load("no/such/folder"), None),
}


@pytest.fixture
def filtering() -> Iterator[None]:
    keras.config.enable_traceback_filtering()
    yield
    keras.config.disable_traceback_filtering()


@pytest.mark.usefixtures("filtering")
@pytest.mark.parametrize("kind", ERRORS)
def test_a_traceback_shows_the_lines_of_the_user(kind: str) -> None:
    act, last = ERRORS[kind]
    with pytest.raises(Exception) as caught:  # noqa: PT011 (each has its own)
        act()
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert {frame.filename for frame in frames} == {__file__}
    if last is not None:
        assert frames[-1].name == last
    assert "/core/" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.usefixtures("filtering")
@pytest.mark.parametrize(
    "act",
    [
        lambda: tf.reshape(X, [5]),
        lambda: tf.constant(X)[9, 9],
        lambda: tf.nn.conv2d(X, X, 1, "SAME"),
        lambda: tf.constant([[1], [2, 3]]),
        lambda: tf.strings.to_number("word"),
        lambda: tf.linalg.inv(tf.zeros([2, 2])),
        lambda: tf.raw_ops.MatMul(a=X, b=X),
        lambda: tf.io.read_file("no/such/file"),
    ],
)
def test_what_runs_an_op_is_left_out_of_every_traceback(act: Callable[[], Any]) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011 (each has its own)
        act()
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert not {"execute", "run_eagerly", "run_kernel", "call_kernel", "array_of"} & set(names)
    assert len(names) <= 5  # this test's two, and the function's own


def test_every_line_is_shown_on_request() -> None:
    assert not tf.debugging.is_traceback_filtering_enabled()
    with pytest.raises(ValueError, match="MatMul") as caught:
        Wrong()(X)
    assert len(traceback.extract_tb(caught.value.__traceback__)) > 3
    tf.debugging.enable_traceback_filtering()
    assert keras.config.is_traceback_filtering_enabled()
    tf.debugging.disable_traceback_filtering()
    assert not tracebacks.is_traceback_filtering_enabled()


def test_a_loss_of_shapes_that_do_not_fit_says_its_name() -> None:
    with pytest.raises(ValueError, match=r"loss 'mse': y and the output") as caught:
        small().fit(X, X[:, :2], verbose=0)
    assert "y: float32[4, 2]   output: float32[4, 3]" in str(caught.value)


@pytest.mark.parametrize("units", ["a", 0, -1, 1.5, True, None])
def test_units_are_an_integer(units: Any) -> None:
    for make in (k.Dense, k.LSTM):
        with pytest.raises(ValueError, match=r"units must be a positive integer, got"):
            make(units)


@pytest.mark.parametrize("make", [k.LSTM, k.GRU, k.SimpleRNN])
def test_a_recurrent_layer_says_that_sequences_have_three_axes(make: Any) -> None:
    with pytest.raises(ValueError, match=r"must be \[batch, steps, features\], got shape \[4, 3\]"):
        make(2)(X)


WITHOUT: dict[str, Callable[[], Any]] = {
    "fit: workers": lambda: small().fit(X, X, verbose=0, workers=2),
    "ReduceLROnPlateau: epsilon": lambda: keras.callbacks.ReduceLROnPlateau(epsilon=1e-3),
    "PyDataset: use_multiprocessing": lambda: keras.utils.PyDataset(use_multiprocessing=True),
    "MultiHeadAttention: flash_attention": (
        lambda: k.MultiHeadAttention(1, 2, flash_attention=True)
    ),
    "KerasTensor: record_history": lambda: keras.KerasTensor((2,), record_history=False),
    "LSTM: use_cudnn": lambda: k.LSTM(2, use_cudnn=True),
    "GRU: use_cudnn": lambda: k.GRU(2, use_cudnn=True),
    "GroupQueryAttention: flash_attention": (
        lambda: k.GroupQueryAttention(2, 2, 1, flash_attention=True)
    ),
    "Discretization: epsilon": lambda: k.Discretization([0.0], epsilon=0.5),
    "Model.summary: positions": lambda: small().summary(positions=[0.5, 1.0]),
    "TensorBoard: write_images": lambda: keras.callbacks.TensorBoard(write_images=True),
    "TensorBoard: embeddings_freq": lambda: keras.callbacks.TensorBoard(embeddings_freq=1),
    "LSTM: implementation": lambda: k.LSTM(2, implementation=1),
    "GRU: implementation": lambda: k.GRU(2, implementation=1),
    "Lambda: output_shape": lambda: k.Lambda(lambda x: x, output_shape=(3,)),
    "Normalization.adapt: batch_size": lambda: k.Normalization().adapt(X, batch_size=2),
    "TextVectorization.adapt: batch_size": (
        lambda: k.TextVectorization().adapt(["a b"], batch_size=1)
    ),
    "StringLookup.adapt: batch_size": lambda: k.StringLookup().adapt(["a"], batch_size=1),
    "function: experimental_implements": (
        lambda: tf.function(lambda x: x, experimental_implements="f")
    ),
    "map_fn: swap_memory": lambda: tf.map_fn(lambda x: x, tf.zeros([2]), swap_memory=True),
    "while_loop: back_prop": (
        lambda: tf.while_loop(
            lambda i: i < 1, lambda i: (i + 1,), [tf.constant(0)], back_prop=False
        )
    ),
    "scan: parallel_iterations": (
        lambda: tf.scan(lambda a, x: a + x, tf.zeros([2]), parallel_iterations=3)
    ),
    "matmul: a_is_sparse": lambda: tf.matmul(X, X.T, a_is_sparse=True),
    "gather: validate_indices": lambda: tf.gather(X, [0], validate_indices=True),
    "Dataset.batch: num_parallel_calls": (
        lambda: tf.data.Dataset.range(2).batch(1, num_parallel_calls=2)
    ),
    "ThreadingOptions: private_threadpool_size": (
        lambda: setattr(tf.data.Options().threading, "private_threadpool_size", 2)
    ),
    "SaveOptions: experimental_io_device": (
        lambda: tf.saved_model.SaveOptions(experimental_io_device="/job:localhost")
    ),
    "LoadOptions: experimental_variable_policy": (
        lambda: tf.saved_model.LoadOptions(experimental_variable_policy="save_variable_devices")
    ),
    "CheckpointOptions: enable_async": lambda: tf.train.CheckpointOptions(enable_async=True),
}
WITH_EFFECT: dict[str, Callable[[], Any]] = {
    "what is the default": lambda: k.LSTM(2, implementation=2, use_cudnn="auto"),
    "what may be as it likes": (
        lambda: tf.data.Dataset.range(2).batch(1, num_parallel_calls=tf.data.AUTOTUNE)
    ),
    "what holds anyway": lambda: tf.function(lambda x: x, jit_compile=False),
    "what is heeded": lambda: tf.function(lambda x: x, jit_compile=True),
    "what compile heeds": (
        lambda: small().compile("sgd", "mse", steps_per_execution=8, jit_compile=True)
    ),
    "options that are heeded": lambda: setattr(tf.data.Options(), "deterministic", False),
}


@pytest.mark.parametrize("what", WITHOUT)
def test_an_argument_without_effect_says_so_once(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(told, "_told", set())
    with pytest.warns(UserWarning, match=f"{what} has no effect: "):
        WITHOUT[what]()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        WITHOUT[what]()


@pytest.mark.parametrize("what", WITH_EFFECT)
def test_nothing_is_told_of(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told, "_told", set())
    WITH_EFFECT[what]()


def test_the_warning_is_about_the_line_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told, "_told", set())
    with pytest.warns(UserWarning, match="LSTM: implementation") as found:
        k.LSTM(2, implementation=1)
    assert [one.filename for one in found] == [__file__]


@pytest.mark.parametrize("run_eagerly", [False, True])
def test_tensorboard_shows_the_graph_of_the_step(run_eagerly: bool, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    model = small()
    model.run_eagerly = run_eagerly
    for write_graph in (True, False):
        folder = tmp_path / str(write_graph)
        board = keras.callbacks.TensorBoard(folder, write_graph=write_graph)
        model.fit(X, X, epochs=2, verbose=0, callbacks=[board])
        found = EventAccumulator(str(folder / "train"))
        found.Reload()
        assert bool(found.Tags()["graph"]) is (write_graph and not run_eagerly)
        if found.Tags()["graph"]:
            ops = {node.op for node in found.Graph().node}
            assert {"MatMul", "ReadVariableOp"} <= ops


@pytest.mark.parametrize(
    "told",
    [
        {"class_name": "Dense", "module": "keras.layers", "config": {"units": 1}},
        {"class_name": "function", "module": "builtins", "config": "relu"},
    ],
)
def test_a_name_that_nobody_registered_is_no_class_of_this_library(told: dict[str, Any]) -> None:
    # Keras 3.15
    with pytest.raises(ValueError, match="resolved to a Keras built-in"):
        keras.saving.deserialize_keras_object({**told, "registered_name": "package>Other"})
    assert keras.saving.deserialize_keras_object({**told, "registered_name": ""}) is not None


MISSPELT: dict[str, tuple[Callable[[], Any], str]] = {
    "Dense": (lambda: k.Dense(2, activaton="relu"), "activation"),
    "LSTM": (lambda: k.LSTM(2, return_sequence=True), "return_sequences"),
    "Model": (lambda: keras.Model(input=1, output=2), "inputs"),
    "activation": (lambda: k.Dense(2, activation="rellu"), "relu"),
    "initializer": (lambda: k.Dense(2, kernel_initializer="he_normla"), "he_normal"),
    "regularizer": (lambda: k.Dense(2, kernel_regularizer="l22"), "l2"),
    "constraint": (lambda: k.Dense(2, kernel_constraint="max_nrom"), "max_norm"),
    "optimizer": (lambda: small().compile("adm", "mse"), "adam"),
    "loss": (lambda: small().compile("sgd", "mean_sqared_error"), "mean_squared_error"),
    "metric": (lambda: keras.metrics.get("acuracy"), "accuracy"),
    "compile": (lambda: small().compile("sgd", "mse", metric=["mae"]), "metrics"),
    "fit": (lambda: small().fit(X, X, epoch=2), "epochs"),
    "evaluate": (lambda: small().evaluate(X, X, batchsize=2), "batch_size"),
    "Adam": (lambda: keras.optimizers.Adam(lerning_rate=0.1), "learning_rate"),
    "SGD": (lambda: keras.optimizers.SGD(clip_norm=1), "clipnorm"),
    "CategoricalCrossentropy": (
        lambda: keras.losses.CategoricalCrossentropy(from_logit=True),
        "from_logits",
    ),
    "Huber": (lambda: keras.losses.Huber(delt=1), "delta"),
    "CosineSimilarity": (lambda: keras.losses.CosineSimilarity(redution="sum"), "reduction"),
    "AUC": (lambda: keras.metrics.AUC(num_threshold=3), "num_thresholds"),
    "RandomNormal": (lambda: keras.initializers.RandomNormal(std=1), "stddev"),
    "MaxNorm": (lambda: keras.constraints.MaxNorm(max_val=1), "max_value"),
    "L2": (lambda: keras.regularizers.L2(l=1), "l2"),
    "EarlyStopping": (lambda: keras.callbacks.EarlyStopping(patienc=2), "patience"),
    "ExponentialDecay": (
        lambda: keras.optimizers.schedules.ExponentialDecay(0.1, decay_step=1, decay_rate=1),
        "decay_steps",
    ),
}


@pytest.mark.parametrize("name", MISSPELT)
def test_a_misspelt_name_is_told_the_right_one(name: str) -> None:
    act, wanted = MISSPELT[name]
    with pytest.raises((TypeError, ValueError), match=f"Did you mean '{wanted}'"):
        act()


@pytest.mark.parametrize(
    "kind", [keras.constraints.NonNeg, keras.initializers.Zeros, keras.callbacks.Callback]
)
def test_a_constructor_without_arguments_takes_none(kind: Any) -> None:
    for args, kwargs in (((1,), {}), ((), {"value": 1})):
        with pytest.raises(TypeError, match=r"argument"):
            kind(*args, **kwargs)


def test_classes_of_ones_own_take_what_they_say() -> None:
    class Loss(keras.losses.Loss):
        def __init__(self, margin: float, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.margin = margin

    class Callback(keras.callbacks.Callback):
        pass

    class Metric(keras.metrics.Metric):
        def __init__(self, **others: Any) -> None:
            self.others = others
            super().__init__()

    assert Loss(margin=2.0, name="mine").margin == 2.0
    assert Metric(anything=3).others == {"anything": 3}
    Callback()
    with pytest.raises(TypeError, match="unexpected keyword argument 'nam'"):
        Loss(margin=1.0, nam="mine")


HUGE = 1 << 46  # floats: more than addresses


def test_memory_that_is_not_there_names_the_layer() -> None:
    wide = k.Dense(HUGE, name="wide", use_bias=False, kernel_initializer="zeros")
    with pytest.raises(MemoryError, match=r"in Dense 'wide'|Dense 'wide': "):
        wide(X)
    with pytest.raises(MemoryError, match="'words'"):
        keras.Sequential([keras.Input((1,)), k.Embedding(HUGE, 3, name="words")])
    padded = keras.Sequential([keras.Input((3, 1)), k.ZeroPadding1D(HUGE, name="around")])
    x = X[:, :, np.newaxis]
    with pytest.raises(MemoryError, match="in ZeroPadding1D 'around'") as caught:
        padded(x)
    assert str(caught.value).count("around") == 1
    for run in (padded.predict, tf.function(padded)):
        with pytest.raises(MemoryError, match=r"node '.*around/"):
            run(x)


def test_memory_that_is_not_there_names_the_op() -> None:
    with pytest.raises(tf.errors.ResourceExhaustedError, match=r"Tile: .*\n.*input: float32\[4"):
        tf.tile(tf.constant(X), [HUGE, 1])
