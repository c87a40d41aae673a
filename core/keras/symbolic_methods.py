"""Methods of KerasTensors that create nodes: operators, `reshape`, `squeeze`, and activations.

Each calls a function of `keras.ops`, a higher layer than the class; so they are bound to the class
here, like the operators of variables (`variable_operators`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras import ops
from pinnace.keras.layers.activation import Activation, ReLU
from pinnace.keras.symbolic import KerasTensor

if TYPE_CHECKING:
    from collections.abc import Callable

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": ops.add,
    "and": ops.logical_and,
    "floordiv": ops.floor_divide,
    "matmul": ops.matmul,
    "mod": ops.mod,
    "mul": ops.multiply,
    "or": ops.logical_or,
    "pow": ops.power,
    "sub": ops.subtract,
    "truediv": ops.true_divide,
    "xor": ops.logical_xor,
}
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "ge": ops.greater_equal,
    "gt": ops.greater,
    "le": ops.less_equal,
    "lt": ops.less,
    "ne": ops.not_equal,
}
_UNARY: dict[str, Callable[[Any], Any]] = {
    "abs": ops.absolute,
    "invert": ops.logical_not,
    "neg": ops.negative,
}
# Activations whose function in `keras.ops` has another name.
_OTHER_NAMES = {"exponential": "exp"}


def _forward(function: Callable[[Any, Any], Any]) -> Callable[[KerasTensor, Any], Any]:
    def operator(self: KerasTensor, other: Any) -> Any:
        return function(self, other)

    return operator


def _reflected(function: Callable[[Any, Any], Any]) -> Callable[[KerasTensor, Any], Any]:
    def operator(self: KerasTensor, other: Any) -> Any:
        return function(other, self)

    return operator


def _of_one(function: Callable[[Any], Any]) -> Callable[[KerasTensor], Any]:
    def operator(self: KerasTensor) -> Any:
        return function(self)

    return operator


def _round(self: KerasTensor, ndigits: int | None = None) -> Any:
    return ops.round(self, ndigits or 0)


def _getitem(self: KerasTensor, key: Any) -> Any:
    return ops.get_item(self, key)


def reshape(self: KerasTensor, newshape: Any) -> Any:
    """The same values in another shape, as a layer's output."""
    return ops.reshape(self, newshape)


def squeeze(self: KerasTensor, axis: Any = None) -> Any:
    """The values without axes of size 1, as a layer's output."""
    return ops.squeeze(self, axis)


def _activated(self: KerasTensor, name: str, **settings: Any) -> Any:
    """The KerasTensor of an activation applied to this one.

    Args:
        self: the activation's input.
        name: name of the function in `keras.activations`.
        **settings: its other arguments, which the function of its name in `keras.ops` takes too.
    """
    if name == "relu":
        return ReLU(**settings)(self) if any(settings.values()) else ops.relu(self)
    found = getattr(ops, _OTHER_NAMES.get(name, name), None)
    return found(self, **settings) if found is not None else Activation(name)(self)


for _name, _function in _BINARY.items():
    setattr(KerasTensor, f"__{_name}__", _forward(_function))
    setattr(KerasTensor, f"__r{_name}__", _reflected(_function))
for _name, _function in _COMPARISONS.items():
    setattr(KerasTensor, f"__{_name}__", _forward(_function))
for _name, _operand in _UNARY.items():
    setattr(KerasTensor, f"__{_name}__", _of_one(_operand))
KerasTensor.__round__ = _round  # type: ignore[method-assign]
KerasTensor.__getitem__ = _getitem  # type: ignore[method-assign]
KerasTensor.reshape = reshape  # type: ignore[method-assign]
KerasTensor.squeeze = squeeze  # type: ignore[method-assign]
KerasTensor._activated = _activated  # type: ignore[method-assign]
