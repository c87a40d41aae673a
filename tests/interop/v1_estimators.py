"""Exports of estimators: parsed examples, feature columns, heads with their three signatures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf
from v1_writing import Model, Programs, Signature, example, numbers, texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

v1 = tf.compat.v1
columns = tf.feature_column
programs = Programs()
PREDICT, CLASSIFY, REGRESS = (
    f"tensorflow/serving/{one}" for one in ("predict", "classify", "regress")
)


def _received(features: Sequence[Any]) -> tuple[Any, Any]:
    """The receiver that `build_parsing_serving_input_receiver_fn` builds."""
    serialised = v1.placeholder(tf.string, [None], "input_example_tensor")
    spec = v1.feature_column.make_parse_example_spec(features)
    return serialised, v1.io.parse_example(serialised, spec)


def _parsed_v1(
    serialised: Any, dense: Mapping[str, Any], sparse: Mapping[str, Any]
) -> dict[str, Any]:
    """The same with the op that versions before 2.4 wrote."""
    found = tf.raw_ops.ParseExample(
        serialized=serialised,
        names=tf.constant([], tf.string),
        sparse_keys=[tf.constant(key) for key in sparse],
        dense_keys=[tf.constant(key) for key in dense],
        dense_defaults=[tf.constant(value) for _, value in dense.values()],
        sparse_types=list(sparse.values()),
        dense_shapes=[shape for shape, _ in dense.values()],
    )
    made: dict[str, Any] = dict(zip(dense, found.dense_values, strict=True))
    parts = zip(found.sparse_indices, found.sparse_values, found.sparse_shapes, strict=True)
    made.update((key, tf.SparseTensor(*three)) for key, three in zip(sparse, parts, strict=True))
    return made


def classified(serialised: Any, logits: Any, words: Sequence[str]) -> dict[str, Signature]:
    """The signatures of a classifier's head."""
    two = logits.shape[-1] == 1
    whole = tf.concat([tf.zeros_like(logits), logits], -1) if two else logits
    scores = tf.nn.softmax(whole, name="probabilities")
    ids = tf.argmax(whole, -1)[:, None]
    count = len(words)
    names = tf.constant(list(words))
    listed = tf.tile(names[None], [tf.shape(scores)[0], 1])
    outputs = {
        "logits": logits,
        "probabilities": scores,
        "class_ids": ids,
        "classes": tf.gather(names, ids),
        "all_class_ids": tf.tile(tf.range(count)[None], [tf.shape(logits)[0], 1]),
    }
    if two:
        outputs["logistic"] = tf.sigmoid(logits)
    classes = Signature({"inputs": serialised}, {"classes": listed, "scores": scores}, CLASSIFY)
    return {
        "serving_default": classes,
        "classification": classes,
        "predict": Signature({"examples": serialised}, outputs, PREDICT),
    }


def _dense(x: Any, size: int, name: str, activation: Any = None) -> Any:
    """tf.layers.dense, with a variable by reference."""
    with v1.variable_scope(name, use_resource=False):
        kernel = v1.get_variable("kernel", initializer=numbers(int(x.shape[-1]), size) * 0.5)
        bias = v1.get_variable("bias", initializer=numbers(size) * 0.1)
    y = tf.nn.bias_add(x @ kernel, bias)
    return y if activation is None else activation(y)


def _people() -> np.ndarray:
    return texts(
        example(age=[31.0], hours=[40.0], job="cook", city=["Ulm", "Ulm"]),
        example(age=[58.5], hours=[10.0], job="pilot", city="Bonn"),
        example(age=[7.0], hours=[0.0], job="nobody"),
    )


def _linear(features: Sequence[Any], names: Sequence[str]) -> Model:
    """Weights of each column's values, summed without a dense layer."""
    serialised, parsed = _received(features)
    logits = v1.feature_column.linear_model(parsed, features, units=1)
    start = [
        one.assign(tf.reshape(tf.range(tf.size(one), dtype=tf.float32) * 0.1, one.shape))
        for one in v1.trainable_variables()
    ]
    people = _people()
    return Model(
        classified(serialised, logits, names),
        [("serving_default", {"inputs": people}), ("predict", {"examples": people})],
        start=start,
        main_op=v1.tables_initializer(),
    )


@programs
def linear_with_buckets() -> Model:
    age = columns.numeric_column("age")
    return _linear([age, columns.bucketized_column(age, [18, 30, 50])], ["no", "yes"])


