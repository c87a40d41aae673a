"""Conversion of a call's arguments to tensors of the layer's compute dtype."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.columns import is_column
from pinnace.framework.composite import is_composite
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import Tensor
from pinnace.framework.variable import Variable
from pinnace.keras import masks, scipy_matrices
from pinnace.keras.plain_lists import is_values
from pinnace.keras.symbolic import KerasTensor
from pinnace.ops.array import casting

if TYPE_CHECKING:
    from pinnace.keras.layer import Layer


def converted(
    layer: Layer, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any], bool]:
    """Arguments as tensors, with floats cast; and whether a KerasTensor is among them."""
    if not args and "inputs" in kwargs and _calls_it_otherwise(layer):
        args = (kwargs.pop("inputs"),)
    return _converted(layer, args, kwargs)


def _converted(
    layer: Layer, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any], bool]:
    if len(args) == 1 and isinstance(args[0], Tensor):
        args = (_cast(layer, args[0], layer._takes_floats),)
        if not kwargs or (len(kwargs) == 1 and "training" in kwargs):
            return args, kwargs, False
    elif args and is_values(args[0]):
        args = (convert_to_tensor(args[0]), *args[1:])
    symbolic = False

    def leaf(x: Any) -> Any:
        nonlocal symbolic
        if isinstance(x, Tensor):
            return _cast(layer, x)
        if isinstance(x, KerasTensor):
            symbolic = True
        elif isinstance(x, Variable):
            return _cast(layer, x.value())
        else:
            return _cast_other(layer, x)
        return x

    if args and layer._takes_floats:
        first = structure.map_structure(leaf, args[0])
        args = (structure.map_structure(functools.partial(_as_float, layer), first), *args[1:])
    args = tuple([structure.map_structure(leaf, arg) for arg in args])
    kwargs = {key: structure.map_structure(leaf, value) for key, value in kwargs.items()}
    return args, kwargs, symbolic


def _calls_it_otherwise(layer: Layer) -> bool:
    """Whether a layer of this library names the argument differently that Keras calls `inputs`."""
    signature = type(layer)._call_signature
    names = signature.names if signature is not None else ()
    return "inputs" not in names and type(layer).__module__.startswith("pinnace.keras.layers.")


def _as_float(layer: Layer, x: Any) -> Any:
    if is_composite(x):
        return _cast_composite(layer, x, True)
    return _cast(layer, x, True) if isinstance(x, Tensor) else x


def _cast_other(layer: Layer, x: Any) -> Any:
    """A column as a tensor; ragged and sparse tensors with values cast; others unchanged."""
    if scipy_matrices.is_matrix(x):
        x = scipy_matrices.sparse_tensor(x)
    if is_composite(x):
        return _cast_composite(layer, x)
    return _cast(layer, convert_to_tensor(x)) if is_column(x) else x


def _cast_composite(layer: Layer, x: Any, numbers: bool = False) -> Any:
    """A ragged or sparse tensor with values cast by `_cast`; other composite values unchanged."""
    for part, make in (("flat_values", "with_flat_values"), ("values", "with_values")):
        if hasattr(x, make) and isinstance(getattr(x, part), Tensor):
            found = getattr(x, part)
            cast = _cast(layer, found, numbers)
            return x if cast is found else getattr(x, make)(cast)
    return x


def _cast(layer: Layer, x: Tensor, numbers: bool = False) -> Tensor:
    """`x` in the layer's compute dtype if both are floats; with `numbers`, any numeric x."""
    policy = layer._policy
    # Layers that compute in float32 must not get float16: it might have overflowed.
    wanted = policy._variable if layer._stays_single and policy.is_mixed else policy._compute
    found = x.dtype
    if found is wanted or not wanted.is_floating:
        return x
    if found.is_floating:
        if not layer._autocast:
            return x
    elif not numbers or not (found.is_integer or found.is_bool):
        return x
    cast = casting.cast(x, wanted)
    masks.attach(cast, getattr(x, "_keras_mask", None))
    return cast
