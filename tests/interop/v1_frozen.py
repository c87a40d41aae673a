"""Frozen graphs: variables as constants, tensors by their names."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from v1_writing import Frozen, Programs, numbers, texts

v1 = tf.compat.v1
programs = Programs()


def variable(value: Any, name: str, *, by_reference: bool = True) -> Any:
    return v1.Variable(value, name=name, use_resource=not by_reference)


def _mlp(*, by_reference: bool, is_text: bool) -> Frozen:
    x = v1.placeholder(tf.float32, [None, 4], "x")
    w = variable(numbers(4, 3), "w", by_reference=by_reference)
    b = variable(numbers(3), "b", by_reference=by_reference)
    y = tf.nn.softmax(tf.nn.bias_add(x @ w, b), name="scores")
    return Frozen([x], [y], [{"x:0": numbers(2, 4)}], is_text=is_text)


@programs
def frozen_mlp() -> Frozen:
    return _mlp(by_reference=True, is_text=False)


@programs
def frozen_mlp_resources_as_text() -> Frozen:
    return _mlp(by_reference=False, is_text=True)


@programs
def frozen_convolutions() -> Frozen:
    """A classifier of pictures: integers in, resized, two outputs, a switch with a default."""
    image = v1.placeholder(tf.uint8, [1, None, None, 3], "image")
    keep = v1.placeholder_with_default(1.0, [], "keep")
    x = v1.image.resize_bilinear(tf.cast(image, tf.float32), [8, 8], align_corners=True)
    x = (x - 127.5) / 127.5
    kernel = variable(numbers(3, 3, 3, 4), "kernel")
    depth = variable(numbers(3, 3, 4, 1), "depth")
    x = tf.nn.relu6(tf.nn.conv2d(x, kernel, [1, 2, 2, 1], "SAME"))
    x = v1.nn.depthwise_conv2d_native(x, depth, [1, 1, 1, 1], "VALID")
    scale, offset = tf.constant(np.ones(4, np.float32)), tf.constant(numbers(4))
    x, _, _ = v1.nn.fused_batch_norm(
        x,
        scale,
        offset,
        tf.constant(numbers(4)),
        tf.constant(np.ones(4, np.float32)),
        is_training=False,
    )
    x = tf.nn.max_pool2d(x, 2, 1, "VALID") * keep
    scores = tf.nn.sigmoid(tf.reduce_mean(x, [1, 2]), name="scores")
    best = tf.argmax(scores, 1, name="best")
    picture = np.random.default_rng(1).integers(0, 256, (1, 5, 6, 3)).astype(np.uint8)
    return Frozen([image], [scores, best], [{"image:0": picture}])


@programs
def frozen_detection() -> Frozen:
    """Boxes in a loop over the pictures, with suppression and a condition."""
    boxes = v1.placeholder(tf.float32, [None, 5, 4], "boxes")
    scores = v1.placeholder(tf.float32, [None, 5], "scores")
    limit = variable(0.3, "limit")

    def chosen(pair: Any) -> Any:
        some, values = pair
        kept = tf.image.non_max_suppression(some, values, 3, 0.5)
        count = tf.size(kept)
        found = v1.cond(
            count > 0, lambda: tf.gather(values, kept), lambda: tf.zeros([0], tf.float32)
        )
        return tf.pad(tf.boolean_mask(found, found > limit), [[0, 3]])[:3]

    result = v1.map_fn(chosen, (boxes, scores), dtype=tf.float32)
    result = tf.identity(result, "detection_scores")
    corners = np.sort(np.abs(numbers(2, 5, 2, 2)), 2).reshape(2, 5, 4)
    return Frozen(
        [boxes, scores],
        [result],
        [{"boxes:0": corners, "scores:0": np.abs(numbers(2, 5))}],
    )


@programs
def frozen_loop() -> Frozen:
    """A loop of version 1 whose variables became constants, with an input of unknown rank."""
    n = v1.placeholder(tf.int32, [], "n")
    x = v1.placeholder(tf.float32, None, "x")
    w = variable(np.float32(1.5), "w")
    _, y = v1.while_loop(lambda i, _: i < n, lambda i, v: (i + 1, v * w + x), [tf.constant(0), x])
    y = tf.identity(y, "y")
    calls = [{"n:0": np.int32(k), "x:0": numbers(2, 2)} for k in (0, 3)]
    return Frozen([n, x], [y], calls)


@programs
def frozen_from_the_middle() -> Frozen:
    """Inputs in the middle of the graph, after nodes that cannot run, and second outputs."""
    raw = v1.placeholder(tf.string, [], "raw")
    decoded = tf.io.decode_raw(raw, tf.float32, name="decoded")
    values, places = tf.nn.top_k(decoded * variable(2.0, "two"), 2, name="best")
    return Frozen(
        [decoded], [values, places], [{"decoded:0": numbers(6)}, {"decoded:0": numbers(3)}]
    )


@programs
def frozen_function_calls() -> Frozen:
    """Functions in the library that call one another."""
    x = v1.placeholder(tf.float32, [None, 2], "x")

    @tf.function
    def inner(value: Any) -> Any:
        return tf.nn.elu(value) + 1.0

    @tf.function
    def outer(value: Any) -> Any:
        return inner(value) * inner(-value)

    y = tf.identity(outer(x) * variable(numbers(2), "w"), "y")
    return Frozen([x], [y], [{"x:0": numbers(3, 2)}])


@programs
def frozen_words() -> Frozen:
    """Strings, split and hashed, with several outputs of one node."""
    text = v1.placeholder(tf.string, [None], "text")
    found = v1.string_split(text)
    ids = tf.strings.to_hash_bucket_fast(found.values, 11)
    rows = tf.gather(variable(numbers(11, 2), "rows"), ids)
    sums = tf.math.segment_sum(rows, found.indices[:, 0], name="sums")
    return Frozen([text], [sums, ids], [{"text:0": texts("a b", "c", "d e f")}])
