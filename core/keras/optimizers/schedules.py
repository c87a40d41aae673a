"""Learning-rate schedules: functions of the step number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.keras import registry
from pinnace.keras.constructed import Constructed
from pinnace.ops.array import casting, selecting
from pinnace.ops.math import arithmetic, comparison, exponents, rounding, trigonometry

if TYPE_CHECKING:
    from collections.abc import Sequence


class LearningRateSchedule(Constructed):
    """A function of the step; subclasses define `__call__` and `get_config`."""

    def __call__(self, step: Any) -> Any:
        """The learning rate at that step."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(step)")

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        raise NotImplementedError(f"{type(self).__name__} must define get_config")

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LearningRateSchedule:
        """The schedule with a configuration."""
        return cls(**config)


class ExponentialDecay(LearningRateSchedule):
    """initial_learning_rate · decay_rate ^ (step / decay_steps).

    Args:
        initial_learning_rate: at step 0.
        decay_steps: see above.
        decay_rate: see above.
        staircase: whether step / decay_steps is rounded down.
        name: accepted for Keras' sake.
    """

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        decay_rate: float,
        staircase: bool = False,
        name: str = "ExponentialDecay",
    ) -> None:
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = _positive("ExponentialDecay", decay_steps)
        self.decay_rate = decay_rate
        self.staircase = staircase
        self.name = name

    def __call__(self, step: Any) -> Any:
        """The learning rate at that step."""
        share = _float(step) / self.decay_steps
        share = rounding.floor(share) if self.staircase else share
        return self.initial_learning_rate * exponents.pow(_float(self.decay_rate), share)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            "initial_learning_rate": self.initial_learning_rate,
            "decay_steps": self.decay_steps,
            "decay_rate": self.decay_rate,
            "staircase": self.staircase,
            "name": self.name,
        }


class InverseTimeDecay(LearningRateSchedule):
    """initial_learning_rate / (1 + decay_rate · step / decay_steps).

    Args:
        initial_learning_rate: at step 0.
        decay_steps: see above.
        decay_rate: see above.
        staircase: whether step / decay_steps is rounded down.
        name: accepted for Keras' sake.
    """

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        decay_rate: float,
        staircase: bool = False,
        name: str = "InverseTimeDecay",
    ) -> None:
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = _positive("InverseTimeDecay", decay_steps)
        self.decay_rate = decay_rate
        self.staircase = staircase
        self.name = name

    def __call__(self, step: Any) -> Any:
        """The learning rate at that step."""
        share = _float(step) / self.decay_steps
        share = rounding.floor(share) if self.staircase else share
        return self.initial_learning_rate / (1.0 + self.decay_rate * share)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            "initial_learning_rate": self.initial_learning_rate,
            "decay_steps": self.decay_steps,
            "decay_rate": self.decay_rate,
            "staircase": self.staircase,
            "name": self.name,
        }


class PiecewiseConstantDecay(LearningRateSchedule):
    """values[i] for steps in (boundaries[i - 1], boundaries[i]].

    Args:
        boundaries: steps, ascending.
        values: one more than boundaries.
        name: accepted for Keras' sake.
    """

    def __init__(
        self, boundaries: Sequence[float], values: Sequence[float], name: str = "PiecewiseConstant"
    ) -> None:
        if len(boundaries) != len(values) - 1:
            raise ValueError(
                "PiecewiseConstantDecay: values must be one more than boundaries, "
                f"got {len(values)} and {len(boundaries)}"
            )
        self.boundaries = list(boundaries)
        self.values = list(values)
        self.name = name

    def __call__(self, step: Any) -> Any:
        """The learning rate at that step."""
        at = _float(step)
        rate = convert_to_tensor(float(self.values[-1]))
        for boundary, value in zip(
            reversed(self.boundaries), reversed(self.values[:-1]), strict=True
        ):
            rate = selecting.where(comparison.less_equal(at, float(boundary)), float(value), rate)
        return rate

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"boundaries": self.boundaries, "values": self.values, "name": self.name}


class PolynomialDecay(LearningRateSchedule):
    """Polynomial decay from initial to end rate, with (1 - step / decay_steps) ^ power.

    Args:
        initial_learning_rate: at step 0.
        decay_steps: step at which the end is reached.
        end_learning_rate: from there on.
        power: exponent of the curve.
        cycle: whether decay_steps becomes the next multiple instead.
        name: accepted for Keras' sake.
    """

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        end_learning_rate: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        name: str = "PolynomialDecay",
    ) -> None:
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = _positive("PolynomialDecay", decay_steps)
        self.end_learning_rate = end_learning_rate
        self.power = power
        self.cycle = cycle
        self.name = name

    def __call__(self, step: Any) -> Any:
        """The learning rate at that step."""
        at = _float(step)
        total: Any = float(self.decay_steps)
        if self.cycle:
            total = total * arithmetic.maximum(rounding.ceil(at / total), 1.0)
        else:
            at = arithmetic.minimum(at, total)
        left = exponents.pow(1.0 - at / total, self.power)
        return (self.initial_learning_rate - self.end_learning_rate) * left + self.end_learning_rate

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            "initial_learning_rate": self.initial_learning_rate,
            "decay_steps": self.decay_steps,
            "end_learning_rate": self.end_learning_rate,
            "power": self.power,
            "cycle": self.cycle,
            "name": self.name,
        }


