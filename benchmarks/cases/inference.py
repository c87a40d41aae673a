"""A loaded SavedModel's signature on one input."""

from functools import partial

import numpy as np

import networks
from harness import Case, Work


def work(tf: object, name: str, *, rows: int = 1, rtol: float = 1e-3, atol: float = 1e-4) -> Work:
    """The same program for both libraries: load what TensorFlow wrote, call its signature.

    Args:
        tf: either library.
        name: a key of `networks.BUILDERS`.
        rows: the batch: the stored input repeated.
        rtol: float32 sums in another order through all layers.
        atol: as `rtol`, relative to the largest number of the answer.
    """
    folder = networks.folder(name)
    with np.load(folder / "answer.npz") as stored:
        x, y = stored["x"], stored["y"]
    # Kept: a signature does not keep its variables alive.
    loaded = tf.saved_model.load(str(folder / "model"))
    signature = loaded.signatures["serving_default"]
    (key,) = signature.structured_input_signature[1]
    given = tf.constant(np.repeat(x, rows, axis=0))

    def run() -> object:
        (found,) = signature(**{key: given}).values()
        return found

    def check() -> None:
        assert loaded is not None
        for _ in range(5):  # a shape seen often may be computed another way
            found = run().numpy()
        assert found.shape[0] == rows
        for row in found:
            np.testing.assert_allclose(row, y[0], rtol=rtol, atol=atol * np.abs(y).max())

    return Work(run=run, check=check)


def _case(title: str, model: str, rows: int = 1, aim: float = 1.0) -> Case:
    return Case(
        title=f"inference, {title}",
        aims={"tensorflow": aim},
        model=model,
        sample_s=0.05,
        repeats=9,
        work=partial(work, name=model, rows=rows),
    )


CASES = {
    # Four transformer blocks, 128 tokens of 256 features.
    "infer_encoder": _case("transformer encoder, 1 row", "encoder"),
    "infer_encoder_8": _case("transformer encoder, 8 rows", "encoder", rows=8),
    "infer_lstm": _case("LSTM(64), 50 steps, 1 row", "lstm"),
    "infer_lstm_32": _case("LSTM(64), 50 steps, 32 rows", "lstm", rows=32),
    # Images of 224x224.
    "infer_mobilenet": _case("MobileNetV2, 1 image", "mobilenet_v2", aim=3.0),
    "infer_perceptron": _case("MLP 784-512-512-10, 1 row", "perceptron"),
    "infer_perceptron_32": _case("MLP 784-512-512-10, 32 rows", "perceptron", rows=32),
    "infer_resnet": _case("ResNet50, 1 image", "resnet50", aim=3.0),
}
