"""Copies of models and their parts by pickle, deepcopy, joblib and in another process."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework import config
from support.fresh_process import run_fresh

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

keras = tf.keras
k = keras.layers
X = np.random.default_rng(0).normal(size=(12, 4)).astype(np.float32)
Y = X.sum(1, keepdims=True)


def through_pickle(x: Any) -> Any:
    return pickle.loads(pickle.dumps(x))  # noqa: S301 (what was just written)


COPIES = {"pickle": through_pickle, "deepcopy": copy.deepcopy}
every_copy = pytest.mark.parametrize("how", COPIES)


class Branched(keras.Model):
    """A subclass without a custom `get_config`."""

    def __init__(self, units: int) -> None:
        super().__init__()
        self.parts = [k.Dense(units, "relu"), {"last": k.Dense(1)}]
        self.calls = tf.Variable(0, trainable=False)

    def call(self, x: Any, training: bool = False) -> Any:
        if training:
            self.calls.assign_add(1)
        return self.parts[1]["last"](self.parts[0](x))


def functional() -> Any:
    x = keras.Input((4,), name="x")
    shared = k.Dense(3, "tanh", name="shared")
    left, right = shared(x), shared(x * 2.0)
    inner = keras.Sequential([keras.Input((3,)), k.BatchNormalization(), k.Dense(2)])
    return keras.Model(x, k.Dense(1)(k.Concatenate()([inner(left), right])))


def sequential() -> Any:
    return keras.Sequential([k.Normalization(), k.Dense(3, kernel_regularizer="l2"), k.Dense(1)])


MODELS: dict[str, Callable[[], Any]] = {
    "functional": functional,
    "sequential": sequential,
    "subclass": lambda: Branched(3),
}
every_model = pytest.mark.parametrize("kind", MODELS)


def trained(kind: str, epochs: int = 2) -> Any:
    keras.utils.set_random_seed(4)
    model = MODELS[kind]()
    if kind == "sequential":
        model.layers[0].adapt(X)
    model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae", "mse"])
    model.fit(X, Y, epochs=epochs, verbose=0, shuffle=False)
    return model


@every_copy
@every_model
def test_a_model_that_was_trained_goes_on_as_the_original_would(
    kind: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Machine code sums in another order, and one of both may use it before the other.
    monkeypatch.setattr(config.settings, "tier", "plan")
    model = trained(kind)
    again = COPIES[how](model)
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.predict(X, verbose=0), model.predict(X, verbose=0))
    assert again.evaluate(X, Y, verbose=0) == model.evaluate(X, Y, verbose=0)
    ends = [m.fit(X, Y, epochs=2, verbose=0, shuffle=False).history for m in (model, again)]
    assert ends[0] == ends[1]
    # One optimizer and one set of weights, neither shared with the original.
    assert len(again.optimizer.variables) == len(model.optimizer.variables)
    for one, other in zip(again.variables, model.variables, strict=True):
        assert one is not other
        np.testing.assert_array_equal(one.numpy(), other.numpy())


@every_copy
@every_model
def test_training_a_copy_leaves_the_original_alone(kind: str, how: str) -> None:
    model = trained(kind)
    before = model.get_weights()
    COPIES[how](model).fit(X, Y, epochs=1, verbose=0)
    for one, other in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(one, other)


@every_copy
@every_model
def test_what_a_copy_saves_is_what_the_original_would(kind: str, how: str, tmp_path: Any) -> None:
    model = trained(kind)
    again = COPIES[how](model)
    again.save_weights(tmp_path / "weights")
    other = trained(kind, epochs=1)
    other.load_weights(tmp_path / "weights")
    np.testing.assert_array_equal(other(X), model(X))
    if kind != "subclass":
        assert again.get_config() == model.get_config()
        assert [layer.name for layer in again.layers] == [layer.name for layer in model.layers]
        assert again.layers[-1].output.shape == model.layers[-1].output.shape


@every_copy
def test_a_copy_of_many_layers_is_no_deeper_than_one_of_few(how: str) -> None:
    x = y = keras.Input((2,))
    for _ in range(300):
        y = k.Dense(2)(y)
    model = keras.Model(x, y)
    again = COPIES[how](model)
    assert len(again.layers) == 301
    np.testing.assert_array_equal(again(X[:, :2]), model(X[:, :2]))


@every_copy
def test_a_model_inside_another_stays_shared(how: str) -> None:
    x = keras.Input((4,))
    hidden = k.Dense(3, name="hidden")
    whole = keras.Model(x, k.Dense(1)(hidden(x)))
    part = keras.Model(whole.input, whole.get_layer("hidden").output)
    again, again_part = COPIES[how]((whole, part))
    assert again.get_layer("hidden") is again_part.get_layer("hidden")
    np.testing.assert_array_equal(again_part(X), part(X))


def texts() -> Any:
    layer = k.TextVectorization(output_sequence_length=3)
    layer.adapt(["a b", "b c"])
    return layer


PARTS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "variable": (lambda: tf.Variable([1.0, 2.0], name="v"), lambda x: x.numpy().tolist()),
    "tensor": (lambda: tf.constant([[1, 2]]), lambda x: x.numpy().tolist()),
    "text": (lambda: tf.constant(["é"]), lambda x: x.numpy().tolist()),
    "bfloat16": (lambda: tf.constant([1.5], tf.bfloat16), lambda x: x.numpy().tolist()),
    "ragged": (lambda: tf.ragged.constant([[1], [2, 3]]), lambda x: x.to_list()),
    "lookup": (
        lambda: k.StringLookup(vocabulary=["a", "b"]),
        lambda x: x(np.array(["b", "?"])).numpy().tolist(),
    ),
    "texts": (texts, lambda x: x(np.array(["c b"])).numpy().tolist()),
    "metric": (
        lambda: _after(keras.metrics.Mean(), lambda m: m.update_state([1.0, 3.0])),
        lambda m: float(m(8.0)),
    ),
    "loss": (keras.losses.Huber, lambda x: float(x([[1.0]], [[4.0]]))),
    "schedule": (
        lambda: keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(0.1, 10)),
        lambda x: float(x.learning_rate),
    ),
    "random": (
        lambda: tf.random.Generator.from_seed(3),
        lambda g: g.normal([2]).numpy().tolist(),
    ),
    "module": (
        lambda: _after(tf.Module(), lambda m: setattr(m, "w", [tf.Variable(1.0)])),
        lambda m: [float(v) for v in m.variables],
    ),
}


def _after(x: Any, change: Callable[[Any], object]) -> Any:
    change(x)
    return x


@every_copy
@pytest.mark.parametrize("kind", PARTS)
def test_a_part_does_what_the_original_does(kind: str, how: str) -> None:
    make, answer = PARTS[kind]
    original = make()
    again = COPIES[how](original)
    assert type(again) is type(original)
    assert answer(again) == answer(original)


def test_a_variable_and_its_copy_are_two() -> None:
    variable = tf.Variable(1.0)
    for make in COPIES.values():
        (one, other) = make([variable, variable])
        assert one is other
        one.assign(5.0)
        assert float(variable) == 1.0
    with tf.GradientTape() as tape:
        y = one * one
    assert float(tape.gradient(y, one)) == 10.0


@tf.function
def doubled(x: Any) -> Any:
    return x * 2


def test_a_function_is_copied_by_name_or_by_what_it_was_made_of() -> None:
    assert through_pickle(doubled) is doubled
    local = tf.function(lambda x: x + 1, reduce_retracing=True)
    assert int(copy.deepcopy(local)(1)) == 2


ELSEWHERE = """
import pickle, sys
import numpy as np
with open(sys.argv[1], "rb") as file:
    model, x = pickle.load(file)
np.save(sys.argv[2], model.predict(x, verbose=0))
"""


def test_another_process_takes_a_model(tmp_path: Path) -> None:
    model = trained("functional")
    (tmp_path / "model.pickle").write_bytes(pickle.dumps((model, X)))
    run_fresh(ELSEWHERE, tmp_path / "model.pickle", tmp_path / "found.npy")
    found = np.load(tmp_path / "found.npy")
    np.testing.assert_allclose(found, model.predict(X, verbose=0), rtol=1e-6)


def test_joblib_dumps_and_loads_a_model(tmp_path: Any) -> None:
    import joblib

    model = trained("sequential")
    joblib.dump(model, tmp_path / "model.joblib")
    again = joblib.load(tmp_path / "model.joblib")
    np.testing.assert_array_equal(again(X), model(X))
