"""Tables of version 1: as references and as resources, from constants, files and checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf
from v1_writing import Model, Programs, Signature, numbers, one, texts

if TYPE_CHECKING:
    from pathlib import Path

v1 = tf.compat.v1
raw = tf.raw_ops
programs = Programs()
WORDS = ("one", "two", "three", "four")


def _asset(folder: Path, name: str, text: str) -> Any:
    (folder / name).write_text(text)
    path = tf.constant(str(folder / name))
    v1.add_to_collection(v1.GraphKeys.ASSET_FILEPATHS, path)
    return path


@programs
def hash_table_by_reference() -> Model:
    """Keys and values in the graph, as before resources existed."""
    words = v1.placeholder(tf.string, [None], "words")
    table = raw.HashTable(key_dtype=tf.string, value_dtype=tf.int64, shared_name="words")
    fill = raw.InitializeTable(
        table_handle=table, keys=tf.constant(WORDS), values=tf.constant([1, 2, 3, 4], tf.int64)
    )
    ids = raw.LookupTableFind(
        table_handle=table, keys=words, default_value=tf.constant(-1, tf.int64)
    )
    size = raw.LookupTableSize(table_handle=table)
    return one(
        {"words": words},
        {"ids": ids, "size": size},
        {"words": texts("two", "nine", "one")},
        {"words": texts("four")},
        start=[fill],
        main_op=fill,
    )


@programs
def hash_table_with_two_makers() -> Model:
    """Two nodes that share one table by name, filled by the legacy initialiser."""
    ids = v1.placeholder(tf.int64, [None], "ids")
    kind = {"key_dtype": tf.int64, "value_dtype": tf.string, "shared_name": "numbers"}
    first, second = raw.HashTable(**kind), raw.HashTable(**kind)
    fill = raw.InitializeTable(
        table_handle=first, keys=tf.constant([7, 8], tf.int64), values=tf.constant(["a", "b"])
    )
    found = raw.LookupTableFind(table_handle=second, keys=ids, default_value=tf.constant("?"))
    return one(
        {"ids": ids},
        {"words": found},
        {"ids": np.array([8, 9, 7])},
        start=[fill],
        main_op=tf.group(fill),
        is_legacy=True,
    )


@programs
def text_file_by_reference(folder: Path) -> Model:
    """A table from lines of a file to line numbers."""
    words = v1.placeholder(tf.string, [None], "words")
    table = raw.HashTable(key_dtype=tf.string, value_dtype=tf.int64)
    fill = raw.InitializeTableFromTextFile(
        table_handle=table,
        filename=_asset(folder, "words.txt", "\n".join(WORDS) + "\n"),
        key_index=-2,
        value_index=-1,
    )
    ids = raw.LookupTableFind(
        table_handle=table, keys=words, default_value=tf.constant(9, tf.int64)
    )
    return one(
        {"words": words}, {"ids": ids}, {"words": texts("three", "x")}, start=[fill], main_op=fill
    )


@programs
def text_file_columns(folder: Path) -> Model:
    """A table from columns of the first of two files."""
    keys = v1.placeholder(tf.int64, [None], "keys")
    table = raw.HashTable(key_dtype=tf.int64, value_dtype=tf.float32)
    fill = raw.InitializeTableFromTextFile(
        table_handle=table,
        filename=_asset(folder, "weights.csv", "3,0.5,x\n4,-1.25,y\n5,7,z\n"),
        key_index=0,
        value_index=1,
        vocab_size=2,
        delimiter=",",
    )
    names = tf.lookup.StaticHashTable(
        tf.lookup.TextFileInitializer(
            _asset(folder, "names.tsv", "3\tc\n4\td\n"), tf.int64, 0, tf.string, 1
        ),
        "none",
    )
    found = raw.LookupTableFind(table_handle=table, keys=keys, default_value=tf.constant(0.0))
    return one(
        {"keys": keys},
        {"weights": found, "names": names.lookup(keys)},
        {"keys": np.array([4, 5, 3])},
        start=[fill],
        main_op=tf.group(fill, v1.tables_initializer()),
    )


@programs
def index_and_back(folder: Path) -> Model:
    """Words to ids with OOV buckets, and ids to words."""
    words = v1.placeholder(tf.string, [None, None], "words")
    path = _asset(folder, "vocabulary.txt", "\n".join(WORDS) + "\n")
    index = tf.lookup.StaticVocabularyTable(
        tf.lookup.TextFileInitializer(path, tf.string, -2, tf.int64, -1), 3
    )
    back = tf.lookup.StaticHashTable(
        tf.lookup.TextFileInitializer(path, tf.int64, -1, tf.string, -2), "UNK"
    )
    ids = index.lookup(words)
    return one(
        {"words": words},
        {"ids": ids, "again": back.lookup(ids)},
        {"words": np.array([["one", "x"], ["four", "two"]], "S")},
        main_op=v1.tables_initializer(),
    )


@programs
def two_vocabularies(folder: Path) -> Model:
    """Two tables from two files, looked up one after the other."""
    words = v1.placeholder(tf.string, [None], "words")
    first = tf.lookup.StaticHashTable(
        tf.lookup.TextFileInitializer(
            _asset(folder, "a.txt", "x 1\ny 2\n"), tf.string, 0, tf.int64, 1, delimiter=" "
        ),
        -1,
    )
    second = tf.lookup.StaticHashTable(
        tf.lookup.TextFileInitializer(
            _asset(folder, "b.txt", "1 low\n2 high\n"), tf.int64, 0, tf.string, 1, delimiter=" "
        ),
        "none",
    )
    return one(
        {"words": words},
        {"kinds": second.lookup(first.lookup(words))},
        {"words": texts("y", "q", "x")},
        main_op=v1.tables_initializer(),
        is_legacy=True,
    )


def _mutable(make: Any, insert: Any, find: Any, size: Any, export: Any, fill: Any) -> Model:
    keys = v1.placeholder(tf.string, [None], "keys")
    values = v1.placeholder(tf.float32, [None], "values")
    table = make(key_dtype=tf.string, value_dtype=tf.float32, shared_name="kept")
    first = fill(table_handle=table, keys=tf.constant(["a", "b"]), values=tf.constant([1.0, 2.0]))
    put = insert(table_handle=table, keys=keys, values=values)
    with tf.control_dependencies([put]):
        count = size(table_handle=table)
        listed = export(table_handle=table, Tkeys=tf.string, Tvalues=tf.float32)
        ordered = tf.sort(listed.values)
    found = find(table_handle=table, keys=keys, default_value=tf.constant(-1.0))
    return Model(
        {
            "find": Signature({"keys": keys}, {"values": found}),
            "put": Signature({"keys": keys, "values": values}, {"count": count, "values": ordered}),
        },
        [
            ("find", {"keys": texts("a", "c", "b")}),
            ("put", {"keys": texts("c", "a"), "values": np.array([3, 4], np.float32)}),
            ("find", {"keys": texts("a", "c", "b")}),
            ("put", {"keys": texts("d"), "values": np.array([0.5], np.float32)}),
        ],
        start=[first],
        main_op=first,
    )


@programs
def mutable_by_reference() -> Model:
    return _mutable(
        raw.MutableHashTable,
        raw.LookupTableInsert,
        raw.LookupTableFind,
        raw.LookupTableSize,
        raw.LookupTableExport,
        raw.LookupTableImport,
    )


@programs
def mutable_resources() -> Model:
    return _mutable(
        raw.MutableHashTableV2,
        raw.LookupTableInsertV2,
        raw.LookupTableFindV2,
        raw.LookupTableSizeV2,
        raw.LookupTableExportV2,
        raw.LookupTableImportV2,
    )


def _of_vectors(make: Any, insert: Any, find: Any, **more: Any) -> Model:
    keys = v1.placeholder(tf.int64, [None], "keys")
    table = make(value_dtype=tf.float32, value_shape=[2], shared_name="rows", **more)
    fill = insert(
        table_handle=table, keys=tf.constant([4, 2], tf.int64), values=tf.constant(numbers(2, 2))
    )
    found = find(table_handle=table, keys=keys, default_value=tf.constant([-1.0, 1.0]))
    return one(
        {"keys": keys}, {"rows": found}, {"keys": np.array([2, 3, 4])}, start=[fill], main_op=fill
    )


@programs
def vectors_by_reference() -> Model:
    return _of_vectors(
        raw.MutableHashTableOfTensors,
        raw.LookupTableInsert,
        raw.LookupTableFind,
        key_dtype=tf.int64,
    )


@programs
def dense_table_resources() -> Model:
    return _of_vectors(
        raw.MutableDenseHashTableV2,
        raw.LookupTableInsertV2,
        raw.LookupTableFindV2,
        empty_key=tf.constant(-1, tf.int64),
        deleted_key=tf.constant(-2, tf.int64),
        initial_num_buckets=8,
    )


def _restored(make: Any) -> Model:
    """A table whose entries are in the checkpoint."""
    keys = v1.placeholder(tf.string, [None], "keys")
    table = make()
    step = v1.Variable(2.0, name="step", use_resource=False)
    found = table.lookup(keys)
    return one(
        {"keys": keys},
        {"values": found, "size": table.size(), "step": step * 1.0},
        {"keys": texts("a", "c", "b")},
        start=[table.insert(tf.constant(["a", "b"]), tf.constant([5, 6], tf.int64))],
        saver=v1.train.Saver(),
    )


@programs
def restored_from_checkpoint() -> Model:
    return _restored(
        lambda: tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1, name="kept")
    )


@programs
def restored_dense_table() -> Model:
    return _restored(
        lambda: tf.lookup.experimental.DenseHashTable(
            tf.string,
            tf.int64,
            -1,
            empty_key="",
            deleted_key="-",
            initial_num_buckets=8,
            name="kept",
        )
    )


@programs
def table_in_a_condition() -> Model:
    """Reference handles that are passed into a condition and a loop."""
    words = v1.placeholder(tf.string, [None], "words")
    table = raw.HashTable(key_dtype=tf.string, value_dtype=tf.int64, shared_name="inside")
    fill = raw.InitializeTable(
        table_handle=table, keys=tf.constant(WORDS), values=tf.constant([1, 2, 3, 4], tf.int64)
    )
    none = tf.constant(0, tf.int64)
    resource = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(list(WORDS), [5, 6, 7, 8], value_dtype=tf.int64), 0
    )
    ids = v1.cond(
        tf.size(words) > 1,
        lambda: raw.LookupTableFind(table_handle=table, keys=words, default_value=none),
        lambda: resource.lookup(words),
    )
    _, total = v1.while_loop(
        lambda i, _: i < tf.size(words),
        lambda i, t: (i + 1, t + resource.lookup(words[i])),
        [tf.constant(0), none],
    )
    return one(
        {"words": words},
        {"ids": ids, "total": total},
        {"words": texts("two", "four", "x")},
        {"words": texts("one")},
        start=[fill],
        main_op=tf.group(fill, v1.tables_initializer()),
    )


@programs
def tables_of_the_collection(folder: Path) -> Model:
    """No initialiser is named: those in the graph's collections fill tables and a variable."""
    words = v1.placeholder(tf.string, [None], "words")
    first = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(list(WORDS), tf.constant([1, 2, 3, 4], tf.int64)), -1
    )
    second = tf.lookup.StaticHashTable(
        tf.lookup.TextFileInitializer(
            _asset(folder, "words.txt", "\n".join(reversed(WORDS)) + "\n"),
            tf.string,
            tf.lookup.TextFileIndex.WHOLE_LINE,
            tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
        ),
        -1,
    )
    base = v1.get_variable(
        "base",
        initializer=tf.constant([100, 200], tf.int64),
        collections=[v1.GraphKeys.LOCAL_VARIABLES],
        trainable=False,
    )
    return one(
        {"words": words},
        {"first": first.lookup(words), "second": second.lookup(words), "base": base + 1},
        {"words": texts("two", "nine", "one")},
        runs_collected=True,
    )
