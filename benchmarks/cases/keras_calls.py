"""What Keras is asked for most: `predict`, `train_on_batch`, a `.keras` file, a first trace."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from harness import Case, Work
from perceptron import X, build, expected


def predict_work(tf: Any) -> Work:
    """`predict` of one row by the perceptron 784-128-10."""
    model = build(tf)

    def run() -> np.ndarray:
        return model.predict(X[:1], verbose=0)

    # float32 against float64: 784 products.
    return Work(
        run=run,
        check=lambda: np.testing.assert_allclose(run(), expected()[:1], rtol=1e-4, atol=1e-6),
    )


def train_on_batch_work(tf: Any) -> Work:
    """`train_on_batch` of four rows, compiled with Adam."""
    model = build(tf)
    y = np.arange(len(X)) % 10
    loss = "sparse_categorical_crossentropy"
    model.compile(optimizer=tf.keras.optimizers.Adam(1e-3), loss=loss)

    def check() -> None:
        wanted = -np.log(expected()[np.arange(len(X)), y]).mean()
        np.testing.assert_allclose(float(model.train_on_batch(X, y)), wanted, rtol=1e-4)

    return Work(run=lambda: model.train_on_batch(X, y), check=check)


def file_work(tf: Any, *, save: bool) -> Work:
    """The perceptron into a `.keras` file, or out of one."""
    folder = Path(tempfile.mkdtemp())
    file = str(folder / "model.keras")
    model = build(tf)
    model.save(file)

    def load() -> Any:
        return tf.keras.models.load_model(file)

    def check() -> None:
        found = np.asarray(load()(tf.constant(X)))
        np.testing.assert_allclose(found, expected(), rtol=1e-4, atol=1e-6)

    return Work(
        run=(lambda: model.save(file)) if save else load,
        check=check,
        close=lambda: shutil.rmtree(folder, ignore_errors=True),
    )


def trace_work(tf: Any) -> Work:
    """A function of its own each time: traced, and called once."""
    x = tf.constant(X)

    def run() -> Any:
        return tf.function(lambda x: tf.reduce_sum(x * 2.0 + 1.0))(x)

    def check() -> None:
        wanted = (X.astype(np.float64) * 2 + 1).sum()
        np.testing.assert_allclose(float(run()), wanted, rtol=1e-5)

    return Work(run=run, check=check)


CASES = {
    "keras_file_load": Case(
        title=".keras load, MLP", aims={}, repeats=3, work=lambda tf: file_work(tf, save=False)
    ),
    "keras_file_save": Case(
        title=".keras save, MLP", aims={}, repeats=3, work=lambda tf: file_work(tf, save=True)
    ),
    "keras_predict": Case(title="predict, MLP, 1 row", aims={}, work=predict_work),
    "keras_train_on_batch": Case(
        title="train_on_batch, MLP, 4 rows", aims={}, work=train_on_batch_work
    ),
    "trace": Case(title="trace and first call, trivial", aims={}, repeats=5, work=trace_work),
}
