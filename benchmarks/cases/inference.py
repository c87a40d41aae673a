"""A loaded SavedModel's signature on one input, beside ONNX Runtime and jax."""

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import networks
from asked import THREADS
from harness import Case, Work


def checked(name: str, rows: int, run: Callable[[], Any]) -> Callable[[], None]:
    """The answers are TensorFlow's, of a batch that repeats the stored row."""

    def check() -> None:
        with np.load(networks.folder(name) / "answer.npz") as stored:
            y = stored["y"]
        for _ in range(5):  # a shape seen often may be computed another way
            found = np.asarray(run())
        assert found.shape[0] == rows
        for row in found:
            # float32 sums in another order through all layers.
            np.testing.assert_allclose(row, y[0], rtol=1e-3, atol=1e-4 * np.abs(y).max())

    return check


def batch(name: str, rows: int) -> np.ndarray:
    """The stored row, so often."""
    with np.load(networks.folder(name) / "answer.npz") as stored:
        return np.repeat(stored["x"], rows, axis=0)


def work(tf: Any, name: str, *, rows: int = 1) -> Work:
    """The same program for both libraries: load what TensorFlow wrote, call its signature.

    Args:
        tf: either library.
        name: a key of `networks.BUILDERS`.
        rows: the batch: the stored input repeated.
    """
    # Kept: a signature does not keep its variables alive.
    loaded = tf.saved_model.load(str(networks.folder(name) / "model"))
    signature = loaded.signatures["serving_default"]
    (key,) = signature.structured_input_signature[1]
    given = tf.constant(batch(name, rows))

    def run(*, kept: Any = loaded) -> object:
        del kept
        (found,) = signature(**{key: given}).values()
        return found

    return Work(run=run, check=checked(name, rows, lambda: run().numpy()))


def session_work(onnxruntime: Any, name: str, *, rows: int = 1) -> Work:
    """ONNX Runtime on what `pinnace export` makes of the same folder."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    session = onnxruntime.InferenceSession(
        os.fspath(networks.onnx_file(name)), options, providers=["CPUExecutionProvider"]
    )
    (key,) = (given.name for given in session.get_inputs())
    feed = {key: batch(name, rows)}

    def run() -> Any:
        return session.run(None, feed)[0]

    return Work(run=run, check=checked(name, rows, run))


def jax_lstm_work(jax: Any, *, rows: int) -> Work:
    """The LSTM and its dense layer, jitted, with the saved weights."""
    jnp, nn = jax.numpy, jax.nn
    folder = networks.folder("lstm")
    kernel, recurrent, bias, dense, offset = networks.stored_weights(folder)

    @jax.jit
    def forward(x: Any) -> Any:
        def cell(state: Any, given: Any) -> Any:
            h, c = state
            i, f, new, o = jnp.split(given @ kernel + h @ recurrent + bias, 4, -1)
            c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(new)
            return (nn.sigmoid(o) * jnp.tanh(c), c), None

        zeros = jnp.zeros((rows, 64))
        (h, _), _ = jax.lax.scan(cell, (zeros, zeros), jnp.swapaxes(x, 0, 1))
        return h @ dense + offset

    given = jnp.asarray(batch("lstm", rows))

    def run() -> Any:
        return jax.block_until_ready(forward(given))

    return Work(run=run, check=checked("lstm", rows, run))


def _case(title: str, model: str, rows: int, **aims: float) -> Case:
    return Case(
        title=f"inference, {title}",
        aims=aims,
        model=model,
        short=rows == 1 or model == "perceptron",
        sample_s=0.05,
        repeats=3,
        work=partial(work, name=model, rows=rows),
        variants={"onnxruntime": partial(session_work, name=model, rows=rows)},
    )


def _lstm(rows: int, **aims: float) -> Case:
    return Case(
        title=f"inference, LSTM(64), 50 steps, {rows} row{'s'[: rows - 1]}",
        aims=aims,
        model="lstm",
        work=partial(work, name="lstm", rows=rows),
        variants={
            "jax": partial(jax_lstm_work, rows=rows),
            "onnxruntime": partial(session_work, name="lstm", rows=rows),
        },
    )


CASES = {
    # Four transformer blocks, 128 tokens of 256 features.
    "infer_encoder": _case(
        "transformer encoder, 1 row", "encoder", 1, tensorflow=0.33, onnxruntime=0.9
    ),
    "infer_encoder_32": _case(
        "transformer encoder, 32 rows", "encoder", 32, tensorflow=0.6, onnxruntime=0.85
    ),
    "infer_lstm": _lstm(1),
    "infer_lstm_32": _lstm(32, tensorflow=0.2, jax=0.8),
    # Images of 224x224.
    "infer_mobilenet": _case(
        "MobileNetV2, 1 image", "mobilenet_v2", 1, tensorflow=0.2, onnxruntime=0.85
    ),
    "infer_mobilenet_32": _case(
        "MobileNetV2, 32 images", "mobilenet_v2", 32, tensorflow=0.4, onnxruntime=0.9
    ),
    "infer_perceptron": _case(
        "MLP 784-512-512-10, 1 row", "perceptron", 1, tensorflow=0.08, onnxruntime=1.0
    ),
    "infer_perceptron_32": _case(
        "MLP 784-512-512-10, 32 rows", "perceptron", 32, tensorflow=0.3, onnxruntime=1.0
    ),
    "infer_resnet": _case("ResNet50, 1 image", "resnet50", 1, tensorflow=0.45, onnxruntime=0.85),
    "infer_resnet_32": _case(
        "ResNet50, 32 images", "resnet50", 32, tensorflow=0.75, onnxruntime=0.88
    ),
}
