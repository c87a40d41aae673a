"""Mismatches of ragged arguments are refused inside functions as outside."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pinnace as tf

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = st.lists(st.lists(st.integers(-2, 3), max_size=2), min_size=1, max_size=3)
# Sizes that agree by chance in some examples, and not in others.
NUMBERS = st.lists(st.integers(-1, 3), max_size=4)
SPECS = {
    "rows": tf.RaggedTensorSpec([None, None], tf.int64),
    "numbers": tf.TensorSpec([None], tf.int64),
    "matrix": tf.TensorSpec([None, None], tf.int64),
}


def outcome(function: Callable[..., Any], *xs: Any) -> Any:
    """Rows and values as lists, or a text if it was refused."""
    try:
        found = function(*xs)
    except (tf.errors.InvalidArgumentError, tf.errors.OutOfRangeError, ValueError, IndexError):
        return "refused"
    return [part.numpy().tolist() for part in tf.nest.flatten(found, expand_composites=True)]


@functools.cache
def functions(function: Callable[..., Any], specs: str) -> tuple[Callable[..., Any], ...]:
    """It traced for the sizes it is given, and for any sizes: one graph for all examples."""
    signature = [SPECS[name] for name in specs.split()]
    return tf.function(function), tf.function(function, input_signature=signature)


def compare(function: Callable[..., Any], specs: str, *xs: Any) -> None:
    """Check that eager, traced for these sizes, and traced for any sizes agree."""
    wanted = outcome(function, *xs)
    for one in functions(function, specs):
        assert outcome(one, *xs) == wanted


def ragged(rows: Any) -> Any:
    return tf.ragged.constant(rows, dtype=tf.int64, ragged_rank=1)


PAIRS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "where": lambda x, y: tf.where(x > 0, x, y),
    "flat": lambda x, y: tf.ragged.map_flat_values(tf.add, x, y),
    "concat 0": lambda x, y: tf.concat([x, y], axis=0),
    "concat 1": lambda x, y: tf.concat([x, y], axis=1),
    "stack 1": lambda x, y: tf.stack([x, y], axis=1),
    "stack 2": lambda x, y: tf.stack([x, y], axis=2),
    "mask": lambda x, y: tf.ragged.boolean_mask(x, y > 0),
    "gather": lambda x, y: tf.gather(x, y),
    "gather batched": lambda x, y: tf.gather(x, y, batch_dims=1),
    "partitions": lambda x, y: tf.ragged.stack_dynamic_partitions(x, y, 3),
    "segments": lambda x, y: tf.math.unsorted_segment_sum(x, y, 4),
}


@pytest.mark.parametrize("what", PAIRS)
@settings(max_examples=25)
@given(data=st.data())
def test_two_ragged_tensors(what: str, data: st.DataObject) -> None:
    x = data.draw(ROWS)
    alike = st.tuples(*[st.lists(st.integers(-1, 2), min_size=len(r), max_size=len(r)) for r in x])
    y = data.draw(ROWS | alike.map(list))
    compare(PAIRS[what], "rows rows", ragged(x), ragged(y))


VECTORS: dict[str, Callable[[Any, Any], Any]] = {
    "splits": lambda x, n: tf.RaggedTensor.from_row_splits(x.flat_values, n),
    "lengths": lambda x, n: tf.RaggedTensor.from_row_lengths(x.flat_values, n),
    "limits": lambda x, n: tf.RaggedTensor.from_row_limits(x.flat_values, n),
    "starts": lambda x, n: tf.RaggedTensor.from_row_starts(x.flat_values, n),
    "row numbers": lambda x, n: tf.RaggedTensor.from_value_rowids(x.flat_values, n),
    "gather": lambda x, n: tf.gather(x, n),
    "gather along rows": lambda x, n: tf.gather(x, n, axis=1),
    "gather one of each": lambda x, n: tf.gather(x, n, batch_dims=1),
    "uniform": lambda x, n: tf.RaggedTensor.from_uniform_row_length(
        x.flat_values, tf.reduce_sum(n)
    ),
    "column": lambda x, n: x + n[:, tf.newaxis],
    "row": lambda x, n: x * n[tf.newaxis, :],
    "squeeze": lambda x, n: tf.squeeze(tf.gather(x, n), 1),
    "squeeze rows": lambda x, n: tf.squeeze(tf.gather(x, n), 0),
    "segments": lambda x, n: tf.math.unsorted_segment_sum(x, n, 3),
}


@pytest.mark.parametrize("what", VECTORS)
@settings(max_examples=25)
@given(rows=ROWS, numbers=NUMBERS)
def test_a_ragged_tensor_and_a_vector(what: str, rows: Any, numbers: Any) -> None:
    compare(VECTORS[what], "rows numbers", ragged(rows), tf.constant(numbers, tf.int64))


@settings(max_examples=40)
@given(rows=ROWS, height=st.integers(1, 3), width=st.integers(0, 2))
def test_a_matrix_broadcasts_where_its_size_is_one(rows: Any, height: int, width: int) -> None:
    matrix = tf.reshape(tf.range(height * width, dtype=tf.int64), [height, width])
    compare(lambda x, m: x + m, "rows matrix", ragged(rows), matrix)


@settings(max_examples=40)
@given(
    places=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=4),
    ordered=st.booleans(),
)
def test_a_sparse_matrix_without_gaps_is_ragged(places: Any, ordered: bool) -> None:
    indices = tf.constant(sorted(places) if ordered else places, tf.int64, shape=[len(places), 2])
    x = tf.SparseTensor(indices, tf.range(len(places)), [3, 3])
    wanted = outcome(tf.RaggedTensor.from_sparse, x)
    assert outcome(tf.function(tf.RaggedTensor.from_sparse), x) == wanted
    spec = tf.SparseTensorSpec([None, None], tf.int32)
    f = tf.function(tf.RaggedTensor.from_sparse, input_signature=[spec])
    assert outcome(f, x) == wanted


@settings(max_examples=25)
@given(data=st.data())
def test_sparse_tensors_mapped_together(data: st.DataObject) -> None:
    cells = st.lists(st.sampled_from([0, 0, 1, 5]), min_size=4, max_size=4)
    x, y = (tf.sparse.from_dense(tf.reshape(tf.constant(data.draw(cells)), [2, 2])) for _ in "xy")
    spec = tf.SparseTensorSpec([None, None], tf.int32)
    f = tf.function(lambda x, y: tf.sparse.map_values(tf.add, x, y), input_signature=[spec, spec])
    assert outcome(f, x, y) == outcome(lambda x, y: tf.sparse.map_values(tf.add, x, y), x, y)


def test_the_error_of_a_function_says_what_disagrees() -> None:
    f = tf.function(lambda x, y: x + y, input_signature=[SPECS["rows"], SPECS["rows"]])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"rows of axis 1, got \[1 1\]"):
        f(ragged([[1], [2]]), ragged([[1, 2], []]))
