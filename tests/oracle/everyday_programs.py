"""Everyday lines of users for which a trial found results other than TensorFlow's.

Run as `python everyday_programs.py tensorflow|pinnace FOLDER`; see test_program_files.py.
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

tf: Any = importlib.import_module(sys.argv[1])
FOLDER = Path(sys.argv[2])
TEXTS = [b'a"b', b"it's", b"\\", b"\t\r\n\x00\x01\x1f\x7f", "ä€".encode(), b""]


def plain(x: Any) -> Any:
    """A value in a form for JSON."""
    if hasattr(x, "to_list"):
        return plain(x.to_list())
    if hasattr(x, "dense_shape"):
        return plain([x.indices, x.values, x.dense_shape])
    if hasattr(x, "numpy"):
        return plain(x.numpy())
    if isinstance(x, (tuple, list)):
        return [plain(item) for item in x]
    if isinstance(x, bytes):
        return x.decode("latin-1")
    if isinstance(x, float):
        return "nan" if np.isnan(x) else float(f"{x:.6g}")
    return plain(x.tolist()) if hasattr(x, "tolist") else x


def outcome(name: str) -> Any:
    """The result of a program, or its error."""
    try:
        return plain(PROGRAMS[name]())
    except Exception as error:  # makes the test fail
        return f"error: {type(error).__name__}: {error}"[:300]


def formatted() -> Any:
    """Scalars and vectors of strings are printed in quotes."""
    numbers = tf.constant([1.5, 2.25e10, 1e-8])
    return [
        *[tf.strings.format("<{}>", (text,)) for text in TEXTS],
        tf.strings.format("{} and {}", (TEXTS, [[b"a", b"b"]]), summarize=2),
        tf.strings.format("{}", (numbers,)),
        tf.strings.format("{}|{}", (True, tf.constant([True, False]))),
    ]


def printed() -> str:
    """Text in a structure is printed in quotes; alone it is not."""
    path = FOLDER / "printed"
    stream = f"file://{path}"
    tf.print("s", tf.constant("a"), ["b", tf.constant("c")], {"k": tf.constant(["z"])}, 1, None)
    for values in (("s", tf.constant("a")), (tf.constant("alone"),), ({"k": tf.constant("q")}, 2)):
        tf.print(*values, output_stream=stream)
    return path.read_text("utf-8")


def looked_up(make: Any, *, traced: bool = False) -> Any:
    """Lookups of dense, ragged and sparse keys."""
    start = tf.lookup.KeyValueTensorInitializer(
        tf.constant(["the", "fox"]), tf.constant([0, 1], tf.int64)
    )
    table = make(start)
    find = tf.function(table.lookup) if traced else table.lookup
    return [
        find(keys)
        for keys in (
            tf.constant([["the", "zz"]]),
            tf.ragged.constant([["the", "a"], [], ["fox"]]),
            tf.sparse.from_dense([["the", ""], ["q", "fox"]]),
        )
    ]


def static(start: Any) -> Any:
    """A table with a default value."""
    return tf.lookup.StaticHashTable(start, -1)


def vocabulary(start: Any) -> Any:
    """A table with three buckets."""
    return tf.lookup.StaticVocabularyTable(start, 3)


def factors() -> Any:
    """The factor of a matrix that is not positive definite is NaN, below and on the diagonal."""
    matrices = tf.constant(
        [[[4.0, 0.0], [0.0, 4.0]], [[1.0, 2.0], [2.0, 1.0]], [[-1.0, 0], [0, 1]]]
    )
    found = tf.linalg.cholesky(matrices)
    lower = tf.boolean_mask(found, tf.constant([[True, False], [True, True]]), axis=1)
    return [lower, tf.linalg.logdet(matrices)]


def missing_files() -> list[bool]:
    """A missing model raises an error that programs catch like TensorFlow's."""

    def fails(load: Any, path: str, *kinds: Any) -> bool:
        try:
            load(path)
        except kinds:
            return True
        return False

    return [
        fails(tf.saved_model.load, str(FOLDER / "none"), OSError),
        fails(tf.keras.models.load_model, str(FOLDER / "none.keras"), ValueError),
        fails(tf.io.read_file, str(FOLDER / "none"), tf.errors.NotFoundError),
    ]


