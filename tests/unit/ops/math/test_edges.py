"""TensorFlow's behaviour at kinks, with empty tensors, invalid arguments and 16-bit floats."""

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

import pinnace
from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.execute import execute
from pinnace.ops.kernels import gamma_tails
from pinnace.ops.math import bits, clipping, products, ranges


def array_of(x: Any) -> Any:
    return np.asarray(x)


def slope(function: Any, *xs: Any) -> list[Any]:
    tensors = [pinnace.constant(x, "float64") for x in xs]
    with pinnace.GradientTape() as tape:
        for x in tensors:
            tape.watch(x)
        y = function(*tensors)
    return [None if g is None else array_of(g).tolist() for g in tape.gradient(y, tensors)]


def test_equal_values_share_the_gradient_of_a_maximum() -> None:
    assert slope(pinnace.reduce_max, [2.0, 1.0, 2.0]) == [[0.5, 0.0, 0.5]]


def test_the_first_of_two_equal_values_takes_the_gradient() -> None:
    assert slope(pinnace.maximum, 1.0, 1.0) == [1.0, 0.0]
    assert slope(pinnace.minimum, 1.0, 1.0) == [1.0, 0.0]


def test_a_zero_does_not_spoil_the_gradient_of_a_product() -> None:
    assert slope(pinnace.reduce_prod, [0.0, 2.0, 3.0]) == [[6.0, 0.0, 0.0]]
    assert slope(pinnace.reduce_prod, [0.0, 0.0, 3.0]) == [[0.0, 0.0, 0.0]]


def test_pow_at_zero_has_no_gradient_for_its_exponent() -> None:
    assert slope(pinnace.pow, 0.0, 2.0) == [0.0, 0.0]


def test_clipping_passes_the_gradient_at_the_bounds() -> None:
    assert slope(lambda x: clipping.clip_by_value(x, -1.0, 1.0), [-2.0, 1.0, 0.5]) == [[0, 1, 1]]


def test_reductions_of_nothing_give_the_neutral_element() -> None:
    empty = pinnace.zeros([0], "float32")
    assert float(pinnace.reduce_sum(empty)) == 0
    assert float(pinnace.reduce_prod(empty)) == 1
    assert float(pinnace.reduce_max(empty)) == -np.inf
    assert float(pinnace.reduce_min(empty)) == np.inf
    assert np.isnan(float(pinnace.reduce_mean(empty)))
    assert int(pinnace.reduce_max(pinnace.zeros([0], "int32"))) == np.iinfo(np.int32).min


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sums_of_16_bits_are_formed_in_32(dtype: str) -> None:
    ones = pinnace.ones([4096], dtype)
    assert float(pinnace.reduce_sum(ones * 0.25)) == 1024
    assert float(pinnace.reduce_mean(ones)) == 1
    row = pinnace.ones([1, 4096], dtype)
    product = pinnace.matmul(row, row, transpose_b=True)
    assert float(product[0, 0]) == 4096
    assert product.dtype.name == dtype


def test_integer_sums_keep_their_type() -> None:
    assert pinnace.reduce_sum(np.array([1, 2], np.int8)).dtype.name == "int8"
    assert int(pinnace.reduce_mean(np.array([-1, -2], np.int32))) == -1
    assert pinnace.cumsum(np.array([100, 100], np.uint8)).numpy().tolist() == [100, 200]


def test_an_integer_is_not_divided_by_zero() -> None:
    with pytest.raises(InvalidArgumentError, match="FloorDiv: Integer division by zero"):
        pinnace.constant([1, 2]) // pinnace.constant([1, 0])


def test_an_integer_has_no_negative_power() -> None:
    with pytest.raises(InvalidArgumentError, match="Pow"):
        pinnace.pow(2, -1)


def test_matrices_that_do_not_fit_are_told_what_would() -> None:
    with pytest.raises(InvalidArgumentError) as failure:
        pinnace.matmul(pinnace.ones([2, 3]), pinnace.ones([5, 3]))
    text = str(failure.value)
    assert "MatMul: columns of a must equal rows of b, got 3 and 5" in text
    assert "a: float32[2, 3]" in text
    assert "Try: matmul(a, b, transpose_b=True)" in text


@pytest.mark.parametrize("axis", [2, -3])
def test_an_axis_that_is_not_there_is_an_error(axis: int) -> None:
    with pytest.raises(InvalidArgumentError, match=r"Sum: axis must be in \[-2, 2\), got"):
        pinnace.reduce_sum(pinnace.ones([2, 2]), axis)


