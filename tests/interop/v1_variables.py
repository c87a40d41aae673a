"""Variables of version 1, as references and as resources: restored, initialised, assigned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf
from v1_writing import Model, Programs, Signature, example, numbers, one, texts

if TYPE_CHECKING:
    from pathlib import Path

v1 = tf.compat.v1
programs = Programs()


def variable(value: Any, name: str, *, by_reference: bool = True, **more: Any) -> Any:
    return v1.Variable(value, name=name, use_resource=not by_reference, **more)


def _half_plus_two(folder: Path, *, is_legacy: bool) -> Model:
    """TensorFlow Serving's own example: a variable that only the initialiser sets."""
    a, b = variable(0.5, "a"), variable(2.0, "b")
    serialised = v1.placeholder(tf.string, [None], "tf_example")
    (x,) = tf.raw_ops.ParseExample(
        serialized=serialised,
        names=tf.constant([], tf.string),
        sparse_keys=[],
        dense_keys=[tf.constant("x")],
        dense_defaults=[tf.constant([0.0])],
        sparse_types=[],
        dense_shapes=[[1]],
    ).dense_values
    x = tf.identity(x, "x")
    y = tf.add(a * x, b, "y")
    y2 = tf.add(a * x, 3.0, "y2")
    asset = folder / "foo.txt"
    asset.write_text("asset-file-contents")
    path = tf.constant(str(asset), name="original_filename_tensor")
    v1.add_to_collection(v1.GraphKeys.ASSET_FILEPATHS, path)
    file = variable(path, "filename_tensor", trainable=False, collections=[])
    set_file = file.assign(path)
    return Model(
        {
            "serving_default": Signature({"x": x}, {"y": y}),
            "regress_x_to_y": Signature(
                {"inputs": serialised}, {"outputs": y}, "tensorflow/serving/regress"
            ),
            "regress_x_to_y2": Signature(
                {"inputs": serialised}, {"outputs": y2}, "tensorflow/serving/regress"
            ),
            "classify_x_to_y": Signature(
                {"inputs": serialised}, {"scores": y}, "tensorflow/serving/classify"
            ),
            "name_of_file": Signature(
                {"x": x}, {"tail": tf.strings.substr(tf.identity(file), -7, 7)}
            ),
        },
        [
            ("serving_default", {"x": np.array([[1.0], [4.0]], np.float32)}),
            ("regress_x_to_y", {"inputs": texts(example(x=3.0), example())}),
            ("regress_x_to_y2", {"inputs": texts(example(x=-3.0))}),
            ("classify_x_to_y", {"inputs": texts(example(x=10.0))}),
            ("name_of_file", {"x": np.ones((1, 1), np.float32)}),
        ],
        main_op=tf.group(set_file),
        is_legacy=is_legacy,
    )


@programs
def half_plus_two(folder: Path) -> Model:
    return _half_plus_two(folder, is_legacy=True)


@programs
def half_plus_two_main_op(folder: Path) -> Model:
    return _half_plus_two(folder, is_legacy=False)


def _only_initialised(*, by_reference: bool) -> Model:
    """No variable is saved; all are set when the model is loaded, some from others."""
    x = v1.placeholder(tf.float32, [None, 3], "x")
    w = variable(numbers(3, 2), "w", by_reference=by_reference, collections=[])
    half = variable(np.zeros((3, 2), np.float32), "half", by_reference=by_reference, collections=[])
    with tf.control_dependencies([w.initializer]):
        second = half.assign(w.read_value() * 0.5)
        second = second.op if by_reference else second
    return one(
        {"x": x},
        {"y": x @ w, "z": x @ half},
        {"x": numbers(2, 3)},
        {"x": numbers(5, 3)},
        start=[w.initializer, half.initializer],
        main_op=tf.group(w.initializer, second),
    )


@programs
def only_initialised() -> Model:
    return _only_initialised(by_reference=True)


@programs
def only_initialised_resources() -> Model:
    return _only_initialised(by_reference=False)


def _partly_initialised(*, by_reference: bool) -> Model:
    """Some variables are restored; the initialiser sets another, and changes a restored one."""
    x = v1.placeholder(tf.float32, [None, 2], "x")
    w = variable(numbers(2, 2), "w", by_reference=by_reference)
    count = variable(3, "count", by_reference=by_reference, trainable=False)
    scale = variable([1.0, 1.0], "scale", by_reference=by_reference, collections=[])
    loaded = tf.group(scale.assign([2.0, 3.0]), count.assign_add(10))
    return one(
        {"x": x},
        {"y": (x @ w) * scale, "count": tf.identity(count)},
        {"x": numbers(1, 2)},
        {"x": numbers(4, 2)},
        start=[scale.initializer],
        main_op=loaded,
    )


