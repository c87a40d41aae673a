"""The tier that runs is the one chosen: compiled from the first call on, or a pinned plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine.codegen import loops, recurrences
from pinnace.engine.codegen.fused import Fused
from pinnace.engine.codegen.small_plans import SmallPlan
from pinnace.engine.networks.region import Network
from pinnace.framework import config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RANDOM = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


def whole(*shape: int) -> Any:
    """Integers: their products are the same in any order."""
    return RANDOM.integers(-3, 4, shape).astype(np.float32)


WEIGHTS = whole(128, 128)


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    tier = config.settings.tier
    yield
    config.set_tier(tier)  # type: ignore[arg-type]  # what it was


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """The number of runs of each kind of compiled code."""
    found: dict[str, int] = {}
    kinds: dict[str, tuple[Any, str]] = {
        "region": (Fused, "__call__"),
        "network": (Network, "__call__"),
        "small": (SmallPlan, "run"),
        "loop": (loops.Loop, "run"),
        "recurrence": (recurrences.Variant, "run"),
    }

    def counting(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def counted(self: Any, *arguments: Any, **options: Any) -> Any:
            found[name] = found.get(name, 0) + 1
            return method(self, *arguments, **options)

        return counted

    for name, (kind, method) in kinds.items():
        monkeypatch.setattr(kind, method, counting(name, getattr(kind, method)))
    return found


def region(x: Any) -> Any:
    return tf.tanh(x * 1.5 + 0.25) * tf.exp(-x)


def network(x: Any) -> Any:
    """Products with weights, too many for one thread."""
    return tf.matmul(tf.nn.relu(tf.matmul(x, WEIGHTS) + 0.5), WEIGHTS)


def small(x: Any, w: Any) -> Any:
    return tf.tanh(tf.matmul(x, w) + 0.5) * tf.sigmoid(x)


def scalars(x: Any, n: Any) -> Any:
    return tf.while_loop(lambda i, _: i < n, lambda i, a: (i + 1, a * 0.5 + 1.0), [n * 0, x])[1]


def arrays(x: Any, n: Any) -> Any:
    return tf.while_loop(
        lambda i, _: i < n, lambda i, a: (i + 1, tf.tanh(a * 0.5 + x)), [n * 0, x]
    )[1]


def turns(x: Any, n: Any) -> Any:
    """A loop whose body has a step that kernels of whole loops do not support."""

    def body(i: Any, a: Any) -> Any:
        return i + 1, tf.tanh(a * 0.5 + x) * tf.sigmoid(a) + tf.cumsum(a, 0, exclusive=True) * 0.01

    return tf.while_loop(lambda i, _: i < n, body, [n * 0, x])[1]


PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = {
    "region": (region, lambda: (normal(64, 512),)),
    "network": (network, lambda: (whole(256, 128),)),
    "small": (small, lambda: (normal(3, 4), normal(4, 4))),
    "loop": (scalars, lambda: (np.float32(3), np.int32(5))),
    "recurrence": (arrays, lambda: (normal(3, 5), np.int32(5))),
    "turns": (turns, lambda: (normal(64, 512), np.int32(5))),
}
# The code that is called, and how often, in one call of the program.
CALLED = {kind: {kind: 1} for kind in PROGRAMS} | {"turns": {"region": 5}}


@pytest.mark.parametrize("kind", PROGRAMS)
def test_compiled_is_compiled_in_the_first_call(kind: str, calls: dict[str, int]) -> None:
    program, draw = PROGRAMS[kind]
    given = [tf.constant(one) for one in draw()]
    config.set_tier("plan")
    plain = tf.function(program)(*given).numpy()
    assert not calls
    config.set_tier("compiled")
    found = tf.function(program)(*given).numpy()
    assert calls == CALLED[kind]
    # A few float32 functions, each within 16 ulps, of numbers below 64.
    np.testing.assert_allclose(found, plain, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", PROGRAMS)
@pytest.mark.parametrize("tier", ["plan", "eager"])
def test_a_pinned_tier_does_not_call_what_another_compiled(
    kind: str, tier: Any, calls: dict[str, int]
) -> None:
    program, draw = PROGRAMS[kind]
    given = [tf.constant(one) for one in draw()]
    function = tf.function(program)
    config.set_tier("compiled")
    function(*given)
    before = dict(calls)
    config.set_tier(tier)
    for _ in range(5):
        function(*given)
    assert calls == before
    config.set_tier("compiled")
    function(*given)
    assert calls == {name: 2 * count for name, count in CALLED[kind].items()}


def test_a_function_that_ran_by_plan_is_compiled_when_the_tier_says_so(
    calls: dict[str, int],
) -> None:
    x = tf.constant(normal(64, 512))
    function = tf.function(region)
    for _ in range(5):
        function(x)
    calls.clear()
    config.set_tier("compiled")
    function(x)
    assert calls == {"region": 1}


def test_many_shapes_are_each_compiled(calls: dict[str, int]) -> None:
    config.set_tier("compiled")
    function = tf.function(region, input_signature=[tf.TensorSpec([None, 512], tf.float32)])
    for rows in range(20, 40):
        function(tf.constant(normal(rows, 512)))
    assert sum(calls.values()) == 20


def test_the_eager_tier_runs_without_memory_of_its_own() -> None:
    config.set_tier("eager")
    function = tf.function(region)
    x = tf.constant(normal(64, 512))
    for _ in range(5):
        function(x)
    assert not function.get_concrete_function(x).plan.tiers._tier.prepared


def test_an_error_of_the_first_compiled_call_names_the_node() -> None:
    config.set_tier("compiled")

    @tf.function
    def f(x: Any, i: Any) -> Any:
        return tf.gather(tf.tanh(x) * 2.0 + 1.0, i) * 3.0

    with pytest.raises(tf.errors.InvalidArgumentError, match="node 'GatherV2'"):
        f(tf.constant(normal(4, 4)), tf.constant(7))
