"""Variable: a value that ops replace, and which readers see which value."""

from __future__ import annotations

import copy
import gc
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.framework.shapes import Shape

SMALL = st.integers(-100, 100)


@given(values=st.lists(SMALL, min_size=1), deltas=st.lists(SMALL, min_size=1))
@pytest.mark.parametrize("dtype", [tf.float32, tf.float64, tf.int64])
def test_assignments_replace_add_and_subtract(
    dtype: tf.DType, values: list[int], deltas: list[int]
) -> None:
    start = np.array(values, dtype.numpy)
    delta = np.resize(np.array(deltas, dtype.numpy), start.shape)
    v = tf.Variable(np.zeros_like(start))
    np.testing.assert_array_equal(v.assign(start).numpy(), start)
    np.testing.assert_array_equal(v.assign_add(delta).numpy(), start + delta)
    np.testing.assert_array_equal(v.assign_sub(delta).numpy(), start)
    assert v.dtype is dtype


def test_an_assignment_gives_the_variable_back_unless_told_not_to() -> None:
    v = tf.Variable(1.0)
    assert v.assign(2.0) is v
    assert v.assign_add(2.0) is v
    assert v.assign_sub(2.0) is v
    assert v.assign(3.0, read_value=False) is None
    assert v.assign_add(1.0, read_value=False) is None
    assert float(v) == 4.0


@pytest.mark.parametrize("method", ["assign", "assign_add", "assign_sub"])
def test_a_value_of_another_shape_is_refused(method: str) -> None:
    v = tf.Variable([1.0, 2.0], name="w")
    with pytest.raises(ValueError, match=f"{method}: the value must fit variable 'w:0'") as caught:
        getattr(v, method)([1.0, 2.0, 3.0])
    assert str(caught.value).endswith("of shape [2], got shape [3]")
    np.testing.assert_array_equal(v.numpy(), [1, 2])


@pytest.mark.parametrize("method", ["assign", "assign_add", "assign_sub"])
def test_a_value_of_another_dtype_is_refused(method: str) -> None:
    v = tf.Variable([1, 2])
    with pytest.raises(ValueError, match="float32 was given where int32 is required"):
        getattr(v, method)(tf.constant([1.0, 2.0]))
    with pytest.raises(TypeError, match="cannot convert float32 values to a tensor of int32"):
        getattr(v, method)([1.5, 2.5])


@pytest.mark.parametrize(
    "options",
    [{"validate_shape": False}, {"shape": tf.TensorShape(None)}, {"shape": [None]}],
)
def test_an_open_shape_takes_values_of_other_shapes(options: dict[str, Any]) -> None:
    v = tf.Variable([1.0, 2.0], **options)
    v.assign([1.0, 2.0, 3.0])
    assert v.numpy().shape == (3,)
    assert v.ndim == 1


def test_a_partly_known_shape_still_refuses_other_ranks() -> None:
    v = tf.Variable([1.0, 2.0], shape=[None])
    with pytest.raises(ValueError, match=r"of shape \[\?\], got shape \[1, 1\]"):
        v.assign([[1.0]])


def test_the_initial_value_must_fit_the_shape() -> None:
    with pytest.raises(ValueError, match=r"value of shape \(2,\) does not fit shape \(3,\)"):
        tf.Variable([1.0, 2.0], shape=[3], name="w")


def test_an_initial_value_is_required() -> None:
    with pytest.raises(ValueError, match="an initial value is required"):
        tf.Variable(None)


def test_the_initial_value_takes_the_dtype_it_is_given() -> None:
    assert tf.Variable(3, dtype=tf.float64).dtype is tf.float64
    assert tf.Variable([0.1], dtype=tf.float64).numpy()[0] == 0.1
    assert tf.Variable("a").numpy() == b"a"


def test_a_name_carries_the_scopes_around_it() -> None:
    with tf.name_scope("outer"), tf.name_scope("inner"):
        v = tf.Variable(1.0, name="w")
        unnamed = tf.Variable(1.0)
    assert v.name == "outer/inner/w:0"
    assert unnamed.name == "outer/inner/Variable:0"
    assert tf.Variable(1.0).name == "Variable:0"


def test_only_trainable_variables_are_watched_when_read() -> None:
    w, b = tf.Variable(2.0), tf.Variable(3.0, trainable=False)
    assert w.trainable
    assert not b.trainable
    with tf.GradientTape() as tape:
        y = w * w + b * b
    assert [v.ref() for v in tape.watched_variables()] == [w.ref()]
    dw, db = tape.gradient(y, [w, b])
    assert float(dw) == 4.0
    assert db is None


def test_a_variable_without_a_value_cannot_be_read() -> None:
    v = tf.Variable.uninitialized(tf.float32, Shape([2]), "w", trainable=True)
    assert not v.is_initialized()
    assert "<uninitialized>" in repr(v)
    with pytest.raises(tf.errors.FailedPreconditionError, match="variable 'w' has no value yet"):
        v.numpy()
    with pytest.raises(tf.errors.FailedPreconditionError, match="assign one, or load a checkpoint"):
        _ = v + 1.0
    v.assign([1.0, 2.0])
    assert v.is_initialized()
    np.testing.assert_array_equal(v, [1, 2])


