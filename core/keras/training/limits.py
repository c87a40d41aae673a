"""Global limits of epochs and steps, for quick trials of a program."""

from __future__ import annotations

import os
import warnings


def _from_environment(name: str) -> int | None:
    given = os.environ.get(name)
    if given is None:
        return None
    try:
        return int(given)
    except ValueError:
        raise ValueError(
            f"the environment variable {name} must be an integer, got {given!r}"
        ) from None


class _Limits:
    """Limits of epochs in `fit`, and of steps per epoch in `fit`, `evaluate` and `predict`."""

    epochs = _from_environment("KERAS_MAX_EPOCHS")
    steps = _from_environment("KERAS_MAX_STEPS_PER_EPOCH")


_limits = _Limits()


def max_epochs() -> int | None:
    """The most epochs of a `fit`, whatever its arguments; None for no limit.

    It is the last value of `set_max_epochs`, otherwise the environment variable KERAS_MAX_EPOCHS.
    """
    return _limits.epochs


def set_max_epochs(max_epochs: int | None) -> None:
    """Limit the epochs of each `fit` from now on.

    Args:
        max_epochs: the most there are; None for no limit.
    """
    _limits.epochs = max_epochs


def max_steps_per_epoch() -> int | None:
    """The most steps of an epoch of `fit`, or of `evaluate` or `predict`; None for no limit.

    It is the last value of `set_max_steps_per_epoch`, otherwise the environment variable
    KERAS_MAX_STEPS_PER_EPOCH.
    """
    return _limits.steps


def set_max_steps_per_epoch(max_steps_per_epoch: int | None) -> None:
    """Limit the steps of each `fit`, `evaluate` and `predict` from now on.

    Args:
        max_steps_per_epoch: the most there are in an epoch; None for no limit.
    """
    _limits.steps = max_steps_per_epoch


def limited_epochs(epochs: int) -> int:
    """The number of epochs, at most the limit; warns if the limit applies."""
    most = _limits.epochs
    if not most or most >= epochs:
        return epochs
    warnings.warn(f"fit: epochs is limited to {most}, not {epochs}", stacklevel=2)
    return most


def limited_steps(steps: int | None) -> int | None:
    """The number of steps (None: all), at most the limit; warns if the limit applies."""
    most = _limits.steps
    if not most or (steps and steps <= most):
        return steps
    warnings.warn(f"steps of an epoch are limited to {most}", stacklevel=2)
    return most
