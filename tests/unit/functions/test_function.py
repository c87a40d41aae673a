"""`function`: when it traces, what it captures, and that it computes the same as Python."""

import dataclasses
import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.functions.concrete import ConcreteFunction


def test_one_trace_serves_all_tensors_of_a_shape_and_dtype() -> None:
    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        return x + 1.0

    assert float(f(tf.constant(1.0))) == 2.0
    assert float(f(tf.constant(5.0))) == 6.0
    assert f.experimental_get_tracing_count() == 1
    f(tf.constant([1.0]))
    f(tf.constant(1.0, tf.float64))
    assert f.experimental_get_tracing_count() == 3


def test_numpy_arrays_are_tensors_and_python_numbers_are_not() -> None:
    traces = []

    @tf.function
    def f(x: object, n: object) -> tf.Tensor:
        traces.append(n)
        return tf.convert_to_tensor(x) * n

    np.testing.assert_array_equal(f(np.float32([1, 2]), 3).numpy(), [3, 6])
    np.testing.assert_array_equal(f(np.float32([5, 6]), 3).numpy(), [15, 18])
    np.testing.assert_array_equal(f(np.float32([5, 6]), 4).numpy(), [20, 24])
    assert traces == [3, 4]


def test_equal_numbers_of_different_types_are_different_signatures() -> None:
    @tf.function
    def f(x: object) -> tf.Tensor:
        return tf.constant(x)

    assert f(1).dtype is tf.int32
    assert f(1.0).dtype is tf.float32
    assert f(True).dtype is tf.bool


def test_python_side_effects_happen_while_tracing_only() -> None:
    seen = []

    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        seen.append(x)
        return x

    f(tf.constant(1))
    f(tf.constant(2))
    assert len(seen) == 1


def test_keywords_defaults_and_positions_share_a_trace() -> None:
    @tf.function
    def f(x: tf.Tensor, y: float = 2.0) -> tf.Tensor:
        return x * y

    x = tf.constant(3.0)
    assert [float(f(x)), float(f(x, 2.0)), float(f(x=x, y=2.0)), float(f(y=2.0, x=x))] == [6.0] * 4
    assert f.experimental_get_tracing_count() == 1


def test_strings_and_handles_do_not_share_a_trace() -> None:
    f = tf.function(lambda x: tf.identity(x))
    for _ in range(2):
        assert f(tf.constant("a")).dtype is tf.string
        assert f(tf.Variable(1.0).handle).dtype is tf.resource


def test_structures_go_in_and_come_out() -> None:
    @tf.function
    def f(pair: tuple, more: dict) -> dict:
        return {"sum": pair[0] + pair[1], "rest": [more["b"], (more["a"], None, 3)]}

    found = f((tf.constant(1), tf.constant(2)), {"b": tf.constant(3), "a": tf.constant(4)})
    assert int(found["sum"]) == 3
    assert int(found["rest"][0]) == 3
    assert int(found["rest"][1][0]) == 4
    assert found["rest"][1][1] is None
    assert int(found["rest"][1][2]) == 3


def test_an_input_signature_makes_one_trace_and_refuses_what_does_not_fit() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def f(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(x)

    assert float(f(tf.constant([[1.0, 2.0]]))) == 3.0
    assert float(f([[1, 2], [3, 4]])) == 10.0
    assert f.experimental_get_tracing_count() == 1
    with pytest.raises(
        TypeError, match=r"f: argument 'x' must be .*float32\[\?, 2\].*, got shape \[1, 3\]"
    ):
        f(tf.constant([[1.0, 2.0, 3.0]]))
    with pytest.raises((TypeError, ValueError), match="argument 'x' must be"):
        f(tf.constant([[1, 2]]))


def test_a_method_may_call_its_object_anything() -> None:
    class Counter:
        @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
        def twice(this, x: tf.Tensor) -> tf.Tensor:  # noqa: N805
            return 2 * x

        @tf.function(input_signature=[])
        def too_few(this, x: tf.Tensor) -> tf.Tensor:  # noqa: N805
            return x

    assert Counter().twice(3.0) == 6.0
    with pytest.raises(ValueError, match="input_signature gives no spec for x"):
        Counter().too_few(1.0)


def test_an_input_signature_must_cover_the_arguments() -> None:
    with pytest.raises(ValueError, match="input_signature gives no spec for y"):
        tf.function(lambda x, y: x + y, input_signature=[tf.TensorSpec([], tf.float32)])


def test_get_concrete_function_traces_for_specs() -> None:
    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        return x * 2.0

    concrete = f.get_concrete_function(tf.TensorSpec([None], tf.float32))
    np.testing.assert_array_equal(concrete(tf.constant([1.0, 2.0, 3.0])).numpy(), [2, 4, 6])
    np.testing.assert_array_equal(concrete(tf.constant([1.0])).numpy(), [2])
    assert "shape=(None,), dtype=tf.float32" in concrete.pretty_printed_signature(verbose=False)
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"argument 'x' must be .*float32\[\?\].*, got float32\[\]",
    ):
        concrete(tf.constant(1.0))