@programs
def linear_with_a_vocabulary() -> Model:
    job = columns.categorical_column_with_vocabulary_list("job", ["cook", "pilot"])
    return _linear([job], ["no", "yes"])


@programs
def linear_with_hashes_crossed() -> Model:
    buckets = columns.bucketized_column(columns.numeric_column("age"), [18, 30])
    return _linear([columns.crossed_column([buckets, "job"], 7)], ["no", "yes"])


@programs
def dense_classifier(folder: Path) -> Model:
    """Embeddings, indicators and numbers, concatenated, into two dense layers; three classes."""
    path = folder / "jobs.txt"
    path.write_text("cook\npilot\nnurse\n")
    job = columns.categorical_column_with_vocabulary_file("job", str(path), 3, num_oov_buckets=1)
    city = columns.categorical_column_with_hash_bucket("city", 6)
    features = [
        columns.numeric_column("age", normalizer_fn=lambda x: (x - 30.0) / 10.0),
        columns.numeric_column("hours"),
        columns.indicator_column(job),
        columns.embedding_column(city, 2, combiner="mean"),
    ]
    serialised, parsed = _received(features)
    x = v1.feature_column.input_layer(parsed, features)
    logits = _dense(_dense(x, 4, "hidden", tf.nn.relu), 3, "logits")
    calls = [
        (name, {key: _people()})
        for name, key in (("classification", "inputs"), ("predict", "examples"))
    ]
    return Model(
        classified(serialised, logits, ["a", "b", "c"]), calls, main_op=v1.tables_initializer()
    )


def _housing() -> np.ndarray:
    return texts(
        example(size=[80.0, 3.0], kind=["flat", "old"], floor=[2]),
        example(size=[250.0, 7.0], kind="house"),
        example(size=[20.0, 1.0], floor=[9]),
    )


def _regressor(*, is_legacy: bool) -> Model:
    """Version 1 of the parser, embeddings looked up by hand, one number."""
    serialised = v1.placeholder(tf.string, [None], "examples")
    parsed = _parsed_v1(
        serialised,
        {"size": ([2], np.zeros(0, np.float32)), "floor": ([1], np.array([-1], np.int64))},
        {"kind": tf.string},
    )
    table = tf.lookup.StaticVocabularyTable(
        tf.lookup.KeyValueTensorInitializer(["flat", "house"], [0, 1], tf.string, tf.int64), 2
    )
    ids = tf.SparseTensor(
        parsed["kind"].indices, table.lookup(parsed["kind"].values), parsed["kind"].dense_shape
    )
    rows = v1.get_variable("rows", initializer=numbers(4, 3), use_resource=False)
    kinds = v1.nn.safe_embedding_lookup_sparse(rows, ids, combiner="sqrtn")
    floors = tf.one_hot(tf.clip_by_value(parsed["floor"][:, 0], 0, 3), 4)
    x = tf.concat([tf.math.log(parsed["size"]), kinds, floors], -1)
    value = _dense(_dense(x, 5, "hidden", tf.nn.elu), 1, "value")
    regress = Signature({"inputs": serialised}, {"outputs": value}, REGRESS)
    return Model(
        {
            "serving_default": regress,
            "regression": regress,
            "predict": Signature({"examples": serialised}, {"predictions": value}, PREDICT),
        },
        [("regression", {"inputs": _housing()}), ("predict", {"examples": _housing()})],
        main_op=v1.tables_initializer(),
        is_legacy=is_legacy,
    )


@programs
def regressor() -> Model:
    return _regressor(is_legacy=False)


@programs
def regressor_with_legacy_init() -> Model:
    return _regressor(is_legacy=True)


@programs
def wide_and_deep() -> Model:
    """The sum of a linear and a dense part, and a column whose values have weights."""
    age = columns.numeric_column("age", default_value=20.0)
    place = columns.categorical_column_with_identity("place", 5)
    weighted = columns.weighted_categorical_column(place, "weight")
    serialised, parsed = _received([age, weighted])
    wide = _dense(parsed["age"] / 50.0, 1, "wide")
    deep = columns.embedding_column(weighted, 3, combiner="sum")
    logits = wide + _dense(v1.feature_column.input_layer(parsed, [deep]), 1, "deep")
    people = texts(
        example(age=[31.0], place=[1, 4], weight=[0.5, 2.0]),
        example(place=[3], weight=[1.0]),
        example(age=[3.0]),
    )
    return Model(
        {"regression": Signature({"inputs": serialised}, {"outputs": logits}, REGRESS)},
        [("regression", {"inputs": people})],
        main_op=v1.tables_initializer(),
    )


