"""AutoGraph: converted code does on tensors what Python does on numbers, in the same order."""

from __future__ import annotations

import logging
import subprocess
import sys
import traceback
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pinnace as tf
from pinnace.functions import autograph
from pinnace.functions.autograph import operators
from pinnace.ops.composites.tensor_array import TensorArray
from tests.support.fresh_process import run_fresh

if TYPE_CHECKING:
    from collections.abc import Callable


def collatz(n: Any) -> Any:
    steps = 0
    while n != 1:
        if n % 2 == 0:  # noqa: SIM108 (it is what is tested)
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
        if steps > 60:
            break
    return steps


def fizz(n: Any) -> Any:
    total = 0
    while n > 0:
        if n % 15 == 0:
            total += 100
        elif n % 5 == 0 and not n % 3 == 0:  # noqa: SIM201 (it is what is tested)
            total -= 7
        else:
            if n > 50 or n == 49:
                break
            total += n
        n -= 1
    return total


def nested(n: Any) -> Any:
    total = 0
    for i in range(n):
        for j in range(i):
            if j == 3:
                continue
            if i * j > 20:
                break
            total += i * j
    return total


def early(n: Any) -> Any:
    for i in range(n):
        if i * i > 50:
            return i
        if i == 6:
            for k in range(i):
                if k * 10 == n:
                    return -k
    return -1


def several_returns(n: Any) -> Any:
    if n > 20:
        if n > 40:
            return n * 2
        return n - 1
    if n == 7:
        return 0
    return n


def ternary(n: Any) -> Any:
    return n * 2 if n > 10 else (n if n > 5 else -n)


def recursive_conversion(n: Any) -> Any:
    return several_returns(n) + helper(n, add=3)


def helper(x: Any, add: Any = 1) -> Any:
    def inner(y: Any) -> Any:
        return y + add if y > add else y

    return inner(x)


def unrolled(n: Any) -> Any:
    total = 0
    for k in [1, 2, 3, 4, 5]:
        if n * k > 60:
            break
        if n % k == 1:
            continue
        total += k
    return total


def while_true(n: Any) -> Any:
    count = 0
    while True:
        n = n * 2 + 1
        count += 1
        if n > 300:
            break
    return count


def chained(n: Any) -> Any:
    if 5 < n <= 20 and (n != 7 or not n < 3):
        return n
    return -n


PROGRAMS = [
    chained,
    collatz,
    fizz,
    nested,
    early,
    several_returns,
    ternary,
    recursive_conversion,
    unrolled,
    while_true,
]
_traced = {program: tf.function(program) for program in PROGRAMS}


@pytest.mark.parametrize("program", PROGRAMS)
@settings(deadline=None, max_examples=25)
@given(n=st.integers(1, 70))
def test_converted_code_computes_what_python_computes(
    program: Callable[[Any], Any], n: int
) -> None:
    traced = _traced[program]
    assert int(traced(tf.constant(n))) == program(n)
    assert traced.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("program", PROGRAMS)
def test_python_values_stay_python(program: Callable[[Any], Any]) -> None:
    traced = tf.function(program)
    for n in (1, 7, 43):
        assert int(traced(n)) == program(n)


def test_control_flow_is_in_the_graph() -> None:
    graph = tf.function(fizz).get_concrete_function(tf.TensorSpec([], tf.int32)).graph
    names = {node.op.name for node in graph.nodes}
    assert names & {"While", "StatelessWhile"}


def test_and_or_do_not_compute_the_right_side_in_vain() -> None:
    x = tf.constant([1.0, 2.0])

    @tf.function
    def f(i: tf.Tensor) -> tf.Tensor:
        if i < 2 and x[i] > 1.5:
            return 1
        return 0

    assert [int(f(tf.constant(i))) for i in (0, 1, 5)] == [0, 1, 0]


