"""Functions with weak tensors, while the mode is "safe" or "all".

They are hooked while the mode is on: without it, they cost nothing more.
"""

from __future__ import annotations

import importlib
import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.composite import CompositeTensor
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import Operands, Tensor
from pinnace.framework.variable import Variable
from pinnace.framework.weak_tensor import is_weak, weakened
from pinnace.numpy_names.lattice import Kind, UnknownKindError, joined
from pinnace.numpy_names.promotion import PREFERENCES
from pinnace.ops.array import casting, constants
from pinnace.ops.composites.extension import hooks

if TYPE_CHECKING:
    from collections.abc import Callable

# Module -> names of functions in it. Which these are is TensorFlow's choice.
_UNARY = {
    "pinnace.ops.math": "abs acos acosh angle asin asinh atan atanh bessel_i0 bessel_i0e bessel_i1 "
    "bessel_i1e ceil conj cos cosh digamma erf erfc erfcinv erfinv exp expm1 floor imag lgamma log "
    "log1p log_sigmoid ndtri negative real reciprocal reciprocal_no_nan reduce_euclidean_norm "
    "reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_std reduce_sum "
    "reduce_variance rint round rsqrt sigmoid sign sin sinh softplus sqrt square tan tanh",
    "pinnace.ops.math.special": "bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1 bessel_k1e "
    "bessel_y0 bessel_y1 dawsn expint fresnel_cos fresnel_sin spence",
    "pinnace.ops.math.bits": "invert",
    "pinnace.ops.math.clipping": "clip_by_value",
    "pinnace.ops.array.constants": "ones_like zeros_like",
    "pinnace.ops.array.identities": "check_numerics identity stop_gradient",
    "pinnace.ops.array.reshaping": "expand_dims reshape squeeze",
    "pinnace.ops.array.permutations": "transpose",
    "pinnace.ops.array.space_depth": "depth_to_space space_to_depth",
    "pinnace.ops.linalg.bands": "diag diag_part tensor_diag_part trace",
    "pinnace.ops.linalg.matrices": "matrix_transpose",
    "pinnace.ops.image": "adjust_brightness adjust_gamma extract_patches random_brightness "
    "stateless_random_brightness",
    "pinnace.ops.nn": "elu gelu leaky_relu log_softmax relu6 selu silu softsign",
    "pinnace.numpy_names": "abs absolute amax amin angle arange arccos arcsin arcsinh "
    "arctan arctanh around array asanyarray asarray ascontiguousarray average bitwise_not cbrt "
    "ceil conj conjugate copy cos cosh cumprod cumsum deg2rad diag diagflat diagonal diff "
    "empty_like exp exp2 expand_dims expm1 fabs fix flatten flip fliplr flipud floor full_like "
    "imag log log10 log1p log2 max mean min moveaxis nanmean negative ones_like positive prod "
    "rad2deg ravel real reciprocal repeat reshape rot90 round signbit sin sinc sinh sort sqrt "
    "square squeeze std sum swapaxes tan tanh trace transpose triu vander var zeros_like",
}
_BINARY = {
    "pinnace.ops.math": "add divide divide_no_nan floordiv floormod multiply multiply_no_nan pow "
    "subtract truediv",
    "pinnace.ops.math.division": "realdiv truncatediv truncatemod",
    "pinnace.ops.math.products": "matmul",
    "pinnace.numpy_names": "matmul",
}
# Both sides are promoted, and the result is not weak.
_COMPARING = {"pinnace.ops.math": "equal maximum minimum"}
_ASSIGNING = ("assign", "assign_add", "assign_sub")
_LIBRARY = __name__.partition(".")[0]
_CONVERTED = f"{_LIBRARY}.functions.autograph."
_PYTHON = (bool, int, float, complex, list, tuple)

_installed: list[tuple[hooks.Hook, Callable[..., Any]]] = []
# Set while a hooked function runs: the functions that it calls behave as without hooks.
_inside = threading.local()


def install() -> None:
    """Have the functions accept and return weak tensors."""
    if _installed:
        return
    for table, count, weakening in ((_UNARY, 1, True), (_BINARY, 2, True), (_COMPARING, 2, False)):
        for module, names in table.items():
            home = importlib.import_module(module)
            for name in names.split():
                _hook(getattr(home, name), range(count), weakening=weakening)
    # The factor takes the dtype of the tensor it scales.
    _hook(importlib.import_module("pinnace.ops.math").scalar_mul, [1], weakening=True)
    for name in _ASSIGNING:
        _hook_assignment(getattr(Variable, name))
    _hook_constant()


def uninstall() -> None:
    """Restore the functions' behaviour without the mode."""
    for hook, target in _installed:
        hook.targets = [one for one in hook.targets if one[1] is not target]
        if not hook.targets:
            hooks.remove_hook(hook)
    _installed.clear()


