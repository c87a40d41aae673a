"""Expressions on ragged and sparse tensors, for TensorFlow and this library; values as JSON."""

# ruff: noqa: E501 (an expression stands on one line)

from __future__ import annotations

from typing import Any

import numpy as np

# The names in the expressions, created by either library.
GIVEN = {
    "r": "tf.ragged.constant([[3.0, 1.0], [], [4.0, 1.5, 5.0]])",
    "i": "tf.ragged.constant([[3, 1], [], [4, 1, 5]])",
    "b": "tf.ragged.constant([[True, False], [], [False, True, True]])",
    "s": "tf.ragged.constant([['a b', 'c'], [], ['d  e', '', 'f']])",
    "d": "tf.ragged.constant([[[1, 2], []], [], [[3], [4, 5, 6]]])",
    "u": "tf.ragged.constant([[[1., 2.], [3., 4.]], [], [[5., 6.]]], ragged_rank=1)",
    "column": "tf.constant([[10.0], [20.0], [30.0]])",
    "x": "tf.sparse.from_dense([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, -3.0, 0.0]])",
    "y": "tf.sparse.from_dense([[0.5, 1.0, 0.0], [0.0, 0.0, 0.0], [4.0, 3.0, 0.0]])",
    "m": "tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])",
    "sa": "tf.sparse.from_dense([[1, 2, 0, 2], [3, 0, 0, 0], [0, 0, 0, 0]])",
    "sb": "tf.sparse.from_dense([[2, 5, 0, 0], [0, 0, 0, 3], [7, 0, 0, 0]])",
    "keep": "tf.constant([True, False, True])",
}

