"""Control flow, calls, effects and Python functions inside traced functions."""

from typing import Any


def conditions(tf: Any, ops: Any, x: Any, _: Any) -> list[Any]:
    """cond and switch_case, with gradients."""

    def function(x: Any) -> list[Any]:
        total = tf.reduce_sum(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.cond(total > 0, lambda: x * x, lambda: -x)
        which = tf.cast(tf.abs(total), tf.int32) % 3
        z = tf.switch_case(which, [lambda: x + 1, lambda: x * 2, lambda: x - total])
        return [y, z, tape.gradient(y, x)]

    return list(ops.trace(function, x))


def conditions_with_effects(tf: Any, ops: Any, x: Any, _: Any) -> list[Any]:
    """The same with branches that have side effects."""
    v = tf.Variable(x)

    def function(x: Any) -> list[Any]:
        total = tf.reduce_sum(x)
        y = tf.cond(total > 0, lambda: v.assign_add(x) + 0, lambda: v.assign_sub(x) + 1)
        which = tf.cast(tf.abs(total), tf.int32) % 2
        z = tf.switch_case(which, [lambda: v.assign(y * 2) + 0, lambda: v + 1])
        return [y, z]

    return [*ops.trace(function, x), v.read_value()]


def loops(tf: Any, ops: Any, x: Any, _: Any) -> list[Any]:
    """while_loop with an accumulated gradient, and one with side effects."""
    v = tf.Variable(x)

    def body(i: Any, y: Any) -> Any:
        return i + 1, y * 0.5 + tf.cast(i, x.dtype)

    def effective(i: Any, y: Any) -> Any:
        return i + 1, y + v.assign_add(y) + 0

    def function(x: Any) -> list[Any]:
        zero = tf.constant(0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            count, y = tf.while_loop(lambda i, _: i < 4, body, [zero, x * x])
        _, z = tf.while_loop(lambda i, _: i < 3, effective, [zero, x])
        return [count, y, z, tape.gradient(y, x)]

    return [*ops.trace(function, x), v.read_value()]


def calls(tf: Any, ops: Any, x: Any, y: Any) -> list[Any]:
    """Functions that call functions, with and without side effects."""
    v = tf.Variable(x)

    @tf.function
    def pure(x: Any) -> Any:
        return tf.sin(x) * 2

    @tf.function
    def effective(x: Any) -> Any:
        v.assign_add(x)
        return v * 1

    def function(x: Any) -> list[Any]:
        with tf.GradientTape() as tape:
            tape.watch(x)
            z = pure(x) * y
        return [z, tape.gradient(z, x), effective(x)]

    return [*ops.trace(function, x), v.read_value()]


def checks(tf: Any, ops: Any, x: Any, _: Any) -> list[Any]:
    """True assertions, printing and no-ops do not change values."""

    def function(x: Any) -> Any:
        ops.Assert(condition=tf.reduce_sum(x * x) >= 0, data=[x], summarize=2)
        ops.NoOp()
        x = ops.CheckNumerics(tensor=x, message="here")
        return ops.Print(input=x, data=[x], message="told: ")

    return [ops.trace(function, x), function(x)]


def refused(tf: Any, ops: Any, x: Any, _: Any) -> list[Any]:
    """A failing assertion."""
    return [ops.Assert(condition=tf.reduce_sum(x * x) < 0, data=[x], summarize=2)]


def python(tf: Any, ops: Any, x: Any, _: Any) -> list[Any]:
    """Python functions in a graph."""

    def function(x: Any) -> list[Any]:
        eager = tf.py_function(lambda t: t * 3, [x], x.dtype)
        plain = tf.numpy_function(lambda a: a + 1, [x], x.dtype)
        calm = tf.numpy_function(lambda a: a - 1, [x], x.dtype, stateful=False)
        return [eager, plain, calm]

    return list(ops.trace(function, x))
