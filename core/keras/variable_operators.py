"""The operators of KerasVariables: those of Keras, where operands of two dtypes meet in a third.

`variable + x` is `keras.ops.add(variable, x)`. With a tensor in front it is the tensor's operator
that runs; it asks a variable that it cannot take (`ops/operators.py`). Functions of TensorFlow, as
`tf.add`, take a KerasVariable for a variable as any other: dtypes have to agree.

Source:
    Keras 3.14 `KerasVariable`, with TensorFlow's backend. There an array in front of a variable
    reads that as an array; here it is an operand of the variable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.context import state
from pinnace.framework.tensor import Operands, SymbolicTensor, Tensor
from pinnace.keras.keras_variable import KerasVariable
from pinnace.keras.ops import elementwise, networks
from pinnace.ops.math import arithmetic, exponents, products

if TYPE_CHECKING:
    from collections.abc import Callable

    Binary = Callable[[Any, Any], Any]

# Operator -> Keras' function, and the faster one for floats of one dtype.
_ARITHMETIC: dict[str, tuple[Binary, Binary | None]] = {
    "add": (elementwise.add, arithmetic.add),
    "and": (elementwise.logical_and, None),
    "floordiv": (elementwise.floor_divide, None),
    "matmul": (networks.matmul, None),
    "mod": (elementwise.mod, None),
    "mul": (elementwise.multiply, arithmetic.multiply),
    "or": (elementwise.logical_or, None),
    "pow": (elementwise.power, exponents.pow),
    "sub": (elementwise.subtract, arithmetic.subtract),
    "truediv": (elementwise.true_divide, None),
    "xor": (elementwise.logical_xor, None),
}
_COMPARISONS: dict[str, Binary] = {
    "eq": elementwise.equal,
    "ge": elementwise.greater_equal,
    "gt": elementwise.greater,
    "le": elementwise.less_equal,
    "lt": elementwise.less,
    "ne": elementwise.not_equal,
}
# Operators whose left variable operand of another dtype TensorFlow refuses when executing eagerly.
_KEPT: dict[str, Binary] = {"add": arithmetic.add, "matmul": products.matmul}
_TENSORS = (Tensor, SymbolicTensor, KerasVariable)


def _agrees(variable: KerasVariable, other: Any) -> bool:
    """Whether both are floats of one dtype, or the other is a number that adopts the variable's."""
    dtype = variable.dtype
    if not dtype.is_floating:
        return False
    return type(other) in {int, float} or (isinstance(other, _TENSORS) and other.dtype is dtype)


def _forward(promoting: Binary, plain: Binary | None) -> Binary:
    def operator(self: KerasVariable, other: Any) -> Any:
        if plain is not None and _agrees(self, other):
            return plain(self, other)
        return promoting(self, other)

    return operator


def _reflected(promoting: Binary, plain: Binary | None, kept: Binary | None) -> Binary:
    def operator(self: KerasVariable, other: Any) -> Any:
        if plain is not None and _agrees(self, other):
            return plain(other, self)
        kerass = isinstance(other, KerasVariable)  # if a program calls the method directly
        if kept is not None and not kerass and isinstance(other, Operands) and state.tracer is None:
            return kept(other, self)
        return promoting(other, self)

    return operator


def _comparison(promoting: Binary) -> Binary:
    def operator(self: KerasVariable, other: Any) -> Any:
        # Keras does not define comparison with None, but Python's lists use == to look for it.
        return promoting(self, other) if other is not None else NotImplemented

    return operator


def _round(self: KerasVariable, ndigits: int | None = None) -> Any:
    return elementwise.round(self, ndigits or 0)


for _name, (_promoting, _plain) in _ARITHMETIC.items():
    setattr(KerasVariable, f"__{_name}__", _forward(_promoting, _plain))
    _operator = _reflected(_promoting, _plain, _KEPT.get(_name))
    setattr(KerasVariable, f"__r{_name}__", _operator)
for _name, _promoting in _COMPARISONS.items():
    setattr(KerasVariable, f"__{_name}__", _comparison(_promoting))
KerasVariable.__pos__ = KerasVariable.read_value  # type: ignore[method-assign,assignment]
KerasVariable.__round__ = _round  # type: ignore[attr-defined]
