"""Functions that TensorFlow and pinnace trace: their results as JSON.

Run as `python function_programs.py tensorflow|pinnace FOLDER`; see test_program_files.py. Numbers
are exact in both libraries, or rounded where the program says so.
"""

# ruff: noqa: ARG005, B905, C417, SIM108, SIM201, SIM210 (written as AutoGraph is to see them)

import functools
import importlib
import json
import sys
from collections.abc import Callable
from typing import Any

tf: Any = importlib.import_module(sys.argv[1])
D = tf.data.Dataset


def plain(x: Any) -> Any:
    """A value for JSON; floats with the digits on which both libraries agree."""
    if isinstance(x, (tuple, list)):
        return [plain(item) for item in x]
    if isinstance(x, dict):
        return {str(key): plain(item) for key, item in sorted(x.items())}
    if isinstance(x, float):
        return float(f"{x:.6g}")
    if isinstance(x, bytes):
        return x.decode("latin-1")
    if hasattr(x, "numpy"):
        return [tf.as_dtype(x.dtype).name, plain(x.numpy())]
    return plain(x.tolist()) if hasattr(x, "tolist") else x


def outcome(name: str) -> Any:
    """The result of a program, or the class of its error."""
    try:
        return plain(PROGRAMS[name]())
    except Exception as error:
        return f"error: {type(error).__name__}"


# Variables that a function creates in its first call.


def made_of(initial: Callable[[Any], Any], *calls: Any) -> Any:
    """A variable with the value `initial(x)`, which each call multiplies by its argument."""
    kept: list[Any] = []

    @tf.function
    def step(x: Any) -> Any:
        if not kept:
            kept.append(tf.Variable(initial(x)))
        return kept[0].assign(kept[0] * x)

    found = [step(tf.constant(x)) for x in calls]
    return found, kept[0], len(kept)


def made_of_another() -> Any:
    """The second variable's value depends on the first, the third's on an outer one."""
    outside = tf.Variable(5.0)
    kept: list[Any] = []

    @tf.function
    def step(x: Any) -> Any:
        if not kept:
            kept.append(tf.Variable(tf.constant(2.0)))
            kept.append(tf.Variable(kept[0] * 3.0))
            kept.append(tf.Variable(outside + kept[1]))
        kept[2].assign_add(x)
        return kept[0] + kept[1] + kept[2]

    return [step(tf.constant(1.0)) for _ in range(2)]


def made_inside_a_called_function() -> Any:
    """An inner function creates the variable while the outer one is traced."""
    kept: list[Any] = []

    @tf.function
    def inner(x: Any) -> Any:
        if not kept:
            kept.append(tf.Variable(tf.constant([1.0, 2.0]) * 3.0))
        return kept[0] * x

    @tf.function
    def outer(x: Any) -> Any:
        return inner(x) + 1.0

    return outer(tf.constant(2.0)), inner(tf.constant(2.0)), kept[0]


class Once(tf.Module):
    """A module whose call creates its weights, as in the guide to functions."""

    def __init__(self) -> None:
        super().__init__()
        self.w = None

    @tf.function
    def __call__(self, x: Any) -> Any:
        if self.w is None:
            self.w = tf.Variable(tf.random.normal([3, 2]) * 0.0 + 2.0)
        return x @ self.w


def made_by_a_module() -> Any:
    """The module lists the variable, and its signature is traced with it."""
    once = Once()
    first = once(tf.ones([1, 3]))
    return first, len(once.variables), once.w, once(tf.ones([2, 3]))


def made_for_a_concrete_function() -> Any:
    """Tracing alone creates the variable; an initial value from an argument is unknown then."""
    kept: list[Any] = []

    @tf.function
    def step(x: Any) -> Any:
        if not kept:
            kept.append(tf.Variable(tf.range(3) * 2))
        return kept[0] * x

    concrete = step.get_concrete_function(tf.TensorSpec([], tf.int32))
    return concrete(tf.constant(3)), len(concrete.variables)


def made_each_call() -> Any:
    """A variable that each call creates, which is refused."""

    @tf.function
    def step(x: Any) -> Any:
        return tf.Variable(tf.constant(1.0)) + x

    return step(tf.constant(1.0))


