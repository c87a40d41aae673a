"""Optimizers, step by step, against their update rules in float64."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pinnace import keras
from pinnace.autodiff.tape import GradientTape
from pinnace.framework.variable import Variable
from pinnace.functions.function import function
from pinnace.keras import optimizers
from pinnace.keras.constraints import NonNeg
from pinnace.keras.optimizers import schedules
from pinnace.keras.registry import deserialize_keras_object, serialize_keras_object
from pinnace.ops.array.constants import constant

F = NDArray[np.float64]
Rule = Callable[[F, list[F]], F]
START = np.array([1.0, -2.0, 3.0])
GRADIENTS = [np.array([0.5, -1.0, 0.0]), np.array([0.1, 2.0, -1.0]), np.array([-0.3, 0.2, 0.4])]
E = 1e-7


def sgd(w: F, gs: list[F]) -> F:
    for g in gs:
        w = w - 0.1 * g
    return w


def momentum(w: F, gs: list[F]) -> F:
    m = np.zeros(3)
    for g in gs:
        m = 0.9 * m - 0.1 * g
        w = w + m
    return w


def nesterov(w: F, gs: list[F]) -> F:
    m = np.zeros(3)
    for g in gs:
        m = 0.9 * m - 0.1 * g
        w = w + 0.9 * m - 0.1 * g
    return w


def moments(gs: list[F], b1: float = 0.9, b2: float = 0.999) -> Iterator[tuple[int, F, F, F]]:
    m, v = np.zeros(3), np.zeros(3)
    for t, g in enumerate(gs, 1):
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g**2
        yield t, g, m, v


def adam(w: F, gs: list[F]) -> F:
    for t, _, m, v in moments(gs):
        w = w - 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (np.sqrt(v) + E)
    return w


def adamw(w: F, gs: list[F]) -> F:
    for t, _, m, v in moments(gs):
        w = w * (1 - 0.1 * 0.01)
        w = w - 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (np.sqrt(v) + E)
    return w


def amsgrad(w: F, gs: list[F]) -> F:
    largest = np.zeros(3)
    for t, _, m, v in moments(gs):
        largest = np.maximum(largest, v)
        w = w - 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (np.sqrt(largest) + E)
    return w


def adamax(w: F, gs: list[F]) -> F:
    u = np.zeros(3)
    for t, g, m, _ in moments(gs):
        u = np.maximum(0.999 * u, np.abs(g))
        w = w - 0.1 / (1 - 0.9**t) * m / (u + E)
    return w


def nadam(w: F, gs: list[F]) -> F:
    def mu(t: int) -> float:
        return 0.9 * (1 - 0.5 * 0.96**t)

    product = 1.0
    for t, g, m, v in moments(gs):
        product *= mu(t)
        mean = mu(t + 1) * m / (1 - product * mu(t + 1)) + (1 - mu(t)) * g / (1 - product)
        w = w - 0.1 * mean / (np.sqrt(v / (1 - 0.999**t)) + E)
    return w


def rmsprop(w: F, gs: list[F]) -> F:
    v, mean, m = np.zeros(3), np.zeros(3), np.zeros(3)
    for g in gs:
        v = 0.9 * v + 0.1 * g**2
        mean = 0.9 * mean + 0.1 * g
        m = 0.5 * m + 0.1 * g / np.sqrt(v - mean**2 + E)
        w = w - m
    return w


def adagrad(w: F, gs: list[F]) -> F:
    a = np.full(3, 0.1)
    for g in gs:
        a = a + g**2
        w = w - 0.1 * g / np.sqrt(a + E)
    return w


def adadelta(w: F, gs: list[F]) -> F:
    a, d = np.zeros(3), np.zeros(3)
    for g in gs:
        a = 0.95 * a + 0.05 * g**2
        step = -np.sqrt(d + E) / np.sqrt(a + E) * g
        d = 0.95 * d + 0.05 * step**2
        w = w + 1.0 * step
    return w


def lion(w: F, gs: list[F]) -> F:
    m = np.zeros(3)
    for g in gs:
        w = w - 0.1 * np.sign(0.9 * m + 0.1 * g)
        m = 0.99 * m + 0.01 * g
    return w


RULES: list[tuple[Callable[[], optimizers.Optimizer], Rule]] = [
    (lambda: optimizers.SGD(0.1), sgd),
    (lambda: optimizers.SGD(0.1, momentum=0.9), momentum),
    (lambda: optimizers.SGD(0.1, momentum=0.9, nesterov=True), nesterov),
    (lambda: optimizers.Adam(0.1), adam),
    (lambda: optimizers.AdamW(0.1, weight_decay=0.01), adamw),
    (lambda: optimizers.Adam(0.1, amsgrad=True), amsgrad),
    (lambda: optimizers.Adamax(0.1), adamax),
    (lambda: optimizers.Nadam(0.1), nadam),
    (lambda: optimizers.RMSprop(0.1, momentum=0.5, centered=True), rmsprop),
    (lambda: optimizers.Adagrad(0.1), adagrad),
    (lambda: optimizers.Adadelta(1.0), adadelta),
    (lambda: optimizers.Lion(0.1), lion),
]


@pytest.mark.parametrize(("make", "rule"), RULES, ids=lambda v: getattr(v, "__name__", "")[:12])
@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_steps_follow_the_rule(
    make: Callable[[], optimizers.Optimizer], rule: Rule, traced: bool, dtype: str
) -> None:
    optimizer = make()
    w = Variable(START, dtype=dtype)

    def step(g: Any) -> None:
        optimizer.apply_gradients([(g, w)])

    run = function(step) if traced else step
    for g in GRADIENTS:
        run(np.asarray(g, dtype))
    # The learning rate is float32 in either case.
    np.testing.assert_allclose(w.numpy(), rule(START, GRADIENTS), rtol=3e-5)
    assert int(optimizer.iterations) == 3


def one_step(optimizer: optimizers.Optimizer, *gradients: Any) -> list[Any]:
    variables = [Variable(np.zeros(np.shape(g)), dtype="float32") for g in gradients]
    optimizer.apply(list(map(np.float32, gradients)), variables)
    return [v.numpy() for v in variables]


def test_gradients_are_clipped() -> None:
    (w,) = one_step(optimizers.SGD(1.0, clipvalue=0.5), [3.0, -0.2])
    np.testing.assert_allclose(w, [-0.5, 0.2])
    (w,) = one_step(optimizers.SGD(1.0, clipnorm=1.0), [3.0, -4.0])
    np.testing.assert_allclose(w, [-0.6, 0.8], rtol=1e-6)
    a, b = one_step(optimizers.SGD(1.0, global_clipnorm=1.0), [3.0, 0.0], [4.0])
    np.testing.assert_allclose([*a, *b], [-0.6, 0, -0.8], rtol=1e-6)


def test_a_constraint_holds_after_the_step() -> None:
    w = Variable([1.0, -1.0], constraint=NonNeg())
    optimizers.SGD(0.5).apply([np.array([4.0, 0.0], np.float32)], [w])
    assert w.numpy().tolist() == [0, 0]


def test_weight_decay_leaves_out_what_is_excluded() -> None:
    a, b = Variable([1.0], name="kernel"), Variable([1.0], name="bias")
    optimizer = optimizers.SGD(0.1, weight_decay=0.5)
    optimizer.exclude_from_weight_decay(var_names=["bias"])
    optimizer.apply([np.zeros(1, np.float32)] * 2, [a, b])
    assert a.numpy().tolist() == pytest.approx([0.95])
    assert b.numpy().tolist() == [1]


def test_averages_are_kept_and_become_the_values() -> None:
    w = Variable([0.0])
    optimizer = optimizers.SGD(1.0, use_ema=True, ema_momentum=0.5)
    for _ in range(3):
        optimizer.apply([np.float32([-1])], [w])
    assert w.numpy().tolist() == [3]
    optimizer.finalize_variable_values([w])
    assert w.numpy().tolist() == [0.5 * (0.5 * 1 + 0.5 * 2) + 0.5 * 3]


def test_minimize_takes_a_function_or_a_tape() -> None:
    w = Variable(3.0)
    optimizer = optimizers.SGD(0.25)
    optimizer.minimize(lambda: w * w, [w])
    assert float(w) == 1.5
    with GradientTape() as tape:
        loss = w * w
    optimizer.minimize(loss, [w], tape=tape)
    assert float(w) == 0.75


def test_the_learning_rate_can_be_changed_between_traced_steps() -> None:
    w = Variable(0.0)
    optimizer = optimizers.SGD(1.0)
    step = function(lambda g: optimizer.apply([g], [w]))
    step(np.float32(1))
    optimizer.learning_rate = 0.5
    step(np.float32(1))
    assert float(w) == -1.5
    assert float(optimizer.learning_rate) == 0.5


SCHEDULES: list[tuple[schedules.LearningRateSchedule, Callable[[int], float]]] = [
    (schedules.ExponentialDecay(0.5, 10, 0.9), lambda t: 0.5 * 0.9 ** (t / 10)),
    (schedules.ExponentialDecay(0.5, 10, 0.9, staircase=True), lambda t: 0.5 * 0.9 ** (t // 10)),
    (schedules.InverseTimeDecay(0.5, 10, 2.0), lambda t: 0.5 / (1 + 2 * t / 10)),
    (
        schedules.PiecewiseConstantDecay([5, 20], [1.0, 0.5, 0.1]),
        lambda t: 1.0 if t <= 5 else 0.5 if t <= 20 else 0.1,
    ),
    (
        schedules.PolynomialDecay(0.5, 20, 0.1, power=2.0),
        lambda t: 0.4 * (1 - min(t, 20) / 20) ** 2 + 0.1,
    ),
    (
        schedules.PolynomialDecay(0.5, 10, 0.1, cycle=True),
        lambda t: 0.4 * (1 - t / (10 * max(np.ceil(t / 10), 1))) + 0.1,
    ),
    (
        schedules.CosineDecay(0.5, 20, alpha=0.1),
        lambda t: 0.5 * (0.9 * 0.5 * (1 + np.cos(np.pi * min(t, 20) / 20)) + 0.1),
    ),
    (
        schedules.CosineDecay(0.1, 20, warmup_target=0.5, warmup_steps=5),
        lambda t: 0.1 + 0.4 * t / 5 if t < 5 else 0.25 * (1 + np.cos(np.pi * min(t - 5, 20) / 20)),
    ),
]


@pytest.mark.parametrize(("schedule", "rule"), SCHEDULES, ids=lambda v: type(v).__name__)
def test_schedules(schedule: schedules.LearningRateSchedule, rule: Callable[[int], float]) -> None:
    for step in (0, 3, 5, 7, 10, 15, 20, 40):
        assert float(schedule(step)) == pytest.approx(rule(step), rel=1e-5), step
    again = deserialize_keras_object(serialize_keras_object(schedule))
    assert again.get_config() == schedule.get_config()


def test_an_optimizer_follows_a_schedule() -> None:
    w = Variable(0.0)
    optimizer = optimizers.SGD(schedules.PiecewiseConstantDecay([0], [1.0, 0.25]))
    step = function(lambda g: optimizer.apply([g], [w]))
    step(np.float32(1))
    step(np.float32(1))
    assert float(w) == -1.25
    assert float(optimizer.learning_rate) == 0.25
    with pytest.raises(TypeError, match="it follows a schedule and cannot be set to a number"):
        optimizer.learning_rate = 0.1


def test_variables_are_named_as_in_keras() -> None:
    w = Variable(np.zeros((2, 3), np.float32), name="dense/kernel")
    optimizer = optimizers.Adam(name="adam")
    optimizer.build([w])
    assert [v.path for v in optimizer.variables] == [
        *("adam/iteration", "adam/learning_rate"),
        *("adam/dense_kernel_momentum", "adam/dense_kernel_velocity"),
    ]


@pytest.mark.parametrize("steps", [None, 2])
def test_a_gradient_may_be_the_next_value(steps: int | None) -> None:
    """As in Keras: without the learning rate, clipping and loss scale."""
    value, other = keras.Variable([1.0, 2.0]), keras.Variable([1.0, 2.0])
    value.overwrite_with_gradient = True
    optimizer = optimizers.SGD(
        1.0, clipvalue=0.5, loss_scale_factor=4.0, gradient_accumulation_steps=steps
    )
    for _ in range(steps or 1):
        optimizer.apply([np.float32([8, 1]), np.float32([8, 1])], [value, other])
    np.testing.assert_array_equal(value.numpy(), [8, 1])
    np.testing.assert_array_equal(other.numpy(), [0.5, 1.75])


def test_a_loss_scale_leaves_gradients_that_are_values() -> None:
    value = keras.Variable([1.0])
    value.overwrite_with_gradient = True
    optimizers.LossScaleOptimizer(optimizers.SGD(1.0)).apply([np.float32([6])], [value])
    np.testing.assert_array_equal(value.numpy(), [6])


def test_members_of_a_variable_are_set_and_checked() -> None:
    variable = keras.Variable([-1.0])
    variable.trainable = False
    variable.constraint, variable.regularizer = keras.constraints.NonNeg(), keras.regularizers.L2()
    assert (variable.trainable, variable.name) == (False, variable.path)
    with pytest.raises(TypeError, match=r"must be a boolean\. Received: 1"):
        variable.overwrite_with_gradient = 1
    for name in ("constraint", "regularizer"):
        with pytest.raises(ValueError, match=f"Invalid value for attribute `{name}`"):
            setattr(variable, name, "l2")
    optimizers.SGD(1.0).apply([np.float32([1])], [variable])
    np.testing.assert_array_equal(variable.numpy(), [0])


def test_nadam_is_built_for_no_variables() -> None:
    optimizer = optimizers.Nadam()
    optimizer.build([])
    assert len(optimizer.variables) == 3


def test_the_state_is_read_and_written() -> None:
    w = Variable(START)
    first = optimizers.Adam(0.1)
    first.apply([GRADIENTS[0]], [w])
    second = optimizers.Adam(0.1)
    second.build([w])
    second.set_weights(first.get_weights())
    saved = w.numpy()
    first.apply([GRADIENTS[1]], [w])
    wanted = w.numpy()
    w.assign(saved)
    second.apply([GRADIENTS[1]], [w])
    np.testing.assert_array_equal(w.numpy(), wanted)


@pytest.mark.parametrize("make", [make for make, _ in RULES], ids=[r.__name__ for _, r in RULES])
def test_an_optimizer_is_made_again_from_its_configuration(
    make: Callable[[], optimizers.Optimizer],
) -> None:
    optimizer = make()
    again = deserialize_keras_object(serialize_keras_object(optimizer))
    assert type(again) is type(optimizer)
    assert again.get_config() == optimizer.get_config()


@pytest.mark.parametrize("name", ["sgd", "SGD", "Adam", "adam", "rmsprop", "RMSprop", "nadam"])
def test_names_stand_for_optimizers(name: str) -> None:
    assert type(optimizers.get(name)).__name__.lower() == name.lower()


def test_missing_gradients_are_told() -> None:
    a, b = Variable([1.0], name="a"), Variable([1.0], name="b")
    optimizer = optimizers.SGD(1.0)
    with pytest.warns(UserWarning, match="Gradients do not exist for variables.*depend on b,"):
        optimizer.apply([np.float32([1]), None], [a, b])
    assert (a.numpy()[0], b.numpy()[0]) == (0, 1)
    with pytest.raises(ValueError, match=r"No gradients provided for any variable.* a, b"):
        optimizer.apply([None, None], [a, b])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: optimizers.SGD(momentum=2),
            r"`momentum` must be a float between \[0, 1\]. Received: 2",
        ),
        (
            lambda: optimizers.SGD(clipnorm=1.0, clipvalue=1.0),
            "Only one of `clipnorm`, `clipvalue`",
        ),
        (lambda: optimizers.Adam(0.1).apply([1.0]), "trainable_variables must be given at first"),
        (lambda: optimizers.get("adamm"), "optimizer: name must be one of .*, got 'adamm'"),
        (lambda: schedules.ExponentialDecay(1.0, 0, 0.5), "decay_steps must be positive, got 0"),
    ],
)
def test_bad_arguments_are_told(make: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()


def test_a_variable_that_came_later_is_told() -> None:
    optimizer = optimizers.Adam()
    optimizer.build([Variable([1.0])])
    with pytest.raises(ValueError, match=r"it was built for 1 variables, late not among them"):
        optimizer.apply([np.float32([1])], [Variable([1.0], name="late")])


@pytest.mark.parametrize("traced", [False, True])
def test_a_variable_that_is_one_number_is_trained(traced: bool) -> None:
    """Adam's first step is the learning rate, whatever the gradient's size."""
    variable = Variable(1.0)
    optimizer = optimizers.Adam(0.125)
    optimizer.build([variable])

    def step(gradient: Any) -> None:
        optimizer.apply([gradient * 1.0], [variable])

    (function(step) if traced else step)(constant(0.5))
    np.testing.assert_allclose(variable, 0.875, rtol=1e-6)
