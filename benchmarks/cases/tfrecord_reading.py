"""One epoch over TFRecord files of Example messages, parsed a batch at a time."""

import shutil
import tempfile
from pathlib import Path

import numpy as np

from harness import Case, Work

CASE = Case(
    title="TFRecords of 20,000 Examples, batch(128), parse_example",
    aims={"tensorflow": 1.0},
    rounds=5,
    repeats=4,
    sample_s=0.05,
)
COUNT = 20_000
FILES = 4
_random = np.random.default_rng(0)
IMAGES = _random.integers(0, 256, (COUNT, 784), np.uint8)
WEIGHTS = _random.random((COUNT, 8)).astype(np.float32)
# Of many lengths in the wire format, as real ids are.
NUMBERS = _random.integers(0, 2 ** _random.integers(1, 62, COUNT), dtype=np.int64)


def write(tf: object, folder: Path) -> list[str]:
    """The files; both libraries write their own."""
    features = tf.train.Feature
    names = [str(folder / f"part-{number}.tfrecord") for number in range(FILES)]
    for number, name in enumerate(names):
        with tf.io.TFRecordWriter(name) as writer:
            for row in range(number, COUNT, FILES):
                fields = {
                    "image": features(bytes_list=tf.train.BytesList(value=[IMAGES[row].tobytes()])),
                    "number": features(int64_list=tf.train.Int64List(value=[NUMBERS[row]])),
                    "row": features(int64_list=tf.train.Int64List(value=[row])),
                    "weights": features(float_list=tf.train.FloatList(value=WEIGHTS[row])),
                }
                example = tf.train.Example(features=tf.train.Features(feature=fields))
                writer.write(example.SerializeToString())
    return names


def work(tf: object) -> Work:
    """The same program for both libraries."""
    folder = Path(tempfile.mkdtemp())
    names = write(tf, folder)
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
            np.testing.assert_array_equal(batch["image"].numpy(), IMAGES[row])
            np.testing.assert_array_equal(batch["number"].numpy(), NUMBERS[row])
            np.testing.assert_array_equal(batch["weights"].numpy(), WEIGHTS[row])
            rows.append(row)
        np.testing.assert_array_equal(np.sort(np.concatenate(rows)), np.arange(COUNT))

    return Work(run=run, check=check, close=lambda: shutil.rmtree(folder, ignore_errors=True))


def ours() -> Work:
    import pinnace as tf

    return work(tf)