def variables_in_branches() -> Any:
    """A variable on one side of an if, a tensor or another variable on the other."""
    v, w = tf.Variable([1.0, 2.0]), tf.Variable([5.0, 6.0])

    @tf.function
    def mixed(x: Any) -> Any:
        if x > 0:
            r = v * x
        else:
            r = v
        return r

    @tf.function
    def two(x: Any) -> Any:
        if x > 0:
            r = v
        else:
            r = w
        return r * 2

    @tf.function
    def kept(x: Any) -> Any:
        r = v
        if x > 0:
            r = r * 3
        return r + x

    return [[f(tf.constant(x)) for x in (1.0, -1.0)] for f in (mixed, two, kept)]


# Python's functions of datasets in a traced loop.


def looped(make: Callable[..., Any], *datasets: Any) -> Any:
    """The weighted sum of the elements of `make(*datasets)`."""

    @tf.function
    def total(*given: Any) -> Any:
        found, place = tf.constant(0, tf.int64), tf.constant(1, tf.int64)
        for items in make(*given):
            for item in tf.nest.flatten(items):
                found += place * tf.cast(item, tf.int64)
            place *= 3
        return found, place

    return total(*datasets)


def interrupted() -> Any:
    """enumerate(zip()) with unpacking and a break on a tensor."""

    @tf.function
    def total(a: Any, b: Any) -> Any:
        found = tf.constant(0, tf.int64)
        for i, (x, y) in enumerate(zip(a, b)):
            if x > 2:
                break
            found += i * x + y
        return found

    return total(D.range(5), D.range(10, 20))


def truths(*values: bool) -> Any:
    """`any` and `all` over a dataset."""

    @tf.function
    def both(dataset: Any) -> Any:
        return any(dataset), all(dataset)

    return both(D.from_tensor_slices(list(values)))


def counted() -> Any:
    """The length of a dataset in a traced function."""

    @tf.function
    def count(dataset: Any) -> Any:
        return len(dataset)

    return count(D.range(7))


# Python control flow in functions passed to datasets.


def flow(x: Any) -> Any:
    """`if`, `while` and `for` on tensors."""
    if x > 2:
        y = x * 10
    else:
        y = -x
    i = tf.constant(0, tf.int64)
    while i < 2:
        y += 1
        i += 1
    for k in tf.range(3):
        if k == 1:
            continue
        y += tf.cast(k, tf.int64)
    return y


def kept(x: Any) -> Any:
    """A predicate that returns early."""
    if x > 2:
        return True
    return x < 1


def added(total: Any, x: Any) -> Any:
    """A state that only large elements increase."""
    if x > 2:
        total += x
    return total


def scanned(total: Any, x: Any) -> Any:
    """The same, with the states as elements."""
    if x > 2:
        total += x
    return total, total * 2


def ranged(x: Any) -> Any:
    """A dataset whose length depends on a branch."""
    if x > 2:
        n = x
    else:
        n = tf.constant(1, tf.int64)
    return D.range(n)


class Signed:
    """A callable object with a method."""

    def __init__(self, bound: int) -> None:
        self.bound = bound

    def __call__(self, x: Any) -> Any:
        if x > self.bound:
            return x
        return -x

    def twice(self, x: Any, factor: int = 2) -> Any:
        """The same, times a factor."""
        if x > self.bound:
            y = x
        else:
            y = -x
        return y * factor


def helper(x: Any) -> Any:
    """A function called by the mapped one."""
    if x % 2 == 0:
        return x
    return x * 100


@tf.autograph.experimental.do_not_convert
def unconverted(x: Any) -> Any:
    """Unconverted Python code gets a symbolic tensor."""
    if x > 2:
        return x
    return -x


@tf.autograph.experimental.do_not_convert
def mapped_unconverted() -> Any:
    """Inside do_not_convert, functions passed to datasets are not converted either."""
    return list(D.range(3).map(flow))


def reduced_in_a_function() -> Any:
    """`reduce` while a function is traced."""

    @tf.function
    def total(n: Any) -> Any:
        return D.range(n).reduce(tf.constant(0, tf.int64), added)

    return total(tf.constant(6, tf.int64))


