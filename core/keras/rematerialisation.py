"""Rematerialisation: activations are recomputed for gradients instead of being stored."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Self

from pinnace.framework import structure
from pinnace.framework.composite import is_composite
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor
from pinnace.functions.custom_gradients import recompute_grad
from pinnace.keras.call_context import calls

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.keras.layer import Layer

_MODES = ("full", "activations", "larger_than", "list_of_layers", None)


class RematScope:
    """A block in which created layers recompute activations for gradients.

    Results and gradients are the same, if the layers draw no random numbers; training takes longer
    and less memory.

    Args:
        mode: `full` for all layers, `activations` for the activation functions alone, `larger_than`
            for layers with larger outputs than a threshold, `list_of_layers` for those named; None
            for none, within another block.
        output_size_threshold: a number of elements, an unknown axis counted as 1, for
            `larger_than`.
        layer_names: for `list_of_layers`.

    Raises:
        ValueError: unknown mode.
    """

    def __init__(
        self,
        mode: str | None = "full",
        output_size_threshold: int = 1024,
        layer_names: Sequence[str] | None = None,
    ) -> None:
        if mode not in _MODES:
            raise ValueError(
                f"RematScope: Invalid mode: must be one of {', '.join(map(repr, _MODES))}, "
                f"got {mode!r}"
            )
        self.mode = mode
        self.output_size_threshold = output_size_threshold
        self.layer_names = list(layer_names or ())
        self._around: list[RematScope | None] = []

    def __enter__(self) -> Self:
        self._around.append(calls.remat)
        calls.remat = self
        return self

    def __exit__(self, *_: object) -> None:
        calls.remat = self._around.pop()


def remat(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is computed again for its gradient, and keeps only its arguments till then.

    Args:
        f: takes tensors, in any structure and by name too; gives tensors in any structure. What it
            assigns it assigns twice, and what it draws it draws anew.
    """

    @functools.wraps(f)
    def rematerialized(*args: Any, **kwargs: Any) -> Any:
        leaves = structure.flatten((args, kwargs))
        places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
        if not places or any(is_composite(leaf) for leaf in leaves):
            return f(*args, **kwargs)

        def of_tensors(*tensors: Tensor) -> Any:
            filled = list(leaves)
            for place, tensor in zip(places, tensors, strict=True):
                filled[place] = tensor
            given, named = structure.pack_sequence_as((args, kwargs), filled)
            return f(*given, **named)

        return recompute_grad(of_tensors)(*(leaves[place] for place in places))

    return rematerialized


def applied(
    layer: Layer,
    scope: RematScope,
    call: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Callable[..., Any]:
    """A layer's `call`, rematerialised if the scope that it was created in demands it."""
    if scope.mode == "full":
        return remat(call)
    if scope.mode == "list_of_layers" and layer.name in scope.layer_names:
        return remat(call)
    if scope.mode == "larger_than":
        return remat(call) if _size(layer, args, kwargs) > scope.output_size_threshold else call
    activation = getattr(layer, "activation", None)
    if scope.mode == "activations" and activation is not None:
        return functools.partial(_with_activation, layer, remat(activation), call)
    return call


def _size(layer: Layer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """The number of elements of a layer's outputs, with unknown axes counted as 1."""
    scope, layer._remat = layer._remat, None  # otherwise this call would recurse
    try:
        specs = structure.flatten(layer.compute_output_spec(*args, **kwargs))
    finally:
        layer._remat = scope
    known = [spec.shape.dims or () for spec in specs if isinstance(spec, TensorSpec)]
    return sum(math.prod(size or 1 for size in sizes) for sizes in known)


def _with_activation(
    layer: Any, activation: Any, call: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    own, layer.activation = layer.activation, activation
    try:
        return call(*args, **kwargs)
    finally:
        layer.activation = own
