"""The checks that `make arm64` and `make interpreters` run in the other place, one per line.

It needs only the wheel, tests/support and the given folder; an AssertionError says which check
failed. `--write FILE` writes its results, `--compare FILE` compares them with those of another
machine. A multiplication with an addition is rounded once or twice, depending on the processor's
instructions, and sums are computed in vectors of different widths: float32 results differ by some
units in the last place, and the difference is printed.
"""

import argparse
import platform
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

BEGUN = time.monotonic()
import pinnace as tf  # noqa: E402 - its import is timed

IMPORTED_S = time.monotonic() - BEGUN
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support import recorded  # noqa: E402 - imports pinnace

# Models that TensorFlow wrote: networks, loops, strings, tables, TensorFlow 1.
MODELS = (
    "autograph_flow",
    "keras_cnn",
    "keras_gru",
    "keras_lstm",
    "keras_transformer",
    "lookup_assets",
    "several_signatures",
    "v1_style",
    "words",
)
# float32 sums in another order, through few layers: some units of 6e-8, times the root of their
# length.
CLOSE = {"rtol": 2e-5, "atol": 2e-6}


def main() -> int:
    """Run all checks; 0, or an exception."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=Path, help="folder of models with io.npz")
    parser.add_argument("--write", type=Path, help="write the numbers found")
    parser.add_argument("--compare", type=Path, help="compare with numbers of another machine")
    options = parser.parse_args()
    tell(f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}")
    tell(f"import pinnace: {IMPORTED_S:.1f} s")
    loaded(options.models)
    found = {**trained(), **compiled()}
    denormals()
    if options.write is not None:
        np.savez(options.write, allow_pickle=False, **found)
    if options.compare is not None:
        with np.load(options.compare) as theirs:
            assert set(theirs.files) == set(found), (theirs.files, list(found))
            for name in theirs.files:
                np.testing.assert_allclose(found[name], theirs[name], **CLOSE, err_msg=name)
                tell(f"  {name}: {_difference(found[name], theirs[name])}")
        tell(f"{len(found)} arrays are those of the other machine")
    tell("all checks passed")
    return 0


def tell(line: str) -> None:
    """Print with the seconds since the start."""
    sys.stdout.write(f"{time.monotonic() - BEGUN:7.1f} s  {line}\n")
    sys.stdout.flush()


def loaded(folder: Path) -> None:
    """Models that TensorFlow wrote give the outputs recorded there."""
    for name in MODELS:
        model = tf.saved_model.load(str(folder / name / "model"))
        worst = recorded.largest_difference(model, folder / name / "io.npz")
        assert worst <= CLOSE["rtol"], (name, worst)
    tell(f"{len(MODELS)} models that TensorFlow wrote: loaded, run, equal")


def trained() -> dict[str, Any]:
    """A network is trained, saved and loaded; returns its numbers."""
    tf.keras.utils.set_random_seed(7)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((96, 12, 12, 2)).astype(np.float32)
    y = (x[:, 3:9, 3:9].mean((1, 2)) @ np.array([1.0, -2.0]) > 0).astype(np.int32)
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Conv2D(6, 3, activation="relu"),
            tf.keras.layers.BatchNormalization(),
            tf.keras.layers.GlobalAveragePooling2D(),
            tf.keras.layers.Dense(2),
        ]
    )
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"])
    losses = model.fit(x, y, epochs=3, batch_size=32, shuffle=False, verbose=0).history["loss"]
    assert losses[-1] < losses[0], losses
    predicted = model.predict(x, verbose=0)
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(model, folder + "/saved")
        again = tf.saved_model.load(folder + "/saved")(tf.constant(x)).numpy()
        np.testing.assert_allclose(again, predicted, **CLOSE)
        model.save(folder + "/model.keras")
        again = tf.keras.models.load_model(folder + "/model.keras").predict(x, verbose=0)
        np.testing.assert_allclose(again, predicted, **CLOSE)
        variable = tf.Variable(predicted)
        path = tf.train.Checkpoint(v=variable).save(folder + "/checkpoint")
        variable.assign(variable * 0.0)
        tf.train.Checkpoint(v=variable).restore(path)
        assert variable.numpy().tobytes() == predicted.tobytes()
    tell(f"fit: loss {losses[0]:.3f} to {losses[-1]:.3f}; saved, loaded, restored: equal")
    drawn = tf.random.stateless_normal([4, 5], [1, 2]).numpy()
    return {"losses": np.array(losses, np.float32), "predicted": predicted, "drawn": drawn}


def _difference(ours: Any, theirs: Any) -> str:
    """How many numbers differ, and the largest difference relative to the largest number."""
    differing = int((ours != theirs).sum())
    if not differing:
        return f"all {ours.size} numbers have the same bits"
    gap = np.abs(ours.astype(np.float64) - theirs).max() / np.abs(theirs).max()
    return f"{differing} of {ours.size} numbers differ, by {gap:.1e} of the largest at most"


def compiled() -> dict[str, Any]:
    """Machine code gives the plan's results; returns its numbers."""
    from pinnace.engine.ahead import reading

    library, reason = reading.installed()
    assert library is not None, reason
    tell(f"machine code: {len(library.kernels)} kernels for {library.processor}")
    found = {}
    for name, (run, given) in _programs().items():
        call = tf.function(run)
        plan = call(*given).numpy()  # the first call, step by step
        for _ in range(4):
            result = call(*given).numpy()
        np.testing.assert_allclose(result, plan, **CLOSE, err_msg=name)
        tiers = {row.tier for row in tf.profiler.profile(call, *given).rows}
        assert tiers & {"compiled", "small plan", "loop"}, (name, tiers)
        found[name] = result
    tell(f"{len(found)} programs: equal to the plan, by {', '.join(found)}")
    return found


