"""Iterators and datasets inside version-1 graphs, as in exports of input pipelines."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from v1_writing import Model, Programs, Signature, numbers, one, texts

v1 = tf.compat.v1
programs = Programs()


@programs
def one_shot_iterator() -> Model:
    """Each call of the signature takes the next element."""
    data = v1.data.Dataset.range(3).map(lambda n: tf.cast(n, tf.float32) * 0.5).repeat()
    step = v1.data.make_one_shot_iterator(data).get_next()
    x = v1.placeholder(tf.float32, [None], "x")
    weights = v1.get_variable("weights", initializer=np.float32(2.0))
    return one({"x": x}, {"y": x * weights + step}, *[{"x": np.arange(2.0, dtype=np.float32)}] * 5)


@programs
def initialised_iterator() -> Model:
    """The initialiser assigns the iterator its dataset; batches of features and labels."""
    features, labels = numbers(7, 3), np.arange(7)
    data = v1.data.Dataset.from_tensor_slices({"x": features, "label": labels})
    iterator = v1.data.make_initializable_iterator(data.repeat(2).batch(3))
    batch = iterator.get_next()
    x = v1.placeholder_with_default(batch["x"], [None, 3], "given")
    kernel = v1.get_variable("kernel", initializer=numbers(3, 2))
    scores = x @ kernel
    return Model(
        {
            "step": Signature({}, {"scores": scores, "label": batch["label"]}),
            "predict": Signature({"x": x}, {"scores": scores}),
        },
        [
            ("predict", {"x": numbers(2, 3)}),
            *[("step", {})] * 3,
            ("predict", {"x": numbers(4, 3)}),
            ("step", {}),
        ],
        main_op=tf.group(v1.tables_initializer(), iterator.initializer),
    )


@programs
def iterator_beside_the_signature() -> Model:
    """The graph was trained from an iterator that the signature does not reach."""
    data = v1.data.Dataset.from_tensor_slices(numbers(6, 2)).shuffle(4).batch(2).prefetch(1)
    iterator = v1.data.make_initializable_iterator(data)
    kernel = v1.get_variable("kernel", initializer=numbers(2, 1))
    v1.summary.scalar("loss", tf.reduce_sum(iterator.get_next() @ kernel))
    x = v1.placeholder(tf.float32, [None, 2], "x")
    return one({"x": x}, {"y": x @ kernel}, {"x": numbers(3, 2)})


@programs
def pipeline_in_a_signature() -> Model:
    """The signature's own input becomes a dataset: one element comes out."""
    words = v1.placeholder(tf.string, [None], "words")
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2], value_dtype=tf.int64), -1
    )
    size = tf.shape(words, out_type=tf.int64)[0]
    data = v1.data.Dataset.from_tensor_slices(words)
    mapped = data.map(lambda word: (table.lookup(word), tf.strings.length(word)))
    ids, lengths = mapped.padded_batch(size, ([], [])).get_single_element()
    return one(
        {"words": words},
        {"ids": ids, "lengths": lengths},
        {"words": texts("a", "longer", "b")},
        {"words": texts("b")},
        main_op=v1.tables_initializer(),
    )


@programs
def iterator_with_a_variable() -> Model:
    """A function of the elements reads a variable: a capture of the dataset."""
    scale = v1.get_variable("scale", initializer=np.float32(3.0), use_resource=True)
    data = v1.data.Dataset.from_tensor_slices(np.arange(4, dtype=np.float32))
    iterator = v1.data.make_initializable_iterator(data.map(lambda x: x * scale))
    x = v1.placeholder(tf.float32, [], "x")
    total = iterator.get_next() + x
    ended: Any = tf.group(v1.tables_initializer(), iterator.initializer)
    feeds = [{"x": np.float32(n)} for n in range(4)]
    return one({"x": x}, {"total": total}, *feeds, main_op=ended)
