"""Tensor: operators give NumPy's numbers, and refused conversions."""

from __future__ import annotations

import copy
import operator
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import pinnace as tf
from pinnace.framework.tensor import SymbolicTensor

if TYPE_CHECKING:
    from collections.abc import Callable

SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
FLOATS = [np.float16, np.float32, np.float64]
INTEGERS = [np.int8, np.int32, np.int64, np.uint8]
ARITHMETIC = [operator.add, operator.sub, operator.mul]
DIVISION = [operator.truediv, operator.floordiv, operator.mod]
ORDER = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


def small(dtype: Any, low: int = -8) -> st.SearchStrategy[Any]:
    """Integers small enough that no operator here overflows any of the dtypes."""
    return st.integers(max(low, 0) if np.dtype(dtype).kind == "u" else low, 8)


def pairs(dtype: Any, low: int = -8) -> st.SearchStrategy[tuple[Any, Any]]:
    """Two arrays that broadcast."""
    shapes = hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3)
    return shapes.flatmap(
        lambda drawn: st.tuples(
            *(hnp.arrays(dtype, s, elements=small(dtype, low)) for s in drawn.input_shapes)
        )
    )


def assert_same(tensor: Any, wanted: Any) -> None:
    """Assert a tensor of exactly this dtype, shape and these values."""
    assert type(tensor) is tf.Tensor
    wanted = np.asarray(wanted)
    assert tensor.dtype.numpy == wanted.dtype
    np.testing.assert_array_equal(tensor.numpy(), wanted)
    assert tensor.shape == wanted.shape


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("op", [*ARITHMETIC, *ORDER])
@given(data=st.data())
def test_operators_give_what_numpy_gives(
    op: Callable[[Any, Any], Any], dtype: Any, data: st.DataObject
) -> None:
    x, y = data.draw(pairs(dtype, 0 if np.dtype(dtype).kind == "u" else -8))
    with np.errstate(all="ignore"):
        assert_same(op(tf.constant(x), tf.constant(y)), op(x, y))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("op", DIVISION)
@given(data=st.data())
def test_divisions_give_what_numpy_gives(
    op: Callable[[Any, Any], Any], dtype: Any, data: st.DataObject
) -> None:
    x, y = data.draw(pairs(dtype))
    y = np.where(y == 0, np.array(3, dtype), y)
    assert_same(op(tf.constant(x), tf.constant(y)), op(x, y))


@pytest.mark.parametrize("dtype", [*FLOATS, np.int32, np.int64])
@pytest.mark.parametrize("op", ARITHMETIC)
@given(data=st.data())
def test_a_python_number_takes_the_dtype_of_the_tensor_on_either_side(
    op: Callable[[Any, Any], Any], dtype: Any, data: st.DataObject
) -> None:
    x = data.draw(hnp.arrays(dtype, SHAPES, elements=small(dtype)))
    number = data.draw(small(dtype))
    if np.dtype(dtype).kind == "f" and data.draw(st.booleans()):
        number = float(number)
    wanted = np.array(number, dtype)
    assert_same(op(tf.constant(x), number), op(x, wanted))
    assert_same(op(number, tf.constant(x)), op(wanted, x))


@pytest.mark.parametrize("op", [*ARITHMETIC, *DIVISION, *ORDER, operator.pow])
@given(x=hnp.arrays(np.float32, SHAPES, elements=st.integers(1, 8)))
def test_a_numpy_array_on_either_side_gives_a_tensor(op: Callable[[Any, Any], Any], x: Any) -> None:
    tensor = tf.constant(x)
    assert_same(op(x, tensor), op(x, x))
    assert_same(op(tensor, x), op(x, x))


@given(x=hnp.arrays(np.float32, (2, 3), elements=st.integers(-8, 8)))
def test_matmul_and_unary_operators_give_what_numpy_gives(x: Any) -> None:
    t = tf.constant(x)
    assert_same(t @ x.T, x @ x.T)
    assert_same(x.T @ t, x.T @ x)
    assert_same(-t, -x)
    assert_same(+t, x)
    assert_same(abs(t), abs(x))


@given(x=hnp.arrays(bool, 4), y=hnp.arrays(bool, 4), n=hnp.arrays(np.int32, 4))
def test_bitwise_operators_are_logical_for_bools(x: Any, y: Any, n: Any) -> None:
    for op in (operator.and_, operator.or_, operator.xor):
        assert_same(op(tf.constant(x), tf.constant(y)), op(x, y))
        assert_same(op(tf.constant(n), 3), op(n, np.int32(3)))
        assert_same(op(3, tf.constant(n)), op(np.int32(3), n))
    assert_same(~tf.constant(x), ~x)
    assert_same(~tf.constant(n), ~n)


