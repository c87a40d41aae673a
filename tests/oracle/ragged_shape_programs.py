"""Shapes of ragged tensors, constructed, queried and broadcast; see `both`.

python ragged_shape_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import itertools
import sys
from typing import Any

from reporting import report

tf: Any = importlib.import_module(sys.argv[1])
Shape = tf.experimental.DynamicRaggedShape
Rows = tf.experimental.RowPartition

LENGTHS: list[Any] = [
    [],
    [1],
    [3],
    [1, 3],
    [2, 1],
    [2, 3],
    [2, (3, 1)],
    [1, (3,)],
    [2, (2, 0), 3],
    [2, (2, 0), 1],
    [2, 1, 3],
    [3, (2, 1, 0), (1, 2, 3)],
    [3, (2, 1, 0), 1],
    [3, 1, (1, 2, 2)],
    [2, 3, (1, 1, 2, 1, 1, 2)],
]


def plain(x: Any) -> Any:
    if isinstance(x, Shape):
        return [str(x), x.inner_shape.numpy().tolist()]
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if hasattr(x, "to_list"):
        return plain(x.to_list())
    if hasattr(x, "numpy"):
        x = x.numpy()
    if hasattr(x, "tolist"):
        return plain(x.tolist())
    return x.decode() if isinstance(x, bytes) else x


def told(call: Any) -> Any:
    """The result of a call, or that it is refused."""
    try:
        return plain(call())
    except (ValueError, IndexError, tf.errors.InvalidArgumentError):
        return "refused"


def asked() -> Any:
    found = []
    for lengths in LENGTHS:
        shape = Shape.from_lengths(lengths)
        found.append(
            {
                "lengths": lengths,
                "shape": plain(shape),
                "static": [plain(shape.static_lengths(ragged)) for ragged in (True, False)],
                "ranks": [shape.rank, shape.inner_rank, shape.num_row_partitions],
                "uniform": [shape.is_uniform(axis) for axis in range(len(lengths))],
                "sizes": [told(lambda s=shape, i=i: s[i]) for i in range(-1, len(lengths) + 1)],
                "slices": [
                    told(lambda s=shape, a=a, b=b: s[a:b])
                    for a, b in itertools.product((None, 0, 1, 2, -1), (None, 0, 1, 2, 3, -1))
                ],
                "more": [
                    told(lambda x=lengths, n=n: Shape.from_lengths(x, num_row_partitions=n))
                    for n in range(4)
                ],
                "dtype": shape.with_dtype(tf.int32).dtype.name,
            }
        )
    return found


def partitions() -> Any:
    made = {
        "splits": Rows.from_row_splits([0, 4, 4, 7, 8]),
        "lengths": Rows.from_row_lengths([4, 0, 3, 1], dtype=tf.int32),
        "starts": Rows.from_row_starts([0, 4, 4, 7], nvals=8),
        "limits": Rows.from_row_limits([4, 4, 7, 8]),
        "rowids": Rows.from_value_rowids([0, 0, 0, 0, 2, 2, 2, 3]),
        "rows": Rows.from_value_rowids([0, 0, 2], nrows=5),
        "uniform": Rows.from_uniform_row_length(3, nvals=6),
        "none": Rows.from_uniform_row_length(0, nrows=2),
        "hinted": Rows.from_row_lengths([1, 2], dtype_hint=tf.int32),
    }
    parts = "row_splits value_rowids nvals nrows row_starts row_limits row_lengths"
    found: Any = {}
    for name, one in made.items():
        length = one.uniform_row_length()
        found[name] = {part: plain(getattr(one, part)()) for part in parts.split()}
        found[name]["offsets"] = plain(one.offsets_in_rows())
        found[name]["known"] = [
            plain(one.static_nrows),
            one.is_uniform(),
            None if length is None else int(length),
            one.dtype.name,
            str(one),
        ]
    found["refused"] = [
        told(lambda: Rows.from_row_splits([1, 2])),
        told(lambda: Rows.from_row_splits([0, 3, 2])),
        told(lambda: Rows.from_row_splits([])),
        told(lambda: Rows.from_row_lengths([2, -1])),
        told(lambda: Rows.from_value_rowids([1, 0])),
        told(lambda: Rows.from_value_rowids([0, 3], nrows=2)),
        told(lambda: Rows.from_uniform_row_length(3)),
        told(lambda: Rows.from_uniform_row_length(3, nvals=7, nrows=2)),
        told(lambda: Rows([0, 1])),
        told(lambda: Rows.from_row_lengths([1.5])),
        told(lambda: Shape.from_lengths([2, (1, 2, 3)])),
        told(lambda: Shape.from_row_partitions([])),
        told(lambda: Shape([], [2], dtype=tf.float32)),
        told(lambda: Shape.from_lengths([2, 2])[::2]),
    ]
    return found


def joined() -> Any:
    """The broadcast shape of every pair of shapes."""
    found = []
    for one, other in itertools.product(LENGTHS, LENGTHS):
        x, y = Shape.from_lengths(one), Shape.from_lengths(other)
        whole = told(lambda x=x, y=y: tf.broadcast_dynamic_shape(x, y))
        found.append([one, other, whole])
    return found


def made() -> Any:
    """Tensors of each shape, broadcast to every other shape."""
    found: list[Any] = []
    for lengths in LENGTHS:
        shape = Shape.from_lengths(lengths)
        count = int(tf.reduce_prod(shape.inner_shape))
        x = tf.reshape(tf.range(count), shape) if lengths else tf.constant(0)
        found.append([lengths, plain(x)])
        found.append([plain(tf.zeros(shape)), plain(tf.ones(shape, tf.int32))])
        found.append([plain(tf.fill(shape, "x")), plain(tf.shape(x))])
        for target in LENGTHS:
            to = Shape.from_lengths(target)
            whole = tf.broadcast_dynamic_shape(shape, to) if fits(shape, to) else None
            if whole is not None:
                found.append([target, told(lambda x=x, to=to: tf.broadcast_to(x, to))])
    return found


def fits(shape: Any, to: Any) -> bool:
    """Whether a tensor of this shape can be broadcast to the other; else there is no result."""
    try:
        whole = tf.broadcast_dynamic_shape(shape, to)
    except (ValueError, tf.errors.InvalidArgumentError):
        return False
    return bool(plain(whole) == plain(to))


PROGRAMS = {"asked": asked, "partitions": partitions, "joined": joined, "made": made}


if __name__ == "__main__":
    report(PROGRAMS)
