"""Functions with variables converted to constants."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf

freeze = tf.graph_util.convert_variables_to_constants_v2


def reading() -> tuple[Any, list[Any]]:
    """A function that reads variables in calls, branches and loops, and by rows."""
    v, table = tf.Variable([1.0, 2.0], name="v"), tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    @tf.function
    def scaled(x: Any) -> Any:
        return x * v

    @tf.function
    def read(x: Any, n: Any) -> Any:
        y = scaled(x)
        if tf.reduce_sum(x) > 0:
            y += v
        else:
            y -= table[0]
        for i in tf.range(n):
            y = y * v + tf.cast(i, tf.float32)
        y = tf.switch_case(n % 2, [lambda: y, lambda: y + v])
        return {"y": y, "rows": tf.gather(table, [2, 0]), "one": tf.gather_nd(table, [[1, 1]])}

    specs = tf.TensorSpec([2], tf.float32), tf.TensorSpec([], tf.int32)
    return read.get_concrete_function(*specs), [v, table]


def by_hand(x: Any, n: int) -> list[Any]:
    v, table = np.array([1.0, 2.0]), np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    x = np.array(x)
    y = x * v
    y = y + v if x.sum() > 0 else y - table[0]
    for i in range(n):
        y = y * v + i
    return [table[[1, 1]][0][1:], table[[2, 0]], y + v if n % 2 else y]


@pytest.mark.parametrize(("x", "n"), [([1.0, 1.0], 0), ([-1.0, -2.0], 3), ([3.0, 4.0], 4)])
def test_a_frozen_function_keeps_the_values_of_its_variables(x: list[float], n: int) -> None:
    function, variables = reading()
    frozen = freeze(function)
    for variable in variables:
        variable.assign(variable * 100.0)
    found = frozen(tf.constant(x), tf.constant(n))
    # The results are a list, in the order in which the structure has them.
    for mine, wanted in zip(found, by_hand(x, n), strict=True):
        np.testing.assert_array_equal(mine, wanted)
    for one, other in zip(found, frozen(n=tf.constant(n), x=tf.constant(x)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_nothing_of_a_frozen_function_is_a_resource() -> None:
    frozen = freeze(reading()[0])
    assert frozen.captured_inputs == []
    assert frozen.variables == ()
    assert [tensor.name for tensor in frozen.inputs] == ["x:0", "n:0"]
    assert frozen.structured_input_signature[0][0] == tf.TensorSpec([2], tf.float32, "x")
    message = frozen.graph.as_graph_def()
    everything = [*message.node, *(n for f in message.library.function for n in f.node_def)]
    assert {n.op for n in everything} >= {"If", "While", "Case", "GatherV2", "GatherNd", "Identity"}
    assert not [n.name for n in everything if "Resource" in n.op or "Variable" in n.op]
    arguments = [a for f in message.library.function for a in f.signature.input_arg]
    assert tf.resource.as_datatype_enum not in {a.type for a in arguments}


def test_a_frozen_model_is_the_model() -> None:
    model = tf.keras.Sequential(
        [
            tf.keras.Input((5, 3)),
            tf.keras.layers.LSTM(4),
            tf.keras.layers.BatchNormalization(),
            tf.keras.layers.Dense(2, "softmax"),
        ]
    )
    call = tf.function(lambda x: model(x, training=False))
    frozen = freeze(call.get_concrete_function(tf.TensorSpec([None, 5, 3], tf.float32)))
    x = tf.constant(np.random.default_rng(1).standard_normal((7, 5, 3)), tf.float32)
    (found,) = frozen(x)
    np.testing.assert_array_equal(found, call(x))


def test_tables_stay_captured() -> None:
    entries = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    table = tf.lookup.StaticHashTable(entries, -1)
    function = tf.function(lambda x: table.lookup(x))
    frozen = freeze(function.get_concrete_function(tf.TensorSpec([None], tf.string)))
    assert len(frozen.captured_inputs) == 1
    np.testing.assert_array_equal(frozen(tf.constant(["b", "c"]))[0], [2, -1])


def test_what_cannot_be_frozen_is_refused() -> None:
    v = tf.Variable(1.0)

    @tf.function
    def count(x: Any) -> Any:
        return v.assign_add(x)

    with pytest.raises(TypeError, match="func must be a concrete function, got Function"):
        freeze(count)
    with pytest.raises(tf.errors.InvalidArgumentError, match="AssignAddVariableOp '"):
        freeze(count.get_concrete_function(tf.TensorSpec([], tf.float32)))
