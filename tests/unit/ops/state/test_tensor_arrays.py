"""TensorArray handles: their uses in TensorFlow's own models, and errors.

`tests/unit/saved_model/test_golden.py` compares their results with TensorFlow's (`v1_recurrent`,
`v1_mapped`).
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.execute import execute
from pinnace.ops.state import tensor_arrays as ops


def made(size: int, **attrs: Any) -> tuple[Any, Any]:
    return execute(ops.TENSOR_ARRAY, size, dtype=dtypes.float32, **attrs)  # type: ignore[return-value]


def gathered(handle: Any, indices: list[int], flow: Any, **attrs: Any) -> Any:
    return execute(
        ops.TENSOR_ARRAY_GATHER, handle, np.int32(indices), flow, dtype=dtypes.float32, **attrs
    )


ROWS = hnp.arrays(
    np.float32, st.tuples(st.integers(1, 5), st.integers(0, 3)), elements=st.floats(-9, 9, width=32)
)


@given(ROWS, st.data())
def test_what_is_scattered_is_gathered(rows: Any, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(rows))))
    handle, flow = made(len(rows))
    flow = execute(ops.TENSOR_ARRAY_SCATTER, handle, np.int32(order), rows, flow)
    found = gathered(handle, list(order), flow).numpy()
    assert found.tolist() == rows.tolist()
    one = execute(ops.TENSOR_ARRAY_READ, handle, order[0], flow, dtype=dtypes.float32)
    assert one.numpy().tolist() == rows[0].tolist()


@given(ROWS, st.data())
def test_what_is_split_is_concatenated(rows: Any, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    lengths = np.diff([0, *cuts, len(rows)])
    handle, flow = made(len(lengths))
    flow = execute(ops.TENSOR_ARRAY_SPLIT, handle, rows, lengths.astype(np.int64), flow)
    value, sizes = execute(ops.TENSOR_ARRAY_CONCAT, handle, flow, dtype=dtypes.float32)
    assert value.numpy().tolist() == rows.tolist()
    assert sizes.numpy().tolist() == lengths.tolist()


def test_one_that_may_grow_grows() -> None:
    handle, flow = made(0, dynamic_size=True)
    flow = execute(ops.TENSOR_ARRAY_WRITE, handle, 2, np.float32(5), flow)
    assert execute(ops.TENSOR_ARRAY_SIZE, handle, flow).numpy() == 3


def test_what_was_never_written_is_zeros_if_its_shape_is_known() -> None:
    handle, flow = made(2, element_shape=Shape([2]))
    assert gathered(handle, [0, 1], flow).numpy().tolist() == [[0, 0], [0, 0]]
    assert gathered(handle, [], flow).shape == [0, 2]
    handle, flow = made(1)
    with pytest.raises(InvalidArgumentError, match="element 0 was never written"):
        gathered(handle, [0], flow)


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(InvalidArgumentError, match="must not be negative, got -1"):
        made(-1)
    handle, flow = made(1, tensor_array_name="steps")
    execute(ops.TENSOR_ARRAY_WRITE, handle, 0, np.float32(1), flow)
    with pytest.raises(InvalidArgumentError, match="'steps' element 0 was written before"):
        execute(ops.TENSOR_ARRAY_WRITE, handle, 0, np.float32(1), flow)
    with pytest.raises(InvalidArgumentError, match="no element 1 to write"):
        execute(ops.TENSOR_ARRAY_WRITE, handle, 1, np.float32(1), flow)
    with pytest.raises(InvalidArgumentError, match="no element -1 to read"):
        execute(ops.TENSOR_ARRAY_READ, handle, -1, flow, dtype=dtypes.float32)
    with pytest.raises(InvalidArgumentError, match="holds float32, got int32"):
        execute(ops.TENSOR_ARRAY_WRITE, handle, 0, np.int32(1), flow)
    with pytest.raises(InvalidArgumentError, match="do not add up"):
        execute(ops.TENSOR_ARRAY_SPLIT, handle, np.ones(3, np.float32), np.int64([1]), flow)