class CosineDecay(LearningRateSchedule):
    """Optional linear warm-up, then half a cosine wave down to alpha times the rate.

    Args:
        initial_learning_rate: at step 0.
        decay_steps: length of the wave.
        alpha: share that is left at the end.
        name: accepted for Keras' sake.
        warmup_target: the rate at the end of the warm-up; None for no warm-up.
        warmup_steps: length of the rise.

    Source:
        Loshchilov and Hutter 2016; Keras `CosineDecay`.
    """

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        alpha: float = 0.0,
        name: str = "CosineDecay",
        warmup_target: float | None = None,
        warmup_steps: float = 0,
    ) -> None:
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = _positive("CosineDecay", decay_steps)
        self.alpha = alpha
        self.name = name
        self.warmup_target = warmup_target
        self.warmup_steps = warmup_steps

    def __call__(self, step: Any) -> Any:
        """The learning rate at that step."""
        at = _float(step)
        top = self.initial_learning_rate if self.warmup_target is None else self.warmup_target
        start = 0.0 if self.warmup_target is None else float(self.warmup_steps)
        share = arithmetic.minimum(at - start, float(self.decay_steps)) / float(self.decay_steps)
        wave = 0.5 * (1.0 + trigonometry.cos(share * math.pi))
        down = ((1 - self.alpha) * wave + self.alpha) * top
        if self.warmup_target is None or not self.warmup_steps:
            return down
        begin = self.initial_learning_rate
        up = begin + (self.warmup_target - begin) * (at / start)
        return selecting.where(comparison.less(at, start), up, down)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            "initial_learning_rate": self.initial_learning_rate,
            "decay_steps": self.decay_steps,
            "alpha": self.alpha,
            "name": self.name,
            "warmup_target": self.warmup_target,
            "warmup_steps": self.warmup_steps,
        }


class CosineDecayRestarts(LearningRateSchedule):
    """Half cosine waves down to alpha times the rate, one after another.

    Args:
        initial_learning_rate: at step 0.
        first_decay_steps: length of the first wave.
        t_mul: ratio of the length of each wave to that of the previous one.
        m_mul: ratio of the initial rate of each wave to that of the previous one.
        alpha: share that is left at the end of a wave.
        name: accepted for Keras' sake.

    Raises:
        ValueError: `first_decay_steps` is not positive.

    Source:
        Loshchilov and Hutter 2016; Keras `CosineDecayRestarts`.
    """

    def __init__(
        self,
        initial_learning_rate: float,
        first_decay_steps: float,
        t_mul: float = 2.0,
        m_mul: float = 1.0,
        alpha: float = 0.0,
        name: str = "SGDRDecay",
    ) -> None:
        self.initial_learning_rate = initial_learning_rate
        self.first_decay_steps = _positive(
            "CosineDecayRestarts", first_decay_steps, "first_decay_steps"
        )
        self._t_mul = t_mul
        self._m_mul = m_mul
        self.alpha = alpha
        self.name = name

    def __call__(self, step: Any) -> Any:
        """The learning rate at that step."""
        share = _float(step) / float(self.first_decay_steps)
        longer = float(self._t_mul)
        if longer == 1.0:
            wave = rounding.floor(share)
            share = share - wave
        else:
            # Wave n starts after 1 + t + t² + … = (1 - tⁿ) / (1 - t) lengths of the first.
            wave = rounding.floor(exponents.log(1.0 - share * (1.0 - longer)) / math.log(longer))
            length = exponents.pow(_float(longer), wave)
            share = (share - (1.0 - length) / (1.0 - longer)) / length
        height = exponents.pow(_float(float(self._m_mul)), wave)
        down = 0.5 * height * (1.0 + trigonometry.cos(share * math.pi))
        return ((1 - self.alpha) * down + self.alpha) * self.initial_learning_rate

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            "initial_learning_rate": self.initial_learning_rate,
            "first_decay_steps": self.first_decay_steps,
            "t_mul": self._t_mul,
            "m_mul": self._m_mul,
            "alpha": self.alpha,
            "name": self.name,
        }


def _float(step: Any) -> Any:
    tensor = convert_to_tensor(step)
    return tensor if tensor.dtype.name == "float32" else casting.cast(tensor, "float32")


def _positive(who: str, steps: float, name: str = "decay_steps") -> float:
    if steps <= 0:
        raise ValueError(f"{who}: {name} must be positive, got {steps}")
    return steps


def serialize(learning_rate_schedule: LearningRateSchedule) -> Any:
    """The configuration of a schedule."""
    return registry.serialize_keras_object(learning_rate_schedule)


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The schedule with that configuration.

    Args:
        config: the result of `serialize`.
        custom_objects: classes and functions by name, beside those of Keras and the registered
            ones.
    """
    return registry.deserialize_keras_object(config, custom_objects)
