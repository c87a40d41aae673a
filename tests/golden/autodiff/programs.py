"""Small programs with TensorFlow's results: each takes the library and returns plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAMS: dict[str, Callable[[Any], Any]] = {}
TABLE = np.arange(8.0).reshape(4, 2).astype(np.float32)
INDICES = [[1, 1], [3, 0]]


def program(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Add a program to the list."""
    PROGRAMS[function.__name__] = function
    return function


def plain(tf: Any, x: Any) -> Any:
    """A tensor, slices or a structure of them as lists with their types."""
    if x is None or isinstance(x, (bool, int, float, str)):
        return x
    if isinstance(x, tf.IndexedSlices):
        return {
            "values": plain(tf, x.values),
            "indices": plain(tf, x.indices),
            "dense_shape": plain(tf, x.dense_shape),
            "dtypes": [x.values.dtype.name, x.indices.dtype.name],
        }
    if isinstance(x, dict):
        return {key: plain(tf, x[key]) for key in sorted(x)}
    if isinstance(x, (list, tuple)):
        return [plain(tf, one) for one in x]
    return np.asarray(x).tolist()


# Gradients of gathered rows.


def _gradient(tf: Any, function: Callable[[Any], Any], variable: bool = True) -> Any:
    source = tf.Variable(TABLE) if variable else tf.constant(TABLE)
    with tf.GradientTape() as tape:
        if not variable:
            tape.watch(source)
        target = function(source)
    return plain(tf, tape.gradient(target, source))


def _twice(tf: Any, rows: Any) -> Any:
    return tf.reduce_sum(rows * [[2.0, 3.0]])


GATHERS: dict[str, Callable[[Any, Any], Any]] = {
    "gather": lambda tf, e: _twice(tf, tf.gather(e, INDICES)),
    "lookup": lambda tf, e: _twice(tf, tf.nn.embedding_lookup(e, INDICES)),
    "long_indices": lambda tf, e: _twice(tf, tf.gather(e, tf.constant([1], tf.int64))),
    "second_axis": lambda tf, e: tf.reduce_sum(tf.gather(e, [0, 0], axis=1)),
    "axis_from_the_end": lambda tf, e: tf.reduce_sum(tf.gather(e, [0, 0], axis=-2)),
    "batches": lambda tf, e: tf.reduce_sum(tf.gather(e, [[0], [0], [1], [1]], batch_dims=1)),
    "places": lambda tf, e: tf.reduce_sum(tf.gather_nd(e, [[0], [1]])),
    "elements": lambda tf, e: tf.reduce_sum(tf.gather_nd(e, [[0, 1], [2, 0]])),
    "two_gathers": lambda tf, e: (
        _twice(tf, tf.gather(e, [0, 1])) + tf.reduce_sum(tf.gather(e, [1]))
    ),
    "beside_all_rows": lambda tf, e: _twice(tf, tf.gather(e, [0, 1])) + tf.reduce_sum(e),
    "after_a_product": lambda tf, e: _twice(tf, tf.gather(e * 2.0, [0, 1])),
    "after_identity": lambda tf, e: _twice(tf, tf.gather(tf.identity(e), [0, 1])),
    "after_reshape": lambda tf, e: tf.reduce_sum(tf.gather(tf.reshape(e, [8]), [0, 1])),
}


@program
def gathered_variable(tf: Any) -> Any:
    return {name: _gradient(tf, lambda e, f=f: f(tf, e)) for name, f in GATHERS.items()}


@program
def gathered_tensor(tf: Any) -> Any:
    return {name: _gradient(tf, lambda e, f=f: f(tf, e), False) for name, f in GATHERS.items()}


@program
def gathered_in_a_function(tf: Any) -> Any:
    found = {}
    for name, f in GATHERS.items():
        variable = tf.Variable(TABLE)
        traced = tf.function(lambda f=f, v=variable: f(tf, v))
        with tf.GradientTape() as tape:
            target = traced()
        found[name] = plain(tf, tape.gradient(target, variable))
    return found


