"""What activations of KerasTensors are: operations, most under the activation's name."""

from typing import Any

from pinnace.keras import ops


def described_activation(name: str, x: Any, settings: dict[str, Any]) -> Any:
    """The operation that an activation is.

    Args:
        name: of the activation.
        x: a KerasTensor.
        settings: the activation's other arguments.
    """
    if name == "exponential":
        return ops.exp(x)
    if name == "mish":
        return ops.multiply(x, ops.tanh(ops.softplus(x)))
    if name == "relu":
        return _bent(x, **settings)
    return getattr(ops, name)(x, **settings)


def _bent(x: Any, negative_slope: float, max_value: Any, threshold: float) -> Any:
    if threshold == 0 and max_value is None:
        return ops.leaky_relu(x, negative_slope) if negative_slope else ops.relu(x)
    if threshold == 0 and max_value == 6 and not negative_slope:
        return ops.relu6(x)
    above = x if max_value is None else ops.minimum(x, max_value)
    below = ops.multiply(ops.subtract(x, threshold), negative_slope)
    return ops.where(ops.greater(x, threshold), above, below)
