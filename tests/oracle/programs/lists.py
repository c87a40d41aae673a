"""Tensor lists, as raw ops."""

from typing import Any


def of_rows(tf: Any, ops: Any, x: Any, rows: Any) -> list[Any]:
    """Lists made from a tensor's rows, and modified."""
    shape = tf.constant(x.shape[1:].as_list(), tf.int32)
    whole = ops.TensorListFromTensor(tensor=x, element_shape=shape)
    changed = ops.TensorListSetItem(input_handle=whole, index=tf.constant(0), item=x[-1])
    longer = ops.TensorListPushBack(input_handle=changed, tensor=x[0])
    shorter, last = ops.TensorListPopBack(
        input_handle=longer, element_shape=shape, element_dtype=x.dtype
    )
    return [
        ops.TensorListLength(input_handle=longer),
        ops.TensorListLength(input_handle=shorter),
        ops.TensorListElementShape(input_handle=whole, shape_type=tf.int32),
        last,
        ops.TensorListGetItem(
            input_handle=longer, index=tf.constant(0), element_shape=shape, element_dtype=x.dtype
        ),
        ops.TensorListStack(input_handle=longer, element_shape=shape, element_dtype=x.dtype),
        ops.TensorListGather(
            input_handle=whole, indices=rows, element_shape=shape, element_dtype=x.dtype
        ),
    ]


def scattered(tf: Any, ops: Any, x: Any, _: Any) -> list[Any]:
    """Lists that were reserved, resized, scattered into, split and joined."""
    shape = tf.constant(x.shape[1:].as_list(), tf.int32)
    count = int(x.shape[0])
    backwards = tf.range(count - 1, -1, -1)
    empty = ops.EmptyTensorList(
        element_shape=shape, max_num_elements=tf.constant(-1), element_dtype=x.dtype
    )
    reserved = ops.TensorListReserve(
        element_shape=shape, num_elements=tf.constant(count), element_dtype=x.dtype
    )
    filled = ops.TensorListScatterIntoExistingList(
        input_handle=reserved, tensor=x, indices=backwards
    )
    made = ops.TensorListScatterV2(
        tensor=x, indices=backwards, element_shape=shape, num_elements=tf.constant(-1)
    )
    first = ops.TensorListScatter(tensor=x, indices=backwards, element_shape=shape)
    cut = ops.TensorListResize(input_handle=filled, size=tf.constant(1))
    lengths = tf.constant([1, count - 1], tf.int64)
    parts = ops.TensorListSplit(tensor=x, element_shape=tf.constant(-1), lengths=lengths)
    joined, sizes = ops.TensorListConcatV2(
        input_handle=parts,
        element_shape=tf.constant(-1),
        leading_dims=tf.zeros([0], tf.int64),
        element_dtype=x.dtype,
    )
    stacked = [
        ops.TensorListStack(input_handle=handle, element_shape=shape, element_dtype=x.dtype)
        for handle in (filled, made, first, cut)
    ]
    again = ops.TensorListConcat(
        input_handle=parts, element_shape=[None, *x.shape[1:]], element_dtype=x.dtype
    )
    return [ops.TensorListLength(input_handle=empty), *stacked, joined, sizes, *again]
