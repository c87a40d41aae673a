"""Edge cases of ragged tensors from TensorFlow's own unit tests; see `both`.

python ragged_corner_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import sys
from typing import Any

import numpy as np
from reporting import report

tf: Any = importlib.import_module(sys.argv[1])
C = tf.ragged.constant
R = tf.RaggedTensor


def plain(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if isinstance(x, bytes):
        return x.decode()
    if x is None or isinstance(x, (str, bool, int, float)):
        return x
    if isinstance(x, np.ndarray):
        return plain(x.tolist())
    # The size of a uniform ragged axis may be known here and not there.
    dtype = x.dtype.name
    return [dtype, plain(x.to_list() if hasattr(x, "to_list") else x.numpy())]


def told(call: Any, *phrases: str) -> Any:
    """The result of a call, or the class of its error and the phrases that it contains."""
    try:
        return plain(call())
    except (ValueError, tf.errors.InvalidArgumentError) as error:
        kind, text = "ValueError", str(error)  # here the second class derives from the first
    except (tf.errors.OpError, LookupError, RuntimeError, TypeError, AttributeError) as error:
        kind, text = type(error).__name__, str(error)
    return [kind, *(phrase for phrase in phrases if phrase in text)]


def constants() -> Any:
    four, cube = [[1, 2], [3, 4]], [[[1, 2], [3, 4]], [[5, 6]]]
    two = {"ragged_rank": 1, "inner_shape": (2, 2)}
    shaped = [
        ([], {"inner_shape": (0, 100, 20)}),
        ([], {"inner_shape": (0,)}),
        ([[]], {"inner_shape": (1, 0)}),
        ([], {"ragged_rank": 1, "inner_shape": (100, 20)}),
        (four, {"inner_shape": (2,)}),
        (four, {"inner_shape": (2, 2)}),
        (four, {"ragged_rank": 0}),
        (four, {"ragged_rank": 0, "inner_shape": (2, 2)}),
        (cube, {"inner_shape": (2,)}),
        (cube, {}),
        ([1, 2, 3], {}),
        ([1, 2, 3], {"inner_shape": (3,)}),
    ]
    refused = [
        (12, {"ragged_rank": 1}, "Invalid pylist=12: incompatible with ragged_rank=1"),
        (12, {"inner_shape": (1,)}, "Invalid pylist=12: incompatible with dim(inner_shape)=1"),
        ([[[1], [2]]], {"ragged_rank": -1}, "Invalid ragged_rank=-1: must be nonnegative"),
        ([[1, [2]]], {}, "all scalar values must have the same nesting depth"),
        ([1, 2, 3], {"ragged_rank": 1}, "requires scalar value depth greater than 1"),
        ([[[1, 2], [3, 4, 5]]], {"ragged_rank": 1}, "inner values have inconsistent shape"),
        ([[1], [[]]], {}, "empty list nesting is greater than scalar value nesting"),
        ([four, four], two, "incompatible with ragged_rank=1 and dim(inner_shape)=2"),
    ]
    made = []
    for values, options in shaped:
        found = told(lambda v=values, o=options: C(v, **o))
        made.append([found, told(lambda v=values, o=options: str(len(C(v, **o).shape)))])
    return [made, [told(lambda v=v, o=o: C(v, **o), words) for v, o, words in refused]]


def places() -> Any:
    ragged, uniform = C([[1, 2], [3]]), R.from_uniform_row_length(tf.range(6), 2)
    deep = C([[[1, 2], [3, 4]], [[5, 6]], [[7, 8], [9, 1], [2, 3]]])
    flat = C([[[1, 2], [3, 4]], [[5, 6]]], ragged_rank=1)
    return [
        told(lambda: ragged[:, 1], "Cannot index into an inner ragged dimension"),
        told(lambda: uniform[:, 5], "out of bounds"),
        *(
            plain(uniform[:, key])
            for key in (slice(1), slice(None, None, 2), slice(None, None, -1))
        ),
        *(str(uniform[:, key].shape) for key in (slice(1), slice(None, None, 2), slice(1, 9))),
        plain(tf.gather(deep, [0, 1, 0], batch_dims=1, axis=2)),
        plain(tf.gather(flat, [0, 1], batch_dims=1, axis=2)),
        plain(tf.ragged.cross([])),
        plain(tf.ragged.cross_hashed([])),
    ]


def products() -> Any:
    numbers = np.random.default_rng(0).integers(0, 9, (3, 2, 5, 7)).astype(np.float64)
    others = np.random.default_rng(1).integers(0, 9, (3, 2, 7, 4)).astype(np.float64)
    a, b = tf.constant(numbers), tf.constant(others)
    one, two = R.from_tensor(a, ragged_rank=1), R.from_tensor(b, ragged_rank=1)
    rows = R.from_row_lengths(tf.ones([10, 5, 7]), [3, 2, 0, 5])
    columns = R.from_row_lengths(tf.ones([10, 7, 9]), [3, 2, 0, 5])
    pairs = ((one, b), (a, two), (one, two), (rows, columns))
    return [plain(tf.matmul(x, y)) for x, y in pairs]


def refusals() -> Any:
    ragged, deep = C([[1, 2], [3]]), C([[[1, 2], [3]], [[4]]])
    from_tensor, from_sparse = R.from_tensor, R.from_sparse
    sparse = tf.sparse.from_dense
    cases = [
        (lambda: deep.merge_dims(0, 3), "inner_axis=3 out of bounds: expected -3<=inner_axis<3"),
        (lambda: deep.merge_dims(2, 1), "to be less than or equal to inner_axis (1)"),
        (lambda: deep.merge_dims({}, 1), "outer_axis must be an int; got dict"),
        (
            lambda: from_tensor([[1]], lengths=[1], padding=0),
            "`padding`, but not both",
        ),
        (lambda: from_tensor([[1]], ragged_rank="bad"), "must be an int. Received bad."),
        (lambda: from_tensor([[1]], ragged_rank=0), "must be greater than 0. Received 0."),
        (
            lambda: tf.concat([ragged, ragged], axis=-3),
            "axis=-3 out of bounds",
        ),
        (lambda: tf.concat([ragged, ragged], axis="foo"), "axis must be an int; got str"),
        (lambda: from_sparse(sparse([[[1]]])), "rank(st_input) must be 2"),
        (lambda: from_sparse(sparse([[0, 1]])), "SparseTensor is not right-ragged"),
        (lambda: tf.matmul(ragged, ragged), "may not be ragged in their innermost dimension"),
    ]
    return [told(*case) for case in cases]


PROGRAMS = {
    "constants": constants,
    "places": places,
    "products": products,
    "refusals": refusals,
}


if __name__ == "__main__":
    report(PROGRAMS)
