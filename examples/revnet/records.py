"""Handwritten digits as TFRecord files, and the datasets that read them.

The images are the 1,797 that scikit-learn ships (8x8 pixels, values 0 to 16).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.datasets import load_digits

import pinnace as tf

if TYPE_CHECKING:
    from pathlib import Path

FEATURES = {
    "image": tf.io.FixedLenFeature([8, 8, 1], tf.float32),
    "label": tf.io.FixedLenFeature([], tf.int64),
}


def write_records(folder: Path) -> tuple[str, str]:
    """Write train.tfrecord and test.tfrecord, unless they are there; gives their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    paths = []
    for name, chosen in (("train", order[360:]), ("test", order[:360])):
        path = folder / f"{name}.tfrecord"
        if not path.exists():
            with tf.io.TFRecordWriter(str(path)) as writer:
                for image, label in zip(digits.images[chosen], digits.target[chosen], strict=True):
                    writer.write(example(image, label).SerializeToString())
        paths.append(str(path))
    return paths[0], paths[1]


def example(image: np.ndarray, label: int) -> tf.train.Example:
    """One image with its label."""
    pixels = tf.train.Feature(float_list=tf.train.FloatList(value=image.ravel() / 16))
    digit = tf.train.Feature(int64_list=tf.train.Int64List(value=[int(label)]))
    return tf.train.Example(features=tf.train.Features(feature={"image": pixels, "label": digit}))


def parser(record, data_format="channels_last"):
    """An image, float32 from 0 to 1, and its label."""
    parsed = tf.io.parse_single_example(record, FEATURES)
    image = parsed["image"]
    if data_format == "channels_first":
        image = tf.transpose(image, [2, 0, 1])
    return image, parsed["label"]


def read(filename, batch_size, epochs=1, data_format="channels_last", shuffle=False):
    """Batches of images and labels."""
    dataset = tf.data.TFRecordDataset(filename)
    if shuffle:
        dataset = dataset.shuffle(2000, seed=0)
    dataset = dataset.repeat(epochs).map(
        lambda record: parser(record, data_format), num_parallel_calls=tf.data.AUTOTUNE
    )
    return dataset.batch(batch_size, drop_remainder=shuffle).prefetch(tf.data.AUTOTUNE)
