"""Errors of a concrete function that is called with other values than those of its trace."""

import inspect

import pytest

import pinnace as tf


@tf.function
def power(a, b):
    return a**b


def square():
    return power.get_concrete_function(a=tf.TensorSpec(None, tf.float32), b=2)


def test_another_value_of_python_s_is_refused_in_words():
    with pytest.raises(TypeError, match=r"argument 'b' was 2 when .* got 3\n  Try: leave it out"):
        square()(tf.constant(10.0), b=3)
    with pytest.raises(TypeError, match="argument 'b' was 2"):
        square()(tf.constant(10.0), tf.constant(2.0))
    with pytest.raises(
        TypeError, match=r"unexpected keyword argument 'c'\n  takes \(a: TensorSpec"
    ):
        square()(tf.constant(10.0), c=3)


def test_its_type_is_a_signature():
    found = square().function_type
    assert isinstance(found, inspect.Signature)
    assert found.parameters["a"].annotation == tf.TensorSpec(None, tf.float32, "a")
    assert found.parameters["b"].annotation == 2
    assert found.output == tf.TensorSpec(None, tf.float32)
    assert repr(found) == str(found) == str(square().inference_fn.function_type)


def test_parameters_without_names_of_python_s_are_described():
    @tf.function
    def several(*args):
        return args[0] + args[1]

    found = several.get_concrete_function(tf.TensorSpec([]), 2.0).function_type
    assert [p.kind.name for p in found.parameters.values()] == ["POSITIONAL_ONLY"] * 2