def promoted_call(function: Callable[..., Any], x: Any, y: Any) -> Any:
    """A binary function of promoted values, whose result is weak if the promoted type is."""
    kind = _kind((x, y))
    if kind is None:
        return function(x, y)
    found = function(_as(x, kind), _as(y, kind))
    return weakened(found) if kind.weak else found


def _is_of_library(module: str) -> bool:
    """Whether the caller is library code; calls by AutoGraph count as the program's."""
    return module.startswith(f"{_LIBRARY}.") and not module.startswith(_CONVERTED)


def _kind(values: Any) -> Kind | None:
    """The promoted type of values; None if the lattice has none."""
    try:
        return joined(values, safe=PREFERENCES.mode == "safe")
    except UnknownKindError:
        return None


def _as(x: Any, kind: Kind) -> Tensor:
    if isinstance(x, Operands):
        tensor = convert_to_tensor(x)
        return tensor if tensor.dtype is kind.dtype else casting.cast(tensor, kind.dtype)
    if isinstance(x, (np.ndarray, np.generic)):
        return casting.cast(convert_to_tensor(x), kind.dtype)
    return convert_to_tensor(x, kind.dtype)


def _is_taken(value: Any) -> bool | None:
    """Whether the lattice applies to the value: a tensor, array or Python number."""
    if isinstance(value, CompositeTensor):
        return None
    return True if isinstance(value, (Operands, np.ndarray, np.generic, *_PYTHON)) else None


def _is_inferred(value: Any) -> bool | None:
    """Whether a value's dtype was inferred: weak tensors, and Python numbers."""
    return True if is_weak(value) or type(value) in _PYTHON else None


def _add(
    function: Any, checkers: dict[int, hooks.Checker], make: Callable[[hooks.Hook], Any]
) -> None:
    inner = hooks.plain_function(function)
    assert inner is not None, function  # noqa: S101 (a test goes over the tables)
    hook = hooks.put_hook(inner)
    target = make(hook)
    hook.targets.append((checkers, target))
    _installed.append((hook, target))


def _hook(function: Any, places: Any, *, weakening: bool) -> None:
    """The function, with the arguments at these places promoted together."""
    check = _is_inferred if len(places) == 1 else _is_taken

    def make(hook: hooks.Hook) -> Callable[..., Any]:
        names = [hook.names[place] for place in places]

        def target(*args: Any, **kwargs: Any) -> Any:
            if getattr(_inside, "busy", False):
                return hook.original(*args, **kwargs)
            bound = hook.signature.bind(*args, **kwargs).arguments
            kind = _kind([bound[name] for name in names])
            if kind is None or bound.get("dtype") is not None:
                return hook.original(*args, **kwargs)
            for name in names:
                bound[name] = _as(bound[name], kind)
            _inside.busy = True
            try:
                found = hook.original(**bound)
            finally:
                _inside.busy = False
            return weakened(found) if weakening and kind.weak else found

        return target

    _add(function, dict.fromkeys(places, check), make)


def _hook_assignment(function: Any) -> None:
    """An assignment method that casts the value if the variable's dtype can hold it."""

    def make(hook: hooks.Hook) -> Callable[..., Any]:
        def target(variable: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
            kind = _kind((variable, value))
            if kind is None:
                return hook.original(variable, value, *args, **kwargs)
            if kind.dtype is not variable.dtype:
                raise TypeError(
                    f"Variable dtype is immutable: {hook.function.__name__} of a variable of "
                    f"{variable.dtype.name} was given {value!r}, together {kind.dtype.name}\n"
                    f"  Try: cast(value, '{variable.dtype.name}')"
                )
            return hook.original(variable, _as(value, kind), *args, **kwargs)

        return target

    _add(function, {0: _is_taken, 1: _is_taken}, make)


def _hook_constant() -> None:
    """`constant` for programs: weak for Python numbers, a cast for tensors."""

    def make(hook: hooks.Hook) -> Callable[..., Any]:
        def target(value: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
            # Frame 2 is the hooked function, frame 3 its caller.
            if _is_of_library(sys._getframe(3).f_globals.get("__name__", "")):
                return hook.original(value, dtype, *args, **kwargs)
            kind = _kind([value] if dtype is None else (value, dtypes.as_dtype(dtype)))
            if kind is None:
                return hook.original(value, dtype, *args, **kwargs)
            if dtype is None:
                given = _as(value, kind) if isinstance(value, Operands) else value
                found = hook.original(given, kind.dtype, *args, **kwargs)
                return weakened(found) if kind.weak else found
            if isinstance(value, Operands) and kind.dtype is dtypes.as_dtype(dtype):
                value = _as(value, kind)
            return hook.original(value, dtype, *args, **kwargs)

        return target

    _add(constants.constant, {0: _is_taken}, make)
