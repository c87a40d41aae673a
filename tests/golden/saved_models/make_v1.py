"""Writes models of TensorFlow 1 with its loops and conditions beside itself, with TensorFlow.

Each has `model/` and recorded calls, `io.npz`. Conditions and loops are the old ones, Switch, Merge
and frames; `v1_recurrent` and `v1_mapped` also have old TensorArrays.
"""

import os
import shutil
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
HERE = Path(__file__).parent
SEED = 20240607
SPREAD = np.random.default_rng(SEED)


def numbers(*shape: int) -> np.ndarray:
    return SPREAD.standard_normal(shape).astype(np.float32)


def conditions() -> tuple[dict, dict, list[dict]]:
    """Nested conditions, conditions in sequence, with several results, and with an assertion."""
    x = v1.placeholder(tf.float32, [None, 3], "x")
    limit = v1.placeholder(tf.float32, [], "limit")
    w = v1.get_variable("w", initializer=numbers(3, 2))
    total = tf.reduce_sum(x)

    def large() -> tuple[tf.Tensor, tf.Tensor]:
        inner = v1.cond(total > 2 * limit, lambda: x * 3.0, lambda: tf.nn.relu(x - limit))
        return inner @ w, tf.constant(1)

    def small() -> tuple[tf.Tensor, tf.Tensor]:
        return tf.tanh(x) @ w + 0.5, tf.constant(2)

    y, which = v1.cond(total > limit, large, small)
    z = v1.cond(tf.reduce_max(y) > 0.0, lambda: y, lambda: -y)
    with tf.control_dependencies([v1.Assert(tf.reduce_all(tf.abs(z) < 1e6), [z])]):
        checked = tf.identity(z, "checked")
    chosen = v1.case(
        [(total < -1.0, lambda: tf.constant("low")), (total > 1.0, lambda: tf.constant("high"))],
        default=lambda: tf.strings.as_string(limit, precision=1),
    )
    calls = [
        {"x": scale * numbers(2, 3) + shift, "limit": np.float32(at)}
        for scale, shift, at in ((1, 2, 1), (1, 0.3, 1), (1, -2, 0.5), (0.01, 0, -3), (0.1, 0, 0))
    ]
    return {"x": x, "limit": limit}, {"y": checked, "which": which, "chosen": chosen}, calls