@programs
def partly_initialised() -> Model:
    return _partly_initialised(by_reference=True)


@programs
def partly_initialised_resources() -> Model:
    return _partly_initialised(by_reference=False)


def _counter(*, by_reference: bool) -> Model:
    """State between calls: reads wait for assignments."""
    step = v1.placeholder(tf.float32, [], "step")
    total = variable(1.0, "total", by_reference=by_reference)
    product = variable([1.0, 2.0], "product", by_reference=by_reference)
    before = total * 1.0
    with tf.control_dependencies([before]):
        added = v1.assign_add(total, step)
    with tf.control_dependencies([added]):
        after = total + 0.0
        multiplied = v1.assign(product, product * after)
    with tf.control_dependencies([multiplied]):
        less = v1.assign_sub(product, [0.5, 0.25])
    with tf.control_dependencies([less]):
        sums = tf.reduce_sum(product)
        left = tf.identity(product) if by_reference else product.read_value()
    reset = tf.group(total.assign(0.0), product.assign([1.0, 1.0]))
    with tf.control_dependencies([reset]):
        is_reset = tf.identity(tf.constant(True))
    return Model(
        {
            "add": Signature(
                {"step": step}, {"before": before, "after": after, "sums": sums, "left": left}
            ),
            "look": Signature({"step": step}, {"total": tf.identity(total) + step}),
            "reset": Signature({"step": step}, {"done": is_reset}),
        },
        [
            ("add", {"step": np.float32(2)}),
            ("look", {"step": np.float32(0)}),
            ("add", {"step": np.float32(-0.5)}),
            ("reset", {"step": np.float32(0)}),
            ("add", {"step": np.float32(3)}),
            ("look", {"step": np.float32(1)}),
        ],
    )


@programs
def counter_by_reference() -> Model:
    return _counter(by_reference=True)


@programs
def counter_resources() -> Model:
    return _counter(by_reference=False)


def _scattered(*, by_reference: bool) -> Model:
    """Assigned rows and elements of a variable."""
    rows = v1.placeholder(tf.int32, [None], "rows")
    values = v1.placeholder(tf.float32, [None, 2], "values")
    table = variable(np.zeros((4, 2), np.float32), "table", by_reference=by_reference)
    cells = variable(np.zeros((4, 2), np.float32), "cells", by_reference=by_reference)
    added = v1.scatter_add(table, rows, values)
    with tf.control_dependencies([added]):
        updated = v1.scatter_update(table, rows[:1], values[:1] * 2)
    with tf.control_dependencies([updated]):
        less = v1.scatter_sub(table, rows[:1], values[:1] * 0.25)
    with tf.control_dependencies([less]):
        found = table + 0.0
    placed = v1.scatter_nd_update(cells, rows[:, None], values)
    with tf.control_dependencies([placed]):
        part = cells[1:3, 0].assign([7.0, 8.0])
    with tf.control_dependencies([part]):
        all_cells = cells + 0.0
    feed = {"rows": np.array([1, 3], np.int32), "values": numbers(2, 2)}
    return one(
        {"rows": rows, "values": values},
        {"table": found, "cells": all_cells, "sum": tf.reduce_sum(values)},
        feed,
        {"rows": np.array([0], np.int32), "values": numbers(1, 2)},
    )


@programs
def scattered_by_reference() -> Model:
    return _scattered(by_reference=True)


@programs
def scattered_resources() -> Model:
    return _scattered(by_reference=False)


@programs
def asked_whether_initialised() -> Model:
    """Whether a variable is initialised, and a value that is read only if it is."""
    x = v1.placeholder(tf.float32, [None], "x")
    known = variable([1.0, 2.0], "known")
    unknown = variable([5.0, 6.0], "unknown", collections=[])
    value = v1.cond(
        v1.is_variable_initialized(unknown),
        lambda: unknown.read_value() + 0.0,
        lambda: tf.constant([9.0, 9.0]),
    )
    set_it = unknown.assign([3.0, 4.0])
    with tf.control_dependencies([set_it]):
        done = tf.reduce_sum(x)
    asked = {
        "known": v1.is_variable_initialized(known),
        "unknown": v1.is_variable_initialized(unknown),
        "value": value,
        "sum": tf.reduce_sum(x * known),
    }
    x_of = {"x": np.array([1, 1], np.float32)}
    return Model(
        {"ask": Signature({"x": x}, asked), "set": Signature({"x": x}, {"done": done})},
        [("ask", x_of), ("set", x_of), ("ask", x_of)],
        start=[unknown.initializer],
    )


