"""Pipelines that run with TensorFlow and with pinnace: elements, specs and cardinalities as JSON.

Run as `python dataset_programs.py tensorflow|pinnace FOLDER`; see test_program_files.py.
"""

import importlib
import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

import numpy as np

tf: Any = importlib.import_module(sys.argv[1])
p = sys.argv[2]
D = tf.data.Dataset
E = tf.data.experimental


def write_files() -> None:
    """Write the files that the pipelines read."""
    Path(p, "a.csv").write_text(
        'a,b,c,d\n1,2.5,"x, ""y""\nz",7\n2,,w,8\n,3.5,\u00e9,9\n', encoding="utf-8"
    )
    Path(p, "b.csv").write_text("a,b,c,d\n5,2.5,q,30000000000\n6,1,w,8\n", encoding="utf-8")
    connection = sqlite3.connect(Path(p, "d.db"))
    connection.execute("drop table if exists t")
    connection.execute("create table t(a int, b real, c text)")
    rows = [(1, 1.5, "x"), (2, None, None), (3, 2.5, "\u00e9")]
    connection.executemany("insert into t values(?,?,?)", rows)
    connection.commit()
    connection.close()


def plain(x: Any) -> Any:
    """A value in a form for JSON."""
    if isinstance(x, dict):
        return {str(key): plain(item) for key, item in sorted(x.items())}
    if isinstance(x, (tuple, list)):
        return [plain(item) for item in x]
    if isinstance(x, bytes):
        return x.decode("latin-1")
    if hasattr(x, "to_list"):
        return plain(x.to_list())
    if hasattr(x, "dense_shape"):
        return [plain(x.indices.numpy()), plain(x.values.numpy()), plain(x.dense_shape.numpy())]
    found = x.numpy() if hasattr(x, "numpy") else x
    if isinstance(found, bytes):
        return plain(found)
    return plain(found.tolist()) if hasattr(found, "tolist") else found


def spec_text(spec: Any) -> Any:
    """A spec without the class of its mapping."""
    if isinstance(spec, dict):
        return {key: spec_text(item) for key, item in sorted(spec.items())}
    if isinstance(spec, tuple):
        return [spec_text(item) for item in spec]
    return repr(spec)


def outcome(name: str) -> Any:
    """The result of a pipeline, or the class of its error."""
    try:
        made = PROGRAMS[name]()
        if not hasattr(made, "element_spec"):
            return plain(made)
        elements = [plain(x) for x in made]
        return [elements, spec_text(made.element_spec), int(made.cardinality())]
    except Exception as error:
        return f"error: {type(error).__name__}"


r = tf.ragged.constant([[1, 2], [3], []])
r3 = tf.ragged.constant([[[1, 2], [3]], [], [[4]]])
s = tf.sparse.from_dense([[0, 1], [2, 0], [0, 0]])
RT = tf.ragged.constant
red = E.Reducer(
    lambda k: (tf.constant(0, tf.int64), k),
    lambda state, x: (state[0] + x, state[1]),
    lambda state, k: (k, state),
)


def in_a_function() -> Any:
    """Pipelines built from a traced function's tensors, and iterators created in it."""

    @tf.function
    def summed(n: Any) -> Any:
        total = tf.constant(0, tf.int64)
        for x in D.range(n).map(lambda x: x * 2).batch(2):
            total += tf.reduce_sum(x)
        iterator = iter(D.range(n, n + 3))
        optional = iterator.get_next_as_optional()
        return total, next(iterator), optional.has_value(), optional.get_value()

    return summed(tf.constant(4, tf.int64))