def loops() -> tuple[dict, dict, list[dict]]:
    """Nested loops, conditions in loops, loop invariants, a growing shape."""
    n = v1.placeholder(tf.int32, [], "n")
    x = v1.placeholder(tf.float32, [None], "x")
    scale = v1.get_variable("scale", initializer=np.float32(0.9), use_resource=True)

    def outer(i: tf.Tensor, a: tf.Tensor, steps: tf.Tensor) -> tuple[tf.Tensor, ...]:
        def inner(j: tf.Tensor, b: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            b = v1.cond(tf.equal(j % 2, 0), lambda: b * scale, lambda: b + tf.reduce_mean(x))
            return j + 1, b

        j, a = v1.while_loop(lambda j, _: j < i, inner, [tf.constant(0), a])
        return i + 1, a, steps + j

    _, a, steps = v1.while_loop(lambda i, *_: i < n, outer, [tf.constant(0), x, tf.constant(0)])
    _, grown = v1.while_loop(
        lambda i, _: i < n,
        lambda i, g: (i + 1, tf.concat([g, tf.cast(i, tf.float32)[None]], 0)),
        [tf.constant(0), x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )
    kept = v1.cond(
        steps > 2,
        lambda: v1.while_loop(lambda k: k < 100, lambda k: k * 2, [steps]),
        lambda: tf.constant(-1),
    )
    calls = [{"n": np.int32(k), "x": numbers(4)} for k in (0, 1, 3, 6)]
    return {"n": n, "x": x}, {"a": a, "steps": steps, "grown": grown, "kept": kept}, calls


def recurrent() -> tuple[dict, dict, list[dict]]:
    """A recurrent network over sequences of several lengths."""
    x = v1.placeholder(tf.float32, [None, None, 3], "x")
    lengths = v1.placeholder(tf.int32, [None], "lengths")
    kernel = v1.get_variable("kernel", initializer=numbers(7, 4))
    steps = tf.transpose(x, [1, 0, 2])
    size = tf.shape(steps)[0]
    given = tf.TensorArray(tf.float32, size).unstack(steps)
    results = tf.TensorArray(tf.float32, size, element_shape=[None, 4])

    def step(t: tf.Tensor, h: tf.Tensor, out: tf.TensorArray) -> tuple:
        new = tf.tanh(tf.concat([given.read(t), h], 1) @ kernel)
        new = tf.where((t < lengths)[:, None], new, h)
        return t + 1, new, out.write(t, new)

    start = tf.zeros([tf.shape(x)[0], 4])
    _, last, results = v1.while_loop(lambda t, *_: t < size, step, [tf.constant(0), start, results])
    calls = [
        {"x": numbers(2, 5, 3), "lengths": np.array([5, 2], np.int32)},
        {"x": numbers(3, 1, 3), "lengths": np.array([1, 1, 0], np.int32)},
    ]
    all_of_them = tf.transpose(results.stack(), [1, 0, 2])
    return {"x": x, "lengths": lengths}, {"last": last, "all": all_of_them}, calls


def mapped() -> tuple[dict, dict, list[dict]]:
    """map_fn, scan and foldl, with words from a file looked up in a table."""
    vocabulary = HERE / "v1_words.txt"
    vocabulary.write_text("one\ntwo\nthree\n")
    words = v1.placeholder(tf.string, [None], "words")
    x = v1.placeholder(tf.float32, [None, 2], "x")
    # A relative path, so that the model does not contain a path of this machine.
    path = tf.constant(vocabulary.name)
    v1.add_to_collection(v1.GraphKeys.ASSET_FILEPATHS, path)
    table = tf.lookup.StaticVocabularyTable(
        tf.lookup.TextFileInitializer(
            path,
            tf.string,
            tf.lookup.TextFileIndex.WHOLE_LINE,
            tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
        ),
        2,
    )
    ids = table.lookup(words)
    doubled = v1.map_fn(lambda row: v1.cond(row[0] > 0, lambda: row * 2.0, lambda: row - 1.0), x)
    sums = v1.scan(lambda a, row: a * 0.5 + row, x)
    longest = v1.foldl(
        lambda a, w: tf.where(tf.strings.length(w) > tf.strings.length(a), w, a), words, ""
    )
    calls = [
        {"words": np.array([b"two", b"nine", b"three"]), "x": numbers(4, 2)},
        {"words": np.array([b"one"]), "x": numbers(1, 2)},
    ]
    results = {"ids": ids, "doubled": doubled, "sums": sums, "longest": longest}
    return {"words": words, "x": x}, results, calls


MODELS = {
    "v1_conditions": conditions,
    "v1_loops": loops,
    "v1_recurrent": recurrent,
    "v1_mapped": mapped,
}


def write(name: str) -> None:
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    with tf.Graph().as_default(), v1.Session() as session:
        v1.set_random_seed(SEED)
        inputs, outputs, calls = MODELS[name]()
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        recorded = {}
        for number, call in enumerate(calls):
            feeds = {inputs[key]: value for key, value in call.items()}
            results = session.run(outputs, {k: as_fed(v) for k, v in feeds.items()})
            for key, value in call.items():
                recorded[f"{number}/serving_default/in/{key}"] = value
            for key, value in results.items():
                found = np.asarray(value)
                recorded[f"{number}/serving_default/out/{key}"] = (
                    found.astype("S") if found.dtype == object else found
                )
        builder = v1.saved_model.Builder(str(folder / "model"))
        signature = v1.saved_model.predict_signature_def(inputs, outputs)
        builder.add_meta_graph_and_variables(
            session,
            ["serve"],
            {"serving_default": signature},
            assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS),
            main_op=v1.tables_initializer(),
            strip_default_attrs=True,
        )
        builder.save()
    np.savez_compressed(folder / "io.npz", **recorded)


def as_fed(value: np.ndarray) -> np.ndarray:
    return value.astype(object) if np.asarray(value).dtype.kind == "S" else value


if __name__ == "__main__":
    os.chdir(HERE)
    v1.disable_v2_behavior()
    v1.disable_control_flow_v2()
    for one in sys.argv[1:] or MODELS:
        write(one)
    (HERE / "v1_words.txt").unlink(missing_ok=True)
