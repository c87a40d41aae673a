"""Decaying learning rates; in eager mode, functions that return the current rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras.optimizers import schedules
from pinnace.ops.math import arithmetic, exponents

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def exponential_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any,
    staircase: bool = False, name: str | None = None,
) -> Callable[[], Any]:  # fmt: skip
    """learning_rate * decay_rate ^ (step / decay_steps).

    Args:
        learning_rate: at step 0.
        global_step: the step, read when the function is called.
        decay_steps: number of steps that lower the rate by decay_rate.
        decay_rate: see above.
        staircase: whole multiples of decay_steps alone count.
        name: name of the nodes while tracing.

    Returns:
        A function without arguments that gives the rate.
    """
    found = schedules.ExponentialDecay(
        learning_rate, decay_steps, decay_rate, staircase, name or ""
    )
    return lambda: found(global_step)


def polynomial_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, end_learning_rate: Any = 0.0001,
    power: Any = 1.0, cycle: bool = False, name: str | None = None,
) -> Callable[[], Any]:  # fmt: skip
    """Decays to end_learning_rate in decay_steps by a power; see `exponential_decay`."""
    found = schedules.PolynomialDecay(
        learning_rate, decay_steps, end_learning_rate, power, cycle, name or ""
    )
    return lambda: found(global_step)


def inverse_time_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any,
    staircase: bool = False, name: str | None = None,
) -> Callable[[], Any]:  # fmt: skip
    """learning_rate / (1 + decay_rate * step / decay_steps); see `exponential_decay`."""
    found = schedules.InverseTimeDecay(
        learning_rate, decay_steps, decay_rate, staircase, name or ""
    )
    return lambda: found(global_step)


def natural_exp_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any,
    staircase: bool = False, name: str | None = None,
) -> Callable[[], Any]:  # fmt: skip
    """learning_rate * exp(-decay_rate * step / decay_steps); see `exponential_decay`."""
    natural: Any = exponents.exp(arithmetic.negative(decay_rate))
    found = schedules.ExponentialDecay(learning_rate, decay_steps, natural, staircase, name or "")
    return lambda: found(global_step)


def cosine_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, alpha: Any = 0.0,
    name: str | None = None,
) -> Callable[[], Any]:  # fmt: skip
    """Decays along half a cosine to alpha * learning_rate; see `exponential_decay`."""
    found = schedules.CosineDecay(learning_rate, decay_steps, alpha, name or "")
    return lambda: found(global_step)


def piecewise_constant(
    x: Any, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None
) -> Callable[[], Any]:
    """A value for each piece between boundaries of the step; see `exponential_decay`.

    Args:
        x: the step, read when the function is called.
        boundaries: rising steps.
        values: one more than boundaries.
        name: name of the nodes while tracing.

    Returns:
        A function without arguments that gives the rate.
    """
    found = schedules.PiecewiseConstantDecay(list(boundaries), list(values), name or "")
    return lambda: found(x)


piecewise_constant_decay = piecewise_constant