_MAKING = """
tf.ragged.constant([[1, 2], [3]], dtype=tf.int64)
tf.ragged.constant([[[1, 2]], [[3, 4], [5, 6]]], inner_shape=(2,))
tf.ragged.constant([[1], [2, 3]], row_splits_dtype=tf.int32)
tf.ragged.constant([['a'], ['b', 'c']])
tf.ragged.constant([[], []])
tf.RaggedTensor.from_row_splits([3, 1, 4, 1, 5], [0, 2, 2, 5])
tf.RaggedTensor.from_row_lengths([3, 1, 4, 1, 5], [2, 0, 3])
tf.RaggedTensor.from_row_starts([3, 1, 4, 1, 5], [0, 2, 2])
tf.RaggedTensor.from_row_limits([3, 1, 4, 1, 5], [2, 2, 5])
tf.RaggedTensor.from_value_rowids([3, 1, 4, 1, 5], [0, 0, 2, 2, 2], nrows=4)
tf.RaggedTensor.from_uniform_row_length([3, 1, 4, 1], 2)
tf.RaggedTensor.from_nested_row_splits([3, 1, 4, 1, 5], [[0, 2, 3], [0, 1, 1, 5]])
tf.RaggedTensor.from_nested_row_lengths([3, 1, 4], [[2, 1], [1, 1, 1]])
tf.RaggedTensor.from_nested_value_rowids([3, 1, 4], [[0, 1], [0, 0, 1]])
tf.RaggedTensor.from_tensor([[1, 2, 0], [0, 0, 0], [3, 0, 0]], padding=0)
tf.RaggedTensor.from_tensor([[1, 2, 0], [0, 0, 0], [3, 0, 0]], lengths=[2, 0, 1])
tf.RaggedTensor.from_tensor([[[1, 2], [3, 4]]], ragged_rank=2)
tf.RaggedTensor.from_sparse(tf.sparse.from_dense([[1, 2], [3, 0]]))
tf.ragged.range([3, 0, 5])
tf.ragged.range([0, 5], [3, 1], [1, -2])
tf.ragged.range([0.0, 1.0], 2.0, 0.5)
tf.ragged.stack_dynamic_partitions(['a', 'b', 'c', 'd'], [2, 0, 2, 0], 4)
tf.ragged.row_splits_to_segment_ids([0, 3, 3, 5])
tf.ragged.segment_ids_to_row_splits([0, 0, 2, 2, 2], num_segments=4)
tf.ragged.cross([tf.ragged.constant([['a', 'b'], ['c']]), [['x'], ['y']]])
tf.ragged.cross_hashed([tf.ragged.constant([['a', 'b'], ['c']]), [[3], [4]]], num_buckets=100)
"""
_FORM = """
d.row_lengths()
d.row_lengths(axis=2)
d.value_rowids()
d.bounding_shape()
d.bounding_shape(axis=1)
d.nrows()
d.merge_dims(0, 1)
d.merge_dims(1, 2)
d.merge_dims(0, 2)
u.merge_dims(1, 2)
d.to_tensor()
d.to_tensor(default_value=-1, shape=[4, 1, None])
u.to_tensor()
u.to_sparse()
d.to_sparse()
d.with_flat_values([6, 5, 4, 3, 2, 1])
d[0]
d[2, 1]
d[-1]
d[1:]
d[:2]
d[::-1]
d[5:]
d[:, :1]
d[:, 1:]
d[:, -1:]
d[:, ::-1]
d[:, :, 1:]
d[..., ::2]
d[2, :, :1]
d[tf.newaxis, 2]
d[:, tf.newaxis]
u[:, :, 0]
u[..., 1:]
r[2, 1]
tf.expand_dims(r, 0)
tf.expand_dims(r, 1)
tf.expand_dims(r, 2)
tf.squeeze(tf.ragged.constant([[[1, 2]], [[3]]]), 1)
tf.tile(i, [2, 2])
tf.tile(d, [1, 2, 2])
tf.reverse(d, [0, 2])
tf.concat([i, i + 10], axis=0)
tf.concat([i, i + 10], axis=1)
tf.concat([d, d], axis=2)
tf.concat([r, [[1.0], [2.0], [3.0]]], axis=1)
tf.stack([i, i])
tf.stack([i, i], axis=1)
tf.stack([i, i], axis=2)
tf.ragged.stack([[1, 2], [3]])
tf.split(i, [1, 2])
tf.size(d)
tf.rank(d)
tf.gather(i, [2, 0, 2])
tf.gather(i, tf.ragged.constant([[0], [2, 2]]))
tf.gather(i, tf.ragged.constant([[1, 0, 1], [], [2]]), batch_dims=1)
tf.gather([10, 20, 30], i - 1 - tf.cast(i > 3, tf.int32) * 3)
tf.gather(d, [0], axis=0)
tf.gather_nd(d, [[2, 1], [0, 0]])
tf.gather_nd(d, [[2, 1, 2], [0, 0, 1]])
tf.gather_nd(i, tf.ragged.constant([[[0, 0]], [], [[2, 1], [2, 2]]], ragged_rank=1))
tf.ragged.boolean_mask(i, b)
tf.ragged.boolean_mask(i, keep)
tf.ragged.boolean_mask([[1, 2], [3, 4]], [[True, False], [True, True]])
tf.ragged.boolean_mask(d, tf.ragged.constant([[True, False], [], [False, True]]))
tf.where(b)
tf.where(b, i, -i)
tf.where(b, i, 0)
tf.one_hot(i, 6)
tf.ones_like(r)
tf.dynamic_partition(i, b_ids, 2)
tf.matmul(tf.ragged.constant([[[1., 2.], [3., 4.]], [[5., 6., 7.]]]), tf.ragged.constant([[[1., 2., 3.], [3., 4., 5.]], [[5.], [6.], [7.]]]))
tf.matmul(u[::2], tf.reshape(tf.range(8.0), [2, 2, 2]))
tf.matmul(u[::2], u[::2], transpose_a=True)
tf.matmul(u[::2], u[::2], adjoint_b=True)
tf.gather(tf.ragged.constant([[1, 2, 3], [4, 5, 6]]), tf.ragged.constant([[0], [1, 2]]), axis=1)
tf.gather(tf.ragged.constant([[[1, 2], [3, 4]], [[5, 6, 7]]]), tf.ragged.constant([[1], [2, 0]]), axis=2, batch_dims=1)
tf.gather(r[::2], [1, 0], batch_dims=1)
tf.map_fn(tf.range, tf.constant([1, 3, 0]), fn_output_signature=tf.RaggedTensorSpec([None], tf.int32))
tf.map_fn(tf.reduce_sum, r, fn_output_signature=tf.float32)
tf.map_fn(lambda row: row * 2.0, r)
tf.map_fn(tf.ragged.range, i, fn_output_signature=tf.RaggedTensorSpec([None, None], tf.int32))
tf.map_fn(lambda row: tf.reduce_sum(row, axis=1), d, fn_output_signature=tf.RaggedTensorSpec([None], tf.int32))
tf.map_fn(tf.sparse.to_dense, x, fn_output_signature=tf.float32)
tf.function(lambda x: tf.map_fn(lambda row: row * 2.0, x))(r)
tf.function(lambda x, y: x + y).get_concrete_function(x=tf.RaggedTensorSpec([None, None], tf.float32), y=tf.TensorSpec([], tf.float32))(x=r, y=tf.constant(1.0))
tf.ragged.constant([])
tf.ragged.constant([1, 2])
tf.constant([repr(tf.ragged.constant([list(range(50)), [1]])), str(s), repr(d), repr(u), repr(r / 3.0)])
"""
_ARITHMETIC = """
r + r
r + 1.0
1.0 - r
r + column
column * r
r / 2.0
i // 2
i % 2
i ** 2
-r
abs(-r)
r > 2.0
i == 1
~b
b & b
b | (i > 3)
u + [[1.0, 10.0]]
d + tf.constant([[[1]], [[2]], [[3]]])
tf.add(i, i)
tf.maximum(r, 2.0)
tf.exp(r)
tf.cast(r, tf.int32)
tf.nn.relu(r - 2.0)
tf.nn.softmax(r)
tf.clip_by_value(r, 1.2, 4.0)
tf.math.squared_difference(r, 1.0)
tf.add_n([r, r, r])
tf.math.cumsum(u, axis=2)
tf.ragged.map_flat_values(tf.square, r)
"""
_STRINGS = """
tf.strings.upper(s)
tf.strings.length(s)
tf.strings.join([s, '!'])
tf.strings.reduce_join(s, axis=1, separator='-')
tf.strings.substr(s, 0, 1)
tf.strings.regex_replace(s, ' +', '_')
tf.strings.split(s)
tf.strings.split(['a b', '', 'c  d'])
tf.strings.split('x,y', sep=',')
tf.strings.split([['a,b'], ['c']], sep=',')
tf.strings.to_number(tf.ragged.constant([['1'], ['2', '3.5']]))
tf.strings.unicode_decode(['h\\u00e9', ''], 'UTF-8')
tf.strings.unicode_split(['h\\u00e9', 'a'], 'UTF-8')
tf.strings.unicode_split_with_offsets(['h\\u00e9', 'a'], 'UTF-8')
tf.strings.unicode_encode(tf.ragged.constant([[104, 233], [97]]), 'UTF-8')
tf.strings.unicode_transcode(s, 'UTF-8', 'UTF-16-BE')
tf.strings.ngrams(tf.ragged.constant([['a', 'b', 'c'], ['d']]), 2)
tf.strings.ngrams(tf.ragged.constant([['a', 'b'], ['d'], []]), [3, 2], pad_values='P')
tf.strings.ngrams(tf.ragged.constant([['a'], []]), 3, preserve_short_sequences=True)
"""
_SPARSE = """
x
x * 2.0
x / m[:, :1]
tf.negative(x)
tf.abs(x)
tf.cast(x, tf.int32)
tf.sparse.to_dense(x)
tf.sparse.to_dense(x, default_value=7.0)
tf.sparse.eye(2, 3)
tf.sparse.transpose(x)
tf.sparse.reshape(x, [9])
tf.sparse.reshape(x, [1, -1])
tf.sparse.expand_dims(x, 0)
tf.sparse.concat(0, [x, y])
tf.sparse.concat(1, [x, y])
tf.sparse.concat(0, [x, sa_float], expand_nonconcat_dims=True)
tf.sparse.slice(x, [0, 1], [2, 2])
tf.sparse.split(x, 2, axis=1)
tf.sparse.add(x, y)
tf.sparse.add(x, tf.negative(x), threshold=0.1)
tf.sparse.add(x, tf.ones([3, 3]))
tf.sparse.maximum(x, y)
tf.sparse.minimum(x, y)
tf.sparse.reduce_sum(x)
tf.sparse.reduce_sum(x, 0)
tf.sparse.reduce_sum(x, 1, keepdims=True)
tf.sparse.reduce_sum(x, 1, output_is_sparse=True)
tf.sparse.reduce_max(x, 1)
tf.sparse.softmax(x)
tf.sparse.sparse_dense_matmul(x, m)
tf.sparse.sparse_dense_matmul(x, m, adjoint_a=True)
tf.sparse.sparse_dense_matmul(tf.transpose(m), x)
tf.sparse.retain(x, keep)
tf.sparse.fill_empty_rows(x, 9.0)
tf.sparse.reset_shape(x)
tf.sparse.reset_shape(x, [4, 5])
tf.sparse.to_indicator(sa, 5)
tf.sparse.map_values(tf.square, x)
tf.sparse.segment_sum(m, [0, 2, 1], [0, 0, 2])
tf.sparse.segment_mean(m, [0, 2, 1], [0, 0, 1], num_segments=3)
tf.sparse.segment_sqrt_n(m, [0, 2, 1], [0, 0, 1])
tf.sets.size(sa)
tf.sets.union(sa, sb)
tf.sets.intersection(sa, sb)
tf.sets.difference(sa, sb)
tf.sets.difference(sa, sb, aminusb=False)
tf.sets.union([[1, 2], [3, 3]], [[2, 3], [4, 4]])
tf.nn.embedding_lookup_sparse(m, tf.cast(sb_small, tf.int64), None, combiner='mean')
tf.nn.embedding_lookup_sparse(m, tf.ragged.constant([[0, 2], [1]]), None, combiner='sqrtn')
tf.nn.safe_embedding_lookup_sparse(m, tf.cast(sb_small, tf.int64), combiner='sum')
"""
GIVEN["b_ids"] = "tf.ragged.constant([[1, 0], [], [0, 1, 1]])"
GIVEN["sa_float"] = "tf.sparse.from_dense([[1.0, 2.0]])"
GIVEN["sb_small"] = "tf.sparse.from_dense([[2, 1], [0, 1], [0, 0], [2, 0]])"
_REDUCED = [
    f"tf.reduce_{how}({name}, axis={axis}, keepdims={keep})"
    for how in ("sum", "mean", "max", "min", "prod")
    for name, axes in (("r", (None, 0, 1)), ("d", (None, 0, 1, 2, [0, 1], [1, 2])), ("u", (1, 2)))
    for axis in axes
    for keep in (False, True)
    # TensorFlow's own answer for a maximum of no values depends on the kernel.
    if not (keep and axis is None)
]
_REDUCED += [f"tf.reduce_{how}(b, axis={axis})" for how in ("all", "any") for axis in (None, 0, 1)]
_REDUCED += [
    f"tf.math.reduce_{how}(r, axis={axis})" for how in ("variance", "std") for axis in (0, 1)
]
CALLS: tuple[str, ...] = tuple(
    line
    for text in (_MAKING, _FORM, _ARITHMETIC, _STRINGS, _SPARSE)
    for line in text.strip().splitlines()
) + tuple(_REDUCED)


def environment(tf: Any) -> dict[str, Any]:
    """The names that the expressions may use."""
    names: dict[str, Any] = {"tf": tf}
    for name, text in GIVEN.items():
        names[name] = eval(text, {"tf": tf})
    return names


def plain(value: Any) -> Any:
    """A result for JSON: its kind, dtype, and nested lists."""
    if isinstance(value, (list, tuple)) and not hasattr(value, "dense_shape"):
        return [plain(part) for part in value]
    if hasattr(value, "row_splits"):
        return ["ragged", value.dtype.name, value.row_splits.dtype.name, _text(value.to_list())]
    if hasattr(value, "dense_shape"):
        parts = (value.indices, value.values, value.dense_shape)
        return ["sparse", value.dtype.name, *[_text(np.asarray(part).tolist()) for part in parts]]
    return ["tensor", value.dtype.name, _text(np.asarray(value).tolist())]


def _text(value: Any) -> Any:
    if isinstance(value, list):
        return [_text(part) for part in value]
    if isinstance(value, bytes):
        return value.decode("latin-1")
    # JSON has no NaN; float32 sums may differ in the last places.
    return f"{value:.5g}" if isinstance(value, float) else value