def test_axes_may_be_tensors_and_lists_of_them() -> None:
    x = pinnace.ones([2, 3])
    assert pinnace.reduce_sum(x, pinnace.constant(0)).shape == [3]
    assert pinnace.reduce_sum(x, [pinnace.constant(0), 1]).shape == []
    assert pinnace.reduce_sum(x, np.int64(1)).shape == [2]
    assert pinnace.reduce_sum(x, ()).shape == [2, 3]


def test_a_comparison_that_may_differ_in_shape_answers_once() -> None:
    from pinnace.ops.execute import execute
    from pinnace.ops.registry import lookup

    x, y = pinnace.ones([2]), pinnace.ones([3])
    assert not bool(execute(lookup("Equal"), x, y, incompatible_shape_error=False))
    assert bool(execute(lookup("NotEqual"), x, y, incompatible_shape_error=False))
    with pytest.raises(InvalidArgumentError, match="Equal: shapes must broadcast"):
        execute(lookup("Equal"), x, y)


def test_shifts_past_the_width_of_a_type_stop_there() -> None:
    assert array_of(bits.right_shift(np.array([-8], np.int32), np.array([40], np.int32)))[0] == -1
    assert array_of(bits.left_shift(np.array([1], np.int8), np.array([9], np.int8)))[0] == -128


def test_range_takes_the_widest_type_of_its_ends() -> None:
    assert ranges.range(0, np.float64(1), 0.25).dtype.name == "float64"
    assert ranges.range(3).dtype.name == "int32"
    with pytest.raises(InvalidArgumentError, match="Range: delta must not be 0"):
        ranges.range(0, 1, 0)
    with pytest.raises(InvalidArgumentError, match="Range: start must be at most limit"):
        ranges.range(5, 1)


def test_a_label_has_one_size_throughout_an_equation() -> None:
    x = pinnace.ones([2, 3])
    with pytest.raises(InvalidArgumentError, match="axes with the label 'j' must have one size"):
        pinnace.einsum("ij,jk->ik", x, x)
    with pytest.raises(ValueError, match="has 2 inputs, got 1"):
        pinnace.einsum("ij,jk->ik", x)


def test_special_functions_at_their_poles() -> None:
    x = np.array([0.0, -1.0, np.inf])
    assert array_of(pinnace.math.lgamma(x)).tolist() == [np.inf] * 3
    assert np.isnan(array_of(pinnace.math.digamma(x))[:2]).all()
    ends = np.array([-1.0, 1.0, 1.5])
    np.testing.assert_array_equal(array_of(pinnace.math.erfinv(ends)), [-np.inf, np.inf, np.nan])


def test_products_take_transposes_of_every_kind() -> None:
    x = pinnace.constant(np.arange(6.0).reshape(2, 3) * (1 + 1j))
    flat = array_of(x)
    np.testing.assert_allclose(
        array_of(products.matmul(x, x, adjoint_b=True)), flat @ flat.conj().T
    )
    np.testing.assert_allclose(array_of(products.matmul(x, x, transpose_b=True)), flat @ flat.T)
    with pytest.raises(ValueError, match="of transpose and adjoint"):
        products.matmul(x, x, transpose_a=True, adjoint_a=True)


def test_bfloat16_is_kept_by_every_unary_function() -> None:
    x = pinnace.constant(np.array([0.5, 0.25], ml_dtypes.bfloat16))
    for name in ("exp", "sqrt", "rsqrt", "sigmoid", "tanh", "erf", "lgamma", "floor", "log1p"):
        assert getattr(pinnace.math, name)(x).dtype.name == "bfloat16", name


def test_complex_numbers_are_clipped_part_by_part() -> None:
    x = pinnace.constant([1.5 + 7j, 7 + 1.5j, 0 - 9j], "complex64")
    bounds = (pinnace.constant(bound, x.dtype) for bound in (-2 - 2j, 3 + 3j))
    found = execute(clipping.CLIP_BY_VALUE, x, *bounds)
    np.testing.assert_array_equal(array_of(found), np.complex64([1.5 + 3j, 3 + 1.5j, -2j]))


