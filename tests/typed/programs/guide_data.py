"""Input pipelines."""

import pinnace as tf

Dataset = tf.data.Dataset


def squared(x: tf.Tensor) -> tf.Tensor:
    """x times itself."""
    return x * x


squares = Dataset.range(6).map(squared).filter(lambda x: x % 2 == 0)
assert [int(n) for n in squares] == [0, 4, 16]
pairs = Dataset.from_tensor_slices({"x": [[1.0], [2.0], [3.0]], "y": [0, 1, 1]})
shapes = [batch["x"].shape for batch in pairs.shuffle(3).batch(2).prefetch(tf.data.AUTOTUNE)]
assert shapes == [(2, 1), (1, 1)]
with tf.io.TFRecordWriter("two.tfrecord") as writer:
    for label in (0, 1):
        feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[label]))
        features = tf.train.Features(feature={"label": feature})
        writer.write(tf.train.Example(features=features).SerializeToString())
spec = {"label": tf.io.FixedLenFeature([], tf.int64)}
records = tf.data.TFRecordDataset("two.tfrecord").batch(2)
parsed = next(iter(records.map(lambda record: tf.io.parse_example(record, spec))))
assert parsed["label"].numpy().tolist() == [0, 1]
total = Dataset.range(4).reduce(tf.constant(0, tf.int64), lambda state, n: state + n)
assert int(total) == 6
