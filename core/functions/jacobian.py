"""Jacobians of a GradientTape: one gradient per element of the target, as a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.autodiff.tape import UnconnectedGradients
from pinnace.framework import structure
from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.indexed_slices import dense
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor
from pinnace.framework.variable import Variable
from pinnace.functions.control import mapping
from pinnace.ops.array import constants, indicators, joining, permutations, reshaping, shapes
from pinnace.ops.math import ranges, reduction

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.autodiff.tape import GradientTape


def jacobian(
    tape: GradientTape, target: Any, sources: Any, unconnected: Any, one_by_one: bool = False
) -> Any:
    """[*target, *source] for each source: the derivative of every element of the target."""
    del one_by_one
    target = _tensor(target)
    flat = structure.flatten(sources)
    handles = [_handle(source) for source in flat]
    rows = _unit_rows(shapes.size(target), target)

    def gradients(row: Tensor) -> list[Tensor | None]:
        seed = reshaping.reshape(row, _shape(target))
        return [dense(one) for one in tape._differentiate([target], handles, [seed])]

    connected = [found is not None for found in gradients(_unit_rows_like(target))]
    found = _mapped(gradients, rows, connected, flat)
    results: list[Tensor | None] = []
    for source, matrix in zip(flat, found, strict=True):
        wanted = joining.concat([_shape(target), _shape(_value(source))], 0)
        if matrix is None:
            results.append(
                constants.zeros(wanted, source.dtype) if _wants_zeros(unconnected) else None
            )
        else:
            results.append(_reshaped(matrix, wanted, [target, _value(source)]))
    return structure.pack_sequence_as(sources, results)


def batch_jacobian(
    tape: GradientTape, target: Any, source: Any, unconnected: Any, one_by_one: bool = False
) -> Any:
    """[batch, *target, *source]: derivatives of rows of the target by rows of the source."""
    del one_by_one
    _wants_zeros(unconnected)  # an unknown option is refused here as well
    target, value = _tensor(target), _value(source)
    sizes = (target.shape.rank, value.shape.rank)
    if any(size is None or size < 2 for size in sizes):
        raise ValueError(
            "batch_jacobian: target and source must have rank at least 2, a batch axis among them, "
            "got shapes "
            f"{target.shape.text} and {value.shape.text}"
        )
    if not target.shape[:1].is_compatible_with(value.shape[:1]):
        raise ValueError(
            "batch_jacobian: target and source must have one batch size. Need first dimension of "
            "the same size, got shapes "
            f"{target.shape.text} and {value.shape.text}"
        )
    batch = _shape(target)[:1]
    inner = _shape(target)[1:]
    count = reduction.reduce_prod(inner)
    handles = [_handle(source)]

    def gradients(row: Tensor) -> list[Tensor | None]:
        ones = constants.ones(joining.concat([batch, constants.constant([1])], 0), target.dtype)
        seed = reshaping.reshape(ones * reshaping.expand_dims(row, 0), _shape(target))
        return [dense(one) for one in tape._differentiate([target], handles, [seed])]

    rows = _unit_rows(count, target)
    # Traced on all ones and not on the first row, since there may be no rows.
    connected = [gradients(constants.ones([count], target.dtype))[0] is not None]
    (found,) = _mapped(gradients, rows, connected, [source])
    wanted = joining.concat([_shape(target), _shape(value)[1:]], 0)
    if found is None:
        # TensorFlow: zeros of the target's dtype, whichever option was given.
        return constants.zeros(wanted, target.dtype)
    # [elements, batch, ...] to [batch, elements, ...].
    rank = found.shape.rank
    if rank is None:
        found = reshaping.reshape(found, joining.concat([[-1], batch, [-1]], 0))
        rank = 3
    turned = permutations.transpose(found, [1, 0, *range(2, rank)])
    return reshaping.reshape(turned, wanted)


def _mapped(
    gradients: Callable[[Tensor], Sequence[Tensor | None]],
    rows: Tensor,
    connected: Sequence[bool],
    sources: Sequence[Any],
) -> list[Tensor | None]:
    """The gradients for every row, stacked; None if the target does not depend on the source."""
    if not any(connected):
        return [None] * len(sources)

    def one(row: Tensor) -> list[Tensor]:
        return [found for found in gradients(row) if found is not None]

    specs = [
        source.spec if isinstance(source, Variable) else _spec(_value(source))
        for source, keep in zip(sources, connected, strict=True)
        if keep
    ]
    stacked = iter(mapping.map_fn(one, rows, fn_output_signature=specs))
    return [next(stacked) if keep else None for keep in connected]


def _spec(x: Tensor) -> TensorSpec:
    return TensorSpec.of(x.shape, x.dtype)


def _unit_rows(count: Any, like: Tensor) -> Tensor:
    """The rows of a unit matrix."""
    return indicators.one_hot(ranges.range(count), count, dtype=like.dtype)


def _unit_rows_like(target: Tensor) -> Tensor:
    return reshaping.reshape(constants.ones_like(target), [-1])


def _shape(x: Tensor) -> Tensor:
    if x.shape.is_fully_defined():
        return constants.constant(np.array(x.shape.as_list(), np.int32))
    return shapes.shape(x)


def _reshaped(x: Tensor, sizes: Tensor, parts: Sequence[Tensor]) -> Tensor:
    made = reshaping.reshape(x, sizes)
    if state.tracer is not None:
        shape = parts[0].shape
        for part in parts[1:]:
            shape = shape.concatenate(part.shape)
        made.set_shape(shape)
    return made


def _tensor(item: Any) -> Tensor:
    return item if isinstance(item, Tensor) else convert_to_tensor(item)


def _value(source: Any) -> Tensor:
    return source.value() if isinstance(source, Variable) else source


def _handle(source: Any) -> Tensor:
    return source.handle if isinstance(source, Variable) else source


def _wants_zeros(unconnected: Any) -> bool:
    wish = getattr(unconnected, "value", unconnected)
    if wish not in {UnconnectedGradients.NONE, UnconnectedGradients.ZERO}:
        raise ValueError(f"unconnected_gradients must be 'none' or 'zero', got {unconnected!r}")
    return bool(wish == UnconnectedGradients.ZERO)
