"""Loops and conditions of version 1 with state, and layers built from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.keras.layers.legacy_rnn import rnn_cell_impl as cells
from tensorflow.python.ops import control_flow_ops
from v1_writing import Model, Programs, Signature, numbers, one, texts

v1 = tf.compat.v1
programs = Programs()


def variable(value: Any, name: str, *, by_reference: bool = True) -> Any:
    return v1.Variable(value, name=name, use_resource=not by_reference)


def _conditions(*, by_reference: bool) -> Model:
    """Variables that branches of a condition read, return and assign."""
    x = v1.placeholder(tf.float32, [None], "x")
    a = variable([1.0, 2.0], "a", by_reference=by_reference)
    b = variable([5.0, 7.0], "b", by_reference=by_reference)
    total = tf.reduce_sum(x)
    chosen = v1.cond(total > 0, lambda: a.read_value() * 2.0, lambda: b + 1.0)

    def grow() -> Any:
        with tf.control_dependencies([v1.assign_add(a, [1.0, 1.0])]):
            return tf.reduce_sum(a.read_value())

    def shrink() -> Any:
        with tf.control_dependencies([v1.assign_sub(b, [1.0, 1.0])]):
            return tf.reduce_sum(b.read_value()) + v1.cond(
                total < -5, lambda: tf.constant(100.0), lambda: tf.constant(0.0)
            )

    changed = v1.cond(total > 0, grow, shrink)
    feeds = [np.array(item, np.float32) for item in ([1, 2], [-1, -2], [-9, 1], [3], [0])]
    return Model(
        {
            "look": Signature({"x": x}, {"chosen": chosen}),
            "change": Signature({"x": x}, {"changed": changed}),
        },
        [(name, {"x": feed}) for feed in feeds for name in ("look", "change", "look")],
    )


@programs
def conditions_by_reference() -> Model:
    return _conditions(by_reference=True)


@programs
def conditions_resources() -> Model:
    return _conditions(by_reference=False)


def _loops(*, by_reference: bool) -> Model:
    """Variables that the body of a loop reads and assigns."""
    n = v1.placeholder(tf.int32, [], "n")
    w = variable(numbers(2, 2) * 0.5, "w", by_reference=by_reference)
    seen = variable(0.0, "seen", by_reference=by_reference)
    _, power = v1.while_loop(
        lambda i, _: i < n, lambda i, m: (i + 1, m @ w), [tf.constant(0), tf.eye(2)]
    )

    def note(i: Any, last: Any) -> Any:
        with tf.control_dependencies([v1.assign_add(seen, tf.cast(i, tf.float32) + last)]):
            return i + 1, tf.identity(seen.read_value()) * 0.5

    _, last = v1.while_loop(
        lambda i, _: i < n, note, [tf.constant(0), tf.constant(1.0)], parallel_iterations=1
    )
    return Model(
        {
            "power": Signature({"n": n}, {"power": power}),
            "note": Signature({"n": n}, {"last": last}),
            "look": Signature({"n": n}, {"seen": seen + tf.cast(n, tf.float32)}),
        },
        [(name, {"n": np.int32(k)}) for k in (0, 1, 4) for name in ("power", "note", "look")],
    )


@programs
def loops_by_reference() -> Model:
    return _loops(by_reference=True)


@programs
def loops_resources() -> Model:
    return _loops(by_reference=False)


def _recurrent(cell: Any) -> Model:
    x = v1.placeholder(tf.float32, [None, None, 3], "x")
    lengths = v1.placeholder(tf.int32, [None], "lengths")
    y, last = v1.nn.dynamic_rnn(cell(), x, lengths, dtype=tf.float32)
    while isinstance(last, tuple):
        last = last[-1]
    return one(
        {"x": x, "lengths": lengths},
        {"y": y, "last": last},
        {"x": numbers(2, 4, 3), "lengths": np.array([4, 2], np.int32)},
        {"x": numbers(3, 1, 3), "lengths": np.array([1, 0, 1], np.int32)},
    )


@programs
def dynamic_lstm() -> Model:
    return _recurrent(lambda: cells.BasicLSTMCell(4))


@programs
def dynamic_gru() -> Model:
    return _recurrent(lambda: cells.GRUCell(3))


@programs
def backwards_with_projection() -> Model:
    """A backward RNN without lengths."""
    x = v1.placeholder(tf.float32, [None, None, 3], "x")
    cell = cells.LSTMCell(4, num_proj=3, use_peepholes=True)
    y, _ = v1.nn.dynamic_rnn(cell, tf.reverse(x, [1]), dtype=tf.float32)
    return one({"x": x}, {"y": y}, {"x": numbers(2, 4, 3)}, {"x": numbers(2, 1, 3)})


@programs
def sampled_until_the_end() -> Model:
    """raw_rnn: a decoder that feeds on its own results until all have ended."""
    start = v1.placeholder(tf.int32, [None], "start")
    table = v1.get_variable("table", initializer=numbers(5, 3), use_resource=False)
    kernel = v1.get_variable("kernel", initializer=numbers(4, 5), use_resource=False)
    cell = cells.BasicRNNCell(4)
    batch = tf.shape(start)[0]

    def step(time: Any, output: Any, state: Any, _: Any) -> Any:
        if output is None:
            state, tokens, emitted = cell.zero_state(batch, tf.float32), start, None
        else:
            emitted = tf.cast(tf.argmax(output @ kernel, -1), tf.int32)
            tokens = emitted
        ended = tf.logical_or(time >= 6, tf.equal(tokens, 4))
        return (
            ended,
            tf.nn.embedding_lookup(table, tokens),
            state,
            (tf.zeros([], tf.int32) if emitted is None else emitted),
            None,
        )

    outputs, _, _ = v1.nn.raw_rnn(cell, step)
    return one(
        {"start": start},
        {"tokens": tf.transpose(outputs.stack())},
        {"start": np.array([0, 2, 3], np.int32)},
        {"start": np.array([1], np.int32)},
    )


@programs
def beam_search() -> Model:
    """The loop of a translation model: several growing sizes, top-k, gathers of states."""
    start = v1.placeholder(tf.int32, [None], "start")
    moves = variable(numbers(6, 6), "moves")
    beams = 2
    batch = tf.shape(start)[0]
    sequences = tf.tile(start[:, None, None], [1, beams, 1])
    scores = tf.tile(tf.constant([[0.0, -1e9]]), [batch, 1])

    def step(i: Any, sequences: Any, scores: Any, done: Any) -> Any:
        logits = tf.nn.log_softmax(tf.gather(moves, sequences[:, :, -1]))
        flat = tf.reshape(scores[:, :, None] + logits, [batch, -1])
        best, places = tf.nn.top_k(flat, beams)
        beam, token = places // 6, places % 6
        rows = tf.tile(tf.range(batch)[:, None], [1, beams])
        kept = tf.gather_nd(sequences, tf.stack([rows, beam], -1))
        sequences = tf.concat([kept, token[:, :, None]], -1)
        return (
            i + 1,
            sequences,
            best,
            v1.cond(tf.reduce_all(tf.equal(token, 0)), lambda: tf.constant(True), lambda: done),
        )

    _, sequences, scores, _ = v1.while_loop(
        lambda i, _s, _v, done: tf.logical_and(i < 5, tf.logical_not(done)),
        step,
        [tf.constant(0), sequences, scores, tf.constant(False)],
        shape_invariants=[
            tf.TensorShape([]),
            tf.TensorShape([None, beams, None]),
            tf.TensorShape([None, beams]),
            tf.TensorShape([]),
        ],
    )
    return one(
        {"start": start},
        {"sequences": sequences, "scores": scores},
        {"start": np.array([1, 5], np.int32)},
        {"start": np.array([3], np.int32)},
    )


@programs
def pictures_one_by_one() -> Model:
    """map_fn over encoded images, as in served classifiers."""
    encoded = v1.placeholder(tf.string, [None], "encoded")
    w = v1.get_variable("w", initializer=numbers(12, 3) * 0.01, use_resource=False)

    def prepared(item: Any) -> Any:
        picture = tf.image.decode_png(item, channels=3)
        picture = tf.cast(picture, tf.float32)
        picture = v1.image.resize_bilinear(picture[None], [2, 2])[0]
        return tf.cond(tf.reduce_mean(picture) > 100, lambda: picture - 128.0, lambda: picture)

    pictures = v1.map_fn(prepared, encoded, dtype=tf.float32)
    scores = tf.nn.softmax(tf.reshape(pictures, [-1, 12]) @ w)
    values, places = tf.nn.top_k(scores, 2)
    labels = tf.gather(tf.constant(["cat", "dog", "eel"]), places)
    random = np.random.default_rng(3)

    def png(high: int, size: int) -> bytes:
        picture = random.integers(0, high, (size, size, 3)).astype(np.uint8)
        with tf.Graph().as_default(), v1.Session() as session:
            return bytes(session.run(tf.io.encode_png(picture)))

    data = np.empty(2, object)
    data[:] = [png(256, 4), png(60, 3)]
    return Model(
        {
            "predict": Signature({"images": encoded}, {"scores": scores}),
            "classify": Signature(
                {"inputs": encoded},
                {"classes": labels, "scores": values},
                "tensorflow/serving/classify",
            ),
        },
        [("predict", {"images": data.astype("S")}), ("classify", {"inputs": data.astype("S")})],
    )


@programs
def checks_and_cases() -> Model:
    """Assertions, case, print, a loop that may not run."""
    x = v1.placeholder(tf.float32, [None], "x")
    kind = v1.placeholder(tf.int32, [], "kind")
    checks = [v1.assert_non_negative(kind), v1.assert_less(kind, 4)]
    with tf.control_dependencies(checks):
        y = v1.case(
            {
                tf.equal(kind, 0): lambda: x * 2.0,
                tf.equal(kind, 1): lambda: tf.square(x),
            },
            default=lambda: tf.sort(x),
            exclusive=True,
        )
    _, z = v1.while_loop(
        lambda i, _: i < kind, lambda i, v: (i + 1, v * x), [tf.constant(0), tf.ones_like(x)]
    )
    said = v1.Print(y, [tf.shape(y)], "shape")
    return one(
        {"x": x, "kind": kind},
        {"y": said, "z": z},
        *({"x": numbers(3), "kind": np.int32(k)} for k in (0, 1, 3)),
    )


@programs
def words_in_a_loop() -> Model:
    """Strings that a loop joins, and a table of lengths that it writes."""
    words = v1.placeholder(tf.string, [None], "words")
    count = tf.size(words)
    lengths = tf.TensorArray(tf.int32, count)
    _, joined, lengths = v1.while_loop(
        lambda i, *_: i < count,
        lambda i, text, found: (
            i + 1,
            tf.strings.join([text, words[i]], "-"),
            found.write(i, tf.strings.length(words[i])),
        ),
        [tf.constant(0), tf.constant(""), lengths],
    )
    return one(
        {"words": words},
        {"joined": joined, "lengths": lengths.stack()},
        {"words": texts("a", "bcd", "ef")},
        {"words": texts("x")},
    )


@programs
def conditions_that_give_references() -> Model:
    """A condition returns a variable itself, or the result of assigning to it."""
    p = v1.placeholder(tf.bool, [], "p")
    a, b = variable([1.0, 2.0], "a"), variable([3.0, 4.0], "b")
    chosen = v1.cond(p, lambda: a, lambda: b)
    changed = v1.cond(
        p, lambda: v1.assign_add(a, [1.0, 1.0]), lambda: v1.assign_sub(a, [10.0, 10.0])
    )
    with tf.control_dependencies([changed]):
        after = a.read_value() * 2.0
    calls = [(name, {"p": np.array(k)}) for k in (True, False) for name in ("choose", "change")]
    return Model(
        {
            "choose": Signature({"p": p}, {"chosen": chosen}),
            "change": Signature({"p": p}, {"changed": changed, "after": after}),
        },
        calls,
    )


@programs
def assigned_in_a_condition_in_a_loop() -> Model:
    """A loop without results that counts in a variable."""
    n = v1.placeholder(tf.int32, [], "n")
    count = variable(0.0, "count")

    def step(i: Any) -> Any:
        noted = v1.cond(
            tf.equal(i % 2, 0), lambda: tf.group(v1.assign_add(count, 1.0)), lambda: tf.no_op()
        )
        with tf.control_dependencies([noted]):
            return i + 1

    i = v1.while_loop(lambda i: i < n, step, [tf.constant(0)])
    with tf.control_dependencies([i]):
        found = count.read_value() + 0.0
    return one({"n": n}, {"i": i, "count": found}, {"n": np.int32(5)}, {"n": np.int32(2)})


@programs
def switch_and_merge_by_hand() -> Model:
    """The index of the branch is a result, too."""
    x = v1.placeholder(tf.float32, [None], "x")
    ended, alive = control_flow_ops.switch(x, tf.reduce_sum(x) > 0)
    y, side = control_flow_ops.merge([ended - 1.0, alive * 2.0])
    return one({"x": x}, {"y": y, "side": side}, {"x": numbers(3)}, {"x": -numbers(3)})


@programs
def gradient_through_a_loop() -> Model:
    """The gradient of a recurrent network: a stack of the values of each iteration."""
    x = v1.placeholder(tf.float32, [None], "x")
    _, z = v1.while_loop(
        lambda i, _: i < 3, lambda i, v: (i + 1, v * x), [tf.constant(0), tf.ones_like(x)]
    )
    (slope,) = tf.gradients(z, x)
    return one({"x": x}, {"z": z, "slope": slope}, {"x": numbers(3)})
