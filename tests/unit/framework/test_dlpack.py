"""`experimental.dlpack`: capsules compared with NumPy's, as TensorFlow takes and returns them."""

import numpy as np
import pytest

import pinnace as tf

dlpack = tf.experimental.dlpack
DTYPES = ["bool", "int8", "uint8", "int16", "uint64", "float16", "float32", "float64", "complex64"]


class Holder:
    """A capsule in the form for NumPy."""

    def __init__(self, capsule: object) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: object) -> object:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3)])
def test_values_come_back(dtype: str, shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(1).integers(0, 9, shape).astype(dtype)
    x = tf.constant(values)
    given = np.from_dlpack(Holder(dlpack.to_dlpack(x)))  # type: ignore[arg-type] # has the methods
    assert given.dtype == values.dtype
    np.testing.assert_array_equal(given, values)
    taken = dlpack.from_dlpack(values.__dlpack__())
    assert taken.dtype == x.dtype
    np.testing.assert_array_equal(taken.numpy(), values)


def test_writing_into_what_was_taken_changes_no_tensor() -> None:
    array = np.array([1.0, 2.0])
    taken = dlpack.from_dlpack(array.__dlpack__())
    array[0] = 9
    assert taken.numpy().tolist() == [1, 2]


def test_a_capsule_is_taken_once() -> None:
    capsule = dlpack.to_dlpack(tf.constant([1.0]))
    assert dlpack.from_dlpack(capsule).numpy().tolist() == [1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="from_dlpack: the capsule cannot be"):
        dlpack.from_dlpack(capsule)


def test_what_is_no_tensor_or_capsule_is_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be a tensor with a value"):
        dlpack.to_dlpack([1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be a tensor with a value"):
        tf.function(dlpack.to_dlpack)(tf.constant(1))
    with pytest.raises(tf.errors.InvalidArgumentError, match="string has no DLPack representation"):
        dlpack.to_dlpack(tf.constant("a"))
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="bfloat16 has no DLPack representation"
    ):
        dlpack.to_dlpack(tf.cast([1], "bfloat16"))
    with pytest.raises(TypeError, match="dlcapsule must be a capsule"):
        dlpack.from_dlpack(np.ones(2))