def test_two_tensors_of_different_dtypes_do_not_mix() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Try: cast\(y, 'float32'\)"):
        tf.constant(1.0) + tf.constant(1)
    with pytest.raises(TypeError, match=r"AddV2: argument y: cannot convert 2\.5 \(float\)"):
        tf.constant(1) + 2.5


def test_comparison_with_none_is_an_answer_and_no_tensor() -> None:
    x = tf.constant([1.0, 2.0])
    assert (x == None) is False  # noqa: E711 (what is tested)
    assert (x != None) is True  # noqa: E711 (what is tested)


def test_scalars_are_numbers_to_python() -> None:
    assert int(tf.constant(7.9)) == 7
    assert float(tf.constant(3)) == 3.0
    assert complex(tf.constant(1.5)) == 1.5 + 0j
    assert bool(tf.constant(0.5))
    assert not bool(tf.constant(0))
    assert f"{tf.constant(1.5):.2f}" == "1.50"
    assert f"{tf.constant(3):>4}" == "   3"
    assert f"{tf.constant([1.0, 2.0])}" == "[1. 2.]"
    assert [10, 20, 30][tf.constant(1)] == 20
    assert list(range(10))[tf.constant(2) : tf.constant(4, tf.int64)] == [2, 3]


@pytest.mark.parametrize("value", [1.0, True, [1], [1.0, 2.0]])
def test_only_an_integer_scalar_is_an_index(value: Any) -> None:
    x = tf.constant(value)
    told = f"{x.dtype.name}{x.shape.text}"
    with pytest.raises(TypeError, match="only an integer scalar can be an index") as caught:
        _ = [1, 2][x]
    assert told in str(caught.value)


def test_the_truth_of_several_values_is_refused() -> None:
    with pytest.raises(ValueError, match="ambiguous"):
        bool(tf.constant([1.0, 2.0]))


@pytest.mark.parametrize("dtype", [np.float32, np.int64, bool, np.str_])
def test_a_tensor_iterates_over_its_first_axis(dtype: Any) -> None:
    array = np.arange(6).reshape(3, 2).astype(dtype)
    x = tf.constant(array)
    rows = list(x)
    assert len(x) == len(rows) == 3
    assert [r.dtype for r in rows] == [x.dtype] * 3
    assert [[str(v.numpy()) for v in row] for row in rows] == [
        [str(v) for v in row] for row in x.numpy()
    ]


def test_a_scalar_has_neither_length_nor_rows() -> None:
    with pytest.raises(TypeError, match=r"a scalar tensor has no len\(\)"):
        len(tf.constant(1))
    with pytest.raises(TypeError, match="a scalar tensor cannot be iterated over"):
        iter(tf.constant(1))


def test_rows_taken_under_a_tape_have_gradients() -> None:
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        first, _, last = x
        y = first * last
    np.testing.assert_array_equal(tape.gradient(y, x), [3.0, 0.0, 1.0])


def test_a_hash_is_refused_with_advice() -> None:
    with pytest.raises(TypeError, match=r"unhashable.*use tensor\.ref\(\) as the key"):
        hash(tf.constant(1.0))


def test_a_reference_is_equal_to_those_of_the_same_tensor_only() -> None:
    x, y = tf.constant(1.0), tf.constant(1.0)
    assert x.ref() == x.ref()
    assert x.ref() != y.ref()
    assert {x.ref(): "x", y.ref(): "y"}[x.ref()] == "x"
    assert x.ref().deref() is x


def test_numpy_sees_a_tensor_without_a_copy_and_may_not_write() -> None:
    x = tf.constant([1.0, 2.0])
    seen = np.asarray(x)
    assert np.shares_memory(seen, np.asarray(x))
    with pytest.raises(ValueError, match="read-only"):
        seen[0] = 5.0
    assert np.array(x).flags.writeable
    assert np.asarray(x, np.float64).dtype == np.float64


def test_numpy_of_a_tensor_is_a_copy_that_may_be_written() -> None:
    x = tf.constant([1.0, 2.0])
    x.numpy()[0] = 5.0
    assert_same(x, np.array([1.0, 2.0], np.float32))
    assert isinstance(tf.constant(1.0).numpy(), np.float32)
    assert tf.constant("é").numpy() == "é".encode()


def test_a_tensor_does_not_see_later_writes_to_the_array_it_was_made_of() -> None:
    array = np.ones(3)
    x = tf.constant(array)
    array[:] = 7
    assert_same(x, np.ones(3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8])
