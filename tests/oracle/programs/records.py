"""Serialised Examples."""

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
        raw = ops.ParseSingleExample(
            serialized=serialized[0],
            dense_defaults=[tf.constant([], tf.float32), tf.constant(-1, tf.int64)],
            num_sparse=1,
            sparse_keys=["word"],
            dense_keys=["numbers", "count"],
            sparse_types=[tf.string],
            dense_shapes=[[2], []],
        )
        found = [found[name] for found in (batch, one) for name in sorted(features)]
        return found + [part for parts in raw for part in parts]

    return list(ops.trace(function, serialized))


def sequences(tf: Any, ops: Any, serialized: Any) -> list[Any]:
    """A batch of sequence examples: rows of equal and of other lengths, padded and sparse."""

    def function(serialized: Any) -> list[Any]:
        context, lists, lengths = tf.io.parse_sequence_example(
            serialized,
            context_features={
                "count": tf.io.FixedLenFeature([], tf.int64, default_value=-1),
                "word": tf.io.VarLenFeature(tf.string),
            },
            sequence_features={
                "numbers": tf.io.FixedLenSequenceFeature([2], tf.float32),
                "places": tf.io.VarLenFeature(tf.int64),
            },
        )
        word, places = context["word"], lists["places"]
        parts = [part for s in (word, places) for part in (s.indices, s.values, s.dense_shape)]
        return [context["count"], lists["numbers"], lengths["numbers"], *parts]

    return list(ops.trace(function, serialized))
