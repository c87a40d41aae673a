"""Shapes of ragged tensors: `tf.experimental.DynamicRaggedShape`; see `both`.

python ragged_shape_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import json
import sys
import warnings
from typing import Any

import numpy as np

tf: Any = importlib.import_module(sys.argv[1])
Form, Rows = tf.experimental.DynamicRaggedShape, tf.experimental.RowPartition


def plain(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if x is ...:
        return "..."
    if x is None or isinstance(x, (str, bool, int, float)):
        return x
    if isinstance(x, Form):
        return told_of(x)
    if isinstance(x, np.integer):
        return int(x)
    array = np.asarray(x)
    return [str(array.dtype), list(array.shape), array.reshape(-1).tolist()]


def told(call: Any) -> Any:
    try:
        return plain(call())
    except (ValueError, IndexError, tf.errors.InvalidArgumentError):
        return "refused"
    except TypeError:
        return "TypeError"


def told_of(form: Any) -> Any:
    splits = [one.row_splits() for one in form.row_partitions]
    return [
        plain(splits),
        plain(form.inner_shape),
        *(form.rank, form.inner_rank, form.num_row_partitions, form.dtype.name),
        [plain(n) for n in form.static_lengths()],
        [plain(n) for n in form.static_lengths(ragged_lengths=False)],
        [form.is_uniform(axis) for axis in range(form.rank)],
    ]


def made() -> Any:
    ragged = tf.ragged.constant([[[1, 2], [3]], [], [[4]]])
    deep = tf.RaggedTensor.from_row_lengths(tf.zeros([5, 2, 3]), [3, 0, 2])
    uniform = tf.RaggedTensor.from_uniform_row_length(tf.ragged.constant([[1], [], [2, 3], []]), 2)
    return [
        told(call)
        for call in (
            lambda: Form.from_lengths([]),
            lambda: Form.from_lengths([2, 3]),
            lambda: Form.from_lengths([2, (3, 1)]),
            lambda: Form.from_lengths([2, (3, 1), 4]),
            lambda: Form.from_lengths([2, (1, 2), 2, 5], num_row_partitions=2),
            lambda: Form.from_lengths([2, 3], num_row_partitions=1, dtype=tf.int32),
            lambda: Form.from_lengths([2, (1, 2), (0, 1, 3)]),
            lambda: Form.from_tensor(tf.zeros([2, 3])),
            lambda: Form.from_tensor(ragged),
            lambda: Form.from_tensor(deep),
            lambda: Form.from_tensor(uniform),
            lambda: Form.from_tensor(ragged).with_dtype(tf.int32),
            lambda: Form.from_row_partitions([Rows.from_row_lengths([2, 0, 1])]),
            lambda: Form([Rows.from_row_lengths([2, 0, 1])], [3, 4]),
            lambda: Form.from_lengths([2, (3, 1), 4])[0],
            lambda: Form.from_lengths([2, (3, 1), 4])[2],
            lambda: str(Form.from_lengths([2, (3, 1), 4])),
        )
    ]


def refused() -> Any:
    return [
        told(call)
        for call in (
            lambda: Form.from_lengths([(1, 2), 3]),
            lambda: Form.from_lengths([2, (1, 2, 3)]),
            lambda: Form.from_lengths([2, (1, 2), 3], num_row_partitions=5),
            lambda: Form([Rows.from_row_lengths([2, 1])], []),
            lambda: Form([3], [3]),
            lambda: Form.from_row_partitions([]),
            lambda: Form.from_lengths([2, (3, 1), 4])[1],
            lambda: Form.from_lengths([2, 3]).is_uniform(5),
        )
    ]


def in_functions() -> Any:
    @tf.function
    def told_in_graph(form: Any) -> Any:
        return form.inner_shape, form.row_partitions[0].row_lengths(), form.rank

    return plain(told_in_graph(Form.from_lengths([2, (3, 1), 4])))


PROGRAMS = {"made": made, "refused": refused, "in functions": in_functions}


def main() -> None:
    warnings.simplefilter("ignore")
    found = {}
    for name, program in PROGRAMS.items():
        try:
            found[name] = program()
        except Exception as error:
            found[name] = f"error: {type(error).__name__}: {error}"
    sys.stdout.write(json.dumps(found) + "\n")


main()