def test_variables_are_captured_by_reference() -> None:
    v = tf.Variable(1.0)

    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        return v * x

    assert float(f(tf.constant(2.0))) == 2.0
    v.assign(10.0)
    assert float(f(tf.constant(2.0))) == 20.0
    (concrete,) = f.concrete_functions()
    assert [variable is v for variable in concrete.variables] == [True]


def test_eager_tensors_are_captured_by_value() -> None:
    c = tf.constant([1.0, 2.0])
    f = tf.function(lambda x: x + c)
    np.testing.assert_array_equal(f(tf.constant(1.0)).numpy(), [2, 3])


def test_effects_happen_in_the_order_they_are_written() -> None:
    v = tf.Variable(1.0)

    @tf.function
    def f() -> tuple:
        a = v.read_value()
        v.assign(a * 10.0)
        b = v.read_value()
        v.assign_add(5.0)
        v.assign_sub(1.0)
        return a, b, v.read_value()

    assert [float(x) for x in f()] == [1.0, 10.0, 14.0]
    assert float(v) == 14.0


def test_an_effect_that_nothing_depends_on_still_happens() -> None:
    v = tf.Variable(0)

    @tf.function
    def f() -> None:
        v.assign_add(1)

    for _ in range(3):
        assert f() is None
    assert int(v) == 3


def test_effects_do_not_depend_on_the_order_of_nodes() -> None:
    v = tf.Variable(1.0)

    @tf.function
    def f(x: tf.Tensor) -> tuple:
        v.assign(x)
        a = v * 2.0
        v.assign_add(a)
        return a, v.read_value()

    concrete = f.get_concrete_function(tf.TensorSpec([], tf.float32))
    random = np.random.default_rng(0)
    for _ in range(10):
        nodes = [*concrete.graph.nodes]
        random.shuffle(nodes)
        graph = dataclasses.replace(concrete.graph, nodes=tuple(nodes))
        shuffled = ConcreteFunction(
            graph,
            concrete.captured,
            concrete.structured_input_signature,
            concrete.structured_outputs,
        )
        assert [float(y) for y in shuffled(tf.constant(3.0))] == [6.0, 9.0]


def test_nested_functions_compose() -> None:
    v = tf.Variable(1.0)

    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        v.assign_add(x)
        return v.read_value()

    @tf.function
    def outer(x: tf.Tensor) -> tuple:
        a = inner(x)
        b = inner(a)
        return a, b

    assert [float(y) for y in outer(tf.constant(2.0))] == [3.0, 6.0]


def test_one_function_twice_in_a_graph_keeps_its_calls_apart() -> None:
    f = tf.function(lambda x: x * 2.0)
    g = tf.function(lambda x: f(x) + f(x + 1.0))
    assert float(g(tf.constant(3.0))) == 14.0


