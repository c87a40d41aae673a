"""`PINNACE_CHECK=1`: each call is compared, and gives the plan's results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine import loop_tiers, rejections
from pinnace.engine.codegen import fused, loops, small_plans
from pinnace.framework import config
from tests.unit.engine.test_tiers import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Callable

# Where what answers wrongly from the tenth call on is called.
WRONG: dict[str, tuple[Any, str]] = {
    "region": (fused.Fused, "__call__"),
    "small": (small_plans.SmallPlan, "run"),
    "loop": (loops.Loop, "advance"),
}


@pytest.fixture(autouse=True)
def _checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "check", True)
    monkeypatch.setattr(config.settings, "tier", "auto")
    monkeypatch.setattr(loop_tiers, "OFTEN", 1)
    monkeypatch.setattr(rejections, "_record", rejections._Record())


def plain(program: Callable[..., Any], given: list[Any]) -> Any:
    config.set_tier("plan")
    found = tf.function(program)(*given).numpy()
    config.set_tier("auto")
    return found


def moved(made: Any) -> Any:
    """Wrong numbers in place of right ones."""
    if isinstance(made, loops.Advance):
        state = [made.values[0], *(np.asarray(one + 1, one.dtype) for one in made.values[1:])]
        return made._replace(values=tuple(state))
    return tuple(one + np.float32(1) for one in made)


@pytest.mark.parametrize("kind", PROGRAMS)
def test_answers_are_the_plans(kind: str) -> None:
    program, draw = PROGRAMS[kind]
    given = [tf.constant(one) for one in draw()]
    wanted = plain(program, given)
    function = tf.function(program)
    for _ in range(12):
        np.testing.assert_array_equal(function(*given).numpy(), wanted)
    assert not rejections.rejected()


@pytest.mark.parametrize("kind", WRONG)
def test_what_goes_wrong_later_never_answers_and_is_told_once(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, draw = PROGRAMS[kind]
    given = [tf.constant(one) for one in draw()]
    wanted = plain(program, given)
    owner, name = WRONG[kind]
    right, calls = getattr(owner, name), 0

    def late(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        made = right(*arguments, **options)
        return moved(made) if calls > 10 else made

    monkeypatch.setattr(owner, name, late)
    function = tf.function(program)
    for _ in range(25):
        np.testing.assert_array_equal(function(*given).numpy(), wanted)
    assert 10 < calls < 13
    assert len(rejections.rejected()) == 1


def test_a_training_step_is_checked_and_has_its_effects_once() -> None:
    weights = tf.Variable(np.eye(32, dtype=np.float32))

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, weights)) * tf.sigmoid(x)))
        weights.assign_sub(tape.gradient(loss, weights) * 0.5 + 1.0)
        return loss

    x = tf.constant(np.random.default_rng(0).standard_normal((64, 32)).astype(np.float32))
    for number in range(1, 6):
        step(x)
        assert abs(float(weights.numpy()[0, 1]) + number) < 0.2
    assert not rejections.rejected()


def test_the_environment_says_so() -> None:
    assert config.settings_from({"PINNACE_CHECK": "1"}).check
    assert not config.settings_from({}).check
