"""Example and SequenceExample messages, and their contents as either library parses them."""

from __future__ import annotations

from typing import Any


def feature(values: list[Any]) -> Any:
    """The contents of a Feature: (field, values)."""
    if not values:
        return None, []
    kind = {int: "int64_list", float: "float_list", str: "bytes_list"}[type(values[0])]
    return kind, [v.encode() if isinstance(v, str) else v for v in values]


def example(messages: Any, **features: list[Any]) -> bytes:
    """An Example, serialized."""
    made = messages.Example()
    _fill(made.features, features)
    return bytes(made.SerializeToString(deterministic=True))


def sequence(messages: Any, context: dict[str, list[Any]], **lists: list[list[Any]]) -> bytes:
    """A SequenceExample, serialized."""
    made = messages.SequenceExample()
    _fill(made.context, context)
    for key, steps in lists.items():
        found = made.feature_lists.feature_list[key]
        for values in steps:
            _put(found.feature.add(), values)
    return bytes(made.SerializeToString(deterministic=True))


def _fill(features: Any, given: dict[str, list[Any]]) -> None:
    for key, values in given.items():
        _put(features.feature[key], values)


def _put(target: Any, values: list[Any]) -> None:
    field, items = feature(values)
    if field is not None:
        getattr(target, field).value.extend(items)


def answers(tf: Any, messages: Any, plain: Any) -> dict[str, Any]:
    """Name of the case -> key -> plain value."""
    io = tf.io
    ragged = io.RaggedFeature
    a = example(
        messages,
        x=[1.0, 2.0, 3.0, 4.0],
        s=["a", "b"],
        i=[3, 1],
        v=[0.5, 0.25],
        n=[7],
        splits=[0, 1, 4],
        lengths=[3, 1],
        starts=[0, 2],
        limits=[1, 4],
        ids=[0, 0, 2, 2],
        outer=[0, 2],
    )
    b = example(
        messages,
        x=[5.0, 6.0],
        s=["c"],
        n=[8],
        i=[2],
        v=[9.0],
        splits=[0, 2],
        lengths=[1, 1],
        starts=[0],
        limits=[2],
        ids=[0, 1],
        outer=[0, 1],
    )
    cuts = {
        "by_splits": [ragged.RowSplits("splits")],
        "by_lengths": [ragged.RowLengths("lengths")],
        "by_starts": [ragged.RowStarts("starts")],
        "by_limits": [ragged.RowLimits("limits")],
        "by_ids": [ragged.ValueRowIds("ids")],
        "by_length": [ragged.UniformRowLength(2)],
        "twice": [ragged.RowSplits("outer"), ragged.RowSplits("splits")],
    }
    features = {
        "n": io.FixedLenFeature([], tf.int64),
        "d": io.FixedLenFeature([2], tf.float32, default_value=[1.0, 2.0]),
        "s": io.VarLenFeature(tf.string),
        "seq": io.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
        "sp": io.SparseFeature("i", "v", tf.float32, 10),
        "r": ragged(tf.float32, value_key="x"),
        **{name: ragged(tf.float32, value_key="x", partitions=cut) for name, cut in cuts.items()},
    }
    traced = tf.function(lambda serialized: io.parse_example(serialized, features))
    context_features = {
        "n": io.FixedLenFeature([], tf.int64),
        "t": io.VarLenFeature(tf.string),
        "tr": ragged(tf.string, value_key="t2"),
    }
    sequence_features = {
        "x": io.FixedLenSequenceFeature([2], tf.float32),
        "w": io.VarLenFeature(tf.string),
        "wr": ragged(tf.string, value_key="w2"),
        "m": io.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
    }
    p = sequence(
        messages,
        {"n": [1], "t": ["z", "y"], "t2": ["k"]},
        x=[[1.0, 2.0], [3.0, 4.0]],
        w=[["a"], ["b", "c"], []],
        w2=[["e", "f"], []],
    )
    q = sequence(messages, {"n": [2]}, x=[[5.0, 6.0]], w=[["d"]])
    batch = io.parse_sequence_example([p, q], context_features, sequence_features)
    alone = io.parse_single_sequence_example(p, context_features, sequence_features)
    found = {
        "batch": io.parse_example([a, b], features),
        "turned, in a function": traced(tf.constant([b, a])),
        "single": io.parse_single_example(a, features),
        "batch of one": io.parse_example([b], features),
        **{f"sequences {n}": part for n, part in enumerate(batch)},
        **{f"sequence alone {n}": part for n, part in enumerate(alone)},
    }
    return {
        case: {key: plain(value) for key, value in sorted(values.items())}
        for case, values in found.items()
    }
