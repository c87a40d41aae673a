"""Optimizer steps in one pass: NumPy's results, with readers of the old values and with helpers.

Machine code multiplies and adds with one rounding where NumPy needs two. Each of a step's dozen
roundings is 6e-8; if terms cancel, relative to the largest number involved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import pinnace as tf
from pinnace.framework import config, denormals, storage
from pinnace.framework.variable import Variable
from pinnace.ops.kernels import descents, recycling, team

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pinnace.framework.storage import Resource

RULES = ("adam", "nesterov adam", "momentum", "nesterov momentum", "descent")
SLOTS = {"adam": 2, "nesterov adam": 2, "momentum": 1, "nesterov momentum": 1, "descent": 0}
RATE, BETA1, BETA2, EPSILON, MOMENTUM = (np.float32(x) for x in (0.125, 0.9, 0.99, 1e-7, 0.9))
# Kinds of numbers: normal, NaN, out of range, denormal, or with a denormal square.
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-42, 1e-21, -1e-21, 3e38, 1.2e-38)


@pytest.fixture(autouse=True)
def _machine_code() -> Iterator[None]:
    before = config.settings.tier
    tf.config.set_tier("compiled")
    yield
    config.settings.tier = before


def _drawn(shape: Sequence[int], seed: int, special: float) -> np.ndarray:
    """Numbers, some of them special."""
    random = np.random.default_rng(seed)
    numbers = random.standard_normal(shape).astype(np.float32)
    chosen = random.choice(np.array(SPECIAL, np.float32), shape)
    return np.where(random.random(shape) < special, chosen, numbers)


def _state(rule: str, shape: Sequence[int], seed: int, special: float) -> list[np.ndarray]:
    found = [_drawn(shape, seed + n, special) for n in range(1 + SLOTS[rule])]
    if "adam" in rule:
        found[2] = np.abs(found[2])  # a mean of squares
    return found


def _apply(rule: str, variables: Sequence[Variable], grad: np.ndarray) -> None:
    raw, handles = tf.raw_ops, [one.handle for one in variables]
    if rule == "descent":
        raw.ResourceApplyGradientDescent(var=handles[0], alpha=RATE, delta=grad)
    elif "momentum" in rule:
        raw.ResourceApplyKerasMomentum(
            var=handles[0],
            accum=handles[1],
            lr=RATE,
            grad=grad,
            momentum=MOMENTUM,
            use_nesterov=rule != "momentum",
        )
    else:
        raw.ResourceApplyAdam(
            var=handles[0],
            m=handles[1],
            v=handles[2],
            beta1_power=BETA1,
            beta2_power=BETA2,
            lr=RATE,
            beta1=BETA1,
            beta2=BETA2,
            epsilon=EPSILON,
            grad=grad,
            use_nesterov=rule != "adam",
        )


def _formula(rule: str, values: Sequence[np.ndarray], grad: np.ndarray) -> list[np.ndarray]:
    """The new values in float64: Kingma and Ba, algorithm 1; Sutskever's momentum, as Keras."""
    var, *slots = (one.astype(np.float64) for one in values)
    g = grad.astype(np.float64)
    rate, b1, b2, epsilon, momentum = (
        float(one) for one in (RATE, BETA1, BETA2, EPSILON, MOMENTUM)
    )
    if rule == "descent":
        return [var - rate * g]
    if "momentum" in rule:
        moved = momentum * slots[0] - rate * g
        return [var + (moved if rule == "momentum" else momentum * moved - rate * g), moved]
    m, v = b1 * slots[0] + (1 - b1) * g, b2 * slots[1] + (1 - b2) * g * g
    way = m if rule == "adam" else b1 * m + (1 - b1) * g
    size = np.sqrt(1 - b2) / (1 - b1)
    return [var - rate * size * way / (np.sqrt(v) + epsilon), m, v]


def _stepped(
    rule: str, values: Sequence[np.ndarray], grads: Sequence[np.ndarray], keep: Sequence[bool] = ()
) -> list[np.ndarray]:
    """The values after some steps; the old values of some variables are held meanwhile."""
    variables = [Variable(one) for one in values]
    for grad in grads:
        kept = [
            one.resource.read() for one, is_kept in zip(variables, keep, strict=False) if is_kept
        ]
        copies = [one.copy() for one in kept]
        _apply(rule, variables, grad)
        for one, other in zip(kept, copies, strict=True):
            np.testing.assert_array_equal(one, other)
    return [one.numpy() for one in variables]


SHAPES = st.one_of(
    st.integers(1024, 5000).map(lambda size: (size,)),
    st.tuples(st.integers(30, 90), st.integers(40, 70)),
    st.tuples(st.integers(1, 9), st.integers(9, 15), st.integers(130, 140)),
)


@pytest.mark.parametrize("rule", RULES)
def test_a_step_is_the_formula(rule: str) -> None:
    @settings(max_examples=20, deadline=None)
    @given(SHAPES, st.integers(0, 2**31), st.sampled_from([0.0, 0.5, 1.0]))
    @example((700, 520), 1, 0.0)
    def check(shape: tuple[int, ...], seed: int, zeros: float) -> None:
        values = _state(rule, shape, seed, 0.0)
        random = np.random.default_rng(seed)
        grad = _drawn(shape, seed + 9, 0.0) * (random.random(shape) >= zeros).astype(np.float32)
        found = _stepped(rule, values, [grad])
        for one, wanted in zip(found, _formula(rule, values, grad), strict=True):
            most = max(np.abs(wanted).max(), 1)
            np.testing.assert_allclose(one, wanted, rtol=1e-6, atol=1e-6 * most)

    check()