@programs
def uninitialised_names() -> Model:
    """The names of variables without values, of both kinds."""
    x = v1.placeholder(tf.float32, [], "x")
    first = variable([1.0], "first")
    second = variable([2.0], "second", by_reference=False, collections=[])
    third = variable([3.0], "third", collections=[])
    names = v1.report_uninitialized_variables([first, second, third])
    return one(
        {"x": x},
        {"names": names, "y": first * x},
        {"x": np.float32(2)},
        start=[second.initializer, third.initializer],
    )


def _partitioned(*, by_reference: bool) -> Model:
    """A partitioned variable, each part a slice of one value in the checkpoint."""
    ids = v1.placeholder(tf.int64, [None], "ids")
    with v1.variable_scope("embedding", use_resource=not by_reference):
        table = v1.get_variable(
            "table",
            [7, 3],
            initializer=v1.random_normal_initializer(seed=1),
            partitioner=v1.fixed_size_partitioner(3),
        )
    rows = tf.nn.embedding_lookup(table, ids)
    whole = tf.convert_to_tensor(table)
    return one(
        {"ids": ids},
        {"rows": tf.identity(rows), "whole": tf.identity(whole)},
        {"ids": np.array([0, 6, 3, 2])},
        {"ids": np.array([5])},
    )


@programs
def partitioned_by_reference() -> Model:
    return _partitioned(by_reference=True)


@programs
def partitioned_resources() -> Model:
    return _partitioned(by_reference=False)


@programs
def without_a_shape() -> Model:
    """A variable whose value may have any shape."""
    x = v1.placeholder(tf.float32, None, "x")
    kept = variable(np.ones((2, 2), np.float32), "kept", validate_shape=False)
    set_it = v1.assign(kept, x, validate_shape=False)
    with tf.control_dependencies([set_it]):
        shape = tf.shape(kept.read_value())
    return Model(
        {
            "look": Signature({"x": x}, {"sum": tf.reduce_sum(kept) + tf.reduce_sum(x)}),
            "set": Signature({"x": x}, {"shape": tf.identity(shape)}),
        },
        [
            ("look", {"x": np.float32(0)}),
            ("set", {"x": numbers(3)}),
            ("look", {"x": np.float32(0)}),
            ("set", {"x": numbers(1, 2, 2)}),
            ("look", {"x": np.float32(1)}),
        ],
    )


@programs
def unknown_rank() -> Model:
    """Inputs of unknown rank."""
    x = v1.placeholder(tf.float32, None, "x")
    w = variable(np.float32(3), "w")
    return one(
        {"x": x},
        {"y": tf.nn.relu(x) * w, "n": tf.size(x)},
        {"x": numbers(2, 3)},
        {"x": np.float32(2)},
    )


def _network(x: Any, w: Any) -> Any:
    return tf.nn.softmax(tf.nn.relu(x @ w + 0.1) @ tf.transpose(w))


def _two_graphs(chosen: tuple[str, ...], other: tuple[str, ...]) -> Model:
    x = v1.placeholder(tf.float32, [None, 4], "x")
    w = variable(numbers(4, 3), "w")
    y = _network(x, w)
    loss = tf.reduce_mean(tf.square(y), -1)
    main = {"serving_default": Signature({"x": x}, {"y": y})}
    also = {"train": Signature({"x": x}, {"loss": loss}), "eval": Signature({"x": x}, {"y": y})}
    feed = {"x": numbers(2, 4)}
    return Model(main, [("serving_default", feed)], tags=chosen, others=[(other, also)])


@programs
def serve_and_train() -> Model:
    return _two_graphs(("serve",), ("train",))


@programs
def train_and_serve_on_gpu() -> Model:
    return _two_graphs(("train",), ("serve", "gpu"))


@programs
def no_default_signature() -> Model:
    """Only a signature with a non-default name."""
    x = v1.placeholder(tf.float32, [None, 4], "x")
    w = variable(numbers(4, 2), "w", by_reference=False)
    y = _network(x, w)
    return Model(
        {"predict_images": Signature({"images": x}, {"scores": y})},
        [("predict_images", {"images": numbers(3, 4)})],
    )


@programs
def several_signatures_no_default() -> Model:
    x = v1.placeholder(tf.float32, [None, 4], "x")
    w = variable(numbers(4, 2), "w")
    y = _network(x, w)
    return Model(
        {"one": Signature({"x": x}, {"y": y}), "two": Signature({"x": x}, {"y": y * 2})},
        [("one", {"x": numbers(1, 4)}), ("two", {"x": numbers(1, 4)})],
    )


