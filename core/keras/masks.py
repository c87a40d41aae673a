"""Masks of sequences' steps, passed from layer to layer with the tensors.

A mask is a bool tensor [batch, time], stored as the attribute `_keras_mask` of a tensor.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor
from pinnace.functions.tracing import trace
from pinnace.keras.symbolic import KerasTensor
from pinnace.ops.array import reshaping

if TYPE_CHECKING:
    from pinnace.keras.call_signature import CallSignature
    from pinnace.keras.layer import Layer


def mask_of(x: Any) -> Any:
    """The masks of tensors, in their structure; None if no tensor has one."""
    if isinstance(x, Tensor):
        return getattr(x, "_keras_mask", None)
    if not structure.is_nested(x):
        return None
    found = structure.map_structure(lambda one: getattr(one, "_keras_mask", None), x)
    return found if any(one is not None for one in structure.flatten(found)) else None


def attach(x: Any, mask: Any) -> None:
    """Attach masks to tensors; None changes nothing."""
    if mask is None:
        return
    for one, its in zip(structure.flatten(x), structure.flatten(mask), strict=False):
        if its is not None and isinstance(one, Tensor):
            one._keras_mask = its


def filled_in(
    signature: CallSignature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """The keyword arguments, with masks of tensors added for `call`'s mask parameters.

    `mask` is the mask of the only argument with tensors; if there are several, `x_mask` is that of
    `x`.

    Source:
        Keras 3: with several such arguments, `mask` must be given.
    """
    given = dict(zip(signature.names, args, strict=False))
    given.update(kwargs)
    holding = {
        name: x for name, x in given.items() if name not in signature.masks and _holds_tensors(x)
    }
    several = len(holding) > 1
    wanted = {f"{name}_mask" if several else "mask": mask_of(x) for name, x in holding.items()}
    added = {
        name: mask
        for name, mask in wanted.items()
        if mask is not None
        and name in signature.masks
        and given.get(name) is None
        and name not in signature.names[: len(args)]  # None by position means none
    }
    if not added:
        return kwargs
    return {**kwargs, **added}


def without_mask(x: Tensor) -> Tensor:
    """The same values in a tensor without a mask."""
    return x if mask_of(x) is None else reshaping.identity(x)


def hand_on(layer: Layer, inputs: Any, outputs: Any, mask: Any) -> None:
    """Attach masks to the outputs of a layer.

    Args:
        layer: the called layer.
        inputs: its first argument.
        outputs: its outputs.
        mask: mask of the inputs.
    """
    if not layer.supports_masking:
        used = layer._call_signature is not None and "mask" in layer._call_signature.masks
        if not used and any(m is not None for m in structure.flatten(mask)):
            warnings.warn(
                f"{layer._described()} got an input with a mask but does not support "
                "masks: later layers get none",
                stacklevel=4,
            )
        return
    flat = structure.flatten(outputs)
    if all(getattr(y, "_keras_mask", None) is not None for y in flat):
        return
    found = layer.compute_mask(inputs, mask)
    if found is None:
        return
    for y, its in zip(flat, structure.flatten(found), strict=False):
        if its is not None and isinstance(y, Tensor) and getattr(y, "_keras_mask", None) is None:
            y._keras_mask = its


# Before there are tensors.


def foreseen(x: Any) -> list[TensorSpec | None]:
    """The specs of masks that KerasTensors will carry, flat; empty if there are none."""
    found = [getattr(one, "mask_spec", None) for one in structure.flatten(x)]
    return found if any(spec is not None for spec in found) else []


def foresee(layer: Layer, args: tuple[Any, ...], kwargs: dict[str, Any], outputs: Any) -> None:
    """Note on the outputs of a symbolic call which masks they will carry."""
    first = args[0] if args else next(iter(kwargs.values()), None)
    known = foreseen(first)
    given = kwargs.get("mask")
    if not layer.supports_masking or not (known or given is not None or layer._computes_masks):
        return
    mask: Any = None
    if given is not None:
        mask = structure.map_structure(_spec, given)
    elif known:
        mask = structure.pack_sequence_as(first, known)
    specs = structure.map_structure(_spec, first)
    traced, _ = trace(layer.compute_mask, (specs, mask), {}, f"{layer.name}_mask")
    found = structure.flatten(traced.structured_outputs)
    for y, its in zip(structure.flatten(outputs), found, strict=False):
        if isinstance(y, KerasTensor) and isinstance(its, TensorSpec):
            y.mask_spec = its


def _spec(x: Any) -> Any:
    return x.spec if isinstance(x, KerasTensor) else x


def _holds_tensors(x: Any) -> bool:
    if isinstance(x, Tensor):
        return True
    return structure.is_nested(x) and any(isinstance(one, Tensor) for one in structure.flatten(x))
