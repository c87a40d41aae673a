"""Quantizers: their results represent the inputs within half a step."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import pinnace as tf

keras = tf.keras
q = keras.quantizers

MATRICES = arrays.arrays(
    np.float32,
    st.tuples(st.integers(1, 6), st.integers(1, 5)),
    elements=st.floats(-100, 100, width=32),
)


@given(x=MATRICES, axis=st.sampled_from([0, 1, -1, (0, 1)]), to_numpy=st.booleans())
def test_the_largest_value_becomes_the_largest_integer(x: Any, axis: Any, to_numpy: bool) -> None:
    integers, scale = q.abs_max_quantize(x, axis, to_numpy=to_numpy)
    assert integers.dtype.name == "int8"
    found = np.asarray(integers).astype(np.float64)
    most = np.abs(x.astype(np.float64)).max(axis=axis, keepdims=True)
    # Half a step, and the float32 rounding of values up to 127.
    allowed = 0.5 / np.asarray(scale) + 2e-5 * (most + 1e-7)
    assert (np.abs(found / np.asarray(scale) - x) <= allowed).all()
    biggest = np.abs(found).max(axis=axis, keepdims=True)
    assert (biggest[most > 1e-3] == 127).all()


@given(x=MATRICES, block_size=st.integers(1, 7), to_numpy=st.booleans())
def test_groups_have_scales_and_zeros_of_their_own(x: Any, block_size: int, to_numpy: bool) -> None:
    integers, scale, zero = q.abs_max_quantize_grouped_with_zero_point(
        x, block_size, to_numpy=to_numpy
    )
    rows, columns = x.shape
    groups = -(-rows // block_size)
    assert scale.shape == zero.shape == (groups, columns)
    assert -8 <= np.min(integers) <= np.max(integers) <= 7
    group_of = np.arange(rows) // block_size
    padded = np.zeros((groups * block_size, columns), np.float64)
    padded[:rows] = x
    grouped = padded.reshape(groups, block_size, columns)
    # A range that contains 0: zero is an integer step, and values beyond the range are clipped.
    has_zero = ((grouped.min(1) <= 0) & (grouped.max(1) >= 0))[group_of]
    steps = np.asarray(scale, np.float64)[group_of]
    back = (np.asarray(integers, np.float64) - np.asarray(zero, np.float64)[group_of]) * steps
    assert (np.abs(back - x)[has_zero] <= 1.001 * steps[has_zero] + 1e-6).all()


@given(
    x=arrays.arrays(
        np.int8, st.tuples(st.integers(1, 5), st.integers(1, 5)), elements=st.integers(-8, 7)
    ),
    axis=st.sampled_from([0, 1, -1]),
)
def test_two_integers_fit_into_a_byte(x: Any, axis: int) -> None:
    packed, shape, size = q.pack_int4(x, axis)
    assert shape == tuple(packed.shape)
    assert packed.shape[axis] == -(-x.shape[axis] // 2)
    np.testing.assert_array_equal(q.unpack_int4(packed, size, axis), x)
    unsigned = (x + 8).astype(np.uint8)
    packed, _, size = q.pack_int4(unsigned, axis, "uint8")
    np.testing.assert_array_equal(q.unpack_int4(packed, size, axis, "uint8"), unsigned)


def test_bytes_of_another_dtype_are_refused() -> None:
    with pytest.raises(TypeError, match="Expected int8 tensor for packing"):
        q.pack_int4(np.zeros(2, np.int32))
    with pytest.raises(ValueError, match="'int8' or 'uint8'"):
        q.unpack_int4(np.zeros(2, np.int8), 2, dtype="int32")
    with pytest.raises(TypeError, match="for unpacking, got float32"):
        q.unpack_int4(np.zeros(2, np.float32), 2)


@given(
    x=arrays.arrays(np.float32, 5, elements=st.floats(-3, 3, width=32)),
    bits=st.integers(2, 8),
    narrow=st.booleans(),
)
def test_fake_quantization_rounds_to_the_values_there_are(x: Any, bits: int, narrow: bool) -> None:
    found = np.asarray(q.fake_quant_with_min_max_vars(x, -1.0, 1.0, bits, narrow), np.float64)
    step = 2.0 / (2**bits - 1 - narrow)
    # The bounds are nudged so that 0 is representable.
    assert (np.abs(found - np.clip(x, -1, 1)) <= 1.01 * step).all()
    np.testing.assert_allclose(found / step, np.round(found / step), atol=1e-4)
    each = q.fake_quant_with_min_max_vars(x[None], [-1.0] * 5, [1.0] * 5, bits, narrow, axis=1)
    np.testing.assert_allclose(each[0], found, rtol=1e-6, atol=1e-6)


def test_float8_scales_follow_the_largest_values() -> None:
    assert q.compute_float8_scale(896.0, 1.0, 448.0) == 2.0
    assert q.compute_float8_scale(0.0, 3.0, 448.0) == 3.0
    history = q.compute_float8_amax_history(np.array([-5.0, 2.0]), np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(history, [5, 3, 1])
    found = q.quantize_and_dequantize(
        np.array([0.3, 1000.0], np.float32), 1.0, "float8_e4m3fn", "float32"
    )
    np.testing.assert_array_equal(found, [0.3125, 448])


def test_quantizers_and_configurations_are_stored() -> None:
    made = q.AbsMaxQuantizer(axis=0, value_range=(-8, 7))
    for again in (q.deserialize(q.serialize(made)), q.get(q.serialize(made)), q.get(made)):
        assert again.get_config() == made.get_config()
    assert isinstance(q.get("abs_max_quantizer"), q.AbsMaxQuantizer)
    assert q.get(None) is None
    for config in (
        q.Int8QuantizationConfig(activation_quantizer=None),
        q.Int4QuantizationConfig(block_size=32),
        q.Float8QuantizationConfig(),
    ):
        stored = keras.saving.serialize_keras_object(config)
        again = keras.saving.deserialize_keras_object(stored)
        assert (type(again), again.get_config()) == (type(config), config.get_config())


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: q.AbsMaxQuantizer(value_range=(-200, 7)), "within the interval"),
        (lambda: q.Int4QuantizationConfig(block_size=0), "positive integer"),
        (lambda: q.Int4QuantizationConfig(q.AbsMaxQuantizer()), "does not support custom"),
        (lambda: q.Int4QuantizationConfig(q.AbsMaxQuantizer(), block_size=-1), r"\(-8, 7\)"),
        (lambda: q.Int8QuantizationConfig(q.AbsMaxQuantizer(output_dtype="int16")), "'int8'"),
        (lambda: q.get("nobody"), "Could not interpret quantizer identifier"),
        (lambda: keras.dtype_policies.QuantizedDTypePolicy("int9"), "Invalid quantization mode"),
        (lambda: keras.dtype_policies.get("int8_from_float16"), "doesn't work well"),
        (lambda: keras.dtype_policies.Int4DTypePolicy("int4"), "Expected format"),
        (lambda: keras.dtype_policies.Int4DTypePolicy("int4/0"), "Invalid block_size"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()


@pytest.mark.parametrize(
    ("name", "kind", "mode"),
    [
        ("int8_from_mixed_bfloat16", "QuantizedDTypePolicy", "int8"),
        ("int4/64_from_float32", "Int4DTypePolicy", "int4"),
        ("float8_from_float32", "QuantizedFloat8DTypePolicy", "float8"),
    ],
)
def test_policies_tell_mode_and_source(name: str, kind: str, mode: str) -> None:
    policy = keras.dtype_policies.get(name)
    assert (type(policy).__name__, policy.name, policy.quantization_mode) == (kind, name, mode)
    again = keras.dtype_policies.get(keras.dtype_policies.serialize(policy))
    assert again == policy
    assert hash(again) == hash(policy)
    assert policy != keras.dtype_policies.get("float32")