def test_a_variable_is_freed_with_its_last_reference() -> None:
    v = tf.Variable([1.0])
    v.assign_add([1.0])
    _ = v * 2.0
    gone = weakref.ref(v)
    gc.disable()  # no reference cycle keeps it alive
    try:
        del v
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("take", [lambda v: v.value(), lambda v: v.read_value(), np.asarray])
def test_a_value_taken_earlier_does_not_change(take: Any) -> None:
    v = tf.Variable([1.0, 2.0])
    earlier = take(v)
    v.assign_add([10.0, 10.0])
    v.assign([5.0, 5.0])
    v.assign_sub([1.0, 1.0])
    np.testing.assert_array_equal(earlier, [1.0, 2.0])


def test_a_variable_does_not_see_later_writes_to_the_array_it_was_given() -> None:
    array = np.ones(3, np.float32)
    v = tf.Variable(array)
    array[:] = 7
    np.testing.assert_array_equal(v.numpy(), [1, 1, 1])
    v.assign(array)
    array[:] = 9
    np.testing.assert_array_equal(v.numpy(), [7, 7, 7])


def test_two_variables_given_one_tensor_do_not_share_changes() -> None:
    x = tf.constant([1.0, 2.0])
    v, w = tf.Variable(x), tf.Variable(x)
    v.assign_add([1.0, 1.0])
    w.assign(v)
    v.assign_add([1.0, 1.0])
    np.testing.assert_array_equal(x, [1, 2])
    np.testing.assert_array_equal(v, [3, 4])
    np.testing.assert_array_equal(w, [2, 3])


def test_numpy_of_a_variable_is_a_copy_that_may_be_written() -> None:
    v = tf.Variable([1.0, 2.0])
    v.numpy()[0] = 5
    np.testing.assert_array_equal(v.numpy(), [1, 2])


def test_the_resource_counts_assignments() -> None:
    v = tf.Variable(1.0)
    first = v.resource.version
    v.assign(2.0)
    v.assign_add(1.0)
    v.assign_sub(1.0)
    assert v.resource.version == first + 3
    _ = v.value()
    assert v.resource.version == first + 3


def test_a_copy_has_its_own_value() -> None:
    v = tf.Variable([1.0, 2.0], trainable=False, name="w", shape=[None])
    w = copy.deepcopy(v)
    v.assign([9.0])
    np.testing.assert_array_equal(w, [1, 2])
    assert w.name == "w:0"
    assert not w.trainable
    assert w.shape.as_list() == [None]


def test_one_object_copied_twice_stays_one_object() -> None:
    v = tf.Variable(1.0)
    first, second = copy.deepcopy([v, v])
    assert first is second
    assert first is not v


def test_an_initial_value_function_runs_outside_the_trace() -> None:
    class Model(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.v: tf.Variable | None = None

        @tf.function
        def step(self, x: tf.Tensor) -> tf.Tensor:
            if self.v is None:
                self.v = tf.Variable(lambda: tf.ones([2]) * 3.0)
            return self.v.assign_add(x)

    model = Model()
    np.testing.assert_array_equal(model.step(tf.constant([1.0, 2.0])), [4, 5])
    np.testing.assert_array_equal(model.step(tf.constant([1.0, 2.0])), [5, 7])


def test_an_initial_value_is_computed_from_the_arguments_of_the_call() -> None:
    kept: list[tf.Variable] = []

    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        if not kept:
            kept.append(tf.Variable(x * 2.0))
        return kept[0] + x

    assert float(f(tf.constant(3.0))) == 9
    assert float(f(tf.constant(1.0))) == 7
    assert kept[0].shape == []


def test_an_initial_value_without_a_value_is_refused_with_advice() -> None:
    kept: list[tf.Variable] = []

    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        kept.append(tf.Variable(x * 2.0))
        return x

    with pytest.raises(ValueError, match="from 'x', which has no value yet") as e:
        f.get_concrete_function(tf.TensorSpec([], tf.float32))
    assert "Try: call the function with values before" in str(e.value)
    leaked = []

    @tf.function
    def g(x: tf.Tensor) -> tf.Tensor:
        leaked.append(x * 2.0)
        return x

    g(tf.constant(1.0))
    with pytest.raises(ValueError, match="belongs to a function that was traced"):
        tf.Variable(leaked[0])


def test_what_ran_before_in_the_function_does_not_run_for_an_initial_value() -> None:
    counted = tf.Variable(0)
    kept: list[tf.Variable] = []

    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        counted.assign_add(1)
        if not kept:
            kept.append(tf.Variable(tf.random.normal([2]) * 0.0 + x))
        return kept[0] * 1.0

    f(tf.constant(2.0))
    assert int(counted) == 1


def test_a_variable_takes_the_place_of_a_tensor() -> None:
    v = tf.Variable([3.0, 4.0])
    np.testing.assert_array_equal(v + 1, [4, 5])
    np.testing.assert_array_equal(1 - v, [-2, -3])
    np.testing.assert_array_equal(np.ones(2, np.float32) * v, [3, 4])
    np.testing.assert_array_equal(v == v.value(), [True, True])
    np.testing.assert_array_equal(v[1:], [4])
    np.testing.assert_array_equal([float(x) for x in v], [3, 4])
    assert len(v) == 2
    assert float(tf.Variable(2.0)) == 2.0
    assert int(tf.Variable(2)) == [0, 1, 2][tf.Variable(2)] == 2
    assert bool(tf.Variable(True))
    assert v.get_shape() == [2]


def test_a_hash_is_refused_and_a_reference_is_given() -> None:
    v = tf.Variable(1.0)
    with pytest.raises(TypeError, match=r"use variable\.ref\(\) as the key"):
        hash(v)
    assert {v.ref(): 1}[v.ref()] == 1
    assert v.ref().deref() is v


# The output of TensorFlow 2.21 for the same values.
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (2.0, "<tf.Variable 'w:0' shape=() dtype=float32, numpy=2.0>"),
        ("a", "<tf.Variable 'w:0' shape=() dtype=string, numpy=b'a'>"),
        (
            [[1.0, 2.0], [3.0, 4.0]],
            (
                "<tf.Variable 'w:0' shape=(2, 2) dtype=float32, numpy=\n"
                "array([[1., 2.],\n       [3., 4.]], dtype=float32)>"
            ),
        ),
    ],
)
def test_a_variable_prints_as_tensorflow_prints_it(value: Any, shown: str) -> None:
    assert repr(tf.Variable(value, name="w")) == str(tf.Variable(value, name="w")) == shown


