"""One epoch over 50,000 images: shuffle, batch, bytes to floats."""

import numpy as np

from harness import Case, Work

CASE = Case(
    title="shuffle(10,000).batch(128).map over 50,000 images",
    aims={"tensorflow": 1.0},
    rounds=5,
    repeats=4,
    sample_s=0.05,
)
COUNT = 50_000
_random = np.random.default_rng(0)
IMAGES = _random.integers(0, 256, (COUNT, 28, 28), np.uint8)
LABELS = np.arange(COUNT, dtype=np.int64)


def work(tf: object) -> Work:
    """The same program for both libraries."""

    def scaled(images: object, labels: object) -> object:
        return tf.cast(images, tf.float32) / 255.0, labels

    dataset = (
        tf.data.Dataset.from_tensor_slices((IMAGES, LABELS))
        .shuffle(10_000)
        .batch(128)
        .map(scaled, num_parallel_calls=tf.data.AUTOTUNE)
        .prefetch(tf.data.AUTOTUNE)
    )

    def run() -> None:
        for _ in dataset:
            pass

    def check() -> None:
        seen = []
        for images, labels in dataset:
            numbers = labels.numpy()
            np.testing.assert_allclose(
                images.numpy(), IMAGES[numbers].astype(np.float32) / 255, rtol=1e-6
            )
            seen.append(numbers)
        order = np.concatenate(seen)
        np.testing.assert_array_equal(np.sort(order), LABELS)
        # An element leaves the buffer at any time after it came, never more than a buffer early.
        assert (order - np.arange(COUNT)).max() < 10_000
        assert len(np.unique(np.diff(order))) > COUNT // 10, "not shuffled"

    return Work(run=run, check=check)


def ours() -> Work:
    import pinnace as tf

    return work(tf)