def test_a_tensor_survives_dlpack(dtype: Any) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)
    back = np.from_dlpack(tf.constant(array))
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize(
    "value", [1.5, True, [[1, 2], [3, 4]], "é", ["a", "b"], np.ones((0, 2), np.float16), 1 + 2j]
)
def test_a_tensor_survives_pickling(value: Any) -> None:
    x = tf.constant(value)
    back = pickle.loads(pickle.dumps(x))  # noqa: S301 (our own bytes)
    assert back.dtype is x.dtype
    np.testing.assert_array_equal(back.numpy(), x.numpy())


def test_a_copy_of_a_tensor_is_itself() -> None:
    x = tf.constant([1.0])
    assert copy.copy(x) is x
    assert copy.deepcopy([x])[0] is x


# The output of TensorFlow 2.21 for the same values.
PRINTED = [
    (3, None, "<tf.Tensor: shape=(), dtype=int32, numpy=3>", "tf.Tensor(3, shape=(), dtype=int32)"),
    (
        [1.0, 2.0],
        None,
        "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)>",
        "tf.Tensor([1. 2.], shape=(2,), dtype=float32)",
    ),
    (
        [[1, 2], [3, 4]],
        None,
        (
            "<tf.Tensor: shape=(2, 2), dtype=int32, numpy=\n"
            "array([[1, 2],\n       [3, 4]], dtype=int32)>"
        ),
        "tf.Tensor(\n[[1 2]\n [3 4]], shape=(2, 2), dtype=int32)",
    ),
    (
        "a",
        None,
        "<tf.Tensor: shape=(), dtype=string, numpy=b'a'>",
        "tf.Tensor(b'a', shape=(), dtype=string)",
    ),
    (
        True,
        None,
        "<tf.Tensor: shape=(), dtype=bool, numpy=True>",
        "tf.Tensor(True, shape=(), dtype=bool)",
    ),
    (
        1,
        tf.bfloat16,
        "<tf.Tensor: shape=(), dtype=bfloat16, numpy=1.0>",
        "tf.Tensor(1, shape=(), dtype=bfloat16)",
    ),
    (
        1 + 2j,
        None,
        "<tf.Tensor: shape=(), dtype=complex128, numpy=(1+2j)>",
        "tf.Tensor((1+2j), shape=(), dtype=complex128)",
    ),
]


@pytest.mark.parametrize(("value", "dtype", "shown", "printed"), PRINTED)
def test_a_tensor_prints_as_tensorflow_prints_it(
    value: Any, dtype: Any, shown: str, printed: str
) -> None:
    x = tf.constant(value, dtype)
    assert repr(x) == shown
    assert str(x) == printed


def test_a_symbolic_tensor_prints_as_tensorflow_prints_it() -> None:
    seen: list[str] = []

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def f(q: tf.Tensor) -> tf.Tensor:
        seen.extend([repr(q), str(q), f"{q}"])
        return q

    f.get_concrete_function()
    printed = 'Tensor("q:0", shape=(None, 2), dtype=float32)'
    assert seen == ["<tf.Tensor 'q:0' shape=(None, 2) dtype=float32>", printed, printed]


@pytest.mark.parametrize(
    ("use", "advice"),
    [
        (bool, "cond, or logical_and"),
        (int, r"cast\(x, 'int32'\)"),
        (float, r"cast\(x, 'float32'\)"),
        (lambda x: [1, 2][x], "gather"),
        (len, r"shape\(x\)\[0\]"),
        (list, "map_fn, while_loop"),
        (np.asarray, "numpy_function"),
        (lambda x: x.numpy(), "run_functions_eagerly"),
        (pickle.dumps, r"saved_model\.save"),
        (hash, r"ref\(\)"),
    ],
)
def test_a_symbolic_tensor_refuses_to_be_a_value_and_says_what_to_do(use: Any, advice: str) -> None:
    def f(x: tf.Tensor) -> tf.Tensor:
        assert isinstance(x, SymbolicTensor)
        with pytest.raises((TypeError, AttributeError, NotImplementedError), match=advice):
            use(x)
        return x

    tf.function(f, autograph=False).get_concrete_function(tf.TensorSpec(None, tf.float32))


def test_an_eager_tensor_has_no_name_and_no_node() -> None:
    x = tf.constant(1.0)
    with pytest.raises(AttributeError, match=r"Tensor\.name has no meaning while ops run eagerly"):
        _ = x.name
    with pytest.raises(AttributeError, match=r"Tensor\.op has no meaning while ops run eagerly"):
        _ = x.op


def test_set_shape_checks_what_is_known_already() -> None:
    x = tf.constant([1.0, 2.0])
    x.set_shape([None])
    with pytest.raises(ValueError, match="not compatible"):
        x.set_shape([3])
    assert x.get_shape() == x.shape == [2]
    assert x.ndim == 1
