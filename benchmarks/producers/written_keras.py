"""Networks of Keras as its backends export them: `written_keras.py FOLDER NAME...`.

KERAS_BACKEND says which: `tensorflow` writes FOLDER/NAME/other, `jax` FOLDER/NAME/model, then
inputs and its own answers. Weights are drawn by their shapes, so that both have the same.
"""

import os
import sys
import traceback
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from producers.workloads import LAYERS, ROWS
from zoo import store as zoo
from zoo.network import Network, floats

BACKEND = os.environ["KERAS_BACKEND"]
FOLDERS = {"tensorflow": "other", "jax": "model"}
# Between the backends: float32 sums in another order.
RTOL = 1e-3


def hundred_layers(tf: Any) -> Any:
    """Fifty dense layers, each with a normalization, as deep networks of people are."""
    layers = tf.keras.layers
    x = inputs = tf.keras.Input((64,), name="x")
    for _ in range(50):
        x = layers.LayerNormalization()(x + layers.Dense(64, activation="relu")(x))
    return tf.keras.Model(inputs, x)


def network(name: str) -> Network:
    """One of the zoo's, or the one whose load is measured."""
    if name == LAYERS:
        return Network(title="100 layers", build=hundred_layers, draw=floats(64))
    return zoo.network(name)


def draw_weights(model: Any) -> None:
    """As after a training: scales around 1, variances above 0, offsets of their own."""
    random = np.random.default_rng(1)
    for variable in model.weights:
        shape = tuple(variable.shape)
        if "float" not in str(variable.dtype):
            continue  # the state of a seed
        drawn = random.standard_normal(shape)
        if len(shape) == 4:  # of pictures, in front of rectifiers; the last is 1 where depthwise
            drawn *= np.sqrt(2 / np.prod(shape[:2] if shape[-1] == 1 else shape[:3]))
        elif len(shape) > 1:
            drawn /= np.sqrt(np.prod(shape[:-1]))
        elif variable.path.endswith(("gamma", "moving_variance")):
            drawn = 1.0 + 0.1 * np.abs(drawn)
        else:
            drawn *= 0.1
        variable.assign(drawn.astype(np.float32))


def write(keras: Any, name: str, target: Path) -> None:
    """One network in the folder of this backend."""
    target.mkdir(exist_ok=True)
    chosen = network(name)
    model = chosen.build(SimpleNamespace(keras=keras))
    draw_weights(model)
    asked = chosen.draw(np.random.default_rng(0), ROWS)
    given = next(iter(asked.values())) if len(asked) == 1 else asked
    answer = np.asarray(model(given))
    model.export(str(target / FOLDERS[BACKEND]), verbose=False)
    if BACKEND == "tensorflow":
        np.save(target / "other.npy", answer)
        return
    other = np.load(target / "other.npy")
    assert np.isfinite(answer).all()
    assert answer.std(0).max() > 1e-3 * np.abs(answer).max(), "rows are answered alike"
    atol = RTOL * np.abs(other).max()
    np.testing.assert_allclose(answer, other, RTOL, atol, err_msg="the backends differ")
    np.savez(target / "asked.npz", **asked)
    np.savez(target / "answers.npz", answer=answer)


def main() -> None:
    """See above; it goes on after a failure."""
    import keras

    for name in sys.argv[2:]:
        print(f"{name}, {keras.backend.backend()}", flush=True)
        try:
            write(keras, name, Path(sys.argv[1]) / name)
        except Exception:  # the others are wanted all the same; the last file is not there
            traceback.print_exc()
        keras.backend.clear_session()


if __name__ == "__main__":
    main()