# Keras in float64.


def in_float64() -> Any:
    """Weights, gradients, optimizer and results under the policy `float64`."""
    tf.keras.mixed_precision.set_global_policy("float64")
    try:
        layer = tf.keras.layers.Dense(2, kernel_initializer="ones")
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(layer(tf.ones([2, 3])) ** 2)
        gradients = tape.gradient(y, layer.trainable_variables)
        model = tf.keras.Sequential([tf.keras.Input((3,)), layer, tf.keras.layers.Dense(1)])
        model.compile("adam", "mse")
        model.fit(tf.ones([4, 3]), tf.ones([4, 1]), verbose=0)
        return (
            y,
            gradients,
            [tf.as_dtype(w.dtype).name for w in model.weights],
            [tf.as_dtype(w.dtype).name for w in model.optimizer.variables],
            model.predict(tf.ones([4, 3]), verbose=0).dtype.name,
        )
    finally:
        tf.keras.mixed_precision.set_global_policy("float32")


def scalar_steps(name: str, dtype: str) -> Any:
    """Five steps of an optimizer on a scalar and a vector, inside a function."""
    optimizer = getattr(tf.keras.optimizers, name)(0.125)
    v, w = tf.Variable(tf.constant(3.0, dtype)), tf.Variable(tf.constant([3.0, 1.0], dtype))

    @tf.function
    def step() -> None:
        with tf.GradientTape() as tape:
            loss = v * v + tf.reduce_sum(w * w)
        optimizer.apply_gradients(zip(tape.gradient(loss, [v, w]), [v, w], strict=True))

    for _ in range(5):
        step()
    # 1 - 0.999 ** 1 has four digits in float32; Nadam keeps a product in float32 for either dtype.
    digits = 4 if dtype == "float32" else 5
    return [tf.as_dtype(x.dtype).name for x in (v, w)], [
        float(f"{x:.{digits}g}") for x in [float(v), *map(float, w.numpy())]
    ]


def optimizers(*names: str) -> Any:
    """Every optimizer in both dtypes."""
    return {f"{n} {d}": scalar_steps(n, d) for n in names for d in ("float32", "float64")}


def floatx_is_float64() -> Any:
    """The last program: the learning rate has the dtype of floats."""
    tf.keras.backend.set_floatx("float64")
    adam = tf.keras.optimizers.Adam(0.125)
    v = tf.Variable(tf.constant(3.0, tf.float64))
    adam.apply_gradients([(tf.constant(1.0, tf.float64), v)])
    found = [tf.as_dtype(w.dtype).name for w in adam.variables]
    tf.keras.backend.set_floatx("float32")
    return found, v


def symbolic_custom_gradients() -> Any:
    """`gradients` inside a function uses custom gradients."""
    w = tf.Variable([2.0, 3.0])

    @tf.custom_gradient
    def odd(x: Any) -> Any:
        def back(dy: Any, variables: Any = None) -> Any:
            return dy * 10.0, [dy * 100.0 for _ in variables]

        return x * w, back

    @tf.function
    def run(x: Any) -> Any:
        y = odd(x * 2.0)
        return [tf.convert_to_tensor(one) for one in tf.gradients(y, [x, y])]

    return run(tf.constant([1.0, 4.0]))


def gradients_of_sources() -> Any:
    """Targets that are sources, watched or not."""
    v, x = tf.Variable([1.0, 2.0]), tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = v * 2.0
    return [
        tape.gradient(v, v),
        tape.gradient(x, x),
        tape.gradient([v, y], v),
        tape.gradient(y, [y, v]),
        tape.gradient(v, v, output_gradients=tf.constant([5.0, 6.0])),
        tape.gradient(x, v) is None,
    ]