@program
def second_derivative_through_slices(tf: Any) -> Any:
    variable = tf.Variable(TABLE)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            target = tf.reduce_sum(tf.gather(variable, [1, 1, 2]) ** 3)
        slope = tf.convert_to_tensor(inner.gradient(target, variable))
        again = tf.reduce_sum(slope**2)
    return plain(tf, tf.convert_to_tensor(outer.gradient(again, variable)))


@program
def clipping(tf: Any) -> Any:
    slices = tf.IndexedSlices(
        tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([1, 1]), tf.constant([3, 2])
    )
    clipped, norm = tf.clip_by_global_norm([slices, tf.constant([2.0]), None], 1.0)
    return plain(
        tf,
        {
            "global_norm": tf.linalg.global_norm([slices, tf.constant([2.0])]),
            "by_global_norm": clipped,
            "norm": norm,
            "by_norm": tf.clip_by_norm(slices, 1.0),
            "by_value": tf.clip_by_value(slices, -2.0, 2.0),
            "scaled": tf.math.scalar_mul(2.0, slices),
            "sum": tf.add_n([slices, slices]),
            "product": tf.multiply(slices, 2.0),
            "negative": -slices,
        },
    )


OPTIMIZERS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {}),
    ("SGD", {"momentum": 0.9}),
    ("SGD", {"momentum": 0.9, "nesterov": True}),
    ("SGD", {"clipnorm": 1.0}),
    ("SGD", {"clipvalue": 1.0}),
    ("SGD", {"global_clipnorm": 1.0}),
    ("SGD", {"weight_decay": 0.1}),
    ("Adam", {}),
    ("Adam", {"amsgrad": True}),
    ("Adam", {"clipnorm": 1.0}),
    ("Adam", {"clipvalue": 5.0}),
    ("Adam", {"global_clipnorm": 1.0}),
    ("Adam", {"use_ema": True}),
    ("AdamW", {}),
    ("Adamax", {}),
    ("Nadam", {}),
    ("Adagrad", {}),
    ("Adagrad", {"clipvalue": 5.0}),
    ("Adadelta", {}),
    ("RMSprop", {}),
    ("RMSprop", {"centered": True, "momentum": 0.5}),
    ("Lion", {}),
]


@program
def optimizers(tf: Any) -> Any:
    found = {}
    for name, options in OPTIMIZERS:
        variable = tf.Variable(TABLE)
        optimizer = getattr(tf.keras.optimizers, name)(0.1, **options)
        for step in range(3):
            with tf.GradientTape() as tape:
                target = tf.reduce_sum(tf.gather(variable, [step, 1, 1]) ** 2)
            gradient = tape.gradient(target, variable)
            optimizer.apply_gradients([(gradient, variable)])
        found[f"{name} {options}"] = plain(tf, variable)
    return found


# Forward derivatives.


def _jvp(tf: Any, function: Callable[[Any], Any], x: Any, t: Any) -> Any:
    x = tf.constant(x)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(t)) as forward:
        y = function(x)
    return plain(tf, forward.jvp(y))


@program
def forward_derivatives(tf: Any) -> Any:
    def loop(x: Any) -> Any:
        return tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a * x), (0, x))[1]

    return {
        "product": _jvp(tf, lambda x: tf.sin(x) * x, 2.0, 3.0),
        "matrices": _jvp(
            tf, lambda x: tf.matmul(x, x), [[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]]
        ),
        "nothing": _jvp(tf, lambda _: tf.constant(1.0), 2.0, 3.0),
        "integers": _jvp(tf, lambda x: tf.cast(x, tf.int32), 2.0, 3.0),
        "traced": _jvp(tf, tf.function(lambda x: tf.sin(x) * x), 2.0, 3.0),
        "loop": _jvp(tf, loop, 2.0, 1.0),
        "traced_loop": _jvp(tf, tf.function(loop), 2.0, 1.0),
        "gather": _jvp(tf, lambda x: tf.gather(x, [2, 0, 2]), [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]),
        "several": _jvp(tf, lambda x: tf.split(x * x, 2), [1.0, 2.0], [3.0, 4.0]),
        "softmax": _jvp(tf, tf.nn.softmax, [1.0, 2.0, 0.5], [1.0, -1.0, 2.0]),
    }


