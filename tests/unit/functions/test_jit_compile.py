"""`function(jit_compile=True)`: machine code is looked for in the first call."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine import promotion
from pinnace.engine.build import plan_of
from pinnace.engine.codegen import kernels
from pinnace.framework import config
from pinnace.framework.context import state

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(autouse=True)
def _auto(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", "auto")


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The graphs of which a form was looked for, one element for each time."""
    found: list[str] = []
    choose = promotion.Promotion._choose

    def counted(self: Any, arrays: Any, forced: bool) -> bool:
        found.append(self._plan.graph.name)
        return choose(self, arrays, forced)

    monkeypatch.setattr(promotion.Promotion, "_choose", counted)
    return found


def is_promoted(function: Any, *arguments: Any) -> bool:
    """Whether calls like this, or the loop in them, run machine code."""
    plan = plan_of(function.get_concrete_function(*arguments).graph)
    prepared = [one for one in plan.tiers._tier.prepared.values() if one is not None]
    if any(one.small is not None or one.layout.regions for one in prepared):
        return True
    bodies = [step.node.attrs["body"] for step in plan.steps if step.node.op.runs == "loop"]
    loops = [plan_of(body.graph).tiers.loops() for body in bodies]
    return any(one is not None and one._test is not None for one in loops)


def chain(x: Any) -> Any:
    return tf.tanh(x * 2.0 + 1.0) * tf.exp(-x) + tf.sqrt(tf.abs(x))


def scalars(x: Any, times: Any) -> Any:
    """A loop over numbers."""
    for _ in tf.range(times):
        x = 0.5 * (x + 2.0 / x)
    return x


def arrays(x: Any, times: Any) -> Any:
    """A loop over arrays, with a product in it."""
    for _ in tf.range(times):
        x = tf.tanh(tf.matmul(x, x) * 0.5)
    return x


def matrix(size: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((size, size)).astype(np.float32)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "regions": (chain, (matrix(512),)),
    "small plan": (chain, (matrix(4),)),
    "loop": (scalars, (np.float32(3), np.int32(200))),
    "recurrence": (arrays, (matrix(4), np.int32(200))),
}


@pytest.mark.parametrize("kind", PROGRAMS)
def test_the_form_is_looked_for_in_the_first_call(kind: str) -> None:
    program, given = PROGRAMS[kind]
    arguments = [tf.constant(one) for one in given]
    plain = tf.function(program)
    wanted = plain(*arguments).numpy()
    assert not is_promoted(plain, *arguments)  # after one call
    function = tf.function(program, jit_compile=True)
    found = [function(*arguments).numpy() for _ in range(2)]
    assert is_promoted(function, *arguments)
    found += [function(*arguments).numpy() for _ in range(6)]
    for one in found:
        np.testing.assert_allclose(one, wanted, rtol=1e-5, atol=1e-5)
    assert not state.compiles


def test_the_gradient_is_compiled_with_its_function(searches: list[str]) -> None:
    x = tf.constant(matrix(512))

    def gradient(function: Any) -> np.ndarray:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        before = len(searches)
        found = tape.gradient(y, x).numpy()
        asked.append(len(searches) - before)
        return found

    asked: list[int] = []
    wanted = gradient(tf.function(chain))
    assert asked == [0]
    np.testing.assert_allclose(
        gradient(tf.function(chain, jit_compile=True)), wanted, rtol=1e-4, atol=1e-4
    )
    assert asked[1] > 0


def test_a_pinned_plan_stays_a_plan(searches: list[str]) -> None:
    config.settings.tier = "plan"
    tf.function(chain, jit_compile=True)(tf.constant(matrix(512)))
    assert not searches


def test_without_a_library_it_runs_as_a_plan(
    monkeypatch: pytest.MonkeyPatch, searches: list[str]
) -> None:
    monkeypatch.setattr(kernels, "_functions", {})
    x = tf.constant(matrix(512))
    function = tf.function(chain, jit_compile=True)
    found = [function(x).numpy() for _ in range(3)]
    config.settings.tier = "plan"
    for one in found:
        np.testing.assert_array_equal(one, tf.function(chain)(x).numpy())
    assert not searches


def test_what_has_no_machine_code_runs_as_a_plan() -> None:
    join = tf.function(lambda x: tf.strings.join([x, x]), jit_compile=True)
    assert join(tf.constant("ab")).numpy() == b"abab"


def test_it_is_the_same_for_a_method_a_copy_and_the_older_name(searches: list[str]) -> None:
    class Model(tf.Module):
        @tf.function(jit_compile=True)
        def run(self, x: Any) -> Any:
            return chain(x)

    model = Model()
    model.run(tf.constant(matrix(512)))
    assert len(searches) == 1
    older = tf.function(chain, experimental_compile=True)
    for one in (older, copy.deepcopy(older)):
        assert one._jit_compile
