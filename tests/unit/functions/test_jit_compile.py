"""`function(jit_compile=True)`: machine code is there when the first call returns."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine.ahead import reading
from pinnace.engine.build import plan_of
from pinnace.engine.codegen import compiler
from pinnace.framework import config
from pinnace.framework.context import state

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that other tests made are forgotten, and no time decides what is kept."""
    monkeypatch.setattr(compiler, "_kernels", {})
    monkeypatch.setattr(config.settings, "tier", "auto")


def made() -> list[bool]:
    """For each kernel that was asked for: whether it is there."""
    return [one.function is not None for one in compiler._kernels.values()]


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
def test_kernels_are_there_when_the_first_call_returns(kind: str) -> None:
    program, given = PROGRAMS[kind]
    arguments = [tf.constant(one) for one in given]
    wanted = tf.function(program)(*arguments).numpy()
    assert not compiler._kernels  # one call is not hot
    function = tf.function(program, jit_compile=True)
    found = [function(*arguments).numpy()]
    assert made()
    assert all(made())
    count = len(compiler._kernels)
    found += [function(*arguments).numpy() for _ in range(6)]
    assert len(compiler._kernels) == count
    for one in found:
        np.testing.assert_allclose(one, wanted, rtol=1e-5, atol=1e-5)
    assert not state.compiles


def test_the_promoted_code_runs_after_three_calls() -> None:
    function = tf.function(chain, jit_compile=True)
    x = tf.constant(matrix(4))
    for _ in range(4):
        function(x)
    plan = plan_of(function.get_concrete_function(x).graph)
    (prepared,) = plan.tiers._tier.prepared.values()
    assert prepared is not None
    assert prepared.small is not None


def test_the_gradient_is_compiled_with_its_function(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tf.constant(matrix(512))

    def gradient(function: Any) -> np.ndarray:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        before = len(requests)
        found = tape.gradient(y, x).numpy()
        asked.append(len(requests) - before)
        return found

    requests: list[str] = []
    request = compiler.request

    def counted(text: str) -> compiler.Kernel:
        requests.append(text)
        return request(text)

    asked: list[int] = []
    monkeypatch.setattr(compiler, "request", counted)
    monkeypatch.setattr(reading, "find", lambda _: None)  # the installation has the kernel
    wanted = gradient(tf.function(chain))
    assert asked == [0]
    np.testing.assert_allclose(
        gradient(tf.function(chain, jit_compile=True)), wanted, rtol=1e-4, atol=1e-4
    )
    assert asked[1] > 0
    assert all(made())


def test_a_pinned_plan_stays_a_plan() -> None:
    config.settings.tier = "plan"
    tf.function(chain, jit_compile=True)(tf.constant(matrix(512)))
    assert not compiler._kernels


def test_without_a_compiler_a_call_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "failure", "Numba cannot be imported: no module")
    monkeypatch.setattr(compiler, "is_ahead", lambda _: False)
    function = tf.function(chain, jit_compile=True)
    with pytest.raises(
        tf.errors.UnimplementedError,
        match=r"function 'chain': jit_compile is True, .*no module\n  Try: pip install .*compiler",
    ):
        function(tf.constant(1.0))
    assert tf.function(chain)(tf.constant(1.0)).shape == ()


def test_what_has_no_machine_code_runs_as_a_plan() -> None:
    join = tf.function(lambda x: tf.strings.join([x, x]), jit_compile=True)
    assert join(tf.constant("ab")).numpy() == b"abab"


def test_it_is_the_same_for_a_method_a_copy_and_the_older_name() -> None:
    class Model(tf.Module):
        @tf.function(jit_compile=True)
        def run(self, x: Any) -> Any:
            return chain(x)

    model = Model()
    model.run(tf.constant(matrix(512)))
    assert made()
    older = tf.function(chain, experimental_compile=True)
    for one in (older, copy.deepcopy(older)):
        assert one._jit_compile
