"""Python values to tensors: their dtype, and values that cannot be converted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import pinnace as tf
from pinnace.framework.convert import array_of


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1, tf.int32),
        (2**31 - 1, tf.int32),
        (-(2**31), tf.int32),
        (2**31, tf.int64),
        (-(2**31) - 1, tf.int64),
        (True, tf.bool),
        (1.5, tf.float32),
        (1e300, tf.float32),
        (1j, tf.complex128),
        ("a", tf.string),
        (b"a", tf.string),
        ([], tf.float32),
        ([[]], tf.float32),
        ([1, 2], tf.int32),
        ([1, 2**31], tf.int64),
        ([1, 2.5], tf.float32),
        ([True, False], tf.bool),
        (["a", b"b"], tf.string),
        (range(3), tf.int32),
        (np.float64(1), tf.float64),
        (np.int64(1), tf.int64),
        (np.uint8(1), tf.uint8),
        (np.float16(1), tf.float16),
        ([np.int64(1), 2], tf.int32),
        ([np.int64(1), 2**40], tf.int64),
        ([np.uint8(1)], tf.int32),
        ([np.array([1]), [2]], tf.int32),
        ([np.float32(1), 2.0], tf.float32),
        ([np.float16(1), 2.0], tf.float16),
        ([np.float64(1), 2.0], tf.float64),
        ([2.0, np.float64(1)], tf.float32),
        ([np.int64(1), 2.0], tf.float32),
        ([np.float32(1), np.float64(2)], tf.float32),
        ([np.zeros(0, np.float32)], tf.float32),
        ([np.complex64(1)], tf.complex128),
        ([np.float64(0.5)], tf.float64),
        (np.ones(2), tf.float64),
        (np.array(["a"]), tf.string),
        (tf.TensorShape([1, 2]), tf.int32),
    ],
)
def test_a_value_gets_the_dtype_tensorflow_gives_it(value: Any, dtype: tf.DType) -> None:
    with np.errstate(over="ignore"):
        assert tf.convert_to_tensor(value).dtype is dtype


@given(value=st.integers(-(2**63), 2**63 - 1))
def test_an_integer_keeps_its_value(value: int) -> None:
    assert int(tf.convert_to_tensor(value)) == value


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 2**64])
def test_an_integer_past_64_bits_is_refused(value: int) -> None:
    with pytest.raises(ValueError, match=f"{value} is outside the range of int64"):
        tf.convert_to_tensor(value)


def test_a_large_integer_fits_the_dtype_it_is_given() -> None:
    assert int(tf.convert_to_tensor(2**63, tf.uint64)) == 2**63


@given(value=st.floats(allow_nan=False), nested=st.booleans())
@pytest.mark.parametrize("dtype", [tf.float64, tf.complex128])
def test_a_double_keeps_all_its_bits(dtype: tf.DType, value: float, nested: bool) -> None:
    with np.errstate(over="ignore"):
        found = tf.convert_to_tensor([value] if nested else value, dtype).numpy()
    assert np.real(found).item() == value


@given(array=hnp.arrays(hnp.scalar_dtypes().filter(lambda d: d.kind in "iufb"), (2, 2)))
def test_an_array_keeps_dtype_and_values(array: Any) -> None:
    assume(array.dtype.isnative and array.dtype.itemsize <= 8)
    tensor = tf.convert_to_tensor(array)
    assert tensor.dtype.numpy == array.dtype
    np.testing.assert_array_equal(tensor.numpy(), array)


NUMBERS = st.sampled_from(
    [tf.int8, tf.uint8, tf.int32, tf.int64, tf.float16, tf.float32, tf.float64]
)


@given(
    array=hnp.arrays(
        hnp.integer_dtypes() | hnp.boolean_dtypes() | st.just(np.dtype("float32")),
        (3,),
        elements={"min_value": 0, "max_value": 100},
    ),
    dtype=NUMBERS,
)
def test_an_array_becomes_what_is_asked_for(array: Any, dtype: tf.DType) -> None:
    """In this range every cast is defined: towards zero."""
    assume(array.dtype.isnative)
    found = tf.convert_to_tensor(array, dtype)
    assert found.dtype is dtype
    exact = [float(x) for x in array]
    want = np.trunc(exact) if dtype.is_integer else np.array(exact).astype(dtype.numpy)
    np.testing.assert_array_equal(found.numpy(), want)


@given(values=st.lists(st.binary(), min_size=1))
def test_bytes_are_kept_whole(values: list[bytes]) -> None:
    assert tf.convert_to_tensor(values).numpy().tolist() == values
    assert tf.convert_to_tensor(values[0]).numpy() == values[0]


@given(values=st.lists(st.text(), min_size=1))
def test_text_becomes_utf_8(values: list[str]) -> None:
    assert tf.convert_to_tensor(values).numpy().tolist() == [v.encode() for v in values]


@pytest.mark.parametrize("value", [[[1, 2], [3]], [[1, 2], 3], [[[1.0]], [[1.0, 2.0]]]])
def test_a_ragged_sequence_is_refused_and_shown(value: Any) -> None:
    with pytest.raises(ValueError, match="a nested sequence must be rectangular") as caught:
        tf.convert_to_tensor(value)
    assert f"got {value!r}" in str(caught.value)


def test_a_long_value_is_shown_in_part() -> None:
    with pytest.raises(ValueError, match="rectangular") as caught:
        tf.convert_to_tensor([[1] * 1000, [2]])
    assert "..." in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, "None cannot become a tensor"),
        ([None, 1], r"cannot convert None \(NoneType\) to a tensor"),
        (object(), r"\(object\) to a tensor"),
        ({1, 2}, r"\(set\) to a tensor"),
        ([1, "a"], r"cannot convert 1 \(int\) to a tensor, beside strings"),
        (["a", 1.5], r"cannot convert 1\.5 \(float\) to a tensor, beside strings"),
    ],
)
def test_what_is_no_value_is_refused(value: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        tf.convert_to_tensor(value)


def test_a_numpy_dtype_without_counterpart_is_refused() -> None:
    with pytest.raises(TypeError, match=r"datetime64\[D\]"):
        tf.convert_to_tensor(np.datetime64("2020-01-01"))


@pytest.mark.parametrize(
    ("value", "dtype", "told"),
    [
        (1.5, tf.int32, r"cannot convert 1\.5 \(float\) to a tensor of int32"),
        ([1.5], tf.int32, "cannot convert float32 values to a tensor of int32"),
        ([np.array([1.5])], tf.int32, r"float64 values.*\n.*make the int32 a float64"),
        ([np.True_], tf.float32, "cannot convert bool values"),
        (True, tf.string, "expected a string, got True of type bool"),
        (1, tf.bool, r"cannot convert 1 \(int\) to a tensor of bool"),
        (1j, tf.float32, r"cannot convert 1j \(complex\)"),
        ("a", tf.int32, "cannot convert strings to a tensor of int32"),
        (["a"], tf.float32, "cannot convert strings to a tensor of float32"),
        (1, tf.string, "expected a string, got 1 of type int"),
    ],
)
def test_a_value_of_another_kind_is_refused(value: Any, dtype: tf.DType, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        tf.convert_to_tensor(value, dtype)


@pytest.mark.parametrize(
    ("value", "dtype"), [(2**63, tf.int64), (-1, tf.uint64), ([-1], tf.uint64)]
)
def test_a_value_out_of_range_is_refused(value: Any, dtype: tf.DType) -> None:
    with pytest.raises(ValueError, match=f"outside the range of {dtype.name}"):
        tf.convert_to_tensor(value, dtype)


@given(
    value=st.integers(-(2**63), 2**63 - 1),
    dtype=st.sampled_from([tf.int8, tf.uint8, tf.int16, tf.uint16, tf.int32, tf.uint32]),
)
def test_an_integer_loses_the_bits_that_do_not_fit(value: int, dtype: tf.DType) -> None:
    # As in TensorFlow: see "integers of other ranges" in tests/oracle/corner_programs.py.
    low = (value - dtype.min) % (dtype.max - dtype.min + 1) + dtype.min
    assert int(tf.convert_to_tensor(value, dtype)) == low
    assert tf.convert_to_tensor([[value, 1]], dtype).numpy().tolist() == [[low, 1]]


def test_a_hint_costs_no_bits() -> None:
    assert tf.convert_to_tensor(2**40, dtype_hint=tf.int32).dtype is tf.int64
    assert tf.reshape(tf.range(4), [2, 2]).shape == [2, 2]


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(1, tf.float32), ([1, 2], tf.float16), (1, tf.complex64), (np.ones(2), tf.float32)],
)
def test_a_value_of_the_same_kind_takes_the_dtype_it_is_given(value: Any, dtype: Any) -> None:
    tensor = tf.convert_to_tensor(value, dtype)
    assert tensor.dtype is dtype
    np.testing.assert_array_equal(tensor.numpy(), np.asarray(value))


def test_a_hint_is_taken_where_it_fits() -> None:
    assert tf.convert_to_tensor([1, 2], dtype_hint=tf.float32).dtype is tf.float32
    assert tf.convert_to_tensor([1.5], dtype_hint=tf.int32).dtype is tf.float32


def test_a_tensor_is_given_back_as_it_is() -> None:
    x = tf.constant([1.0])
    assert tf.convert_to_tensor(x) is x
    assert tf.convert_to_tensor(x, tf.float32) is x


@pytest.mark.parametrize("make", [tf.constant, tf.Variable])
def test_a_tensor_of_another_dtype_is_refused_with_advice(make: Any) -> None:
    with pytest.raises(ValueError, match=r"float32 was given where int32 is required") as caught:
        tf.convert_to_tensor(make([1.0]), tf.int32)
    assert "Try: cast(x, 'int32')" in str(caught.value)


def test_sequences_that_hold_tensors_are_packed() -> None:
    x, one, v = tf.constant([1.0, 2.0]), tf.constant(1.0), tf.Variable(5.0)
    np.testing.assert_array_equal(tf.convert_to_tensor([x, [3.0, 4.0]]), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(tf.convert_to_tensor([[2, one], [v, 3.0]]), [[2, 1], [5, 3]])
    assert tf.convert_to_tensor([2, one]).dtype is tf.float32


def test_packing_has_a_gradient() -> None:
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.convert_to_tensor([x, 1.0, x * x])
    assert float(tape.gradient(y, x)) == 5.0


def test_tensors_that_do_not_pack_are_refused() -> None:
    with pytest.raises(ValueError, match="a nested sequence of tensors must be rectangular"):
        tf.convert_to_tensor([tf.constant([1.0, 2.0]), tf.constant(1.0)])
    with pytest.raises(ValueError, match="int32 was given where float32 is required"):
        tf.convert_to_tensor([tf.constant(1.0), tf.constant(1)])


def test_an_object_may_say_which_tensor_it_is() -> None:
    class Celsius:
        def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> tf.Tensor:
            return tf.constant(21.0, dtype, name=name)

    assert float(tf.convert_to_tensor(Celsius())) == 21.0
    assert float(tf.constant(1.0) + Celsius()) == 22.0


def test_the_array_of_a_tensor_is_new() -> None:
    x = tf.constant([1.0])
    array = array_of(x)
    array[0] = 5
    assert float(x[0]) == 1.0
