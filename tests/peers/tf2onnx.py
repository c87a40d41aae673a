"""Uses in tf2onnx's tests with computed arguments, as functions of a module `tf`.

TensorFlow and pinnace run the same functions: `tests/golden/tf2onnx/make.py` records TensorFlow's
results. Source of the uses: onnx/tensorflow-onnx, tests/test_backend.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Callable

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Case:
    """A function and its inputs.

    Attributes:
        function: takes the module and the inputs; its outputs are tensors.
        specs: shape and dtype of each input.
        feeds: inputs of several sizes.
    """

    function: Callable[..., Any]
    specs: tuple[tuple[list[int | None], str], ...]
    feeds: tuple[tuple[Array, ...], ...]


def f(*shape: int) -> Array:
    """Distinct numbers."""
    count = int(np.prod(shape))
    numbers = np.arange(1, count + 1, dtype=np.float32)
    return np.asarray((np.sin(numbers) * 10 + numbers / 100).reshape(shape), np.float32)


def i(*numbers: Any) -> Array:
    """A vector of int32, or a scalar."""
    return np.array(numbers[0] if len(numbers) == 1 else numbers, np.int32)


def rows(*lists: Any) -> Array:
    return np.array(lists, np.int32)


SCALAR: tuple[list[int | None], str] = ([], "int32")


def vector(count: int | None) -> tuple[list[int | None], str]:
    return [count], "int32"


def floats(*shape: int | None) -> tuple[list[int | None], str]:
    return list(shape), "float32"


_GRID = floats(None, None)
_BOXES = np.float32([[0.1, 0.2, 0.9, 1.0], [0.0, -0.5, 1.5, 0.5]])


def _resized(**options: bool) -> Callable[..., Any]:
    def resize(tf: Any, x: Any, size: Any) -> Any:
        return tf.raw_ops.ResizeBilinear(images=x, size=size, **options)

    return resize


def _cropped(method: str) -> Callable[..., Any]:
    def crop(tf: Any, x: Any, size: Any) -> Any:
        return tf.image.crop_and_resize(x, _BOXES, [0, 1], size, method, -3.0)

    return crop


def _diagonals(align: str) -> Callable[..., Any]:
    def take(tf: Any, x: Any, k: Any) -> Any:
        found = tf.linalg.diag_part(x, k=k, padding_value=-9.0, align=align)
        return tf.ensure_shape(found, [None, None, None])

    return take


def _spread(align: str) -> Callable[..., Any]:
    def spread(tf: Any, x: Any, k: Any) -> Any:
        found = tf.linalg.diag(x, k=k, padding_value=-9.0, align=align)
        return tf.ensure_shape(found, [None, None, None])

    return spread


def _put(align: str) -> Callable[..., Any]:
    def put(tf: Any, x: Any, diagonal: Any, k: Any) -> Any:
        return tf.linalg.set_diag(x, diagonal, k=k, align=align)

    return put


def _ragged(tf: Any, values: Any, splits: Any) -> Any:
    return tf.RaggedTensor.from_row_splits(values, splits)


def _gathered(tf: Any, values: Any, splits: Any, which: Any) -> Any:
    found = tf.gather(_ragged(tf, values, splits), which)
    return found.values, found.row_splits


def _gathered_deep(tf: Any, values: Any, inner: Any, outer: Any, which: Any) -> Any:
    ragged = tf.RaggedTensor.from_nested_row_splits(values, [outer, inner])
    found = tf.gather(ragged, which)
    return found.flat_values, *found.nested_row_splits


def _ranges(tf: Any, starts: Any, limits: Any, steps: Any) -> Any:
    found = tf.ragged.range(starts, limits, steps)
    return found.values, found.row_splits


def _sparse(tf: Any, values: Any, splits: Any) -> Any:
    found = _ragged(tf, values, splits).to_sparse()
    return found.indices, found.values, found.dense_shape


def _set(operation: str) -> Callable[..., Any]:
    def compute(tf: Any, a: Any, b: Any) -> Any:
        found = getattr(tf.sets, operation)(a, b)
        return found.indices, found.values, found.dense_shape

    return compute


_ALIGNS = ("LEFT_LEFT", "RIGHT_LEFT", "LEFT_RIGHT", "RIGHT_RIGHT")
_PICTURES = floats(None, None, None, 2)
_SPLITS = vector(None)
_INTS: tuple[list[int | None], str] = ([None, None], "int32")

# The use -> its cases.
KINDS: dict[str, dict[str, Case]] = {
    "an axis of `expand_dims` that is computed": {
        "matrix": Case(
            lambda tf, x, axis: tf.expand_dims(x, axis),
            (_GRID, SCALAR),
            tuple((f(2, 3), i(axis)) for axis in (0, 1, 2, -1, -2, -3)),
        ),
        "scalar": Case(
            lambda tf, x, axis: tf.expand_dims(x, axis),
            (floats(), SCALAR),
            ((np.float32(3), i(0)), (np.float32(3), i(-1))),
        ),
        "goes on": Case(
            lambda tf, x, axis: tf.reduce_sum(tf.expand_dims(x, axis) * 2.0, 1),
            (_GRID, vector(1)),
            ((f(2, 3), rows(0)), (f(4, 1), rows(-1))),
        ),
    },
    "slices whose steps are computed": {
        "steps": Case(
            lambda tf, x, step: tf.identity(x[::step]),
            (_GRID, SCALAR),
            tuple((f(5, 2), i(step)) for step in (1, 2, 7, -1, -2, -9)),
        ),
        "bounds too": Case(
            lambda tf, x, a, b, c: tf.strided_slice(x, [a], [b], [c]),
            (floats(None), SCALAR, SCALAR, SCALAR),
            tuple(
                (f(5), i(a), i(b), i(c))
                for a, b, c in (
                    (0, 5, 2),
                    (4, 0, -1),
                    (-1, -9, -2),
                    (-9, 9, 1),
                    (-9, -10, -1),
                    (9, 1, -3),
                    (1, 4, -1),
                    (-7, -9, -1),
                )
            ),
        ),
        "masks": Case(
            lambda tf, x, c: tf.strided_slice(
                x, [0, 1, 0], [0, 2, 0], [c, 1, c], begin_mask=5, end_mask=5, shrink_axis_mask=2
            ),
            (floats(None, None, None), SCALAR),
            tuple((f(3, 4, 5), i(c)) for c in (1, 3, -1, -2)),
        ),
        "backwards from a computed place": Case(
            lambda tf, x, a: tf.identity(x[a::-1]),
            (floats(None), SCALAR),
            tuple((f(4), i(a)) for a in (0, 3, 9, -1, -4, -5, -9)),
        ),
        "backwards from a place before": Case(
            lambda tf, x: tf.identity(x[-3::-1]), (floats(None),), ((f(2),), (f(3),), (f(7),))
        ),
    },
    "a size of `crop_and_resize` that is computed": {
        method: Case(
            _cropped(method),
            (_PICTURES, vector(2)),
            tuple(
                (f(2, h, w, 2), rows(*size))
                for h, w, size in ((5, 6, (3, 4)), (4, 4, (1, 5)), (3, 7, (1, 1)), (1, 2, (4, 1)))
            ),
        )
        for method in ("bilinear", "nearest")
    },
    "`pad` by mirrors, with amounts that are computed": {
        mode: Case(
            lambda tf, x, amounts, mode=mode: tf.pad(x, amounts, mode),
            (_GRID, ([2, 2], "int32")),
            tuple(
                (f(3, 4), rows(*amounts))
                for amounts in (((0, 0), (0, 0)), ((1, 2), (3, 0)), ((2, 1), (1, 3)))
            ),
        )
        for mode in ("SYMMETRIC", "REFLECT")
    },
    "`eye` of sizes that are computed": {
        "square": Case(lambda tf, n: tf.eye(n), (SCALAR,), ((i(0),), (i(1),), (i(4),))),
        "int64": Case(
            lambda tf, n: tf.eye(n),
            (([], "int64"),),
            ((np.array(0),), (np.array(1),), (np.array(5),)),
        ),
        "oblong": Case(
            lambda tf, n, m: tf.eye(n, m),
            (SCALAR, SCALAR),
            tuple((i(n), i(m)) for n, m in ((2, 3), (3, 2), (0, 2), (2, 0), (1, 1))),
        ),
        "batch": Case(
            lambda tf, n: tf.eye(n, batch_shape=[2], dtype=tf.int32), (SCALAR,), ((i(1),), (i(3),))
        ),
        "as wide as a row": Case(
            lambda tf, x: x @ tf.eye(tf.shape(x)[1]), (_GRID,), ((f(2, 3),), (f(1, 4),))
        ),
    },
    "diagonals whose numbers are computed": {
        **{
            f"diag_part {align}": Case(
                _diagonals(align),
                (floats(None, None, None), vector(2)),
                tuple(
                    (f(2, h, w), rows(*k))
                    for h, w, k in (
                        (3, 4, (-1, 2)),
                        (4, 3, (-3, 1)),
                        (2, 5, (1, 4)),
                        (5, 2, (-4, -1)),
                        (3, 3, (-2, 2)),
                    )
                ),
            )
            for align in _ALIGNS
        },
        **{
            f"diag {align}": Case(
                _spread(align),
                (floats(None, None, None), vector(2)),
                tuple(
                    (f(2, count, width), rows(*k))
                    for count, width, k in (
                        (4, 3, (-1, 2)),
                        (2, 2, (0, 1)),
                        (2, 3, (-2, -1)),
                        (3, 4, (-1, 1)),
                    )
                ),
            )
            for align in _ALIGNS
        },
        **{
            f"set_diag {align}": Case(
                _put(align),
                (floats(None, None, None), floats(None, None, None), vector(2)),
                tuple(
                    (f(2, h, w), -f(2, k[1] - k[0] + 1, n), rows(*k))
                    for h, w, n, k in ((3, 4, 3, (-1, 1)), (4, 2, 2, (-3, 0)), (2, 5, 2, (1, 3)))
                ),
            )
            for align in _ALIGNS
        },
        "one": Case(
            lambda tf, x, k: tf.linalg.diag_part(x, k=k),
            (_GRID, SCALAR),
            tuple((f(3, 4), i(k)) for k in (-2, -1, 0, 1, 3)),
        ),
        "one put": Case(
            lambda tf, x, d, k: tf.linalg.set_diag(x, d, k=k),
            (_GRID, floats(None), SCALAR),
            tuple((f(3, 4), -f(n), i(k)) for n, k in ((1, -2), (3, 1), (3, 0), (1, 3))),
        ),
        "rows and columns": Case(
            lambda tf, x, k, n, m: tf.linalg.diag(x, k=k, num_rows=n, num_cols=m),
            (floats(None), SCALAR, SCALAR, SCALAR),
            tuple(
                (f(2), i(k), i(n), i(m))
                for k, n, m in (
                    (0, -1, -1),
                    (1, -1, -1),
                    (-1, 4, 2),
                    (-1, -1, 2),
                    (1, 2, -1),
                    (0, 2, 5),
                )
            ),
        ),
    },
    "blocks of places whose shape is computed": {
        "space_to_batch_nd": Case(
            lambda tf, x, b: tf.space_to_batch_nd(x, b, [[0, 0], [2, 0]]),
            (_PICTURES, vector(2)),
            tuple((f(2, 4, 6, 2), rows(*b)) for b in ((2, 2), (1, 4), (4, 1), (2, 8))),
        ),
        "batch_to_space": Case(
            lambda tf, x, b, crops: tf.batch_to_space(x, b, crops),
            (_PICTURES, vector(2), ([2, 2], "int32")),
            tuple(
                (f(8, 2, 3, 2), rows(*b), rows(*crops))
                for b, crops in (((2, 2), ((0, 0), (0, 0))), ((4, 1), ((1, 2), (0, 1))))
            ),
        ),
        "one axis": Case(
            lambda tf, x, b: tf.space_to_batch_nd(x, b, [[0, 0]]),
            (_GRID, vector(1)),
            ((f(2, 6), rows(3)), (f(1, 4), rows(2))),
        ),
    },
    "axes that are computed": {
        "reverse": Case(
            lambda tf, x, axis: tf.reverse(x, axis),
            (_GRID, vector(None)),
            tuple((f(2, 3), np.array(a, np.int32)) for a in ([0], [-1], [0, 1], [])),
        ),
        "roll": Case(
            lambda tf, x, shift, axis: tf.roll(x, shift, axis),
            (_GRID, vector(2), vector(2)),
            tuple(
                (f(3, 4), rows(*shift), rows(*axis))
                for shift, axis in (((1, -2), (0, 1)), ((5, 1), (1, 1)), ((0, 1), (-1, -2)))
            ),
        ),
        "transpose": Case(
            lambda tf, x, perm: tf.transpose(x, perm),
            (floats(None, None, None), vector(3)),
            tuple((f(2, 3, 4), rows(*perm)) for perm in ((0, 1, 2), (2, 0, 1), (1, 2, 0))),
        ),
        "cumprod": Case(
            lambda tf, x, axis: tf.math.cumsum(x, axis),
            (_GRID, SCALAR),
            tuple((f(2, 3), i(axis)) for axis in (0, 1, -1)),
        ),
        "argmax": Case(
            lambda tf, x, axis: tf.argmax(x, axis),
            (_GRID, SCALAR),
            tuple((f(2, 3), i(axis)) for axis in (0, 1, -1, -2)),
        ),
        "concat": Case(
            lambda tf, x, y, axis: tf.concat([x, y, x], axis),
            (_GRID, _GRID, SCALAR),
            ((f(2, 3), f(5, 3), i(0)), (f(2, 3), f(2, 1), i(1)), (f(2, 3), f(2, 1), i(-1))),
        ),
        "gather": Case(
            lambda tf, x, which, axis: tf.gather(x, which, axis=axis),
            (_GRID, vector(None), SCALAR),
            tuple((f(3, 4), rows(2, 0), i(axis)) for axis in (0, 1, -1)),
        ),
        "split": Case(
            lambda tf, x, axis: tf.split(x, 2, axis),
            (_GRID, SCALAR),
            tuple((f(4, 6), i(axis)) for axis in (0, 1, -1)),
        ),
    },
    "ranks that only the inputs tell": {
        "padded shape": Case(
            lambda tf, x, shape: tf.reshape(x, tf.pad(shape, [[0, 1]], constant_values=1)),
            (_GRID, vector(2)),
            ((f(2, 3), rows(3, 2)), (f(2, 3), rows(6, 1))),
        ),
        "reduce": Case(
            lambda tf, x, axis: (tf.reduce_sum(x, axis), tf.reduce_max(x, axis[0])),
            (floats(None, None, None), vector(2)),
            tuple((f(2, 3, 4), rows(*axis)) for axis in ((0, 1), (1, 0), (-1, 1), (2, -3))),
        ),
        "reduce what an axis is missing of": Case(
            lambda tf, x, axis: tf.reshape(tf.reduce_mean(x, axis) * 2.0, [-1]),
            (_GRID, vector(None)),
            tuple((f(2, 3), np.array(axis, np.int32)) for axis in ([0], [1, 0], [-1], [])),
        ),
        "reshape": Case(
            lambda tf, x, shape: tf.reshape(tf.nn.relu(tf.reshape(x, shape)) + 1.0, [-1]),
            (_GRID, vector(None)),
            ((f(2, 3), rows(3, 2)), (f(2, 3), rows(6)), (f(2, 3), rows(1, 2, 3))),
        ),
        "squeeze": Case(
            lambda tf, x: tf.shape(tf.squeeze(x)),
            (floats(None, None, None),),
            ((f(2, 1, 3),), (f(1, 1, 4),), (f(2, 3, 2),)),
        ),
        "squeezed rows": Case(
            lambda tf, x: tf.ensure_shape(tf.squeeze(x), [None, None]) @ tf.ones([3, 2]),
            (floats(None, 1, 3),),
            ((f(2, 1, 3),), (f(4, 1, 3),)),
        ),
        "broadcast": Case(
            lambda tf, x, shape: tf.reshape(tf.broadcast_to(x, shape) * 2.0, [-1]),
            (floats(3), vector(None)),
            ((f(3), rows(3)), (f(3), rows(2, 3)), (f(3), rows(2, 1, 3))),
        ),
        "fill": Case(
            lambda tf, shape: tf.size(tf.fill(shape, 2.5)),
            (vector(None),),
            ((rows(3),), (rows(2, 2),)),
        ),
    },
    "filters whose size is unknown": {
        f"conv2d {padding}": Case(
            lambda tf, x, w, padding=padding: tf.nn.conv2d(x, w, 2, padding),
            (floats(None, None, None, 2), floats(None, None, 2, 3)),
            tuple((f(2, 7, 6, 2), f(h, w, 2, 3)) for h, w in ((3, 3), (1, 2), (4, 5))),
        )
        for padding in ("SAME", "VALID")
    },
    "channels whose number is unknown": {
        f"conv2d {padding}": Case(
            lambda tf, x, w, padding=padding: tf.nn.conv2d(x, w, 1, padding),
            (floats(None, None, None, None), floats(3, 3, None, 3)),
            tuple((f(2, 7, 6, count), f(3, 3, count, 3)) for count in (1, 2, 5)),
        )
        for padding in ("SAME", "VALID")
    },
    "pictures made linearly of sizes that are computed": {
        name: Case(
            _resized(**options),
            (floats(None, None, None, 2), vector(2)),
            tuple(
                (f(1, h, w, 2), rows(*size))
                for h, w in ((7, 5), (1, 6), (100, 64))
                for size in ((3, 4), (7, 5), (1, 1), (21, 9), (57, 101))
            ),
        )
        for name, options in {
            "half pixels": {"half_pixel_centers": True},
            "corners": {"align_corners": True},
            "neither": {},
        }.items()
    },
    "outputs whose rank only a sample tells": {
        "reshape to a rank": Case(
            lambda tf, x, shape: tf.reshape(x * 2.0, shape) + 1.0,
            (floats(None, None), vector(None)),
            ((f(2, 3), rows(3, 2)), (f(4, 2), rows(2, 4)), (f(6, 1), rows(3, 2))),
        ),
        "diagonals of bands": Case(
            lambda tf, x, k: tf.linalg.diag_part(x, k=k),
            (_GRID, vector(2)),
            ((f(4, 5), rows(-1, 1)), (f(3, 3), rows(0, 1)), (f(5, 2), rows(-2, 0))),
        ),
    },
    "ragged tensors that end as values and splits": {
        "gather": Case(
            _gathered,
            (floats(None), _SPLITS, vector(None)),
            (
                (f(6), rows(0, 2, 2, 6), rows(2, 0, 2)),
                (f(3), rows(0, 3), rows(0)),
                (f(4), rows(0, 1, 1, 4), rows(1, 1)),
            ),
        ),
        "gather of two": Case(
            _gathered_deep,
            (floats(None), _SPLITS, _SPLITS, vector(None)),
            (
                (f(6), rows(0, 2, 2, 5, 6), rows(0, 1, 1, 4), rows(2, 1, 0, 2)),
                (f(2), rows(0, 1, 2), rows(0, 2), rows(0, 0)),
            ),
        ),
        "gather of rows of rows": Case(
            _gathered,
            (_GRID, _SPLITS, vector(None)),
            ((f(6, 2), rows(0, 2, 2, 6), rows(2, 0, 2)),),
        ),
        "range": Case(
            _ranges,
            (vector(None), vector(None), vector(None)),
            (
                (rows(0, 5, 3), rows(3, 0, 3), rows(1, -2, 1)),
                (rows(1), rows(9), rows(4)),
                (rows(2, 2), rows(2, 1), rows(1, 1)),
            ),
        ),
        "range of floats": Case(
            _ranges,
            (floats(None), floats(None), floats(None)),
            (
                (np.float32([0, 1]), np.float32([1, 0]), np.float32([0.25, -0.5])),
                (np.float32([0.5]), np.float32([2]), np.float32([1])),
            ),
        ),
        "range of one step": Case(
            _ranges,
            (SCALAR, vector(None), SCALAR),
            ((i(0), rows(3, 0, 2), i(1)), (i(1), rows(8), i(3))),
        ),
        "sparse": Case(
            _sparse,
            (floats(None), _SPLITS),
            ((f(6), rows(0, 2, 2, 6)), (f(3), rows(0, 3)), (f(0), rows(0, 0, 0))),
        ),
    },
    "sets that end as sparse tensors": {
        f"{name} {dtype}": Case(
            _set(name),
            (([None, None], dtype), ([None, None], dtype)),
            tuple(
                (np.array(a, dtype), np.array(b, dtype))
                for a, b in (
                    ([[1, 2, 2, 9], [5, 5, 5, 5]], [[9, 2], [6, 4]]),
                    ([[3]], [[3, 4, 1]]),
                    ([[1, 2], [3, 4], [7, 7]], [[2, 1], [1, 2], [7, 8]]),
                )
            ),
        )
        for name in ("intersection", "difference", "union")
        for dtype in ("int32", "int64")
    },
}


def key(kind: str, name: str, feed: int, output: int) -> str:
    """The key of TensorFlow's result in the file of results."""
    return f"{kind}/{name}/{feed}/{output}"
