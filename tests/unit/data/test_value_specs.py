"""Specs of values."""

import numpy as np
import pytest

import pinnace as tf


@pytest.mark.parametrize(
    ("value", "spec"),
    [
        (tf.constant([1, 2]), tf.TensorSpec([2], tf.int32)),
        (np.ones((2, 3)), tf.TensorSpec([2, 3], tf.float64)),
        (3, tf.TensorSpec([], tf.int32)),
        ("a", tf.TensorSpec([], tf.string)),
        ([1.5, 2.5], tf.TensorSpec([2], tf.float32)),
        (tf.ragged.constant([[1], []]), tf.RaggedTensorSpec([2, None], tf.int32, 1, tf.int64)),
        (tf.data.Dataset.range(3), tf.data.DatasetSpec(tf.TensorSpec([], tf.int64))),
        (None, tf.NoneTensorSpec()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_has_a_spec(value, spec):
    found = tf.type_spec_from_value(value)
    assert found == spec
    assert hash(found) == hash(spec)


def test_a_value_may_be_one_of_its_spec():
    for value in (tf.constant(1), tf.ragged.constant([[1]]), tf.data.Dataset.range(3), None):
        assert tf.type_spec_from_value(value).is_compatible_with(value)


def test_the_spec_of_none_describes_nothing_else():
    spec = tf.NoneTensorSpec()
    assert not spec.is_compatible_with(tf.constant(1))
    assert spec.most_specific_common_supertype([spec]) == spec
    assert spec.most_specific_common_supertype([tf.TensorSpec([])]) is None
    assert spec.from_components(spec.to_components(None)) is None
    assert (spec.value_type, spec.component_specs()) == (type(None), ())


def test_what_has_no_spec_is_refused():
    with pytest.raises(TypeError, match="Could not build a TypeSpec"):
        tf.type_spec_from_value(object())