@program
def custom_gradient_forward(tf: Any) -> Any:
    @tf.custom_gradient
    def f(x: Any) -> Any:
        return x * x, lambda dy: dy * 100.0

    return _jvp(tf, f, 2.0, 1.0)


@program
def forward_around_a_tape(tf: Any) -> Any:
    x = tf.constant([1.0, 2.0])
    with tf.autodiff.ForwardAccumulator(x, tf.constant([1.0, 0.5])) as forward:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(x**3) * x[0]
        slope = tape.gradient(y, x)
    return plain(tf, [slope, forward.jvp(slope)])


@program
def a_tape_around_forward(tf: Any) -> Any:
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as forward:
            y = x**3
        slope = forward.jvp(y)
    return plain(tf, [slope, tape.gradient(slope, x)])


@program
def forward_around_forward(tf: Any) -> Any:
    x = tf.constant(2.0)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as outer:
        with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as inner:
            y = x**3
        slope = inner.jvp(y)
    return plain(tf, [outer.jvp(slope), outer.jvp(y)])


@program
def forward_by_several(tf: Any) -> Any:
    x, w = tf.constant(2.0), tf.Variable(3.0)
    with tf.autodiff.ForwardAccumulator([x, w], [tf.constant(1.0), tf.constant(2.0)]) as forward:
        y = x * w
        z = {"q": [y + 1.0]}
        w.assign(5.0)
        after = w * w
    return plain(
        tf,
        [
            forward.jvp(z),
            forward.jvp(w),
            forward.jvp(x),
            forward.jvp(after),
            forward.jvp([y, tf.constant(1.0)], unconnected_gradients="zero"),
        ],
    )


@program
def forward_while_tracing(tf: Any) -> Any:
    @tf.function
    def f(x: Any) -> Any:
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as forward:
            y = tf.sin(x) * x
        return forward.jvp(y)

    return plain(tf, f(tf.constant([1.0, 2.0])))


# Derivatives of graphs.


@program
def gradients_of_a_graph(tf: Any) -> Any:
    @tf.function
    def weighted(x: Any, y: Any) -> Any:
        return tf.gradients([x * y, x], [x, y], grad_ys=[2.0, None], unconnected_gradients="zero")

    @tf.function
    def stopped(x: Any) -> Any:
        y = x * 2.0
        z = y * y
        return tf.gradients(z, [y, x], stop_gradients=[y])

    @tf.function
    def called(x: Any) -> Any:
        inner = tf.function(lambda a: tf.sin(a) * a)
        return tf.gradients(inner(x), x)

    @tf.function
    def branched(x: Any) -> Any:
        y = tf.cond(x > 1.0, lambda: x * x, lambda: -x)
        return tf.gradients(y, x)

    @tf.function
    def looped(x: Any) -> Any:
        y = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a * x), (0, x))[1]
        return tf.gradients(y, x)

    @tf.function
    def second(x: Any) -> Any:
        return tf.hessians(tf.reduce_sum(x**3) * x[0], x)

    x = tf.constant(3.0)
    return plain(
        tf,
        [
            weighted(x, tf.constant(4.0)),
            stopped(x),
            called(x),
            branched(x),
            branched(tf.constant(0.5)),
            looped(x),
            second(tf.constant([3.0, 1.0])),
        ],
    )


# Variables.


