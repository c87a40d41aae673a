"""Epochs of input pipelines: images in memory, and TFRecord files."""

import shutil
import tempfile
from pathlib import Path

import numpy as np

from harness import Case, Work

RECORDS = 20_000
FILES = 4


def images_work(tf: object) -> Work:
    """One epoch over 50,000 images: shuffle, batch, bytes to floats."""
    count = 50_000
    images_given = np.random.default_rng(0).integers(0, 256, (count, 28, 28), np.uint8)
    labels_given = np.arange(count, dtype=np.int64)

    def scaled(images: object, labels: object) -> object:
        return tf.cast(images, tf.float32) / 255.0, labels

    dataset = (
        tf.data.Dataset.from_tensor_slices((images_given, labels_given))
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
                images.numpy(), images_given[numbers].astype(np.float32) / 255, rtol=1e-6
            )
            seen.append(numbers)
        order = np.concatenate(seen)
        np.testing.assert_array_equal(np.sort(order), labels_given)
        # An element leaves the buffer at any time after it came, never more than a buffer early.
        assert (order - np.arange(count)).max() < 10_000
        assert len(np.unique(np.diff(order))) > count // 10, "not shuffled"

    return Work(run=run, check=check)


def _write(tf: object, folder: Path, given: dict[str, np.ndarray]) -> list[str]:
    """The files; both libraries write their own."""
    features = tf.train.Feature
    names = [str(folder / f"part-{number}.tfrecord") for number in range(FILES)]
    for number, name in enumerate(names):
        with tf.io.TFRecordWriter(name) as writer:
            for row in range(number, RECORDS, FILES):
                fields = {
                    "image": features(
                        bytes_list=tf.train.BytesList(value=[given["image"][row].tobytes()])
                    ),
                    "number": features(int64_list=tf.train.Int64List(value=[given["number"][row]])),
                    "row": features(int64_list=tf.train.Int64List(value=[row])),
                    "weights": features(float_list=tf.train.FloatList(value=given["weights"][row])),
                }
                example = tf.train.Example(features=tf.train.Features(feature=fields))
                writer.write(example.SerializeToString())
    return names


def records_work(tf: object) -> Work:
    """One epoch over TFRecord files of Example messages, parsed a batch at a time."""
    random = np.random.default_rng(0)
    given = {
        "image": random.integers(0, 256, (RECORDS, 784), np.uint8),
        "weights": random.random((RECORDS, 8)).astype(np.float32),
        # Of many lengths in the wire format, as real ids are.
        "number": random.integers(0, 2 ** random.integers(1, 62, RECORDS), dtype=np.int64),
    }
    folder = Path(tempfile.mkdtemp())
    names = _write(tf, folder, given)
    description = {
        "image": tf.io.FixedLenFeature([], tf.string),
        "number": tf.io.FixedLenFeature([], tf.int64),
        "row": tf.io.FixedLenFeature([], tf.int64),
        "weights": tf.io.FixedLenFeature([8], tf.float32),
    }

    def parsed(records: object) -> object:
        found = tf.io.parse_example(records, description)
        found["image"] = tf.io.decode_raw(found["image"], tf.uint8)
        return found

    dataset = (
        tf.data.TFRecordDataset(names)
        .batch(128)
        .map(parsed, num_parallel_calls=tf.data.AUTOTUNE)
        .prefetch(tf.data.AUTOTUNE)
    )

    def run() -> None:
        for _ in dataset:
            pass

    def check() -> None:
        rows = []
        for batch in dataset:
            row = batch["row"].numpy()
            for name, values in given.items():
                np.testing.assert_array_equal(batch[name].numpy(), values[row])
            rows.append(row)
        np.testing.assert_array_equal(np.sort(np.concatenate(rows)), np.arange(RECORDS))

    return Work(run=run, check=check, close=lambda: shutil.rmtree(folder, ignore_errors=True))


CASES = {
    "dataset_pipeline": Case(
        title="shuffle(10,000).batch(128).map over 50,000 images",
        aims={"tensorflow": 1.0},
        rounds=5,
        repeats=4,
        sample_s=0.05,
        work=images_work,
    ),
    "tfrecord_reading": Case(
        title="TFRecords of 20,000 Examples, batch(128), parse_example",
        aims={"tensorflow": 1.0},
        rounds=5,
        repeats=4,
        sample_s=0.05,
        work=records_work,
    ),
}