def test_the_slope_of_the_gamma_tail_near_nought_is_the_exponential_integral() -> None:
    x = np.array([1e-30, 0.01, 1.0, 7.5, 42.5])
    for a in (1e-30, 1e-12):
        found = gamma_tails.igamma_slope(np.full(5, a), x)
        # The next term has the size of a times its square.
        np.testing.assert_allclose(found, -special.exp1(x), rtol=1e-8, atol=1e-13)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 31, 256, 257])
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_sums_of_short_rows_are_those_of_float64(count: int, keep: bool, dtype: Any) -> None:
    random = np.random.default_rng(count)
    x = random.standard_normal((40, 150, count)).astype(dtype)
    x[4, 6] = np.inf
    x[5, 7, 0] = np.nan
    wide = np.longdouble if dtype is np.float64 else np.float64
    wanted = x.sum(axis=-1, dtype=wide, keepdims=keep)
    # The error bound of recursive summation, and of rounding the result.
    parts = np.abs(x).sum(axis=-1, dtype=wide, keepdims=keep)
    least = np.finfo(np.float32 if dtype is np.float16 else dtype).eps
    is_finite = np.isfinite(wanted)
    bound = count * least * parts + np.finfo(dtype).eps * np.abs(wanted)
    for found, of in ((pinnace.reduce_sum, 1), (pinnace.reduce_mean, count)):
        y = found(x, -1, keepdims=keep).numpy()
        np.testing.assert_array_equal(y[~is_finite], wanted[~is_finite].astype(dtype))
        error = np.abs(y[is_finite] - wanted[is_finite] / of)
        assert (error <= bound[is_finite] / of).all()


@settings(max_examples=60)
@given(
    shape=st.lists(st.integers(1, 24), min_size=2, max_size=5).filter(
        lambda dims: 1 << 12 <= math.prod(dims) <= 1 << 17
    ),
    data=st.data(),
    keep=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_sums_over_any_axes_are_those_of_float64(
    shape: list[int], data: st.DataObject, keep: bool, dtype: Any
) -> None:
    axes = data.draw(st.sets(st.integers(0, len(shape) - 1)))
    x = np.random.default_rng(len(axes)).standard_normal(shape).astype(dtype)
    exact = x.sum(axis=tuple(axes), dtype=np.float64, keepdims=keep)
    # Numbers that are summed sequentially: each sum may have an error of half an ulp of the terms.
    count = x.size // exact.size
    bound = count * np.finfo(dtype).eps * np.abs(x).sum(axis=tuple(axes), keepdims=keep)
    found = pinnace.reduce_sum(x, sorted(axes, reverse=True), keepdims=keep).numpy()
    assert found.shape == exact.shape
    assert (np.abs(found - exact) <= bound).all()
    found = pinnace.reduce_mean(x, sorted(axes), keepdims=keep).numpy()
    assert found.shape == exact.shape
    assert (np.abs(found - exact / count) <= bound / count).all()


def test_sums_between_axes_keep_what_is_not_finite() -> None:
    x = np.ones((3, 40, 40, 4, 2), np.float32)
    x[0, 5, 6, 1, 1], x[1, 7, 8, 2, 0], x[1, 7, 9, 2, 0] = np.nan, np.inf, -np.inf
    x[2, 1, 1, 3, 0] = -np.inf
    with np.errstate(invalid="ignore"):
        wanted = x.sum(axis=(1, 2, 4))
    np.testing.assert_array_equal(pinnace.reduce_sum(x, [1, 2, 4]).numpy(), wanted)


@pytest.mark.parametrize(
    ("dtype", "wide"),
    [("int8", "float32"), ("uint16", "float32"), ("int32", "float64"), ("uint64", "float64"),
     ("float16", "float16"), ("complex64", "complex64")],
)  # fmt: skip
def test_divide_no_nan_takes_every_kind_of_number(dtype: str, wide: str) -> None:
    x, y = pinnace.constant([1, 2, 0], dtype), pinnace.constant([0, 4, 0], dtype)
    found = pinnace.math.divide_no_nan(x, y)
    assert found.dtype.name == wide
    np.testing.assert_array_equal(found, [0, 0.5, 0])
    np.testing.assert_array_equal(pinnace.math.divide_no_nan(1, y), [0, 0.25, 0])
    np.testing.assert_array_equal(pinnace.math.divide_no_nan(x, 4), [0.25, 0.5, 0])


@pytest.mark.parametrize("divide", ["truediv", "divide", "divide_no_nan"])
def test_dtypes_that_cannot_be_divided(divide: str) -> None:
    function = getattr(pinnace.math, divide)
    for x, y in [("float32", "float64"), ("float32", "int32"), ("int8", "int32")]:
        with pytest.raises(TypeError, match="same dtype"):
            function(pinnace.ones([2], x), pinnace.ones([2], y))
    with pytest.raises(TypeError, match="numbers"):
        function(pinnace.constant([True]), pinnace.constant([True]))
