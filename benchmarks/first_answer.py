"""A process of its own: import a library, load a network that TensorFlow saved, answer once, end.

    python first_answer.py LIBRARY [--model NAME] [--call]

With `--call` it prints the seconds that the first call took.
"""

import argparse
import importlib
import time

import numpy as np

import networks


def main() -> None:
    """Answer once; AssertionError if the answer is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--model", default="mobilenet_v2")
    parser.add_argument("--call", action="store_true")
    options = parser.parse_args()
    tf = importlib.import_module(options.library)
    folder = networks.folder(options.model)
    with np.load(folder / "answer.npz") as stored:
        x, y = stored["x"], stored["y"]
    loaded = tf.saved_model.load(str(folder / "model"))
    signature = loaded.signatures["serving_default"]
    (key,) = signature.structured_input_signature[1]
    given = tf.constant(x)
    start = time.perf_counter()
    (found,) = signature(**{key: given}).values()
    array = found.numpy()
    seconds = time.perf_counter() - start
    np.testing.assert_allclose(array, y, rtol=1e-3, atol=1e-4 * np.abs(y).max())
    if options.call:
        print(seconds)


if __name__ == "__main__":
    main()
