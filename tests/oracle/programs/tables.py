"""Lookup tables, and the files that fill them."""

import tempfile
from pathlib import Path
from typing import Any


def fixed(tf: Any, ops: Any, keys: Any, values: Any, queries: Any) -> list[Any]:
    """A hash table that is filled once."""
    table = ops.HashTableV2(
        shared_name=ops.fresh_name(), key_dtype=keys.dtype, value_dtype=values.dtype
    )
    ops.InitializeTableV2(table_handle=table, keys=keys, values=values)
    missing = tf.zeros([], values.dtype)
    return [
        ops.LookupTableFindV2(table_handle=table, keys=queries, default_value=missing),
        ops.LookupTableSizeV2(table_handle=table),
    ]


def _told(tf: Any, ops: Any, table: Any, keys: Any, values: Any, queries: Any) -> list[Any]:
    missing = tf.zeros(values.shape[1:], values.dtype)
    found = [ops.LookupTableFindV2(table_handle=table, keys=queries, default_value=missing)]
    ops.LookupTableRemoveV2(table_handle=table, keys=queries[:1])
    found.append(ops.LookupTableFindV2(table_handle=table, keys=queries, default_value=missing))
    found.append(ops.LookupTableSizeV2(table_handle=table))
    known, held = ops.LookupTableExportV2(
        table_handle=table, Tkeys=keys.dtype, Tvalues=values.dtype
    )
    return [*found, known, held]


def mutable(tf: Any, ops: Any, keys: Any, values: Any, queries: Any) -> list[Any]:
    """A hash table that changes; its content in the order of its keys."""
    table = ops.MutableHashTableV2(
        shared_name=ops.fresh_name(), key_dtype=keys.dtype, value_dtype=values.dtype
    )
    ops.LookupTableImportV2(table_handle=table, keys=keys, values=values)
    ops.LookupTableInsertV2(table_handle=table, keys=keys[:2], values=values[-2:])
    *found, known, held = _told(tf, ops, table, keys, values, queries)
    order = tf.argsort(known)
    return [*found, tf.gather(known, order), tf.gather(held, order)]


def of_rows(tf: Any, ops: Any, keys: Any, values: Any, queries: Any) -> list[Any]:
    """A hash table of rows."""
    rows = tf.stack([values, values + values], -1)
    table = ops.MutableHashTableOfTensorsV2(
        shared_name=ops.fresh_name(),
        key_dtype=keys.dtype,
        value_dtype=values.dtype,
        value_shape=[2],
    )
    ops.LookupTableInsertV2(table_handle=table, keys=keys, values=rows)
    *found, known, held = _told(tf, ops, table, keys, rows, queries)
    order = tf.argsort(known)
    return [*found, tf.gather(known, order), tf.gather(held, order)]


def dense(tf: Any, ops: Any, keys: Any, values: Any, queries: Any) -> list[Any]:
    """A table with open addressing."""
    table = ops.MutableDenseHashTableV2(
        empty_key=tf.constant(-1000, keys.dtype),
        deleted_key=tf.constant(-1001, keys.dtype),
        value_dtype=values.dtype,
        shared_name=ops.fresh_name(),
    )
    ops.LookupTableInsertV2(table_handle=table, keys=keys, values=values)
    return _told(tf, ops, table, keys, values, queries)[:3]


def from_file(tf: Any, ops: Any, keys: Any, values: Any, _: Any) -> list[Any]:
    """A table from the lines of a file, and the file itself."""
    words = tf.strings.as_string(keys)
    lines = tf.strings.join([words, tf.strings.as_string(values)], separator="\t")
    content = tf.strings.reduce_join(lines, separator="\n")
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "words.txt")
        ops.WriteFile(filename=tf.constant(path), contents=content)
        lines = tf.lookup.TextFileInitializer(path, tf.string, 0, tf.int64, 1, delimiter="\t")
        table = tf.lookup.StaticHashTable(lines, -1)
        matching = ops.MatchingFiles(pattern=tf.constant(str(Path(folder) / "*.txt")))
        return [
            ops.ReadFile(filename=tf.constant(path)),
            tf.size(matching),
            table.size(),
            table.lookup(words),
        ]
