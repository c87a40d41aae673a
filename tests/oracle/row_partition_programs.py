"""Row partitions: `tf.experimental.RowPartition`; see `both`.

python row_partition_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import sys
from typing import Any

import numpy as np
from reporting import report

tf: Any = importlib.import_module(sys.argv[1])
Rows = tf.experimental.RowPartition


def plain(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if x is None or isinstance(x, (str, bool, int, float)):
        return x
    if isinstance(x, Rows):
        return told_of(x)
    array = np.asarray(x)
    return [str(array.dtype), list(array.shape), array.reshape(-1).tolist()]


def told(call: Any) -> Any:
    try:
        return plain(call())
    except (ValueError, tf.errors.InvalidArgumentError):
        return "refused"
    except TypeError:
        return "TypeError"


def told_of(rows: Any) -> Any:
    """All properties of a partition."""
    tensors = [
        *(rows.row_splits(), rows.row_lengths(), rows.row_starts(), rows.row_limits()),
        *(rows.value_rowids(), rows.nrows(), rows.nvals(), rows.uniform_row_length()),
        rows.offsets_in_rows(),
    ]
    static = [
        None if size is None else int(size)
        # TensorFlow does not derive the number of values from eager row splits.
        for size in (rows.static_nrows, rows.static_uniform_row_length)
    ]
    return [plain(tensors), static, rows.is_uniform(), rows.dtype.name]


def made() -> Any:
    return [
        told(call)
        for call in (
            lambda: Rows.from_row_splits([0, 3, 3, 5]),
            lambda: Rows.from_row_splits(tf.constant([0, 2], tf.int32)),
            lambda: Rows.from_row_splits([0, 2], dtype=tf.int32),
            lambda: Rows.from_row_lengths([3, 0, 2]),
            lambda: Rows.from_row_lengths(np.zeros(0, np.int64)),
            lambda: Rows.from_row_starts([0, 3, 3], nvals=5),
            lambda: Rows.from_row_limits([3, 3, 5]),
            lambda: Rows.from_value_rowids([0, 0, 2, 2, 2]),
            lambda: Rows.from_value_rowids([0, 0, 2], nrows=5),
            lambda: Rows.from_uniform_row_length(2, nvals=6),
            lambda: Rows.from_uniform_row_length(2, nrows=3, dtype=tf.int32),
            lambda: Rows.from_uniform_row_length(0, nvals=0, nrows=3),
            lambda: Rows.from_row_splits([0, 3, 3, 5]).with_dtype(tf.int32),
            lambda: str(Rows.from_row_splits([0, 3, 3, 5])),
        )
    ]


def refused() -> Any:
    return [
        told(call)
        for call in (
            lambda: Rows([0, 1]),
            lambda: Rows.from_row_splits([1, 3]),
            lambda: Rows.from_row_splits([0, 3, 2]),
            lambda: Rows.from_row_splits([[0, 3]]),
            lambda: Rows.from_row_lengths([1, -1]),
            lambda: Rows.from_row_starts([1, 2], nvals=4),
            lambda: Rows.from_value_rowids([1, 0]),
            lambda: Rows.from_uniform_row_length(4, nvals=6),
            lambda: Rows.from_uniform_row_length(2),
            lambda: Rows.from_row_splits([0.0, 3.0]),
        )
    ]


def in_functions() -> Any:
    @tf.function
    def lengths(rows: Any) -> Any:
        return rows.row_lengths(), rows.value_rowids(), rows.nvals()

    @tf.function
    def doubled(rows: Any) -> Any:
        return Rows.from_row_lengths(rows.row_lengths() * 2)

    rows = Rows.from_row_splits([0, 3, 3, 5])
    return [plain(lengths(rows)), plain(doubled(rows).row_splits())]


PROGRAMS = {"made": made, "refused": refused, "in functions": in_functions}


if __name__ == "__main__":
    report(PROGRAMS)
