"""One training step of the demo's network: 32 images of 8x8, two convolutions, Adam."""

import numpy as np

from harness import Case, Work

_random = np.random.default_rng(0)
X = (_random.random((32, 8, 8, 1)) * 16).astype(np.float32)
Y = _random.integers(0, 10, 32).astype(np.int32)


def work(tf: object) -> Work:
    """The same program for both libraries."""
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            tf.keras.Input((8, 8, 1), name="image"),
            layers.Rescaling(1 / 16),
            layers.Conv2D(16, 3, padding="same"),
            layers.BatchNormalization(),
            layers.Activation("relu"),
            layers.Conv2D(32, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dropout(0.3),
            layers.Dense(64, activation="relu"),
            layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(optimizer=tf.keras.optimizers.Adam(1e-3), loss="sparse_categorical_crossentropy")

    def check() -> None:
        # Random weights differ between the libraries: what must hold is that the step learns
        # these 32 images.
        first = float(model.evaluate(X, Y, verbose=0))
        assert 1.5 < first < 5, first
        for _ in range(60):
            model.train_on_batch(X, Y)
        last = float(model.evaluate(X, Y, verbose=0))
        assert last < first, (first, last)

    return Work(run=lambda: model.train_on_batch(X, Y), check=check)


CASES = {
    "digits_step": Case(
        title="demo's training step, 32 images", aims={"tensorflow": 1.0}, work=work
    )
}