PROGRAMS = {
    "made_of_a_constant": lambda: made_of(lambda x: tf.fill([2], 3.0), 2.0, 4.0),
    "made_of_draws": lambda: made_of(lambda x: tf.random.normal([2]) * 0.0 + 1.0, 2.0, 4.0),
    "made_of_an_argument": lambda: made_of(lambda x: x * 2.0, 2.0, 4.0),
    "made_of_a_shape": lambda: made_of(lambda x: tf.ones(tf.shape(x)), [2.0, 3.0], [1.0, 1.0]),
    "made_of_a_branch": lambda: made_of(lambda x: tf.cond(x > 1, lambda: x, lambda: -x), 2.0, 4.0),
    "made_of_a_loop": lambda: made_of(
        lambda x: tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * 2.0), [0, 1.0])[1], 2.0
    ),
    "made_of_another": made_of_another,
    "made_inside_a_called_function": made_inside_a_called_function,
    "made_by_a_module": made_by_a_module,
    "made_for_a_concrete_function": made_for_a_concrete_function,
    "made_each_call": made_each_call,
    "variables_in_branches": variables_in_branches,
    "enumerated": lambda: looped(enumerate, D.range(5)),
    "enumerated_from_ten": lambda: looped(lambda d: enumerate(d, 10), D.range(5)),
    "zipped": lambda: looped(zip, D.range(5), D.range(10, 14)),
    "three_zipped": lambda: looped(zip, D.range(3), D.range(4), D.range(10, 13)),
    "enumerated_and_zipped": lambda: looped(
        lambda a, b: enumerate(zip(a, b)), D.range(5), D.range(10, 20)
    ),
    "mapped_by_python": lambda: looped(lambda d: map(lambda x: x * 2, d), D.range(5)),
    "two_mapped_by_python": lambda: looped(
        lambda a, b: map(lambda x, y: x * 2 + y, a, b), D.range(5), D.range(3, 8)
    ),
    "pairs_mapped_by_python": lambda: looped(
        lambda d: map(lambda pair: pair[0] - pair[1], d), D.zip((D.range(5), D.range(3, 8)))
    ),
    "filtered_by_python": lambda: looped(lambda d: filter(lambda x: x > 1, d), D.range(5)),
    "interrupted": interrupted,
    "truths": lambda: [truths(True, False), truths(True, True), truths(False, False)],
    "counted": counted,
    "map": lambda: list(D.range(5).map(flow)),
    "map_in_parallel": lambda: list(D.range(5).map(flow, num_parallel_calls=2)),
    "map_then_batch": lambda: list(D.range(5).map(flow).batch(2)),
    "map_of_a_lambda": lambda: list(D.range(5).map(lambda x: x * 2 if x > 2 else -x)),
    "map_that_calls": lambda: list(D.range(5).map(lambda x: helper(x) + 1)),
    "map_of_an_object": lambda: list(D.range(5).map(Signed(3))),
    "map_of_a_method": lambda: list(D.range(5).map(Signed(3).twice)),
    "map_of_a_partial": lambda: list(D.range(5).map(functools.partial(Signed(3).twice, factor=5))),
    "map_unconverted": lambda: list(D.range(5).map(unconverted)),
    "map_inside_of_unconverted": mapped_unconverted,
    "filter": lambda: list(D.range(5).filter(kept)),
    "filter_of_a_lambda": lambda: list(D.range(5).filter(lambda x: x > 1 and not x == 3)),
    "take_while": lambda: list(D.range(1, 5).take_while(lambda x: True if x < 3 else False)),
    "reduce": lambda: D.range(6).reduce(tf.constant(0, tf.int64), added),
    "reduce_in_a_function": reduced_in_a_function,
    "scan": lambda: list(D.range(6).scan(tf.constant(0, tf.int64), scanned)),
    "flat_map": lambda: list(D.range(5).flat_map(ranged)),
    "interleave": lambda: list(D.range(5).interleave(ranged, cycle_length=2)),
    "in_float64": in_float64,
    "optimizers": lambda: optimizers(
        *("SGD", "RMSprop", "Adam", "AdamW", "Adadelta", "Adagrad", "Adamax"),
        *("Nadam", "Ftrl", "Lion", "Lamb"),
    ),
    "floatx_is_float64": floatx_is_float64,
    "symbolic_custom_gradients": symbolic_custom_gradients,
    "gradients_of_sources": gradients_of_sources,
}

if __name__ == "__main__":
    sys.stdout.write("\n" + json.dumps({name: outcome(name) for name in PROGRAMS}))
