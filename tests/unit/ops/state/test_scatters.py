"""Slices of variables, read and written: against NumPy, in order, never in a shared array."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.autodiff.tape import GradientTape
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.indexed_slices import IndexedSlices
from pinnace.framework.tensor import Tensor
from pinnace.framework.variable import Variable
from pinnace.functions.function import function
from pinnace.ops.math import reduction
from pinnace.ops.state import scatters

Array = npt.NDArray[Any]

ROWS = {
    "update": lambda _, new: new,
    "add": lambda old, new: old + new,
    "sub": lambda old, new: old - new,
    "mul": lambda old, new: old * new,
    "div": lambda old, new: old / new,
    "max": max,
    "min": min,
}


def slices(indices: Any, values: Any) -> Any:
    return IndexedSlices(values, indices)


def numbers(count: int) -> st.SearchStrategy[list[float]]:
    return st.lists(st.integers(1, 9).map(float), min_size=count, max_size=count)


@pytest.mark.parametrize("how", ROWS)
@given(data=st.data())
def test_rows_are_worked_on_one_after_the_other(how: Any, data: st.DataObject) -> None:
    start = data.draw(numbers(4))
    indices = data.draw(st.lists(st.integers(0, 3), max_size=6))
    updates = data.draw(numbers(len(indices)))
    variable = Variable(np.array(start))
    held = variable.value()
    before = held.numpy().copy()
    given_indices = np.array(indices, np.int32)
    getattr(variable, f"scatter_{how}")(slices(given_indices, np.array(updates)))
    expected = list(start)
    for index, update in zip(indices, updates, strict=True):
        expected[index] = ROWS[how](expected[index], update)  # type: ignore[no-untyped-call]
    np.testing.assert_allclose(variable.numpy(), expected, rtol=1e-12)
    np.testing.assert_array_equal(held.numpy(), before)


@pytest.mark.parametrize("how", ["update", "add", "sub", "max", "min"])
@given(data=st.data())
def test_places_are_worked_on_one_after_the_other(how: Any, data: st.DataObject) -> None:
    start = np.array(data.draw(numbers(6))).reshape(2, 3)
    places = data.draw(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), max_size=5))
    updates = data.draw(numbers(len(places)))
    variable = Variable(start)
    indices = np.array(places, np.int64).reshape(-1, 2)
    getattr(variable, f"scatter_nd_{how}")(indices, np.array(updates))
    expected = start.copy()
    for place, update in zip(places, updates, strict=True):
        expected[place] = ROWS[how](expected[place], update)  # type: ignore[no-untyped-call]
    np.testing.assert_array_equal(variable.numpy(), expected)


def test_integers_are_divided_towards_zero() -> None:
    variable = Variable([-7, 7, 7, 0])
    variable.scatter_div(slices([0, 1, 2], [2, -2, 2]))
    assert variable.numpy().tolist() == [-3, -3, 3, 0]
    with pytest.raises(InvalidArgumentError, match="cannot be divided by 0"):
        variable.scatter_div(slices([0], [0]))


def test_one_update_may_stand_for_all_rows() -> None:
    variable = Variable(np.zeros((3, 2), np.float32))
    scatters.scatter("add", variable, [0, 2, 2], 1.5)
    assert variable.numpy().tolist() == [[1.5, 1.5], [0, 0], [3, 3]]


def test_strings_and_bools_can_be_replaced() -> None:
    words = Variable(["a", "b"])
    words.scatter_update(slices([1], ["c"]))
    assert words.numpy().tolist() == [b"a", b"c"]
    flags = Variable([True, True])
    flags.scatter_nd_update([[0]], [False])
    assert flags.numpy().tolist() == [False, True]


@given(data=st.data())
def test_slices_are_assigned_as_numpy_does(data: st.DataObject) -> None:
    start = np.arange(20.0).reshape(4, 5)
    bound = st.none() | st.integers(-6, 6)
    step = st.none() | st.integers(1, 3)
    key = tuple(slice(*data.draw(st.tuples(bound, bound, step))) for _ in range(2))
    variable = Variable(start)
    expected = start.copy()
    value = -np.ones(expected[key].shape)
    expected[key] = value
    scatters.assign_slice(variable, key, value)
    np.testing.assert_array_equal(variable.numpy(), expected)


@given(indices=st.lists(st.integers(0, 3), max_size=5))
def test_rows_are_read(indices: list[int]) -> None:
    x = np.arange(12.0).reshape(4, 3)
    found = Variable(x).sparse_read(np.array(indices, np.int32))
    np.testing.assert_array_equal(found.numpy(), x[np.array(indices, int)])


def test_rows_are_read_in_batches() -> None:
    x = np.arange(12.0).reshape(2, 3, 2)
    places = np.array([[0, 2], [1, 1]], np.int32)
    handle = Variable(x).handle
    out = scatters.execute(
        scatters.RESOURCE_GATHER, handle, places, dtype=convert_to_tensor(x).dtype, batch_dims=1
    )
    np.testing.assert_array_equal(out.numpy(), x[np.arange(2)[:, None], places])


@pytest.mark.parametrize("traced", [False, True])
def test_the_gradient_of_rows_read_is_dense(traced: bool) -> None:
    x = Variable(np.arange(8.0).reshape(4, 2))

    def loss() -> Tensor:
        rows = x.sparse_read([3, 0, 3])
        return reduction.reduce_sum(rows * rows) + reduction.reduce_sum(x.gather_nd([[1, 1]]))

    call = function(loss) if traced else loss
    with GradientTape() as tape:
        y = call()
    expected = np.zeros((4, 2))
    expected[0] = 2 * x.numpy()[0]
    expected[3] = 4 * x.numpy()[3]
    expected[1, 1] = 1
    np.testing.assert_allclose(np.asarray(tape.gradient(y, x)), expected)


def test_effects_in_a_function_happen_in_order() -> None:
    x = Variable([1.0, 2.0, 3.0])

    @function
    def step() -> tuple[Tensor, Tensor]:
        before = x.sparse_read([0, 1])
        x.scatter_update(slices([0], [10.0]))
        x.scatter_nd_add([[0]], [1.0])
        x.scatter_mul(slices([0], [2.0]))
        return before, x.sparse_read([0, 1])

    before, after = step()
    assert before.numpy().tolist() == [1, 2]
    assert after.numpy().tolist() == [22, 2]
    assert step()[0].numpy().tolist() == [22, 2]


@pytest.mark.parametrize("bad", [-1, 3])
def test_an_index_out_of_range_is_named_and_changes_nothing(bad: int) -> None:
    x = Variable([1.0, 2.0, 3.0])
    words = rf"indices\[1\] = {bad} is not in \[0, 3\), the range of axis 0"
    with pytest.raises(InvalidArgumentError, match=f"ResourceScatterAdd: {words}"):
        x.scatter_add(slices([0, bad], [1.0, 1.0]))
    with pytest.raises(InvalidArgumentError, match=f"ResourceGather: {words}"):
        x.sparse_read([0, bad])
    with pytest.raises(InvalidArgumentError, match=r"ResourceScatterNdAdd: indices\[1\]"):
        x.scatter_nd_add([[0], [bad]], [1.0, 1.0])
    assert x.numpy().tolist() == [1, 2, 3]


def test_shapes_that_do_not_fit_are_refused() -> None:
    x = Variable(np.zeros((3, 2), np.float32))
    with pytest.raises(InvalidArgumentError, match=r"updates must have shape \[2, 2\]"):
        x.scatter_add(slices([0, 1], [[1.0, 1.0]]))
    with pytest.raises(InvalidArgumentError, match=r"updates must have shape \[1, 2\]"):
        x.scatter_nd_add([[0]], [1.0])
    with pytest.raises(InvalidArgumentError, match=r"the shape of the slice, \[1, 2\], got \[3\]"):
        scatters.assign_slice(x, slice(0, 1), [1.0, 1.0, 1.0])
    with pytest.raises(InvalidArgumentError, match="at least one axis"):
        Variable(1.0).scatter_add(slices([0], [1.0]))
    with pytest.raises(TypeError, match="sparse_delta must be IndexedSlices"):
        x.scatter_add([1.0])

    @function
    def traced() -> None:
        x.scatter_add(slices([0, 1], [[1.0, 1.0]]))

    with pytest.raises(InvalidArgumentError, match=r"updates must have shape \[2, 2\]"):
        traced()
