"""What functions of `keras.ops` make of SparseTensors and IndexedSlices; see `takes_sparse`.

Source:
    Keras 3.14 with TensorFlow's backend: results have its forms (sparse, slices, dense).
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

from pinnace.framework.composite import CompositeTensor
from pinnace.framework.indexed_slices import IndexedSlices

if TYPE_CHECKING:
    from collections.abc import Callable

    F = TypeVar("F", bound=Callable[..., Any])

# Functions of each element by their class in Keras. Of 0 they are 0: the values alone are mapped.
_KEEPING_ZERO = frozenset(
    {
        *("Absolute", "Abs", "Fabs", "Arcsin", "Arcsinh", "Arctan", "Arctanh", "Ceil", "Conj"),
        *("Conjugate", "Copy", "Expm1", "Floor", "Imag", "Log1p", "Negative", "Real", "Round"),
        *("Sign", "Signbit", "Sin", "Sinh", "Sqrt", "Square", "Tan", "Tanh", "Digitize"),
    }
)
# Of 0 they are something else, and the result is dense.
_FILLING = frozenset(
    {"Arccos", "Arccosh", "Cos", "Cosh", "Exp", "Exp2", "Isfinite", "Log", "Log10", "Log2"}
    | {"Reciprocal"}
)
# The function that does it, in `sparse_pairs` and `sparse_shapes`.
_PAIRS = {
    "Add": "add",
    "Subtract": "subtract",
    "Maximum": "maximum",
    "Minimum": "minimum",
    "Multiply": "multiply",
    "Divide": "divide",
    "TrueDivide": "divide",
}
_SHAPES = {
    "Matmul": "matmul",
    "Concatenate": "concatenate",
    "ExpandDims": "expand_dims",
    "Mean": "mean",
    "Reshape": "reshape",
    "Squeeze": "squeeze",
    "Sum": "total",
    "Take": "take",
    "Transpose": "transpose",
}


def takes_sparse(name: str, function: F) -> F:
    """The function, which takes sparse operands if Keras' class of that name does.

    Args:
        name: of the class in Keras.
        function: of tensors.
    """
    if not any(name in known for known in (_KEEPING_ZERO, _FILLING, _PAIRS, _SHAPES)):
        return function

    @functools.wraps(function)
    def taking(*args: Any, **kwargs: Any) -> Any:
        for x in (*args, *kwargs.values()):
            if _has_sparse(x):
                return _rule(name)(function, *args, **kwargs)
        return function(*args, **kwargs)

    return taking  # type: ignore[return-value]  # of the same signature


def _has_sparse(x: Any) -> bool:
    if type(x) is list or type(x) is tuple:
        return any(_is_sparse(one) for one in x)
    return _is_sparse(x)


def _is_sparse(x: Any) -> bool:
    return isinstance(x, CompositeTensor) and (
        getattr(type(x), "_takes_ops", None) == "sparse" or isinstance(x, IndexedSlices)
    )


def _rule(name: str) -> Callable[..., Any]:
    # Late: few programs have sparse operands.
    from pinnace.keras.ops import sparse_pairs, sparse_shapes

    if name in _PAIRS:
        rule = getattr(sparse_pairs, _PAIRS[name])
    elif name in _SHAPES:
        rule = getattr(sparse_shapes, _SHAPES[name])
    else:
        rule = sparse_pairs.of_values if name in _KEEPING_ZERO else sparse_pairs.of_dense
    found: Callable[..., Any] = rule
    return found