PROGRAMS = {
    "in_a_function": in_a_function,
    "csv_first": lambda: E.CsvDataset(
        p + "/a.csv", [tf.int32, tf.float32, tf.string, tf.int64], header=True
    ).take(1),
    "csv_defaults": lambda: E.CsvDataset(p + "/a.csv", [[-1], [0.5], [""], [0]], header=True),
    "csv_selected": lambda: E.CsvDataset(
        [p + "/a.csv", p + "/b.csv"], [["?"], tf.float64], header=True, select_cols=[0, 3]
    ),
    "csv_excluded": lambda: E.CsvDataset(
        p + "/a.csv", [tf.string, tf.float64], header=True, exclude_cols=[0, 1]
    ),
    "csv_wrong_columns": lambda: E.CsvDataset(p + "/a.csv", [tf.int32, tf.float32], header=True),
    "csv_required": lambda: E.CsvDataset(
        p + "/a.csv", [tf.int32, tf.float32, tf.string, tf.int64], header=True
    ),
    "csv_errors_ignored": lambda: E.CsvDataset(
        p + "/a.csv", [tf.int32, tf.float32, tf.string, tf.int64], header=True
    ).ignore_errors(),
    "csv_na_value": lambda: E.CsvDataset(
        p + "/a.csv", [[-1], [0.5], ["d"], [0]], header=True, na_value="w"
    ),
    "make_csv": lambda: E.make_csv_dataset(
        [p + "/a.csv", p + "/b.csv"], 2, num_epochs=1, shuffle=False
    ),
    "make_csv_label": lambda: E.make_csv_dataset(
        p + "/*.csv", 2, num_epochs=1, shuffle=False, label_name="d", select_columns=["a", "d"]
    ),
    "make_csv_defaults": lambda: E.make_csv_dataset(
        p + "/a.csv", 2, num_epochs=1, shuffle=False, column_defaults=[[0], [1.0], ["q"], [2.0]]
    ),
    "make_csv_no_such_label": lambda: E.make_csv_dataset(
        p + "/a.csv", 2, shuffle=False, label_name="nope"
    ),
    "make_csv_without_end": lambda: E.make_csv_dataset(p + "/a.csv", 2, shuffle=False).take(3),
    "sql_rows": lambda: E.SqlDataset(
        "sqlite", p + "/d.db", "select a,b,c from t", (tf.int64, tf.float64, tf.string)
    ),
    "from_list": lambda: E.from_list([(1, "a"), (2, "b")]),
    "from_list_of_shapes": lambda: E.from_list([{"x": [1, 2]}, {"x": [1]}]),
    "element_at": lambda: E.at(D.range(10).shuffle(3, seed=1).map(lambda x: x * 0), 4),
    "element_beyond": lambda: E.at(D.range(10), 10),
    "pad_to_cardinality": lambda: D.from_tensor_slices({"a": [1, 2]}).apply(
        E.pad_to_cardinality(4)
    ),
    "pad_too_many": lambda: D.from_tensor_slices({"a": [1, 2]}).apply(E.pad_to_cardinality(1)),
    "group_by_reducer": lambda: D.range(10).apply(E.group_by_reducer(lambda x: 2 - x % 3, red)),
    "variant": lambda: E.from_variant(E.to_variant(D.range(3)), tf.TensorSpec([], tf.int64)),
    "unique": lambda: D.from_tensor_slices([1, 2, 1, 3]).unique(),
    "assert_cardinality": lambda: D.range(4).apply(E.assert_cardinality(4)),
    "window": lambda: (
        D.range(7).window(3, shift=2, stride=2, drop_remainder=False).flat_map(lambda x: x)
    ),
    "window_of_nests": lambda: (
        D.from_tensor_slices(({"a": [1, 2, 3, 4]}, [5, 6, 7, 8]))
        .window(2)
        .map(lambda d, y: (d["a"].reduce(0, lambda s, x: s + x), y.reduce(0, lambda s, x: s + x)))
    ),
    "group_by_window": lambda: D.range(10).group_by_window(
        lambda x: x % 2, lambda _, d: d.batch(5), window_size=3
    ),
    "bucket_by_sequence_length": lambda: (
        D.range(1, 9)
        .map(lambda x: tf.range(x))
        .bucket_by_sequence_length(
            lambda x: tf.size(x), [3, 5], [2, 2, 2], pad_to_bucket_boundary=False
        )
    ),
    "scan": lambda: D.range(5).scan(tf.constant(0, tf.int64), lambda s, x: (s + x, s)),
    "enumerated": lambda: D.from_tensor_slices(["a", "b"]).enumerate(5),
    "rebatch": lambda: D.range(10).batch(4).rebatch([3, 1]),
    "choose": lambda: D.choose_from_datasets(
        [D.range(3), D.range(10, 12)], D.from_tensor_slices(np.array([0, 1, 1, 1, 0], np.int64))
    ),
    "choose_on": lambda: D.choose_from_datasets(
        [D.range(3), D.range(10, 12)],
        D.from_tensor_slices(np.array([0, 1, 1, 1, 0], np.int64)),
        stop_on_empty_dataset=False,
    ),
    "interleave": lambda: D.range(1, 4).interleave(
        lambda x: D.range(x * 10, x * 10 + x), cycle_length=2, block_length=2
    ),
    "padded": lambda: (
        D.range(1, 5)
        .map(lambda x: (tf.fill([x], x), x))
        .padded_batch(3, padded_shapes=([5], []), padding_values=(tf.constant(-1, tf.int64), None))
    ),
    "single": lambda: D.from_tensors(3).get_single_element(),
    "takewhile": lambda: D.range(10).take_while(lambda x: x < 4),
    "shard": lambda: D.range(10).shard(3, 1),
    "text": lambda: tf.data.TextLineDataset([p + "/a.csv"]),
    "fixed": lambda: tf.data.FixedLengthRecordDataset(
        p + "/b.csv", 5, header_bytes=3, footer_bytes=2
    ),
    "dictzip": lambda: D.zip({"a": D.range(3), "b": D.range(3, 9)}),
    "concat": lambda: D.range(2).concatenate(D.range(5, 6)),
    "reduce": lambda: D.range(5).reduce(
        (tf.constant(0, tf.int64), tf.constant(1, tf.int64)), lambda s, x: (s[0] + x, s[1] * 2)
    ),
    "mapped_strings": lambda: D.range(3).map(lambda x: (x, tf.strings.as_string(x))),
    "from_generator": lambda: D.from_generator(
        lambda n: iter(range(n)), output_signature=tf.TensorSpec([], tf.int32), args=(3,)
    ),
    "unbatch": lambda: D.from_tensor_slices([[1, 2], [3, 4]]).unbatch(),
    "repeat0": lambda: D.range(3).repeat(0),
    "filtered": lambda: D.range(6).filter(lambda x: x % 2 == 0),
    "ragged": lambda: (
        D.range(3).map(lambda x: tf.range(x)).ragged_batch(2).map(lambda r: r.to_tensor())
    ),
    "sparse": lambda: (
        D.range(1, 4)
        .map(lambda x: tf.range(x))
        .sparse_batch(2, [4])
        .map(lambda r: tf.sparse.to_dense(r))
    ),
    "ragged_batch_to_tensor": lambda: (
        D.from_tensors(tf.ragged.constant([[1, 2], [3]]))
        .repeat(3)
        .batch(2)
        .map(lambda r: r.to_tensor())
    ),
    "ragged_rows_summed": lambda: D.from_tensor_slices(tf.ragged.constant([[1, 2], [3], []])).map(
        lambda r: tf.reduce_sum(r)
    ),
    "sparse_rows_dense": lambda: D.from_tensor_slices(tf.sparse.from_dense([[0, 1], [2, 0]])).map(
        lambda r: tf.sparse.to_dense(r)
    ),
    "ragged_element": lambda: D.from_tensors(r),
    "ragged_slices": lambda: D.from_tensor_slices(r),
    "ragged_slices_deep": lambda: D.from_tensor_slices(r3),
    "ragged_batches": lambda: D.from_tensor_slices(r3).batch(2),
    "ragged_with_dense": lambda: (
        D.from_tensor_slices((r3, [1, 2, 3])).shuffle(1).repeat(2).batch(4, drop_remainder=True)
    ),
    "sparse_slices": lambda: D.from_tensor_slices(s),
    "sparse_and_ragged": lambda: D.from_tensor_slices({"s": s, "r": r}).batch(2),
    "ragged_unbatched": lambda: D.from_tensors(r).batch(1).unbatch(),
    "ragged_mapped": lambda: (
        D.from_tensor_slices(r).map(lambda x: x * 2).filter(lambda x: tf.size(x) > 0)
    ),
    "ragged_batch_of_vectors": lambda: D.range(4).map(lambda x: tf.range(x)).ragged_batch(3),
    "ragged_batch_of_matrices": lambda: (
        D.range(4)
        .map(lambda x: tf.reshape(tf.range(x * 2), [x, 2]))
        .ragged_batch(3, drop_remainder=True, row_splits_dtype=tf.int32)
    ),
    "ragged_batch_of_two_unknown": lambda: (
        D.range(1, 4).map(lambda x: (tf.ones([x, x + 1]), x)).ragged_batch(2)
    ),
    "sparse_batch_unknown": lambda: (
        D.range(1, 4).map(lambda x: tf.range(x)).sparse_batch(2, [None])
    ),
    "ragged_cached": lambda: D.from_tensor_slices(r3).map(lambda x: (x, x.values)).cache().batch(3),
    "ragged_generated": lambda: D.from_generator(
        lambda: iter([r, RT([[5]])]), output_signature=tf.RaggedTensorSpec([None, None], tf.int32)
    ),
    "ragged_padded": lambda: D.from_tensor_slices(r).padded_batch(2),
    "ragged_windows": lambda: D.from_tensor_slices(r3).window(2).flat_map(lambda w: w.batch(2)),
    "ragged_zipped": lambda: D.zip((D.from_tensor_slices(r), D.range(3))).enumerate().batch(2),
    "ragged_concatenated": lambda: D.from_tensor_slices(r).concatenate(
        D.from_tensor_slices(RT([[7, 8, 9]]))
    ),
}

if __name__ == "__main__":
    write_files()
    sys.stdout.write("\n" + json.dumps({name: outcome(name) for name in PROGRAMS}))
