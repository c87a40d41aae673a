"""Element types: names and numbers, conversion from and to NumPy, aliases of a dtype."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType, as_dtype, from_numpy

EVERY_DTYPE = pytest.mark.parametrize("dtype", dtypes.by_enum(dtypes.ANY), ids=lambda d: d.name)
OWN_NUMPY = [d for d in dtypes.by_enum(dtypes.ANY) if not d.is_quantized and d.numpy.kind != "O"]

# The numbers of types.proto.
NUMBERS = """
DT_FLOAT=1 DT_DOUBLE=2 DT_INT32=3 DT_UINT8=4 DT_INT16=5 DT_INT8=6 DT_STRING=7 DT_COMPLEX64=8
DT_INT64=9 DT_BOOL=10 DT_QINT8=11 DT_QUINT8=12 DT_QINT32=13 DT_BFLOAT16=14 DT_QINT16=15
DT_QUINT16=16 DT_UINT16=17 DT_COMPLEX128=18 DT_HALF=19 DT_RESOURCE=20 DT_VARIANT=21 DT_UINT32=22
DT_UINT64=23 DT_FLOAT8_E5M2=24 DT_FLOAT8_E4M3FN=25 DT_FLOAT8_E4M3FNUZ=26 DT_FLOAT8_E4M3B11FNUZ=27
DT_FLOAT8_E5M2FNUZ=28 DT_INT4=29 DT_UINT4=30 DT_INT2=31 DT_UINT2=32 DT_FLOAT4_E2M1FN=33
"""


@pytest.mark.parametrize("line", NUMBERS.split())
def test_names_and_numbers_are_those_of_types_proto(line: str) -> None:
    name, number = line.removeprefix("DT_").lower().split("=")
    assert as_dtype(name).enum == as_dtype(int(number)).enum == int(number)


@EVERY_DTYPE
def test_every_way_to_name_a_dtype_gives_the_one_object(dtype: DType) -> None:
    assert as_dtype(dtype) is as_dtype(dtype.name) is as_dtype(dtype.enum) is dtype
    assert as_dtype(dtype.enum + 100) is dtype  # a reference of TensorFlow 1


@EVERY_DTYPE
def test_pickle_and_copy_give_the_same_object(dtype: DType) -> None:
    assert pickle.loads(pickle.dumps(dtype)) is dtype  # noqa: S301 (our own bytes)
    assert copy.copy(dtype) is copy.deepcopy(dtype) is dtype


@pytest.mark.parametrize("dtype", OWN_NUMPY, ids=lambda d: d.name)
def test_numpy_dtypes_lead_there_and_back(dtype: DType) -> None:
    assert from_numpy(dtype.numpy) is as_dtype(dtype.numpy) is as_dtype(dtype.numpy.type) is dtype
    assert as_dtype(np.zeros(2, dtype.numpy)) is dtype
    assert dtype.as_numpy_dtype is dtype.numpy.type
    assert dtype == dtype.numpy
    assert dtype == dtype.numpy.type
    assert dtype.size == dtype.numpy.itemsize


@EVERY_DTYPE
def test_equality_takes_names_and_refuses_the_rest(dtype: DType) -> None:
    assert dtype == dtype.name
    assert dtype.name == dtype
    others: list[object] = [None, "no such type", object(), [], {}, True, 3.5]
    assert not any(dtype == other for other in others)
    assert all(dtype != other for other in others)
    assert [other for other in dtypes.ANY if other == dtype] == [dtype]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (float, dtypes.float32),
        (int, dtypes.int32),
        (bool, dtypes.bool),
        (complex, dtypes.complex128),
        (str, dtypes.string),
        (bytes, dtypes.string),
        (np.dtype("U5"), dtypes.string),
        (np.dtype("S3"), dtypes.string),
        (np.dtype(object), dtypes.string),
        (np.dtype(">f4"), dtypes.float32),
        (np.dtype("longlong"), dtypes.int64),
        ("<f4", dtypes.float32),
        ("float", dtypes.float32),
        ("half", dtypes.float16),
        ("double", dtypes.float64),
    ],
)
def test_python_types_and_numpys_other_names_are_understood(given: object, expected: DType) -> None:
    assert as_dtype(given) is expected


@pytest.mark.parametrize(
    "given", ["float33", "f4,f4", "é", None, True, 0, 99, -1, [], {}, object, np, 1.5, Exception]
)
def test_what_names_no_dtype_is_refused_with_what_was_given(given: object) -> None:
    if given is object:
        assert as_dtype(given) is dtypes.string  # TensorFlow: object arrays contain strings
        return
    with pytest.raises(TypeError, match="as_dtype: expected a dtype") as caught:
        as_dtype(given)
    assert repr(given) in str(caught.value)
    assert "bfloat16" in str(caught.value)


@given(st.text() | st.integers() | st.floats() | st.binary() | st.tuples(st.text()))
def test_anything_else_gives_a_dtype_or_a_type_error(given: object) -> None:
    try:
        assert type(as_dtype(given)) is DType
    except TypeError as error:
        assert "expected a dtype" in str(error)  # noqa: PT017 (an answer is as good)


@pytest.mark.parametrize("text", ["M8[s]", "m8[ns]", "V4", "longdouble"])
def test_numpy_dtypes_without_counterpart_are_refused(text: str) -> None:
    dtype = np.dtype(text)
    if dtype == np.float64:
        pytest.skip("long double is double on this machine")
    with pytest.raises(TypeError, match="has no counterpart"):
        from_numpy(dtype)


@EVERY_DTYPE
def test_numbers_have_limits_and_others_say_that_they_have_none(dtype: DType) -> None:
    if dtype.is_integer or dtype.is_floating:
        assert float(dtype.min) <= 0 < float(dtype.max)
        for limit in (dtype.min, dtype.max):
            assert float(np.array(limit, dtype.numpy)) == float(limit)
    else:
        with pytest.raises(TypeError, match=dtype.name):
            _ = dtype.min
        with pytest.raises(TypeError, match=dtype.name):
            _ = dtype.max


def test_the_limits_are_those_of_the_types() -> None:
    assert (dtypes.int8.min, dtypes.int8.max) == (-128, 127)
    assert dtypes.uint64.max == 2**64 - 1
    assert (dtypes.int4.min, dtypes.uint4.max) == (-8, 15)
    assert dtypes.float16.max == 65504
    assert float(dtypes.bfloat16.max) == (2 - 2**-7) * 2.0**127
    assert (dtypes.uint8.limits, dtypes.float32.limits) == ((0, 255), (0, 1))
    with pytest.raises(ValueError, match="string has no intensity limits"):
        _ = dtypes.string.limits


@EVERY_DTYPE
def test_a_dtype_is_of_one_kind(dtype: DType) -> None:
    kinds = [
        dtype.is_floating,
        dtype.is_integer,
        dtype.is_complex,
        dtype.is_bool,
        dtype.is_quantized,
        dtype.numpy.kind == "O",
    ]
    assert sum(kinds) == 1
    assert dtype.is_numeric == (dtype.is_floating or dtype.is_integer or dtype.is_complex)
    assert dtype.is_numpy_compatible == (dtype.name not in ("resource", "variant"))
    assert dtype.base_dtype is dtype


def test_the_sets_hold_what_their_names_say() -> None:
    assert all(d.is_floating for d in dtypes.FLOATS)
    assert all(d.is_integer for d in dtypes.INTEGERS)
    assert dtypes.REAL == dtypes.FLOATS | dtypes.INTEGERS
    assert dtypes.NUMBERS == dtypes.REAL | dtypes.COMPLEX
    assert frozenset(d for d in dtypes.REAL if not d.is_unsigned) == dtypes.SIGNED
    assert {dtypes.resource, dtypes.variant} == dtypes.ANY - dtypes.ANY_VALUE
    assert frozenset({dtypes.int32, dtypes.int64}) == dtypes.INDEX
    assert len(dtypes.ANY) == 33


def test_real_dtype_is_the_dtype_of_the_parts() -> None:
    assert dtypes.complex64.real_dtype is dtypes.float32
    assert dtypes.complex128.real_dtype is dtypes.float64
    assert dtypes.bfloat16.real_dtype is dtypes.bfloat16


@EVERY_DTYPE
def test_onnx_numbers_are_onnxs(dtype: DType) -> None:
    onnx = pytest.importorskip("onnx")
    if dtype.onnx is None:
        assert dtype.is_quantized or dtype in {
            dtypes.resource,
            dtypes.variant,
            dtypes.float8_e4m3b11fnuz,
        }
    elif dtype is not dtypes.string:
        try:
            assert onnx.helper.tensor_dtype_to_np_dtype(dtype.onnx) == dtype.numpy
        except KeyError:
            pytest.skip("this ONNX does not know the type yet")
    else:
        assert dtype.onnx == onnx.TensorProto.STRING


def test_the_texts_are_tensorflows() -> None:
    assert repr(dtypes.float32) == "tf.float32"
    assert str(dtypes.float32) == "<dtype: 'float32'>"


def test_a_dtype_cannot_be_changed_or_made_twice() -> None:
    with pytest.raises(AttributeError, match="float32 cannot be changed"):
        dtypes.float32.name = "float33"
    with pytest.raises(TypeError, match="exists already"):
        DType("float32", 1, 1, np.dtype(np.float32), 1)


def test_only_equal_dtypes_are_compatible() -> None:
    assert dtypes.int32.is_compatible_with("int32")
    assert not dtypes.int32.is_compatible_with("int64")
    assert dtypes.int32.most_specific_common_supertype([dtypes.int32]) is dtypes.int32
    assert dtypes.int32.most_specific_common_supertype([dtypes.int64]) is None