def split_in_version_1() -> list[Any]:
    """Strings split into sparse tensors, at any of several characters."""
    v1, strings = tf.compat.v1, ["a b,c;d", "", " e  f "]
    ways = [{}, {"sep": ","}, {"delimiter": ",;"}, {"sep": ""}, {"skip_empty": False}]
    found = [v1.string_split(strings, **way) for way in ways]
    found.append(v1.string_split(strings, result_type="RaggedTensor"))
    ways = [{}, {"sep": ","}, {"maxsplit": 1}, {"result_type": "RaggedTensor"}]
    found += [v1.strings.split(strings, **way) for way in ways]
    return [*found, v1.strings.split("a b"), v1.strings.split("a b", result_type="RaggedTensor")]


def dense_in_version_1() -> list[Any]:
    """Values at indices of a matrix, at one index of a vector, one value at several indices."""
    dense = tf.compat.v1.sparse_to_dense
    return [
        dense([[0, 1], [1, 0]], [2, 2], [5.0, 6.0], -1.0),
        dense(3, [5], 9),
        dense([1, 3], [5], 1, 0),
    ]


def files_in_version_1() -> list[Any]:
    """Records, events and checkpoints are read without a session."""
    v1 = tf.compat.v1
    path = str(FOLDER / "records")
    event = v1.Event(step=3, summary=v1.Summary(value=[v1.Summary.Value(tag="t", simple_value=2)]))
    with tf.io.TFRecordWriter(path, tf.io.TFRecordOptions("GZIP")) as writer:
        writer.write(b"a")
        writer.write(b"b")
    with tf.io.TFRecordWriter(path + "-events") as writer:
        writer.write(event.SerializeToString())
    prefix = tf.train.Checkpoint(a=tf.Variable([3])).save(str(FOLDER / "checkpoint"))
    shapes = v1.train.NewCheckpointReader(prefix).get_variable_to_shape_map()
    return [
        list(v1.io.tf_record_iterator(path, v1.io.TFRecordOptions("GZIP"))),
        [(e.step, e.summary.value[0].tag) for e in v1.train.summary_iterator(path + "-events")],
        [v1.train.checkpoint_exists(prefix), v1.train.checkpoint_exists(path)],
        sorted(shapes),
    ]


def one_size() -> Any:
    """A scalar in place of a vector of sizes."""
    sized = tf.function(lambda x: tf.zeros(tf.size(x)))
    return [
        tf.fill(3, 2.0),
        tf.fill(np.int64(2), "a"),
        tf.zeros(tf.constant(2)),
        tf.ones(4),
        tf.reshape(tf.range(4), 4),
        tf.reshape(tf.ones([2, 2]), tf.constant(-1)),
        sized(tf.ones([2, 3])),
    ]


def identities() -> Any:
    """Batches of identity matrices whose batch size is a tensor."""
    shapes = []

    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def traced(x: Any) -> Any:
        made = [
            tf.eye(3, batch_shape=[tf.shape(x)[0], 1]),
            tf.eye(tf.shape(x)[1], 2, batch_shape=[tf.shape(x)[0], 1]),
            tf.eye(3, batch_shape=tf.shape(x)),
        ]
        shapes.extend(y.shape.as_list() for y in made)
        return made

    return [traced(tf.ones((2, 3))), shapes, tf.eye(2, batch_shape=[tf.constant(2)])]


def cut() -> Any:
    """`constant` does not truncate a float tensor in a list; `convert_to_tensor` does."""
    given = ([tf.constant(1.5), 2], (tf.Variable(1.5), 2), [[tf.constant(2.5)], [3]])

    def refused(value: Any) -> bool:
        try:
            tf.constant(value, tf.int32)
        except (TypeError, ValueError):
            return True
        return False

    return [[refused(value) for value in given], tf.convert_to_tensor(given[0], tf.int32)]


PROGRAMS = {
    "one_size": one_size,
    "cut": cut,
    "identities": identities,
    "split_in_version_1": split_in_version_1,
    "dense_in_version_1": dense_in_version_1,
    "files_in_version_1": files_in_version_1,
    "formatted": formatted,
    "printed": printed,
    "static_table": lambda: looked_up(static),
    "vocabulary_table": lambda: looked_up(vocabulary),
    "static_table_traced": lambda: looked_up(static, traced=True),
    "vocabulary_table_traced": lambda: looked_up(vocabulary, traced=True),
    "cholesky": factors,
    "missing_files": missing_files,
}

if __name__ == "__main__":
    sys.stdout.write("\n" + json.dumps({name: outcome(name) for name in PROGRAMS}) + "\n")