def _programs() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Functions of every kind that has machine code, with their arguments."""
    layers = tf.keras.layers
    tf.keras.utils.set_random_seed(3)
    rng = np.random.default_rng(5)

    def of(*shape: int) -> Any:
        return tf.constant(rng.standard_normal(shape).astype(np.float32))

    def model(shape: list[int], *parts: Any) -> Any:
        made = tf.keras.Sequential([tf.keras.Input(shape), *parts])
        return lambda x: made(x)

    def halved(x: Any) -> Any:
        total = tf.zeros([])
        for i in tf.range(1000):
            total = total * 0.5 + tf.cast(i, tf.float32)
        return x + total

    def gradients(x: Any, w: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(w)
            loss = tf.reduce_mean(tf.nn.softplus(tf.tanh(x @ w) @ tf.transpose(w)))
        return tape.gradient(loss, w)

    convolution = model(
        [24, 24, 8],
        layers.Conv2D(32, 3, padding="same", activation="relu"),
        layers.DepthwiseConv2D(3, padding="same", activation="relu"),
        layers.MaxPool2D(),
        layers.Conv2D(32, 3, padding="same", activation="gelu"),
        layers.GlobalAveragePooling2D(),
        layers.Dense(10, activation="softmax"),
    )
    recurrent = model([20, 16], layers.GRU(24, return_sequences=True), layers.LSTM(12))

    class Attention(tf.keras.layers.Layer):  # type: ignore[misc,name-defined] # lazily imported
        def __init__(self) -> None:
            super().__init__()
            self.attention = layers.MultiHeadAttention(4, 8)
            self.norm = layers.LayerNormalization()

        def call(self, x: Any) -> Any:
            return self.norm(x + self.attention(x, x))

    return {
        "elementwise": (
            lambda x: tf.tanh(x) * tf.exp(-x * x) + tf.nn.relu(x) - 0.25 * tf.math.erf(x),
            (of(64, 64),),
        ),
        "rows": (
            lambda x: tf.nn.softmax(x * 3.0) - tf.math.reduce_mean(x, 1)[:, None],
            (of(64, 99),),
        ),
        "loop": (halved, (of(8),)),
        "gradients": (gradients, (of(96, 128), of(128, 64))),
        "convolution": (convolution, (of(4, 24, 24, 8),)),
        "recurrent": (recurrent, (of(4, 20, 16),)),
        "attention": (model([12, 32], Attention()), (of(3, 12, 32),)),
        "functions": (
            lambda x: tf.sigmoid(x) * tf.math.expm1(x) + tf.nn.gelu(x) + tf.sqrt(tf.abs(x)),
            (of(256, 256),),
        ),
    }


def denormals() -> None:
    """Denormals are flushed to zero in our runs, and not in the user's NumPy code."""
    small = np.full(100_000, 1e-39, np.float32)
    product = tf.function(lambda x: x * 0.5)(tf.constant(small)).numpy()
    assert not product.any(), product[:3]
    assert (small * np.float32(0.5)).all()
    tell("denormals: zero in runs, kept by NumPy outside of them")


if __name__ == "__main__":
    sys.exit(main())
