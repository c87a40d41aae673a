"""`tf.types.experimental`: the types of functions and values."""

import numpy as np
import pytest

import pinnace as tf

types = tf.types.experimental


def test_functions_are_of_their_types():
    function = tf.function(lambda x: x + 1)
    concrete = function.get_concrete_function(tf.TensorSpec([]))
    assert isinstance(function, types.PolymorphicFunction)
    assert isinstance(function, types.GenericFunction)
    assert isinstance(function, types.Callable)
    assert isinstance(concrete, types.ConcreteFunction)
    assert isinstance(concrete, types.Callable)
    assert not isinstance(function, types.ConcreteFunction)
    assert not isinstance(concrete, types.PolymorphicFunction)
    assert not isinstance(len, types.Callable)


@pytest.mark.parametrize("value", [tf.constant(1), 1, 1.5, "a", b"a", 1j, [1], (1,), np.ones(2)])
def test_what_becomes_a_tensor_is_like_one(value):
    assert isinstance(value, types.TensorLike)
    tf.convert_to_tensor(value)
    assert not isinstance({}, types.TensorLike)
