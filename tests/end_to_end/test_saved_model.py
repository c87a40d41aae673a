"""A model is saved and loaded, here and in a process without its code, with equal results."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from support.fresh_process import exchange_arrays

LOAD = """
import pinnace as tf
model = tf.saved_model.load({path!r})
serve = model.signatures["serving_default"]
outputs.update(serve.run_arrays(inputs))
outputs["called"] = model(*[tf.constant(inputs[name]) for name in sorted(inputs)]).numpy()
outputs["weights"] = sum(v.numpy().sum() for v in {variables})
"""


class Perceptron(tf.Module):
    """Two layers; the second call path differs in training."""

    def __init__(self) -> None:
        super().__init__()
        rng = np.random.default_rng(3)
        self.w = [tf.Variable(rng.standard_normal(s).astype(np.float32)) for s in ((4, 8), (8, 3))]
        self.calls = tf.Variable(0, trainable=False, name="calls")

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
    def __call__(self, x: Any) -> Any:
        self.calls.assign_add(1)
        for w in self.w:
            x = tf.nn.relu(x @ w) - 0.25 * tf.reduce_mean(x)
        return tf.nn.softmax(x)


def test_a_module_answers_the_same_here_and_elsewhere(tmp_path: Path) -> None:
    module = Perceptron()
    x = np.random.default_rng(4).standard_normal((5, 4)).astype(np.float32)
    wanted = module(x).numpy()
    tf.saved_model.save(module, str(tmp_path / "1"))
    here = tf.saved_model.load(str(tmp_path / "1"))
    assert here(tf.constant(x)).numpy().tobytes() == wanted.tobytes()
    code = LOAD.format(path=str(tmp_path / "1"), variables="model.w")
    found = exchange_arrays(code, {"x": x})
    assert found["output_0"].tobytes() == wanted.tobytes()
    assert found["called"].tobytes() == wanted.tobytes()


def test_training_goes_on_after_loading(tmp_path: Path) -> None:
    module = Perceptron()
    x = np.random.default_rng(5).standard_normal((16, 4)).astype(np.float32)
    labels = np.eye(3, dtype=np.float32)[np.random.default_rng(6).integers(0, 3, 16)]
    tf.saved_model.save(module, str(tmp_path / "1"))
    loaded = tf.saved_model.load(str(tmp_path / "1"))

    def steps(model: Any, count: int) -> list[float]:
        losses = []
        for _ in range(count):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(tf.constant(x)) - labels) ** 2)
            for w, gradient in zip(model.w, tape.gradient(loss, list(model.w)), strict=True):
                w.assign_sub(0.5 * gradient)
            losses.append(float(loss))
        return losses

    wanted, found = steps(module, 5), steps(loaded, 5)
    assert found == wanted
    assert found[-1] < found[0]
    tf.saved_model.save(loaded, str(tmp_path / "2"))
    again = tf.saved_model.load(str(tmp_path / "2"))
    assert again(tf.constant(x)).numpy().tobytes() == module(x).numpy().tobytes()


def test_a_keras_model_answers_the_same_here_and_elsewhere(tmp_path: Path) -> None:
    keras = pytest.importorskip("pinnace.keras")
    if not hasattr(keras, "Sequential"):
        pytest.skip("pinnace.keras is not there yet")
    layers = keras.layers
    model = keras.Sequential(
        [
            layers.Conv2D(4, 3, activation="relu"),
            layers.BatchNormalization(),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dropout(0.5),
            layers.Dense(10, activation="softmax"),
        ]
    )
    x = np.random.default_rng(7).standard_normal((3, 8, 8, 1)).astype(np.float32)
    eager = np.asarray(model(tf.constant(x)))
    wanted = np.asarray(tf.function(model)(tf.constant(x)))
    # A function's tables sum in another order than eager ops.
    np.testing.assert_allclose(wanted, eager, rtol=1e-5)
    model.save(str(tmp_path / "1"))
    serve = tf.saved_model.load(str(tmp_path / "1")).signatures["serving_default"]
    (name,) = serve.structured_input_signature[1]
    code = LOAD.format(path=str(tmp_path / "1"), variables="[]")
    found = exchange_arrays(code, {name: x})
    assert found["output_0"].tobytes() == wanted.tobytes()
    assert found["called"].tobytes() == wanted.tobytes()
