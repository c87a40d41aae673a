"""A process of its own: import the library named, load a MobileNetV2, answer once, end."""

import importlib
import sys

import numpy as np

import networks


def main(library: str) -> None:
    """Answer once; AssertionError if the answer is wrong."""
    tf = importlib.import_module(library)
    folder = networks.folder("mobilenet_v2")
    with np.load(folder / "answer.npz") as stored:
        x, y = stored["x"], stored["y"]
    loaded = tf.saved_model.load(str(folder / "model"))
    signature = loaded.signatures["serving_default"]
    (key,) = signature.structured_input_signature[1]
    (found,) = signature(**{key: tf.constant(x)}).values()
    np.testing.assert_allclose(found.numpy(), y, rtol=1e-3, atol=1e-4 * np.abs(y).max())


if __name__ == "__main__":
    main(sys.argv[1])