def test_a_handle_stands_for_the_variable_in_ops() -> None:
    v = tf.Variable(1.0)
    assert v.handle.dtype is tf.resource
    assert v.handle.shape == []
    assert v.resource.name == "Variable"


def test_a_part_is_assigned_to_and_keeps_what_was_read() -> None:
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    part = v[0]
    assert part.assign([5.0, 6.0]) is v
    assert part.numpy().tolist() == [1, 2]
    assert v[0].assign_add([1.0, 1.0]) is v
    assert v[:, 1].assign_sub(4.0) is v
    assert v[1, 0].assign(9, read_value=False) is None
    np.testing.assert_array_equal(v.numpy(), [[6, 3], [9, 0]])


def test_a_part_can_be_differentiated_and_used_as_any_tensor() -> None:
    v = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        y = v[1] * v[1] + tf.reduce_sum(v[0:2])
    np.testing.assert_array_equal(tape.gradient(y, v).numpy(), [1, 5, 0])
    assert [float(x) for x in v[1:]] == [2, 3]
    assert v[v > 1.0].shape.as_list() == [2]


def test_a_part_assigned_in_a_function_is_assigned_in_order() -> None:
    v = tf.Variable([1.0, 2.0, 3.0])

    @tf.function
    def step(i: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        before = v[i] * 1.0
        v[i : i + 1].assign([10.0])
        return before, v[i]

    assert [float(x) for x in step(tf.constant(2))] == [3, 10]
    assert [float(x) for x in step(tf.constant(2))] == [10, 10]


def test_a_part_of_another_shape_is_refused_and_nothing_changes() -> None:
    v = tf.Variable([1.0, 2.0, 3.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"slice, \[2\], got \[3\]"):
        v[:2].assign([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(v.numpy(), [1, 2, 3])


def test_any_shape_may_be_left_open() -> None:
    v = tf.Variable([1.0], shape=tf.TensorShape(None))
    assert v.assign([[1.0, 2.0]]).numpy().shape == (1, 2)
    rows = tf.Variable([1.0], shape=[None])
    assert rows.assign([1.0, 2.0]).numpy().shape == (2,)
    with pytest.raises(ValueError, match=r"shape \[\?\], got shape \[1, 1\]"):
        rows.assign([[1.0]])


def test_a_constraint_must_be_a_function() -> None:
    with pytest.raises(ValueError, match="constraint must be a function or None, got int: 3"):
        tf.Variable(1.0, constraint=3)


def test_placement_arguments_are_kept_and_printed_as_tensorflow_does() -> None:
    v = tf.Variable(
        1.0,
        synchronization=tf.VariableSynchronization.ON_READ,
        aggregation=tf.VariableAggregation.SUM,
    )
    assert str(v.synchronization) == "VariableSynchronization.ON_READ"
    assert str(v.aggregation) == "VariableAggregation.SUM"


def _used(v: tf.Variable, use: str) -> None:
    if use == "slice":
        v[0].assign(3.0)
    elif use == "function":
        tf.function(lambda x: x * v)(tf.constant(2.0))
    else:
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.gather(v, [0, 0]))
        gradient = tape.gradient(y, v)
        if use == "optimizer":
            tf.keras.optimizers.SGD(0.1).apply_gradients([(gradient, v)])


@pytest.mark.parametrize("use", ["slice", "function", "tape", "optimizer"])
def test_nothing_that_used_a_variable_keeps_it(use: str) -> None:
    v = tf.Variable([1.0, 2.0])
    _used(v, use)
    gone = weakref.ref(v)
    del v
    gc.collect()
    assert gone() is None
