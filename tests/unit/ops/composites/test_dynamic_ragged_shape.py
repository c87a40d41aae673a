"""Shapes of ragged tensors: calls that the oracle's programs lack, and tracing."""

import numpy as np
import pytest

import pinnace as tf

Shape = tf.experimental.DynamicRaggedShape
Rows = tf.experimental.RowPartition


@pytest.fixture
def ragged():
    return tf.ragged.constant([[1], [2, 3, 4], [], [5, 6]])


def test_the_shape_of_a_ragged_tensor(ragged):
    shape = tf.shape(ragged)
    assert repr(shape) == "<DynamicRaggedShape lengths=[4, (1, 3, 0, 2)] num_row_partitions=1>"
    assert shape.dtype is tf.int32
    assert tf.shape(ragged, out_type=tf.int64).dtype is tf.int64
    assert int(shape[0]) == 4
    with pytest.raises(ValueError, match="Index 1 is not uniform"):
        shape[1]


def test_ops_take_it_for_a_shape(ragged):
    shape = tf.shape(ragged)
    assert tf.reshape([1, 2, 3, 4, 5, 6], shape).to_list() == ragged.to_list()
    assert tf.reshape(ragged, tf.shape(tf.ragged.constant([[0, 0, 0, 0, 0], [0]]))).to_list() == [
        [1, 2, 3, 4, 5],
        [6],
    ]
    zeros = tf.zeros(shape, tf.int16)
    assert zeros.dtype is tf.int16
    assert zeros.to_list() == [[0], [0, 0, 0], [], [0, 0]]
    assert tf.ones(shape).to_list() == [[1.0], [1.0, 1.0, 1.0], [], [1.0, 1.0]]
    assert tf.fill(shape, 7).to_list() == [[7], [7, 7, 7], [], [7, 7]]
    with pytest.raises(TypeError, match="takes no DynamicRaggedShape"):
        tf.sqrt(shape)


def test_broadcasting(ragged):
    shape = tf.shape(ragged, out_type=tf.int64)
    assert tf.broadcast_to([[1], [2], [3], [4]], shape).to_list() == [[1], [2, 2, 2], [], [4, 4]]
    assert tf.broadcast_to(ragged, shape).to_list() == ragged.to_list()
    twice = tf.broadcast_dynamic_shape(shape, [2, 1, 1])
    assert twice.static_lengths() == [2, 4, (1, 3, 0, 2) * 2]
    assert tf.broadcast_to(ragged, twice).to_list() == [ragged.to_list()] * 2
    with pytest.raises(tf.errors.InvalidArgumentError, match="rows must have the length"):
        tf.broadcast_to(tf.ragged.constant([[1], [2, 3], [], [5, 6]]), shape)
    with pytest.raises(tf.errors.InvalidArgumentError, match="first axis"):
        tf.broadcast_dynamic_shape(shape, [3, 1])
    with pytest.raises(ValueError, match="Cannot coerce row_splits"):
        tf.broadcast_to(ragged, tf.shape(ragged))
    with pytest.raises(ValueError, match="Dtypes don't match"):
        tf.broadcast_dynamic_shape(shape, tf.shape(ragged))


def test_functions_take_and_give_shapes(ragged):
    @tf.function
    def spread(column, like):
        shape = tf.shape(like, out_type=tf.int64)
        assert shape.rank == 2
        return tf.broadcast_to(column, shape), shape, shape[0]

    for rows in ([[1], [2, 3, 4], [], [5, 6]], [[1, 2], [3]]):
        like = tf.ragged.constant(rows)
        column = np.arange(len(rows), dtype=np.float32)[:, None]
        spread_out, shape, count = spread(column, like)
        assert spread_out.to_list() == [[float(i)] * len(row) for i, row in enumerate(rows)]
        assert shape.static_lengths() == [len(rows), tuple(map(len, rows))]
        assert int(count) == len(rows)
    given = tf.function(lambda shape: tf.zeros(shape))(tf.shape(ragged))
    assert given.to_list() == [[0.0], [0.0, 0.0, 0.0], [], [0.0, 0.0]]


def test_what_is_not_known_is_checked_when_the_graph_runs():
    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64), tf.TensorSpec([1], tf.int64)])
    def made(lengths, inner):
        return Shape([Rows.from_row_lengths(lengths)], inner, validate=True).inner_shape + 0

    assert made([1, 2], [3]).numpy().tolist() == [3]
    with pytest.raises(tf.errors.InvalidArgumentError, match="does not match inner_shape"):
        made([1, 2], [4])


def test_what_does_not_fit_is_refused_at_once():
    with pytest.raises(ValueError, match="do not align between 0 and 1"):
        Shape([Rows.from_row_lengths([2]), Rows.from_row_lengths([1])], [1])
    with pytest.raises(ValueError, match="does not match inner_shape"):
        Shape([Rows.from_row_lengths([2])], [1])
    with pytest.raises(TypeError, match="is not a RowPartition"):
        Shape([[2]], [2])
    with pytest.raises(ValueError, match="private"):
        Rows([0, 2])


def test_partitions_pass_through_functions():
    rows = Rows.from_row_lengths([2, 0, 1])
    found = tf.function(lambda one: (one, one.offsets_in_rows()))(rows)
    assert found[0].row_splits().numpy().tolist() == [0, 2, 2, 3]
    assert found[1].numpy().tolist() == [0, 1, 0]
    assert rows.static_nvals == 3
    assert repr(rows) == "tf.RowPartition(row_splits=[0 2 2 3])"
