"""A loaded SavedModel's signature on one input: the work of the inference cases."""

import numpy as np

import networks
from harness import Work


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