@program
def slices_of_variables(tf: Any) -> Any:
    found = []
    variable = tf.Variable(np.arange(12.0).reshape(4, 3).astype(np.float32))
    variable[1:2].assign([[9.0, 9.0, 9.0]])
    found.append(plain(tf, variable))
    variable[0, 1].assign(5.0)
    found.append(plain(tf, variable))
    variable[1:3].assign(7.0)
    variable[2:4, ::2].assign([[1.0], [2.0]])
    found.append(plain(tf, variable))
    variable[0].assign([[3.0, 2.0, 1.0]])
    variable[..., -1].assign([6.0, 5.0, 4.0, 3.0])
    found.append(plain(tf, variable))
    return found


@program
def slices_assigned_in_a_function(tf: Any) -> Any:
    variable = tf.Variable([1.0, 2.0, 3.0])

    @tf.function
    def step(i: Any) -> Any:
        before = variable[i] * 1.0
        variable[i : i + 1].assign([10.0])
        return before, variable[i]

    return plain(tf, [step(tf.constant(1)), step(tf.constant(1)), variable])


@program
def scattered(tf: Any) -> Any:
    found = {}
    for how in ("add", "sub", "mul", "div", "max", "min", "update"):
        variable = tf.Variable([1.0, 2.0, 3.0])
        getattr(variable, f"scatter_{how}")(tf.IndexedSlices([5.0, 0.5], [2, 0]))
        found[how] = plain(tf, variable)
    batched = tf.Variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    batched.batch_scatter_update(tf.IndexedSlices([[9.0], [8.0]], [[0], [2]]))
    found["batches"] = plain(tf, batched)
    return found


@program
def equality(tf: Any) -> Any:
    a, b = tf.constant([1, 2]), tf.constant([1, 2, 3])
    traced = tf.function(lambda x, y: (x == y, x != y))
    unknown = traced.get_concrete_function(
        tf.TensorSpec([None], tf.int32), tf.TensorSpec([None], tf.int32)
    )
    eager = [a == b, a != b, a == a, a == 1, a == [1, 3], a == None]  # noqa: E711
    return plain(tf, [*eager, traced(a, b), unknown(a, a), unknown(a, b)])


# Random numbers in graphs.


@program
def random_streams(tf: Any) -> Any:
    @tf.function
    def several() -> Any:
        draw = tf.random.uniform
        return draw([2], seed=1), draw([2], seed=1), draw([2]), draw([2])

    @tf.function
    def looped() -> Any:
        drawn = tf.TensorArray(tf.float32, 3)
        for i in tf.range(3):
            drawn = drawn.write(i, tf.random.uniform([], seed=2))
        return drawn.stack(), tf.random.uniform([], seed=2)

    inner = tf.function(lambda: tf.random.uniform([], seed=3))
    twice = tf.function(lambda: (inner(), inner()))
    tf.random.set_seed(5)
    found = [plain(tf, several()), plain(tf, several()), plain(tf, looped()), plain(tf, twice())]
    tf.random.set_seed(5)
    return [*found, plain(tf, several()), [float(tf.random.uniform([], seed=3)) for _ in range(3)]]


# Signatures.


@program
def printed_signatures(tf: Any) -> Any:
    @tf.function
    def f(x: Any, y: Any, *, k: float = 2.0) -> Any:
        return {"a": x + y * k, "b": (x, [y]), "n": None}

    @tf.function
    def g(d: Any) -> Any:
        return (d["a"],)

    @tf.function
    def h(x: Any, *rest: Any) -> Any:  # noqa: ARG001 (what is printed is the signature)
        return None

    number = tf.TensorSpec([], tf.float32)
    found = [
        f.get_concrete_function(tf.TensorSpec([None, 2], tf.float32, name="q"), number),
        f.get_concrete_function(number, number, k=3),
        g.get_concrete_function({"a": tf.constant(1), "c": [1, 2.5, None, ("x",)]}),
        h.get_concrete_function(tf.constant(1), tf.constant(2)),
    ]
    return [[one.pretty_printed_signature(), one.pretty_printed_signature(False)] for one in found]
