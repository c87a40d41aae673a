"""Stacks behind handles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.tensor import Tensor
from pinnace.framework.variable import Variable
from pinnace.ops.execute import execute
from pinnace.ops.state import stacks as ops


def made(limit: int = -1) -> Tensor:
    found: Tensor = execute(ops.STACK, np.int32(limit), elem_type=dtypes.float32, stack_name="kept")
    return found


def pop(handle: Tensor) -> float:
    return float(execute(ops.STACK_POP, handle, elem_type=dtypes.float32).numpy())


@given(st.lists(st.floats(-9, 9, width=32), max_size=8))
def test_what_was_pushed_last_is_popped_first(values: list[float]) -> None:
    handle = made()
    for value in values:
        given_back = execute(ops.STACK_PUSH, handle, np.float32(value))
        assert given_back.numpy() == np.float32(value)
    assert [pop(handle) for _ in values] == values[::-1]
    with pytest.raises(InvalidArgumentError, match="stack 'kept' is empty"):
        pop(handle)


def test_what_is_wrong_is_said() -> None:
    handle = made(1)
    execute(ops.STACK_PUSH, handle, np.float32(1))
    with pytest.raises(InvalidArgumentError, match="'kept' may hold 1 elements, and does"):
        execute(ops.STACK_PUSH, handle, np.float32(2))
    with pytest.raises(InvalidArgumentError, match="holds float32, got int32"):
        execute(ops.STACK_PUSH, handle, np.int32(2))
    with pytest.raises(InvalidArgumentError, match="holds float32, not int32"):
        execute(ops.STACK_POP, handle, elem_type=dtypes.int32)
    execute(ops.STACK_CLOSE, handle)
    with pytest.raises(InvalidArgumentError, match="is empty"):
        pop(handle)


def test_a_handle_of_something_else_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="handle must be that of a stack"):
        pop(Variable(1.0).handle)