def _trained(optimizer: Any, *, by_reference: bool) -> Model:
    """A signature that runs a training step, and one that predicts."""
    x = v1.placeholder(tf.float32, [None, 3], "x")
    target = v1.placeholder(tf.float32, [None, 1], "target")
    w = variable(numbers(3, 1), "w", by_reference=by_reference)
    loss = tf.reduce_mean(tf.square(x @ w - target))
    step = optimizer.minimize(loss, var_list=[w])
    with tf.control_dependencies([step]):
        after = w + 0.0
    feed = {"x": numbers(4, 3), "target": numbers(4, 1)}
    return Model(
        {
            "train": Signature({"x": x, "target": target}, {"w": after}),
            "predict": Signature({"x": x}, {"y": x @ w}),
        },
        [
            ("predict", {"x": numbers(2, 3)}),
            ("train", feed),
            ("train", feed),
            ("predict", {"x": numbers(2, 3)}),
        ],
    )


@programs
def trained_by_descent() -> Model:
    return _trained(v1.train.GradientDescentOptimizer(0.1), by_reference=True)


@programs
def trained_by_adam() -> Model:
    return _trained(v1.train.AdamOptimizer(0.1), by_reference=True)


@programs
def trained_by_descent_resources() -> Model:
    return _trained(v1.train.GradientDescentOptimizer(0.1), by_reference=False)


@programs
def moving_averages() -> Model:
    """Moving averages in place of the weights."""
    x = v1.placeholder(tf.float32, [None, 3], "x")
    w = variable(numbers(3, 2), "w")
    average = v1.train.ExponentialMovingAverage(0.9)
    with tf.control_dependencies([average.apply([w])]):
        y = x @ average.average(w).read_value()
    feed = {"x": numbers(1, 3)}
    return one({"x": x}, {"y": y}, feed, feed, start=[w.assign(numbers(3, 2) * 2)])


@programs
def streaming_metric() -> Model:
    """Local variables, which are in no checkpoint, set by the initialiser."""
    x = v1.placeholder(tf.float32, [None], "x")
    labels = v1.placeholder(tf.float32, [None], "labels")
    _, error = v1.metrics.mean_squared_error(labels, x)
    feed = {"x": numbers(3), "labels": numbers(3) * 2}
    inputs = {"x": x, "labels": labels}
    return one(inputs, {"error": error}, feed, feed, main_op=v1.local_variables_initializer())


def _normalised(*, by_reference: bool) -> Model:
    """Convolution, batch normalisation with moving averages, dropout with a switch."""
    x = v1.placeholder(tf.float32, [None, 8, 8, 3], "x")
    training = v1.placeholder_with_default(False, [], "training")
    kernel = variable(numbers(3, 3, 3, 4) * 0.3, "kernel", by_reference=by_reference)
    mean = variable(numbers(4) * 0.1, "mean", by_reference=by_reference, trainable=False)
    spread = variable(
        np.abs(numbers(4)) + 0.5, "spread", by_reference=by_reference, trainable=False
    )
    h = tf.nn.conv2d(x, kernel, [1, 2, 2, 1], "SAME")

    def batch() -> Any:
        got_mean, got_spread = tf.nn.moments(h, [0, 1, 2])
        moved = [
            v1.assign_sub(mean, 0.1 * (mean - got_mean)),
            v1.assign_sub(spread, 0.1 * (spread - got_spread)),
        ]
        with tf.control_dependencies(moved):
            return tf.identity(got_mean), tf.identity(got_spread)

    used_mean, used_spread = v1.cond(training, batch, lambda: (mean + 0.0, spread + 0.0))
    y = tf.nn.batch_normalization(h, used_mean, used_spread, None, None, 1e-3)
    y = tf.reduce_mean(tf.nn.local_response_normalization(tf.nn.relu6(y)), [1, 2])
    feed = {"x": numbers(2, 8, 8, 3)}
    return Model(
        {
            "serving_default": Signature({"x": x}, {"y": y}),
            "any": Signature({"x": x, "training": training}, {"y": y}),
        },
        [
            ("serving_default", feed),
            ("any", {**feed, "training": np.array(True)}),
            ("any", {**feed, "training": np.array(False)}),
        ],
    )


@programs
def normalised_by_reference() -> Model:
    return _normalised(by_reference=True)


@programs
def normalised_resources() -> Model:
    return _normalised(by_reference=False)
