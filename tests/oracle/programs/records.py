"""Examples in bytes."""

from typing import Any


def parsed(tf: Any, ops: Any, serialized: Any) -> list[Any]:
    """A batch of examples, and the first of them: dense features, one with a default."""

    def function(serialized: Any) -> list[Any]:
        features = {
            "numbers": tf.io.FixedLenFeature([2], tf.float32),
            "count": tf.io.FixedLenFeature([], tf.int64, default_value=-1),
            "word": tf.io.FixedLenFeature([1], tf.string, default_value=["none"]),
        }
        batch = tf.io.parse_example(serialized, features)
        one = tf.io.parse_single_example(serialized[0], features)
        return [found[name] for found in (batch, one) for name in sorted(features)]

    return list(ops.trace(function, serialized))