def _raw_features(*, by_reference: bool) -> Model:
    """`build_raw_serving_input_receiver_fn`: plain features, not in examples."""
    age = v1.placeholder(tf.float32, [None], "age")
    words = v1.placeholder(tf.string, [None, None], "words")
    with v1.variable_scope("raw", use_resource=not by_reference):
        rows = v1.get_variable("rows", initializer=numbers(8, 3))
    hashed = tf.strings.to_hash_bucket_fast(words, 8)
    mask = tf.cast(tf.not_equal(words, ""), tf.float32)[:, :, None]
    mean = tf.reduce_sum(tf.gather(rows, hashed) * mask, 1) / (tf.reduce_sum(mask, 1) + 1e-6)
    logits = _dense(tf.concat([age[:, None] / 100.0, mean], -1), 3, "logits")
    places, top = tf.nn.top_k(tf.nn.softmax(logits), 2)
    return Model(
        {
            "serving_default": Signature(
                {"age": age, "words": words}, {"scores": places, "ids": top}, PREDICT
            )
        },
        [
            (
                "serving_default",
                {
                    "age": np.array([3, 40], np.float32),
                    "words": np.array([["a", "b"], ["c", ""]], "S"),
                },
            )
        ],
        main_op=v1.tables_initializer(),
    )


@programs
def raw_features() -> Model:
    return _raw_features(by_reference=True)


@programs
def raw_features_resources() -> Model:
    return _raw_features(by_reference=False)


@programs
def single_examples() -> Model:
    """One example at a time, inside a loop over the batch."""
    serialised = v1.placeholder(tf.string, [None], "examples")

    def one(item: Any) -> Any:
        found = v1.io.parse_single_example(
            item,
            {
                "x": tf.io.FixedLenFeature([2], tf.float32),
                "n": tf.io.FixedLenFeature([], tf.int64, default_value=1),
            },
        )
        return found["x"] * tf.cast(found["n"], tf.float32)

    rows = v1.map_fn(one, serialised, dtype=tf.float32)
    batch = texts(example(x=[1.0, 2.0], n=3), example(x=[-1.0, 0.5]))
    return Model(
        {
            "serving_default": Signature(
                {"examples": serialised}, {"y": _dense(tf.ensure_shape(rows, [None, 2]), 2, "out")}
            )
        },
        [("serving_default", {"examples": batch})],
    )


def _sequence(*steps: Any, **context: Any) -> bytes:
    made = tf.train.SequenceExample()
    for key, value in context.items():
        made.context.feature[key].int64_list.value.append(value)
    for step in steps:
        made.feature_lists.feature_list["steps"].feature.add().float_list.value.extend(step)
        tags = made.feature_lists.feature_list["tags"].feature.add()
        tags.bytes_list.value.extend([b"t"] * len(step[:1]))
    return made.SerializeToString(deterministic=True)


@programs
def sequence_examples() -> Model:
    """Version 1 of the parser of sequences."""
    serialised = v1.placeholder(tf.string, [None], "examples")
    found = tf.raw_ops.ParseSequenceExample(
        serialized=serialised,
        debug_name=tf.constant([], tf.string),
        context_dense_defaults=[tf.constant(0, tf.int64)],
        feature_list_dense_missing_assumed_empty=["steps"],
        context_sparse_keys=[],
        context_dense_keys=["n"],
        feature_list_sparse_keys=["tags"],
        feature_list_dense_keys=["steps"],
        Ncontext_sparse=0,
        Ncontext_dense=1,
        Nfeature_list_sparse=1,
        Nfeature_list_dense=1,
        context_sparse_types=[],
        context_dense_shapes=[[]],
        feature_list_dense_types=[tf.float32],
        feature_list_sparse_types=[tf.string],
        feature_list_dense_shapes=[[2]],
    )
    steps = found.feature_list_dense_values[0]
    y = tf.reduce_sum(_dense(steps, 3, "out"), 1)
    batch = texts(_sequence([1.0, 2.0], [0.5, -1.0], n=2), _sequence([3.0, 1.0]), _sequence(n=7))
    return Model(
        {
            "serving_default": Signature(
                {"examples": serialised},
                {
                    "y": y,
                    "n": found.context_dense_values[0],
                    "lengths": found.feature_list_dense_lengths[0],
                    "tags": found.feature_list_sparse_values[0],
                },
            )
        },
        [("serving_default", {"examples": batch})],
    )