@pytest.mark.parametrize("rule", RULES)
def test_a_step_is_numpys_for_numbers_of_all_kinds(
    rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    @settings(max_examples=20, deadline=None)
    @given(SHAPES, st.integers(0, 2**31), st.sampled_from([0.02, 0.5, 1.0]))
    def check(shape: tuple[int, ...], seed: int, special: float) -> None:
        values = _state(rule, shape, seed, special)
        grads = [_drawn(shape, seed + n, special) for n in (7, 8)]
        found = _stepped(rule, values, grads)
        with monkeypatch.context() as patch:
            patch.setattr(descents, "step", lambda *_: False)
            wanted = _stepped(rule, values, grads)
        # The caller decides whether denormals count as zeros, equally on both sides; products with
        # a single rounding here may be on the other side of the smallest normal number.
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-6, atol=4e-6, equal_nan=True)

    check()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("shape", [(33, 77), (1 << 15,), (601, 512)])
def test_a_step_gives_the_same_bits_in_old_and_in_new_memory(
    rule: str, shape: tuple[int, ...]
) -> None:
    values = _state(rule, shape, 3, 0.1)
    grads = [_drawn(shape, n, 0.1) for n in (5, 6, 7)]
    wanted = _stepped(rule, values, grads)
    for number in range(1, 2 ** len(values)):
        keep = [bool(number >> place & 1) for place in range(len(values))]
        found = _stepped(rule, values, grads, keep)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one.view(np.uint32), other.view(np.uint32))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("keep", [False, True])
def test_a_step_gives_the_same_bits_whoever_helps(
    rule: str, keep: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = (700, 511)
    values, grads = _state(rule, shape, 3, 0.1), [_drawn(shape, n, 0.1) for n in (5, 6)]
    monkeypatch.setattr(team, "has_idle_core", lambda *_: True)
    found = []
    for threads in (1, 2, 3, 5):
        monkeypatch.setattr(team, "_opened", threads)
        monkeypatch.setattr(team._helpers, "rest_until", 0.0)
        mode = denormals.begin()  # helpers flush denormals, and so does a plan
        try:
            found.append(_stepped(rule, values, grads, [keep] * len(values)))
        finally:
            if mode is not None:
                mode.end()
    for other in found[1:]:
        for one, another in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one.view(np.uint32), another.view(np.uint32))


@pytest.mark.skipif(not storage.FEWEST, reason="counts of references tell nothing here")
@pytest.mark.parametrize("rule", RULES)
def test_a_step_writes_where_the_old_values_lie(rule: str) -> None:
    variables = [Variable(one) for one in _state(rule, (64, 512), 1, 0.0)]
    grad = _drawn((64, 512), 2, 0.0)
    _apply(rule, variables, grad)
    places = [one.resource.read().ctypes.data for one in variables]
    for count in range(2, 5):
        _apply(rule, variables, grad)
        assert [one.resource.read().ctypes.data for one in variables] == places
        assert all(one.resource.version == variables[0].resource.version for one in variables)
        assert variables[0].resource.version >= count


def test_a_slot_may_be_the_variable_and_the_gradient_its_value() -> None:
    for rule in ("momentum", "adam"):
        value = np.abs(_drawn((50, 50), 4, 0.0))
        found = []
        for is_one in (True, False):
            first = Variable(value)
            others = [first if is_one else Variable(value) for _ in range(SLOTS[rule])]
            grad = first.read_value() if is_one else tf.constant(value)
            _apply(rule, [first, *others], grad)
            found.append([first, *others])
        # The only variable has the slot that was written last.
        np.testing.assert_array_equal(found[0][0].numpy(), found[1][-1].numpy())


def test_a_step_that_fails_leaves_the_values(monkeypatch: pytest.MonkeyPatch) -> None:
    variable = Variable(_drawn((50, 50), 4, 0.0))
    before = variable.numpy().copy()

    def fails(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(descents.compiled, "made", lambda _: fails)
    for keep in (False, True):
        kept = variable.resource.read() if keep else None
        with pytest.raises(KeyboardInterrupt):
            _apply("descent", [variable], before)
        del kept
        np.testing.assert_array_equal(variable.numpy(), before)
    resource: Resource = variable.resource
    array, _ = resource.take(recycling.is_alone)
    resource.give_back(array)


def _panels_used(call: Callable[[], Any]) -> np.ndarray:
    """The results of a function after enough calls for its weights to be packed."""
    for _ in range(8):
        found = call()
    return np.array(found)


def test_weights_that_were_packed_are_packed_anew_after_a_step() -> None:
    x = _drawn((64, 96), 1, 0.0)
    variable = Variable(_drawn((96, 128), 2, 0.0))
    call = tf.function(lambda: tf.nn.relu(tf.matmul(x, variable) + 1.0))
    for number in range(4):
        wanted = np.maximum(x.astype(np.float64) @ variable.numpy() + 1, 0)
        # Sums of 96 products in float32.
        np.testing.assert_allclose(_panels_used(call), wanted, rtol=1e-4, atol=1e-4)
        _apply("descent", [variable], _drawn((96, 128), number + 3, 0.0))