def test_for_goes_over_the_rows_of_a_tensor() -> None:
    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        total = tf.zeros([2])
        for row in x:
            if row[0] < 0.0:
                continue
            total += row
        return total

    x = tf.constant([[1.0, 2.0], [-1.0, 9.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    np.testing.assert_array_equal(y.numpy(), [4.0, 6.0])
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), [[1, 1], [0, 0], [1, 1]])
    g = tf.function(f.python_function, input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    np.testing.assert_array_equal(g(x[:2]).numpy(), [1.0, 2.0])


def test_enumerate_zip_len_max_and_sum_take_tensors() -> None:
    @tf.function
    def f(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        total = 0.0
        for i, (a, b) in enumerate(zip(x, y)):  # noqa: B905 (both may be tensors)
            total += tf.cast(i, tf.float32) * max(a, b)
        return total + sum(x) + tf.cast(len(x), tf.float32)

    spec = tf.TensorSpec([None], tf.float32)
    f = tf.function(f.python_function, input_signature=[spec, spec])
    assert float(f(tf.constant([1.0, 5.0, 2.0]), tf.constant([3.0, 4.0, 6.0]))) == 5 + 12 + 8 + 3


def test_attributes_and_list_elements_are_loop_variables() -> None:
    class Counter:
        def __init__(self) -> None:
            self.n = tf.constant(0)

    @tf.function
    def f(limit: tf.Tensor) -> tf.Tensor:
        counter = Counter()
        for i in tf.range(limit):
            if i % 2 == 0:
                counter.n += i
        return counter.n

    assert int(f(tf.constant(7))) == 0 + 2 + 4 + 6


def test_variables_are_written_in_order_and_only_when_reached() -> None:
    class Model(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.v = tf.Variable(0.0)

        def step(self, x: tf.Tensor) -> None:
            if x > 0.0:
                self.v.assign_add(x)
            else:
                self.v.assign(self.v * 10.0)

        @tf.function
        def run(self, xs: tf.Tensor) -> tf.Tensor:
            for x in xs:
                self.step(x)
            return self.v.read_value()

    model = Model()
    assert float(model.run(tf.constant([1.0, 2.0, -1.0, 4.0, -1.0]))) == 340.0
    assert float(model.v) == 340.0


def test_super_works_in_converted_methods() -> None:
    class Base:
        def f(self, x: tf.Tensor) -> tf.Tensor:
            return x * 2.0

    class Child(Base):
        def f(self, x: tf.Tensor) -> tf.Tensor:
            y = super().f(x)
            if y > 3.0:
                y += 1.0
            return y

    assert float(tf.function(Child().f)(tf.constant(2.0))) == 5.0


def test_print_is_python_s_own_and_shows_what_is_traced(capfd: pytest.CaptureFixture[str]) -> None:
    def inner(x: tf.Tensor) -> None:
        print("inner", x.dtype.name, x)  # noqa: T201 (it is what is tested)

    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        print("x is", x)  # noqa: T201 (likewise)
        inner(x)
        for i in tf.range(3):
            print("step", i.dtype.name)  # noqa: T201 (likewise)
            x += i
        return x

    assert int(f(tf.constant(3))) == 6
    assert int(f(tf.constant(4))) == 7
    lines = capfd.readouterr().out.splitlines()
    traced = 'Tensor("x:0", shape=(), dtype=int32)'  # TensorFlow prints the same
    assert lines == [f"x is {traced}", f"inner int32 {traced}", "step int32"]


@pytest.mark.parametrize("features", ["ALL", "BUILTIN_FUNCTIONS", ["LISTS", "BUILTIN_FUNCTIONS"]])
def test_a_feature_makes_print_an_op(features: Any, capfd: pytest.CaptureFixture[str]) -> None:
    of = tf.autograph.experimental.Feature
    options = of[features] if isinstance(features, str) else tuple(of[one] for one in features)

    def inner(x: tf.Tensor) -> None:
        print("inner", x)  # noqa: T201 (it is what is tested)

    class Holder:
        @tf.function(experimental_autograph_options=options)
        def f(self, x: tf.Tensor) -> tf.Tensor:
            inner(x)
            return x

    holder = Holder()
    holder.f(tf.constant(3))
    holder.f(tf.constant(4))
    assert capfd.readouterr().out == "inner 3\ninner 4\n"


def test_what_is_no_feature_is_refused() -> None:
    with pytest.raises(TypeError, match=r"must be an autograph\.experimental\.Feature"):
        tf.function(lambda x: x, experimental_autograph_options="ALL")


def test_print_and_assert_wait_for_the_run(capfd: pytest.CaptureFixture[str]) -> None:
    @tf.function(experimental_autograph_options=tf.autograph.experimental.Feature.ALL)
    def f(x: tf.Tensor) -> tf.Tensor:
        print("x is", x)  # noqa: T201 (it is what is tested)
        assert x > 0, "must be positive"
        return x

    f(tf.constant(3))
    f(tf.constant(4))
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be positive"):
        f(tf.constant(-1))
    assert capfd.readouterr().out == "x is 3\nx is 4\nx is -1\n"


def test_the_dynamic_rnn_of_effective_tensorflow_2() -> None:
    weight = tf.constant(np.linspace(-1, 1, 12).reshape(4, 3), tf.float32)

    def cell(x: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        state = tf.tanh(tf.matmul(x, weight) + state)
        return state, state

    def call(input_data: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        input_data = tf.transpose(input_data, [1, 0, 2])
        outputs = TensorArray(tf.float32, input_data.shape[0])
        state = tf.zeros([input_data.shape[1], 3])
        for i in tf.range(input_data.shape[0]):
            output, state = cell(input_data[i], state)
            outputs = outputs.write(i, output)
        return tf.transpose(outputs.stack(), [1, 0, 2]), state

    x = tf.constant(np.random.default_rng(0).standard_normal((2, 5, 4)), tf.float32)
    found = []
    for f in (call, tf.function(call)):
        with tf.GradientTape() as tape:
            tape.watch([x, weight])
            outputs, state = f(x)
        found.append([outputs, state, *tape.gradient([outputs, state], [x, weight])])
    for eager, traced in zip(*found, strict=True):
        assert traced.shape == eager.shape
        np.testing.assert_allclose(traced.numpy(), eager.numpy(), rtol=1e-5, atol=1e-6)


def sum_even(items: Any) -> Any:
    s = 0
    for c in items:
        if c % 2 > 0:
            continue
        s += c
    return s


def linear_layer(x: Any) -> Any:
    return 2 * x + 1


def deep_net(x: Any) -> Any:
    return tf.nn.relu(linear_layer(x))


def test_to_code_shows_what_the_article_shows() -> None:
    code = autograph.to_code(tf.function(sum_even).python_function)
    assert code.lstrip().startswith("def tf__sum_even(items: Any)")
    for part in (
        "do_return = False",
        "retval_ = ag__.UndefinedReturnValue()",
        "with ag__.FunctionScope('sum_even', 'sum_even_scope', ag__.ConversionOptions(",
        "recursive=True, user_requested=True, optional_features=(), ",
        "internal_convert_user_code=True)) as sum_even_scope:",
        "ag__.for_stmt(",
    ):
        assert part in code
    assert int(tf.function(sum_even)(tf.constant([10, 12, 15, 20]))) == 42
    code = autograph.to_code(deep_net)
    assert "ag__.converted_call(" in code
    assert "linear_layer" in code
    np.testing.assert_array_equal(tf.function(deep_net)(tf.constant((1, 2, 3))).numpy(), [3, 5, 7])


def test_to_graph_gives_a_function_for_both_worlds() -> None:
    converted = autograph.to_graph(collatz)
    assert int(converted(tf.constant(6))) == collatz(6)
    assert int(tf.function(converted, autograph=False)(tf.constant(6))) == collatz(6)


def test_what_is_not_to_be_converted_is_not() -> None:
    @autograph.experimental.do_not_convert
    def python_only(x: Any) -> Any:
        if x > 0:
            return 1.0
        return 2.0

    with pytest.raises(TypeError, match="using as a Python bool"):
        tf.function(python_only)(tf.constant(1.0))
    with pytest.raises(TypeError, match="using as a Python bool"):
        tf.function(several_returns, autograph=False)(tf.constant(1))


def test_loop_options_reach_the_loop() -> None:
    @tf.function
    def f(n: tf.Tensor) -> tf.Tensor:
        x = tf.ones([1])
        for _ in tf.range(n):
            autograph.experimental.set_loop_options(
                shape_invariants=[(x, tf.TensorShape([None]))], maximum_iterations=4
            )
            x = tf.concat([x, x], 0)
        return x

    assert f(tf.constant(3)).shape == (8,)
    assert f(tf.constant(30)).shape == (16,)


def test_an_error_points_at_the_line_the_user_wrote() -> None:
    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        if x > 0.0:
            return tf.matmul(x, x)  # this line
        return x

    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        f(tf.constant(1.0))
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert any(
        frame.filename == __file__ and frame.line is not None and frame.line.endswith("# this line")
        for frame in frames
    )

    @tf.function
    def g(x: tf.Tensor) -> tf.Tensor:
        while tf.reduce_sum(x) < 10.0:
            x = tf.reshape(x, [tf.size(x) + 1])
        return x

    spec = tf.TensorSpec([None], tf.float32)
    g = tf.function(g.python_function, input_signature=[spec])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"called at .*test_autograph\.py:\d+"):
        g(tf.constant([1.0]))


def test_what_one_branch_leaves_undefined_is_an_error() -> None:
    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        if x > 0:
            y = x
        return y

    with pytest.raises(ValueError, match="'y' must also be initialized in the else branch"):
        f(tf.constant(1))

    @tf.function
    def g(x: tf.Tensor) -> Any:
        if x > 0:
            return x
        return None

    with pytest.raises(ValueError, match="else branch must also have a return"):
        g(tf.constant(1))

    @tf.function
    def h(x: tf.Tensor) -> Any:
        s = 0
        for i in tf.range(x):
            s += tf.cast(i, tf.float32)
        return s

    with pytest.raises((TypeError, ValueError), match=r"int32|float32"):
        h(tf.constant(1))


def test_code_without_source_runs_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    namespace: dict[str, Any] = {"__name__": "made"}
    exec("def f(x):\n    if x is not None:\n        return x * 2\n", namespace)
    with caplog.at_level(logging.WARNING, "pinnace.autograph"):
        assert int(tf.function(namespace["f"])(tf.constant(4))) == 8
    assert "could not convert f" in caplog.text


def test_plain_functions_do_not_even_import_malt() -> None:
    program = (
        "import sys, pinnace as tf\n"
        "f = tf.function(lambda x: tf.nn.relu(x * 2.0) + 1.0)\n"
        "assert float(f(tf.constant(1.0))) == 3.0\n"
        "assert 'malt' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_other_types_can_say_how_they_are_iterated() -> None:
    class Countdown:
        def __init__(self, start: tf.Tensor) -> None:
            self.start = start

    def over(
        iterated: Countdown,
        extra_test: Any,
        body: Any,
        get_state: Any,
        set_state: Any,
        symbol_names: Any,
        opts: Any,
    ) -> None:
        left = [iterated.start]

        def get() -> tuple[Any, ...]:
            return (left[0], *get_state())

        def put(values: tuple[Any, ...]) -> None:
            left[0] = values[0]
            set_state(values[1:])

        def test() -> Any:
            more = left[0] > 0
            return more if extra_test is None else operators.and_(lambda: more, extra_test)

        def turn() -> None:
            body(left[0])
            left[0] = left[0] - 1

        operators.run_loop(test, turn, get, put, ("left", *symbol_names), opts)

    operators.register_iteration(Countdown, over)

    @tf.function
    def f(n: tf.Tensor) -> tf.Tensor:
        total = 0
        for k in Countdown(n):
            if k == 2:
                break
            total += k
        return total

    assert int(f(tf.constant(5))) == 5 + 4 + 3


def test_a_list_that_a_loop_appends_to_becomes_a_tensor_array() -> None:
    def f(x: Any, n: Any) -> Any:
        rows = [x]
        kept = []
        for i in range(n):
            x = tf.sin(x) + tf.cast(i, tf.float64)
            rows.append(x)
            if i % 2 == 0:
                kept.append(x * 2.0)
        return tf.stack(rows), tf.concat(kept, 0), rows[-1]

    x = tf.constant([0.1, 0.2], tf.float64)
    found = []
    for program, n in ((f, 4), (tf.function(f), 4), (tf.function(f), tf.constant(4))):
        with tf.GradientTape() as tape:
            tape.watch(x)
            parts = program(x, n)
            y = tf.reduce_sum(parts[0] ** 2) + tf.reduce_sum(parts[1]) + tf.reduce_sum(parts[2])
        found.append([*(part.numpy() for part in parts), tape.gradient(y, x).numpy()])
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            np.testing.assert_allclose(other, one, rtol=1e-12)


def test_lists_of_python_stay_lists() -> None:
    seen: list[int] = []

    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        parts = []
        for k in range(3):
            parts.append(x * float(k))
            seen.append(k)
        assert isinstance(parts, list)
        return tf.add_n(parts)

    assert float(f(tf.constant(2.0))) == 6.0
    assert seen == [0, 1, 2]


class _Scaled(tf.keras.layers.Layer):
    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return self.inner(x) * 2.0


class _Signed:
    def flipped(self, x: tf.Tensor) -> tf.Tensor:
        if tf.reduce_sum(x) > 0.0:
            return x
        return -x


class _Behind(tf.keras.layers.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.inner = _Signed()

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return self.inner.flipped(x)


def test_a_method_is_converted_where_an_attribute_of_its_object_has_control_flow() -> None:
    x = tf.constant([1.0, -3.0])
    plain, flowing = _Scaled(tf.nn.relu), _Scaled(_Signed().flipped)
    for _ in range(2):  # the same function, of objects that need it and that do not
        np.testing.assert_array_equal(tf.function(plain)(x), [2.0, 0.0])
        np.testing.assert_array_equal(tf.function(flowing)(x), [-2.0, 6.0])
    np.testing.assert_array_equal(tf.function(_Behind())(x), [-1.0, 3.0])


def test_layers_without_control_flow_are_not_converted() -> None:
    code = """
import sys
import pinnace as tf

class Block(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.dense, self.scale = tf.keras.layers.Dense(2), tf.Variable(2.0)
    def call(self, x):
        return self.dense(x) * self.scale

print(tf.function(Block())(tf.ones([1, 3])).shape, "malt" in sys.modules)
"""
    assert run_fresh(code).strip() == "(1, 2) False"
