"""Members of tensors and variables from version 1: their meaning here, and refusals."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf


def test_an_eager_tensor_is_on_the_cpu() -> None:
    x = tf.constant([1.0, 2.0])
    assert x.cpu() is x
    assert x.backing_device == x.device == "/job:localhost/replica:0/task:0/device:CPU:0"
    assert not x.is_packed
    assert x.experimental_ref().deref() is x


def test_what_only_a_graph_has_is_no_attribute_of_an_eager_tensor() -> None:
    x = tf.constant(1.0)
    for name in ("graph", "name", "op", "value_index"):
        assert not hasattr(x, name)
        with pytest.raises(AttributeError, match=f"Tensor.{name} has no meaning while ops run"):
            getattr(x, name)
    with pytest.raises(NotImplementedError, match=r"Tensor\.consumers"):
        x.consumers()
    with pytest.raises(NotImplementedError, match=r"Try: \.numpy\(\)"):
        x.eval()


def test_a_symbolic_tensor_has_them() -> None:
    seen: list[Any] = []

    @tf.function
    def step(x: Any) -> Any:
        y = tf.nn.relu(x)
        seen.append((x.graph is y.graph, y.op.type, y.value_index, [c.type for c in x.consumers()]))
        return y

    step(tf.constant(1.0))
    assert seen == [(True, "Relu", 0, ["Relu"])]


def test_a_variable_is_loaded_and_read_without_sessions() -> None:
    v = tf.Variable([1.0, 2.0])
    v.load([5.0, 6.0])
    np.testing.assert_array_equal(v.read_value_no_copy(), [5, 6])
    v.set_shape([None])
    with pytest.raises(ValueError, match="not compatible"):
        v.set_shape([3])
    assert v.initializer is None


def test_a_variable_is_in_no_graph() -> None:
    v = tf.Variable(1.0)
    for name in ("graph", "op"):
        with pytest.raises(AttributeError, match=f"Variable.{name} has no meaning"):
            getattr(v, name)
    with pytest.raises(RuntimeError, match=r"Try: read_value\(\)"):
        _ = v.initial_value
    with pytest.raises(RuntimeError, match=r"Try: \.numpy\(\)"):
        v.eval()


def test_versions_are_texts_and_numbers() -> None:
    assert f"v{tf.version.VERSION}" == tf.version.GIT_VERSION
    assert tf.version.COMPILER_VERSION
    numbers = tf.version.GRAPH_DEF_VERSION_MIN_CONSUMER, tf.version.GRAPH_DEF_VERSION_MIN_PRODUCER
    assert numbers == (0, 0)
