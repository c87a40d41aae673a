"""Compiled code gives the plan's results: clusters, loop iterations, loops over scalars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import special

import pinnace as tf
from pinnace.engine.build import plan_of
from pinnace.engine.codegen import iteration, kernels, loops
from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.framework import config

if TYPE_CHECKING:
    from collections.abc import Callable

RANDOM = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


@pytest.fixture
def hot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls use all available machine code."""
    monkeypatch.setattr(config.settings, "tier", "auto")


def fused_places(function: Any, *arguments: Any) -> int:
    """The number of clusters that a function calls for these arguments."""
    plan = function.get_concrete_function(*arguments).plan
    prepared = next(iter(plan.tiers._tier.prepared.values()))
    assert prepared is not None
    names = prepared.layout.function.__globals__
    return sum(name[0] == "f" and name[1:].isdigit() for name in names)


SHAPES = {
    "full": ((64, 512), (64, 512)),
    "row": ((64, 512), (512,)),
    "column": ((64, 512), (64, 1)),
    "scalar": ((64, 512), ()),
    "images": ((2, 16, 16, 64), (64,)),
    "heads": ((4, 8, 16, 64), (16, 64)),
    "strided": ((64, 1024), (64, 512)),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.usefixtures("hot")
def test_a_cluster_computes_what_its_steps_do(name: str) -> None:
    first, second = SHAPES[name]
    x, b = normal(*first), normal(*second)

    @tf.function
    def f(x: Any, b: Any) -> Any:
        if name == "strided":
            x = x[:, ::2]
        y = tf.tanh(x * b + 0.5)
        z = tf.maximum(y, 0.0) * 0.5 * tf.math.erfc(-x) - tf.exp(-tf.square(b * y))
        return z + 1.0, y * z

    for _ in range(3):
        f(x, b)
    f(x, b)
    found = f(x, b)
    assert fused_places(f, x, b) > 0
    wide, other = x.astype(np.float64), b.astype(np.float64)
    if name == "strided":
        wide = wide[:, ::2]
    y = np.tanh(wide * other + 0.5)
    z = np.maximum(y, 0) * 0.5 * special.erfc(-wide) - np.exp(-np.square(other * y))
    # A dozen roundings and functions within 16 ulps, of numbers up to 4.
    for got, wanted in zip(found, (z + 1, y * z), strict=True):
        np.testing.assert_allclose(got.numpy(), wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.usefixtures("hot")
def test_nan_passes_through_a_cluster() -> None:
    x = normal(64, 512)
    x[3, 4] = np.nan

    @tf.function
    def f(x: Any) -> Any:
        return tf.minimum(tf.maximum(tf.nn.relu(x * 2.0), 0.25), 6.0) + tf.nn.relu6(x)

    for _ in range(4):
        f(x)
    found = f(x).numpy()
    assert fused_places(f, x) > 0
    assert np.argwhere(np.isnan(found)).tolist() == [[3, 4]]


@pytest.mark.usefixtures("hot")
@pytest.mark.parametrize(("op", "top"), [("ReluGrad", np.inf), ("Relu6Grad", 6.0)])
def test_a_mask_and_a_choice_by_it_are_one_pass(op: str, top: float) -> None:
    dy, x = normal(128, 512), 4 * normal(128, 512)
    dy[1, 2], x[3, 4] = np.nan, np.nan

    @tf.function
    def f(dy: Any, x: Any) -> Any:
        return tf.matmul(getattr(tf.raw_ops, op)(gradients=dy, features=x), dy, transpose_b=True)

    for _ in range(4):
        f(dy, x)
    found = f(dy, x).numpy()
    assert fused_places(f, dy, x) == 1
    kept = np.where((x > 0) & (x < top), dy, np.float32(0)).astype(np.float64)
    # Sums of 512 products of numbers below 5.
    np.testing.assert_allclose(found, kept @ dy.T.astype(np.float64), rtol=1e-4, atol=1e-3)


@pytest.mark.usefixtures("hot")
def test_a_value_used_before_the_cluster_is_there_in_time() -> None:
    x, w = normal(64, 512), normal(512, 512)

    @tf.function
    def f(x: Any, w: Any) -> Any:
        a = tf.nn.relu(x + 1.0) * 2.0
        b = tf.matmul(a, w)  # needs a, and the next line needs both
        return tf.tanh(b * a + x) - a

    for _ in range(4):
        f(x, w)
    found = f(x, w).numpy()
    a = np.maximum(x.astype(np.float64) + 1, 0) * 2
    # Sums of 512 float32 products, through a function with a slope of at most 1.
    np.testing.assert_allclose(found, np.tanh(a @ w * a + x) - a, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("tier", ["plan", "eager"])
def test_a_pinned_tier_compiles_nothing(tier: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", tier)
    asked: list[str] = []
    monkeypatch.setattr(kernels, "function", asked.append)
    x = normal(64, 512)
    f = tf.function(lambda x: tf.tanh(x * 3.0) + tf.exp(x))
    for _ in range(6):
        f(x)
    assert not asked


# Loops over scalars.


def newton(x: Any, steps: Any) -> Any:
    return tf.while_loop(
        lambda i, *_: i < steps, lambda i, y: (i + 1, 0.5 * (y + x / y)), (steps * 0, x)
    )


def wrapping(x: Any, steps: Any) -> Any:
    return tf.while_loop(
        lambda i, *_: i < steps, lambda i, y: (i + 1, y * 1103515245 + 12345), (steps * 0, x)
    )


def deciding(x: Any, steps: Any) -> Any:
    def body(i: Any, y: Any, up: Any) -> Any:
        y = tf.where(up, y * 1.5, y / 3.0)
        return i + 1, y, tf.logical_and(y < 100.0, tf.logical_or(up, y < 0.1))

    return tf.while_loop(lambda i, *_: i < steps, body, (steps * 0, x, x > 0.0))


def swapping(x: Any, steps: Any) -> Any:
    """One variable's new value is another's old one; one is passed on unchanged."""
    return tf.while_loop(
        lambda i, *_: i < steps,
        lambda i, a, b, kept: (i + 1, b, tf.sin(a) + tf.cast(i, a.dtype) * kept, kept),
        (steps * 0, x, x + 1.0, x * 0.001),
    )


LOOPS: dict[str, tuple[Callable[..., Any], Any]] = {
    "float32": (newton, np.float32(7)),
    "float64": (newton, np.float64(7)),
    "int32": (wrapping, np.int32(7)),
    "int64": (wrapping, np.int64(7)),
    "bool": (deciding, np.float32(7)),
    "swapped": (swapping, np.float64(0.25)),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_scalar_loop_is_the_plan_bit_for_bit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, start = LOOPS[name]
    monkeypatch.setattr(config.settings, "tier", "plan")
    plain = [value.numpy() for value in tf.function(program)(start, np.int32(3000))]
    monkeypatch.setattr(config.settings, "tier", "auto")
    f = tf.function(program)
    f(start, np.int32(3000))
    calls = 0
    run = loops.Loop.run

    def counted(self: Any, *arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        return run(self, *arguments)

    monkeypatch.setattr(loops.Loop, "run", counted)
    found = [value.numpy() for value in f(start, np.int32(3000))]
    assert calls > 0
    # sin is the library's here and NumPy's there: one ulp per iteration, which is damped.
    exact = name != "swapped"
    for got, wanted in zip(found, plain, strict=True):
        assert got.dtype == wanted.dtype
        if exact:
            np.testing.assert_array_equal(got, wanted)
        else:
            np.testing.assert_allclose(got, wanted, rtol=1e-9)


def test_a_compiled_loop_looks_up_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", "auto")
    monkeypatch.setattr(loops, "_ITERATIONS", 100)
    f = tf.function(newton)
    f(np.float32(3), np.int32(2000))
    plan = f.get_concrete_function(np.float32(3), np.int32(2000)).plan
    body = next(step for step in plan.steps if "body" in step.node.attrs).node.attrs["body"]
    loops_of_body = plan_of(body.graph).tiers.loops()
    assert loops_of_body is not None
    loop = loops_of_body._loop
    assert loop is not None
    looks: list[int] = []
    (step,) = [step for step in plan.steps if "body" in step.node.attrs]
    assert len(step.node.inputs) == len(body.graph.inputs)
    run = loop.run
    monkeypatch.setattr(
        loops.Loop,
        "run",
        lambda _, values, check: run(values, lambda: looks.append(1) or check()),
    )
    f(np.float32(3), np.int32(1050))
    assert len(looks) == 10


# Loops over arrays.


def recurrence(x: Any, w: Any) -> Any:
    def body(i: Any, h: Any) -> Any:
        z = tf.matmul(h, w)
        a, b = tf.split(z, 2, axis=1)
        return i + 1, tf.tanh(a) * tf.sigmoid(b) + tf.exp(-tf.square(a)) * x

    return tf.while_loop(lambda i, *_: i < 20, body, (tf.constant(0), x))[1]


def unsupported(*_: Any) -> Any:
    raise UnsupportedError("for the test")


@pytest.mark.parametrize("rows", [[64], [64, 3, 64, 1]])
def test_turns_are_what_the_plan_gives_for_every_shape(
    rows: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    w = normal(32, 64) * np.float32(0.2)
    f = tf.function(
        recurrence,
        input_signature=[tf.TensorSpec([None, 32], tf.float32), tf.TensorSpec([32, 64])],
    )
    monkeypatch.setattr(config.settings, "tier", "auto")
    # A loop that has no kernel as a whole.
    monkeypatch.setattr(iteration, "Iteration", unsupported)
    first = normal(rows[0], 32)
    for _ in range(20):
        f(first, w)
    (node,) = [
        step.node for step in f.get_concrete_function().plan.steps if "body" in step.node.attrs
    ]
    loops = plan_of(node.attrs["body"].graph).tiers.loops()
    assert loops is not None
    assert loops.forms[0].fused
    for count in rows:
        x = normal(count, 32)
        h = x.astype(np.float64)
        for _ in range(20):
            a, b = np.split(h @ w, 2, axis=1)
            h = np.tanh(a) / (1 + np.exp(-b)) + np.exp(-a * a) * x
        # float32 through 20 iterations that do not amplify errors.
        np.testing.assert_allclose(f(x, w).numpy(), h, rtol=1e-3, atol=1e-4)
    assert "_made" in vars(loops.forms[0])


def test_a_turn_with_effects_is_not_watched() -> None:
    count = tf.Variable(0)

    @tf.function
    def f(x: Any) -> Any:
        def body(i: Any, h: Any) -> Any:
            count.assign_add(1)
            return i + 1, tf.tanh(h) * tf.sigmoid(h) + tf.exp(-h)

        return tf.while_loop(lambda i, *_: i < 4, body, (tf.constant(0), x))[1]

    x = normal(64, 64)
    for _ in range(40):
        f(x)
    assert count.numpy() == 160
