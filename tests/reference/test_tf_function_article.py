"""The statements and programs of the article on `tf.function` (iThome, day 18), claim by claim."""

import numpy as np
import pytest

import pinnace as tf
from support.fresh_process import run_fresh


@tf.function
def sum_even(items):
    s = 0
    for c in items:
        if c % 2 > 0:
            continue
        s += c
    return s


def linear_layer(x):
    return 2 * x + 1


@tf.function
def deep_net(x):
    return tf.nn.relu(linear_layer(x))


@tf.function
def simple_nn_layer(x, y):
    return tf.nn.relu(tf.matmul(x, y))


def test_an_assignment_before_a_read_is_always_seen() -> None:
    v = tf.Variable(1.0)

    @tf.function
    def f():
        v.assign(2.0)
        return v.read_value()

    for _ in range(20):
        v.assign(1.0)
        assert f().numpy() == 2.0


def test_the_result_is_a_tensor_with_an_array_in_it() -> None:
    x, y = tf.random.uniform((3, 3)), tf.random.uniform((3, 3))
    found = simple_nn_layer(x, y)
    assert isinstance(found, tf.Tensor)
    assert isinstance(found.numpy(), np.ndarray)
    assert "shape=(3, 3), dtype=float32" in repr(found)
    # float32 sums of three products.
    np.testing.assert_allclose(found, np.maximum(x.numpy() @ y.numpy(), 0), rtol=1e-6)


def test_functions_that_are_called_are_converted_too() -> None:
    found = deep_net(tf.constant((1, 2, 3)))
    assert found.dtype == tf.int32
    np.testing.assert_array_equal(found, [3, 5, 7])


def test_if_on_a_tensor_in_a_function_that_is_called_becomes_cond() -> None:
    def inner(x):
        if x > 0:
            return x
        return -x

    @tf.function
    def outer(x):
        return inner(x)

    graph = outer.get_concrete_function(tf.TensorSpec([], tf.float32)).graph
    assert {"If", "StatelessIf"} & {node.op.name for node in graph.nodes}
    assert outer(tf.constant(-2.0)).numpy() == 2.0


def test_a_decorated_function_is_another_kind_of_object() -> None:
    assert type(linear_layer).__name__ == "function"
    assert type(deep_net).__name__ == "Function"
    assert "deep_net" in repr(deep_net)
    assert deep_net.python_function(tf.constant(1)).numpy() == 3


def test_layers_are_not_decorated_but_can_be_called_in_a_function() -> None:
    lstm_cell = tf.keras.layers.LSTMCell(10)
    assert type(lstm_cell.call).__name__ == "method"

    @tf.function
    def lstm_fn(input, state):
        return lstm_cell(input, state)

    input = tf.random.uniform([10, 10])
    state = [tf.zeros([10, 10])] * 2
    eager, traced = lstm_cell(input, state), lstm_fn(input, state)
    for a, b in zip(tf.nest.flatten(eager), tf.nest.flatten(traced), strict=True):
        # float32, products of ten in another order.
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


def test_sum_even_adds_the_even_ones() -> None:
    assert sum_even(tf.constant([10, 12, 15, 20])).numpy() == 42


@pytest.mark.parametrize(
    "line",
    [
        "def tf__sum_even(items):",
        "retval_ = ag__.UndefinedReturnValue()",
        "with ag__.FunctionScope('sum_even', 'sum_even_scope', ag__.ConversionOptions(",
        "recursive=True, user_requested=True, optional_features=(), ",
        "internal_convert_user_code=True)) as sum_even_scope:",
        "ag__.for_stmt(",
        "ag__.if_stmt(",
    ],
)
def test_to_code_shows_the_loop_as_printed(line: str) -> None:
    assert line in tf.autograph.to_code(sum_even.python_function)


def test_to_code_shows_that_the_called_function_is_converted() -> None:
    code = tf.autograph.to_code(deep_net.python_function)
    assert "def tf__deep_net(x):" in code
    assert "with ag__.FunctionScope('deep_net', 'deep_net_scope'" in code
    assert "ag__.converted_call(ag__.ld(linear_layer), (ag__.ld(x),), None, deep_net_scope)" in code
    assert "ag__.converted_call(ag__.ld(tf).nn.relu, (" in code


@pytest.mark.parametrize("name", ["run_functions_eagerly", "experimental_run_functions_eagerly"])
def test_functions_run_eagerly_between_true_and_false(name: str) -> None:
    switch = getattr(tf.config, name)
    eager = []

    @tf.function
    def f(x):
        eager.append(tf.executing_eagerly())
        return x

    switch(True)
    try:
        f(tf.constant(1))
    finally:
        switch(False)
    f(tf.constant(1))
    assert eager == [True, False]


def test_pdb_stops_between_the_two_switches() -> None:
    printed = run_fresh(
        """
import io, pdb, sys
sys.stdin = io.StringIO("p int(x)\\nc\\n")
import pinnace as tf
@tf.function
def f(x):
    pdb.set_trace()
    return x + 1
tf.config.experimental_run_functions_eagerly(True)
print("found", f(tf.constant(41)).numpy())
tf.config.experimental_run_functions_eagerly(False)
"""
    )
    assert "(Pdb) 41" in printed
    assert "found 42" in printed


def test_where_does_for_a_batch_what_a_loop_does_for_each() -> None:
    x = tf.constant([-1.0, 2.0, -3.0])

    @tf.function
    def batched(x):
        return tf.where(x > 0, x, 0.1 * x)

    one_by_one = [float(v) if v > 0 else float(0.1 * v) for v in x]
    np.testing.assert_allclose(batched(x), one_by_one, rtol=1e-6)
