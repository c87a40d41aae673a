"""cond, case, while_loop, map_fn, scan and folds: eager = traced, with gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pinnace as tf
from pinnace.functions.control.conditional import case, cond, switch_case
from pinnace.functions.control.looping import while_loop
from pinnace.functions.control.mapping import foldl, foldr, map_fn, scan, vectorized_map
from pinnace.ops.composites.tensor_array import TensorArray
from pinnace.ops.control.printing import tf_print

if TYPE_CHECKING:
    from collections.abc import Callable


def _power(x: Any, n: int) -> Any:
    def body(i: Any, y: Any) -> Any:
        return i + 1, y * x + tf.sin(y)

    return while_loop(lambda i, _: i < n, body, (0, x))[1]


def _rows(x: Any) -> Any:
    array = TensorArray(x.dtype, 4)
    y = x
    for i in range(4):
        y = y * tf.cos(x)
        array = array.write(i, y)
    return tf.reduce_sum(array.stack() * array.gather([0, 2, 2, 3]))


def _nested(x: Any) -> Any:
    def outer(i: Any, y: Any) -> Any:
        def inner(j: Any, z: Any) -> Any:
            return j + 1, z * tf.cos(x) + cond(z > 0.1, lambda: z, lambda: x * z)

        return i + 1, while_loop(lambda j, _: j <= i, inner, (0, y))[1]

    return while_loop(lambda i, _: i < 3, outer, (0, x))[1]


# Each takes and returns a float64 scalar.
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "cond": lambda x: cond(x > 0.3, lambda: x * x * tf.sin(x), lambda: tf.exp(x)),
    "cond that ignores x on one side": lambda x: cond(
        x > 0.3, lambda: x * x, lambda: x * 0.0 + 2.0
    ),
    "case": lambda x: case([(x > 0.6, lambda: x * x), (x > 0.2, lambda: tf.sin(x))], lambda: x),
    "switch_case": lambda x: switch_case(
        tf.cast(x * 3.0, tf.int32), [lambda: x, lambda: x * x, lambda: tf.exp(x)]
    ),
    "while": lambda x: _power(x, 3),
    "while without a turn": lambda x: _power(x, 0),
    "nested": _nested,
    "TensorArray": _rows,
    "map_fn": lambda x: tf.reduce_sum(map_fn(lambda i: tf.sin(i * x), tf.range(3.0) * x)),
    "vectorized_map": lambda x: tf.reduce_sum(vectorized_map(lambda i: i * x, tf.range(3.0) * x)),
    "scan": lambda x: tf.reduce_sum(scan(lambda a, i: a * i + x, tf.range(4.0) * x)),
    "scan reversed": lambda x: tf.reduce_sum(
        scan(lambda a, i: a * i + x, tf.range(4.0) * x, x, reverse=True)[1:]
    ),
    "foldl": lambda x: foldl(lambda a, i: a * tf.cos(i) + x, tf.range(4.0) * x),
    "foldr": lambda x: foldr(lambda a, i: a * tf.cos(i) + i, tf.range(4.0) * x, x),
}


@pytest.fixture(autouse=True)
def _double_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """`tf.range(3.0)` in float64 for the programs above."""
    real = tf.range
    monkeypatch.setattr(tf, "range", lambda n: tf.cast(real(n), tf.float64))


def _derivatives(f: Callable[[Any], Any], value: float) -> tuple[float, float, float]:
    x = tf.constant(value, tf.float64)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        dy = inner.gradient(y, x, unconnected_gradients="zero")
    ddy = outer.gradient(dy, x, unconnected_gradients="zero")
    return float(y), float(dy), float(ddy)


@pytest.mark.parametrize("name", PROGRAMS)
@settings(deadline=None, max_examples=6)
@given(
    value=st.floats(-0.9, 0.95).filter(
        lambda x: min(abs(x - k) for k in (0.2, 0.3, 1 / 3, 0.6, 2 / 3)) > 1e-2
    )
)
def test_traced_is_eager_with_first_and_second_derivative(name: str, value: float) -> None:
    program = PROGRAMS[name]
    eager = _derivatives(program, value)
    traced = _derivatives(tf.function(program, autograph=False), value)
    np.testing.assert_allclose(traced, eager, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_derivative_is_the_finite_difference(name: str) -> None:
    program = tf.function(PROGRAMS[name], autograph=False)
    step = 1e-6
    _, dy, ddy = _derivatives(program, 0.45)
    ahead, behind = _derivatives(program, 0.45 + step), _derivatives(program, 0.45 - step)
    np.testing.assert_allclose(dy, (ahead[0] - behind[0]) / (2 * step), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ddy, (ahead[1] - behind[1]) / (2 * step), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_tape_inside_the_function_gives_the_same(name: str) -> None:
    program = PROGRAMS[name]
    eager = _derivatives(program, 0.45)

    @tf.function(autograph=False)
    def inside(x: tf.Tensor) -> Any:
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = program(x)
            dy = inner.gradient(y, x, unconnected_gradients="zero")
        return y, dy, outer.gradient(dy, x, unconnected_gradients="zero")

    found = [float(one) for one in inside(tf.constant(0.45, tf.float64))]
    np.testing.assert_allclose(found, eager, rtol=1e-9)


def test_gradients_reach_variables_read_in_branches_and_bodies() -> None:
    v = tf.Variable(3.0)
    w = tf.Variable([2.0, 1.0])

    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        y = cond(x > 0.0, lambda: x * v, lambda: x)
        return while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * w[0] + w[1]), (0, y))[1]

    for value, of_v in ((1.5, 12.0), (-1.5, 0.0)):
        with tf.GradientTape() as tape:
            y = f(tf.constant(value))
        dv, dw = tape.gradient(y, [v, w])
        start = value * 3.0 if value > 0 else value
        assert float(dv) == of_v
        np.testing.assert_allclose(dw.numpy(), [12 * start + 4 + 1, 7.0])


def test_effects_happen_in_program_order_inside_branches_and_bodies(
    capfd: pytest.CaptureFixture[str],
) -> None:
    v = tf.Variable(1.0)

    @tf.function
    def f(n: tf.Tensor) -> tf.Tensor:
        before = v.read_value()

        def body(i: tf.Tensor) -> tuple[tf.Tensor]:
            v.assign_add(1.0)
            tf_print("v is", v.read_value())
            cond(i > 0, lambda: v.assign(v * 2.0).read_value(), lambda: v.read_value())
            tf_print("then", v.read_value())
            return (i + 1,)

        while_loop(lambda i: i < n, body, (tf.constant(0),))
        return before + v.read_value()

    assert float(f(tf.constant(2))) == 1.0 + 6.0
    assert capfd.readouterr().err == "v is 2\nthen 2\nv is 3\nthen 6\n"
    assert float(v) == 6.0


def test_only_the_chosen_branch_has_effects() -> None:
    v = tf.Variable(0)
    f = tf.function(
        lambda x: cond(x, lambda: v.assign_add(1).value(), lambda: v.assign_sub(10).value())
    )
    f(tf.constant(True))
    assert int(v) == 1
    f(tf.constant(False))
    assert int(v) == -9


def test_an_index_out_of_range_takes_the_default_or_the_last() -> None:
    functions = [lambda: tf.constant(10), lambda: tf.constant(20)]
    for wrap in (lambda f: f, tf.function):
        last = wrap(lambda i: switch_case(i, functions))
        default = wrap(lambda i: switch_case(i, functions, lambda: tf.constant(99)))
        assert [int(last(tf.constant(i))) for i in (0, 1, 2, -1)] == [10, 20, 20, 20]
        assert [int(default(tf.constant(i))) for i in (0, 1, 2, -1)] == [10, 20, 99, 99]


def test_maximum_iterations_bounds_a_loop() -> None:
    for wrap in (lambda f: f, tf.function):
        f = wrap(
            lambda n: while_loop(
                lambda i: i < 100, lambda i: (i + 1,), (tf.constant(0),), maximum_iterations=n
            )
        )
        assert int(f(tf.constant(7))[0]) == 7


def test_structures_go_through_loops_and_branches() -> None:
    @tf.function
    def f(x: tf.Tensor) -> Any:
        start = {"a": x, "b": (x + 1.0, [x])}
        found = while_loop(
            lambda i, _: i < 2,
            lambda i, s: (i + 1, {"a": s["a"] * 2.0, "b": (s["b"][0], [s["a"]])}),
            (0, start),
        )[1]
        return cond(x > 0.0, lambda: found, lambda: start)

    found = f(tf.constant(1.0))
    assert (float(found["a"]), float(found["b"][0]), float(found["b"][1][0])) == (4.0, 2.0, 2.0)


def test_branches_must_agree() -> None:
    with pytest.raises(
        TypeError, match="true_fn and false_fn must return the same dtypes, got float32 and int32"
    ):
        tf.function(lambda x: cond(x, lambda: 1.0, lambda: 1))(tf.constant(True))
    with pytest.raises(TypeError, match="must return the same structure"):
        tf.function(lambda x: cond(x, lambda: 1.0, lambda: (1.0, 2.0)))(tf.constant(True))


def test_a_loop_variable_keeps_dtype_and_shape() -> None:
    with pytest.raises(
        TypeError, match="loop variable 0 enters the loop with dtype int32, but has float32"
    ):
        tf.function(
            lambda n: while_loop(lambda i: i < n, lambda i: (tf.cast(i, tf.float32),), (n,))
        )(tf.constant(3))

    def grow(n: tf.Tensor, invariants: Any) -> Any:
        return while_loop(
            lambda x: tf.size(x) < n,
            lambda x: (tf.concat([x, x], 0),),
            (tf.ones([1]),),
            shape_invariants=invariants,
        )

    with pytest.raises(ValueError, match=r"has shape \(1,\) before the loop, but shape \(2,\)"):
        tf.function(lambda n: grow(n, None))(tf.constant(5))
    found = tf.function(lambda n: grow(n, (tf.TensorShape([None]),)))(tf.constant(5))
    assert found[0].shape == (8,)


def test_map_fn_over_no_rows_keeps_what_is_known() -> None:
    empty = tf.zeros([0, 3])
    for wrap in (lambda f: f, tf.function):
        found = wrap(
            lambda x: map_fn(
                lambda row: (row * 2.0, tf.size(row)),
                x,
                fn_output_signature=(tf.TensorSpec([3], tf.float32), tf.int32),
            )
        )(empty)
        assert found[0].shape == (0, 3)
        assert found[1].dtype is tf.int32


def test_case_that_must_be_exclusive_says_so() -> None:
    f = tf.function(
        lambda x: case([(x > 1, lambda: 1), (x > 2, lambda: 2)], lambda: 3, exclusive=True)
    )
    assert int(f(tf.constant(2))) == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="more than one condition is true"):
        f(tf.constant(3))


def test_a_long_loop_of_scalars_is_quick_and_right() -> None:
    f = tf.function(lambda n: while_loop(lambda i, _: i < n, lambda i, s: (i + 1, s + i), (0, 0)))
    assert int(f(tf.constant(10_000))[1]) == sum(range(10_000))


def test_loops_and_branches_survive_saving(tmp_path: Any) -> None:
    class Model(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.v = tf.Variable(2.0)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def f(self, x: tf.Tensor) -> tf.Tensor:
            return scan(lambda a, r: cond(r > 1.0, lambda: a * self.v, lambda: a + r), x)

    model = Model()
    x = tf.constant([1.0, 3.0, 0.5, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = model.f(x)
    expected = tape.gradient(y, [x, model.v])
    tf.saved_model.save(model, str(tmp_path / "m"))
    loaded = tf.saved_model.load(str(tmp_path / "m"))
    with tf.GradientTape() as tape:
        tape.watch(x)
        again = loaded.f(x)
    found = tape.gradient(again, [x, loaded.v])
    np.testing.assert_array_equal(again.numpy(), y.numpy())
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy())


@pytest.mark.parametrize("shape", [[1], [1, 1], [None], None])
def test_a_condition_of_one_element_is_a_scalar(shape: Any) -> None:
    @tf.function(input_signature=[tf.TensorSpec(shape, tf.int32)])
    def count(x: Any) -> Any:
        return while_loop(lambda i: i < 3, lambda i: i + 1, (x,))

    given = np.zeros([size or 1 for size in shape or [1]], np.int32)
    np.testing.assert_array_equal(count(given)[0], given + 3)


def test_a_condition_of_several_elements_is_refused() -> None:
    @tf.function
    def count(x: Any) -> Any:
        return while_loop(lambda i: i < 3, lambda i: i + 1, (x,))

    with pytest.raises(TypeError, match=r"cond must give a bool scalar, got bool\[2\]"):
        count(np.zeros(2, np.int32))


@pytest.mark.parametrize("pred", [True, np.bool_(True), 1, np.float32(0.5), np.array(True)])
def test_a_python_predicate_decides_while_a_function_is_traced(pred: Any) -> None:
    @tf.function
    def chosen(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        yes = cond(pred, lambda: x + 1, lambda: x)
        no = cond(not pred, lambda: x + 1, lambda: x)
        return yes, no

    assert [float(value) for value in chosen(tf.constant(1.0))] == [2.0, 1.0]


@pytest.mark.parametrize("eager", [False, True])
def test_a_layer_branches_on_its_training_argument(eager: bool) -> None:
    class Halves(tf.keras.layers.Layer):
        def call(self, x: Any, training: bool = False) -> Any:
            return tf.keras.ops.cond(training, lambda: x / 2, lambda: x)

    model = tf.keras.Sequential([Halves()])
    model.compile("sgd", "mae", run_eagerly=eager)
    ones = np.ones((2, 3), np.float32)
    assert model.evaluate(ones, 0 * ones, verbose=0) == 1.0
    np.testing.assert_array_equal(model.predict(ones, verbose=0), ones)
    np.testing.assert_array_equal(model(ones, training=True), ones / 2)


@pytest.mark.parametrize(
    ("index", "numbers", "kind"),
    [
        (1, [0, 1], TypeError),
        (np.int32(1), [0, 1], TypeError),
        (1.0, [0, 1], TypeError),
        (tf.constant(1.0), [0, 1], TypeError),
        (tf.constant(0), [0, 2], ValueError),
        (tf.constant(0), [1, 2], ValueError),
        (tf.constant(0), [0, 0], ValueError),
    ],
)
def test_branches_have_numbers_from_zero_and_a_tensor_chooses(
    index: Any, numbers: list[int], kind: type[Exception]
) -> None:
    with pytest.raises(kind, match="switch_case"):
        switch_case(index, [(number, lambda: tf.constant(1)) for number in numbers])


def test_a_loop_gives_the_list_or_tuple_of_its_body_eagerly_and_of_its_variables_traced() -> None:
    def run(make: Any, start: Any) -> type:
        return type(while_loop(lambda i: i < 2, lambda i: make([i + 1]), start))

    zero = tf.constant(0)
    assert [run(tuple, [zero]), run(list, (zero,)), run(list, [zero])] == [tuple, list, list]
    assert type(while_loop(lambda i: i < 0, lambda i: (i,), [zero])) is list
    kinds: list[type] = []
    tf.function(lambda: kinds.append(run(tuple, [tf.constant(0)])))()
    assert kinds == [list]


@pytest.mark.parametrize(
    ("fn", "signature"),
    [
        (lambda x: (x, x), None),
        (lambda x: tf.cast(x, tf.float32), None),
        (lambda x: x, tf.float32),
        (lambda x: (x, x), tf.int32),
        (lambda x: {"a": x}, {"b": tf.int32}),
        (lambda _: tf.zeros([2]), tf.TensorSpec([3], tf.float32)),
        (lambda x: tf.zeros([x]), tf.TensorSpec([1], tf.float32)),
    ],
)
@pytest.mark.parametrize("traced", [False, True])
def test_rows_must_be_as_the_signature_has_them(fn: Any, signature: Any, traced: bool) -> None:
    def mapped() -> Any:
        return map_fn(fn, tf.constant([1, 2]), fn_output_signature=signature)

    with pytest.raises((ValueError, TypeError)):
        tf.function(mapped)() if traced else mapped()
