"""Functions that JAX writes as several ops and TensorFlow has as one: softmax, means, erfc.

A pattern is matched when its last op is translated. The op that replaces it computes the same
function, also of NaN and infinities; sums may be rounded in another order.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from pinnace.framework import dtypes
from pinnace.saved_model.stablehlo.lowering.kept_axes import reduced, reduction_of
from pinnace.saved_model.stablehlo.lowering.operands import op
from pinnace.saved_model.stablehlo.lowering.origins import inputs_of, is_same, number_of
from pinnace.saved_model.stablehlo.lowering.pools import mean_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Tensor

# In shorter types, JAX rounds between the steps of a softmax.
_EXACT = frozenset({dtypes.float32, dtypes.float64})
_EITHER_WAY = frozenset({"AddV2", "Mul"})


def written(name: str, *operands: Tensor) -> Tensor:
    """Return an elementwise op, or the one op that replaces the pattern it completes."""
    for formula in _FORMULAS.get(name, ()):
        argument = formula.argument(operands)
        if argument is not None:
            return op(formula.op, argument)
    other = _OTHERS.get(name)
    found = None if other is None else other(*operands)
    return op(name, *operands) if found is None else found


def _quotient(x: Tensor, y: Tensor) -> Tensor | None:
    """A mean, a mean over windows, or a softmax; None if the quotient is none of them."""
    logits = _shifted_in(inputs_of(x, "Exp"))
    if logits is not None and _is_total(y, x):
        return op("Softmax", logits)
    mean = _mean(x, y)
    return mean_of(x, y) if mean is None else mean


def _logarithm(x: Tensor, y: Tensor) -> Tensor | None:
    """The logarithm of a softmax, or None."""
    total = inputs_of(y, "Log")
    logits = None if total is None else _shifted(x)
    found = None if total is None or logits is None else reduction_of(total[0], keeps=True)
    power = None if found is None else inputs_of(found[1], "Exp")
    if total is None or found is None or power is None or not is_same(power[0], x):
        return None
    return op("LogSoftmax", logits) if _is_total(total[0], found[1]) else None


def _selected(chosen: Tensor, x: Tensor, y: Tensor) -> Tensor | None:
    """A leaky ReLU, or a selection without the negation of its condition; else None."""
    found = _leaky(chosen, x, y)
    contrary = None if found is not None else inputs_of(chosen, "LogicalNot")
    return found if contrary is None else written("SelectV2", contrary[0], y, x)


def _leaky(chosen: Tensor, x: Tensor, y: Tensor) -> Tensor | None:
    """A leaky ReLU: x where it is not negative, otherwise a multiple of x; else None."""
    share = inputs_of(y, "Mul")
    if share is None or x.dtype not in _EXACT:
        return None
    at_least = inputs_of(chosen, "GreaterEqual") or inputs_of(chosen, "Greater")
    if at_least is None or not is_same(at_least[0], x) or number_of(at_least[1]) != 0:
        return None
    for number, other in (share, share[::-1]):
        alpha = number_of(number)
        if alpha is not None and math.isfinite(alpha) and is_same(other, x):
            return op("LeakyRelu", x, alpha=float(alpha))
    return None


_OTHERS: dict[str, Callable[..., Tensor | None]] = {
    "RealDiv": _quotient,
    "SelectV2": _selected,
    "Sub": _logarithm,
}


def _mean(total: Tensor, count: Tensor) -> Tensor | None:
    """A mean: a sum divided by the number of its elements; else None."""
    number = number_of(count) if total.dtype.is_floating else None
    if number is None:
        return None
    for keeps in (False, True):
        found = reduction_of(total, keeps=keeps)
        if found is None or found[0] != "Sum":
            continue
        _, data, axes = found
        sizes = [data.shape[axis] for axis in axes]
        known = [size for size in sizes if size is not None]
        if len(known) == len(sizes) and math.prod(known) == number:
            return reduced("Mean", data, axes, keeps=keeps)
    return None


def _shifted_in(inputs: Sequence[Tensor] | None) -> Tensor | None:
    return None if inputs is None else _shifted(inputs[0])


def _shifted(x: Tensor) -> Tensor | None:
    """The logits in logits - max(logits), with the maximum of each row; otherwise None."""
    difference = inputs_of(x, "Sub")
    if difference is None or x.dtype not in _EXACT:
        return None
    logits, largest = difference
    found = reduction_of(largest, keeps=True)
    if found is None or found[0] != "Max" or not is_same(found[1], logits):
        return None
    return logits if _is_last(found[2], logits) else None


def _is_total(x: Tensor, rows: Tensor) -> bool:
    """Whether a tensor is the sum of each row."""
    found = reduction_of(x, keeps=True)
    return (
        found is not None
        and found[0] == "Sum"
        and is_same(found[1], rows)
        and _is_last(found[2], rows)
    )


def _is_last(axes: Sequence[int], x: Tensor) -> bool:
    return [axis % len(x.shape) for axis in axes] == [len(x.shape) - 1]


class _X:
    """Stands for the argument in a pattern."""


class _Formula(NamedTuple):
    """A function of one argument as a pattern of ops.

    Attributes:
        op: the TensorFlow op for it.
        operands: those of the last op, each a number, `_X`, or an op with its operands.
        path: the operand indices that lead from the last op to the argument.
        dtypes: those for which the pattern occurs.
    """

    op: str
    operands: tuple[Any, ...]
    path: tuple[int, ...]
    dtypes: frozenset[DType] = _EXACT

    def argument(self, operands: Sequence[Tensor]) -> Tensor | None:
        """The argument x if the operands match the pattern, else None."""
        if operands[-1].dtype not in self.dtypes:
            return None
        first, *rest = self.path
        found, wanted = operands[first], self.operands[first]
        for place in rest:
            given = inputs_of(found, wanted[0])
            if given is None or place >= len(given):
                return None
            found, wanted = given[place], wanted[1 + place]
        return found if _is_all(operands, self.operands, found) else None


def _is(found: Tensor, wanted: Any, argument: Tensor) -> bool:
    """Whether a tensor matches a part of a pattern, given the argument."""
    if wanted is _X:
        return is_same(found, argument)
    if isinstance(wanted, float):
        number = number_of(found)
        kind = found.dtype.as_numpy_dtype
        return number is not None and bool(kind(number) == kind(wanted))
    name, *operands = wanted
    given = inputs_of(found, name)
    if given is None or len(given) != len(operands):
        return False
    if _is_all(given, operands, argument):
        return True
    return name in _EITHER_WAY and _is_all(given[::-1], operands, argument)


def _is_all(found: Sequence[Tensor], wanted: Sequence[Any], argument: Tensor) -> bool:
    return all(_is(one, what, argument) for one, what in zip(found, wanted, strict=True))


def _horner(x: Any, coefficients: Sequence[float]) -> Any:
    first, second, *rest = coefficients
    found: Any = ("AddV2", ("Mul", first, x), second)
    for number in rest:
        found = ("AddV2", ("Mul", found, x), number)
    return found


def _complement_of_error() -> _Formula:
    """The pattern into which MLIR's CHLO dialect expands erfc of float32.

    Source:
        OpenXLA's StableHLO, ChloLegalizeToStablehloPass: Cephes' `erfcf` and `erff`.
    """
    x = _X
    square = ("Mul", x, x)
    size, below, power = ("Abs", x), ("RealDiv", 1.0, square), ("Neg", square)
    middle = (
        *(2.326819970068386e-2, -1.387039388740657e-1, 3.687424674597105e-1),
        *(-5.824733027278666e-1, 6.210004621745983e-1, -4.944515323274145e-1),
        *(3.404879937665872e-1, -2.741127028184656e-1, 5.638259427386472e-1),
    )
    far = (
        *(-1.047766399936249e1, 1.297719955372516e1, -7.495518717768503),
        *(2.921019019210786, -1.015265279202700, 4.218463358204948e-1),
        *(-2.820767439740514e-1, 5.641895067754075e-1),
    )
    near = (
        *(7.853861353153693e-5, -8.010193625184903e-4, 5.188327685732524e-3),
        *(-2.685381193529856e-2, 1.128358514861418e-1, -3.761262582423300e-1),
        1.128379165726710,
    )
    part = ("SelectV2", ("Less", size, 2.0), _horner(below, middle), _horner(below, far))
    tail: Any = ("Mul", ("Mul", ("Exp", power), ("RealDiv", 1.0, size)), part)
    tail = ("SelectV2", ("Less", power, -88.7228390520683), 0.0, tail)
    tail = ("SelectV2", ("Less", x, 0.0), ("Sub", 2.0, tail), tail)
    inner = ("Sub", 1.0, ("Mul", x, _horner(square, near)))
    kinds = frozenset({dtypes.float32})
    return _Formula("Erfc", (("Less", size, 1.0), inner, tail), (0, 0, 0), kinds)


# Positive numbers are replaced by 0, since expm1 may overflow for them.
_BELOW = ("Expm1", ("SelectV2", ("Greater", _X, 0.0), 0.0, _X))
_SELU = 1.0507009873554804934193349852946
_SELU_BELOW = 1.6732632423543772848170429916717
# Patterns by their last op.
_FORMULAS = {
    "SelectV2": [
        _complement_of_error(),
        _Formula("Elu", (("Greater", _X, 0.0), _X, _BELOW), (1,)),
        _Formula(  # logaddexp(x, 0)
            "Softplus",
            (
                ("NotEqual", ("Sub", _X, 0.0), ("Sub", _X, 0.0)),
                ("AddV2", _X, 0.0),
                ("AddV2", ("Relu", _X), ("Log1p", ("Exp", ("Neg", ("Abs", ("Sub", _X, 0.0)))))),
            ),
            (1, 0),
        ),
    ],
    "RealDiv": [
        _Formula("Sigmoid", (1.0, ("AddV2", 1.0, ("Exp", ("Neg", _X)))), (1, 1, 0, 0)),
        _Formula("Softsign", (_X, ("AddV2", ("Abs", _X), 1.0)), (0,)),
    ],
    "Mul": [
        _Formula(
            "Selu",
            (_SELU, ("SelectV2", ("Greater", _X, 0.0), _X, ("Mul", _SELU_BELOW, _BELOW))),
            (1, 1),
        ),
    ],
    "Minimum": [_Formula("Relu6", (("Relu", _X), 6.0), (0, 0))],
}