def test_methods_have_graphs_of_their_own_and_do_not_keep_objects_alive() -> None:
    class Scale(tf.Module):
        def __init__(self, factor: float) -> None:
            super().__init__()
            self.factor = tf.Variable(factor)

        @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
        def __call__(self, x: tf.Tensor) -> tf.Tensor:
            return x * self.factor

    two, three = Scale(2.0), Scale(3.0)
    assert float(two(tf.constant(5.0))) == 10.0
    assert float(three(tf.constant(5.0))) == 15.0
    gone = weakref.ref(two)
    del two
    gc.collect()
    assert gone() is None


def test_variables_may_be_made_on_the_first_call_only() -> None:
    class Lazy(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.v = None

        @tf.function
        def __call__(self, x: tf.Tensor) -> tf.Tensor:
            if self.v is None:
                self.v = tf.Variable(2.0)
            return self.v * x

    lazy = Lazy()
    assert float(lazy(tf.constant(4.0))) == 8.0
    assert float(lazy(tf.constant([4.0, 5.0]))[1]) == 10.0

    @tf.function
    def wrong(x: tf.Tensor) -> tf.Tensor:
        return tf.Variable(1.0) * x

    with pytest.raises(ValueError, match="variables may be made on the first call only"):
        wrong(tf.constant(1.0))


def test_a_leaked_symbolic_tensor_explains_itself() -> None:
    leaked = []
    f = tf.function(lambda x: leaked.append(x + 1.0))
    f(tf.constant(1.0))
    with pytest.raises(TypeError, match="must leave a traced function through its return value"):
        _ = leaked[0] + 1.0
    with pytest.raises(TypeError, match="must leave a traced function through its return value"):
        tf.function(lambda: leaked[0] * 2.0)()


@pytest.mark.parametrize(
    ("use", "advice"),
    [
        (bool, "cond"),
        (int, "cast"),
        (float, "cast"),
        (np.asarray, "numpy_function"),
        (list, "map_fn"),
        (hash, "ref"),
    ],
)
def test_symbolic_misuse_names_the_way_out(use: object, advice: str) -> None:
    f = tf.function(lambda x: use(x))  # type: ignore[operator]
    with pytest.raises((TypeError, NotImplementedError), match=advice):
        f.get_concrete_function(tf.TensorSpec(None, tf.float32))


def test_functions_can_run_eagerly_for_debugging() -> None:
    seen = []

    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        seen.append(float(x))
        return x * 2.0

    tf.config.run_functions_eagerly(True)
    try:
        assert [float(f(tf.constant(n))) for n in (1.0, 2.0)] == [2.0, 4.0]
    finally:
        tf.config.run_functions_eagerly(False)
    assert seen == [1.0, 2.0]
    assert f.experimental_get_tracing_count() == 0


def test_reduce_retracing_generalises_shapes() -> None:
    @tf.function(reduce_retracing=True)
    def f(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(x)

    for n in range(1, 8):
        assert float(f(tf.ones([n]))) == n
    assert f.experimental_get_tracing_count() == 2


def test_a_failing_kernel_names_the_node_and_the_line() -> None:
    @tf.function
    def f(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return tf.matmul(x, y)

    concrete = f.get_concrete_function(
        tf.TensorSpec([None, None], tf.float32), tf.TensorSpec([None, None], tf.float32)
    )
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"(?s)MatMul.*node 'MatMul', called at .*test_function.py:\d+",
    ):
        concrete(tf.ones([2, 3]), tf.ones([4, 5]))


def test_gradients_flow_through_functions_to_arguments_and_variables() -> None:
    v = tf.Variable(3.0)

    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        return v * x * x

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x) * 10.0
    dx, dv = tape.gradient(y, [x, v])
    assert (float(dx), float(dv)) == (120.0, 40.0)


def test_functions_have_second_derivatives() -> None:
    f = tf.function(lambda x: x * x * x)
    x = tf.constant(2.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        dy = inner.gradient(y, x)
    assert float(dy) == 12.0
    assert float(outer.gradient(dy, x)) == 12.0


def test_a_tape_inside_a_function_is_part_of_the_graph() -> None:
    v = tf.Variable([1.0, 2.0])

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(v * v * x)
        gradient = tape.gradient(loss, v)
        v.assign_sub(gradient * 0.1)
        return loss

    assert float(step(tf.constant(1.0))) == 5.0
    np.testing.assert_allclose(v.numpy(), [0.8, 1.6], rtol=1e-6)


def test_a_function_called_under_a_tape_inside_a_function_is_differentiated() -> None:
    v = tf.Variable(3.0)
    square = tf.function(lambda x: x * x * v)

    @tf.function
    def f(x: tf.Tensor) -> tuple:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = square(x)
        return tuple(tape.gradient(y, [x, v]))

    dx, dv = f(tf.constant(2.0))
    assert (float(dx), float(dv)) == (12.0, 4.0)


def test_a_tape_keeps_values_as_of_the_call() -> None:
    v = tf.Variable(2.0)
    f = tf.function(lambda x: v * x * x)
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    v.assign(1000.0)
    assert float(tape.gradient(y, x)) == 12.0


def test_gradients_with_unknown_shapes_sum_over_what_was_broadcast() -> None:
    @tf.function(input_signature=[tf.TensorSpec(None, tf.float32), tf.TensorSpec(None, tf.float32)])
    def f(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return x * y

    x, y = tf.ones([4, 3]), tf.ones([3])
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        z = f(x, y)
    dx, dy = tape.gradient(z, [x, y])
    assert dx.shape == [4, 3]
    np.testing.assert_array_equal(dy.numpy(), [4, 4, 4])


def test_sixteen_threads_on_a_first_call_trace_once() -> None:
    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        return x * 2.0 + 1.0

    barrier = threading.Barrier(16)
    found: list[float] = []

    def work(n: int) -> None:
        barrier.wait()
        found.append(float(f(tf.constant(float(n)))))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [2.0 * n + 1.0 for n in range(16)]
    assert f.experimental_get_tracing_count() == 1


def test_what_returns_no_tensor_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="must return tensors, got object"):
        tf.function(object)()


def test_arguments_that_a_function_changes_are_refused() -> None:
    @tf.function
    def grows(d: dict[str, tf.Tensor]) -> tf.Tensor:
        d["more"] = d["x"] * 2.0
        return d["x"]

    @tf.function
    def replaces(xs: list[tf.Tensor]) -> tf.Tensor:
        xs[0] = xs[0] * 2.0
        return xs[0]

    given = {"x": tf.constant(1.0)}
    with pytest.raises(ValueError, match=r"'grows_[0-9]+' must not change the lists and dict"):
        grows(given)
    assert sorted(given) == ["x"]
    with pytest.raises(ValueError, match="must not change"):
        replaces([tf.constant(1.0)])


def test_what_a_signature_does_not_cover_stays_at_its_default() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def f(x: tf.Tensor, factor: float = 2.0) -> tf.Tensor:
        return x * factor

    assert f(tf.constant([1.0])).numpy().tolist() == [2]
    assert f(tf.constant([1.0, 2.0]), 2.0).numpy().tolist() == [2, 4]
    assert f.experimental_get_tracing_count() == 1
    with pytest.raises(TypeError, match=r"no spec for argument 'factor'.* default, got 3.0"):
        f(tf.constant([1.0]), 3.0)
    with pytest.raises(TypeError, match=r"argument 'x' must be float32\[\?\].*int32 was given"):
        f(tf.constant([1]))


def test_repeated_tracing_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    @tf.function
    def f(x: tf.Tensor, number: int) -> tf.Tensor:
        return x if number == 0 else f(x, number - 1)

    f(tf.constant(1.0), 9)
    assert f.experimental_get_tracing_count() == 10
    assert caplog.text.count("was traced") == 1


def test_a_recursion_that_a_tensor_decides_on_is_explained() -> None:
    @tf.function
    def factorial(n: tf.Tensor) -> tf.Tensor:
        if n <= 1:
            return tf.constant(1)
        return n * factorial(n - 1)

    with pytest.raises(RecursionError, match="'factorial' recurses endlessly while it is"):
        factorial(tf.constant(3))


def test_gradients_works_while_tracing_only() -> None:
    with pytest.raises(RuntimeError, match="Try: GradientTape, or call it inside a function"):
        tf.gradients(tf.constant(1.0), tf.constant(1.0))

    @tf.function
    def drawn(x: tf.Tensor) -> tf.Tensor:
        inner = tf.function(lambda a: a * tf.random.uniform([]))
        return tf.gradients(inner(x), x)[0]

    with pytest.raises(tf.errors.UnimplementedError, match="has effects, or reads what changes"):
        drawn(tf.constant(1.0))


def test_gradients_by_a_variable_of_rows_are_slices() -> None:
    table = tf.Variable(np.ones((4, 2), np.float32))

    @tf.function
    def f(rows: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        found = tf.gradients(tf.reduce_sum(tf.gather(table, rows) * 3.0), table)[0]
        assert isinstance(found, tf.IndexedSlices)
        return found.values, found.indices

    values, indices = f(tf.constant([2, 2, 1]))
    assert indices.numpy().tolist() == [2, 2, 1]
    np.testing.assert_array_equal(values.numpy(), np.full((3, 2), 3.0))


def test_a_symbolic_tensor_where_python_needs_a_value_says_so() -> None:
    f = tf.function(lambda x: 1 if x > 0 else 2, autograph=False)
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match="Python bool"):
        f(tf.constant(1))


def test_what_flows_back_passes_through() -> None:
    v = tf.Variable(2.0)
    rounded = tf.grad_pass_through(lambda x: tf.round(x) * v)
    with tf.GradientTape(persistent=True) as tape:
        x = tf.Variable(1.6)
        y = rounded(x)
    assert y == 4.0
    assert tape.gradient(y, x) == 1.0
    assert tape.gradient(y, v) is None


def test_a_tuple_is_its_tensors() -> None:
    found = tf.tuple([tf.constant(1), None, tf.constant(2.0)])
    assert found[0] == 1
    assert found[1] is None
    assert found[2] == 2.0
    with pytest.raises(ValueError, match="at least one tensor"):
        tf.tuple([None])


@pytest.mark.parametrize("kind", [tf.numpy_function, tf.py_function])
def test_python_calls_are_decorators_too(kind: Any) -> None:
    @kind(Tout=tf.float32)
    def doubled(x: Any) -> Any:
        """Twice x."""
        return np.float32(2) * x

    assert doubled.__doc__ == "Twice x."
    assert float(doubled(tf.constant(3.0))) == 6.0
    assert float(tf.function(lambda x: doubled(x) + 1.0)(tf.constant(3.0))) == 7.0
    with pytest.raises(TypeError, match="func must be a function"):
        kind(Tout=tf.float32)(3)


@pytest.mark.parametrize(
    ("names", "structure", "expected"),
    # What TensorFlow 2.21 calls the placeholders, and so the inputs of signatures.
    [
        ((None, None), lambda a, b: ([a, b],), ["x", "x_1"]),
        ((None, None), lambda a, b: ({"b": b, "a": a},), ["x", "x_1"]),
        (("given", None), lambda a, b: ({"a": a, "b": b},), ["given", "x"]),
        ((None, None), lambda a, b: ((a, {"q": (b,)}),), ["x", "x_1"]),
        ((None, None), lambda a, b: (a, b), ["x", "y"]),
    ],
)
def test_leaves_of_an_argument_are_passed_by_the_names_of_placeholders(
    names: Any, structure: Any, expected: list[str]
) -> None:
    @tf.function
    def first_minus_twice(x: Any, y: Any = None) -> Any:
        first, second = tf.nest.flatten([x] if y is None else [x, y])
        return first - 2.0 * second

    specs = [tf.TensorSpec([None], name=name) for name in names]
    concrete = first_minus_twice.get_concrete_function(*structure(*specs))
    assert [one.name.partition(":")[0] for one in concrete.inputs] == expected
    flat = dict(zip(expected, (tf.constant([5.0]), tf.constant([1.0])), strict=True))
    assert concrete(**flat).numpy().tolist() == [3.0]
    whole = structure(tf.constant([5.0]), tf.constant([1.0]))
    assert concrete(**dict(zip("xy", whole, strict=False))).numpy().tolist() == [3.0]
