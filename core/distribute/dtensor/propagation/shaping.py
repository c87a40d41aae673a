"""Rules of ops that change shapes: transposes, reshapes, joins, new axes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pinnace.distribute.dtensor.layout import UNSHARDED
from pinnace.distribute.dtensor.propagation.calls import merged, rule_of, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.distribute.dtensor.propagation.calls import Call, Specs


@rule_of("Transpose", "ConjugateTranspose")
def transpose(call: Call) -> Specs:
    """The specs in the new order."""
    first, order = call.inputs
    if order.value is None:
        return whole(first.rank)
    return tuple(first.specs[int(axis)] for axis in order.value)


@rule_of("ExpandDims")
def expand_dims(call: Call) -> Specs:
    """A new axis is whole."""
    first, axis = call.inputs
    if axis.value is None:
        return whole(first.rank + 1)
    specs = list(first.specs)
    specs.insert(int(axis.value.ravel()[0]) % (first.rank + 1), UNSHARDED)
    return tuple(specs)


@rule_of("Squeeze", "Reshape")
def reshape(call: Call) -> Specs:
    """Runs of axes that hold the same elements: the first of a run stays divided, if it can be."""
    first, after = call.inputs[0], call.sizes[0]
    before = first.sizes
    if any(size is None for size in (*before, *after)):
        return _by_equal_front(first.specs, before, after)
    return _by_groups(first.specs, before, after)  # type: ignore[arg-type]


def _by_groups(specs: Specs, before: Sequence[int], after: Sequence[int]) -> Specs:
    found = [UNSHARDED] * len(after)
    if 0 in before:
        return tuple(found)
    old = [axis for axis, size in enumerate(before) if size > 1]
    new = [axis for axis, size in enumerate(after) if size > 1]
    while old and new:
        left, right = [old.pop(0)], [new.pop(0)]
        while (a := math.prod(before[i] for i in left)) != (
            b := math.prod(after[i] for i in right)
        ):
            (left if a < b else right).append((old if a < b else new).pop(0))
        found[right[0]] = specs[left[0]]
    return tuple(found)


def _by_equal_front(
    specs: Specs, before: Sequence[int | None], after: Sequence[int | None]
) -> Specs:
    """As far as the sizes are the same; an unknown one is taken for its counterpart."""
    found = [UNSHARDED] * len(after)
    for axis, (spec, a, b) in enumerate(zip(specs, before, after, strict=False)):
        if a != b:
            break
        found[axis] = spec
    return tuple(found)


@rule_of("ConcatV2", "Concat")
def concat(call: Call) -> Specs:
    """The tensors' specs, merged; the axis that they are joined along is whole."""
    parts, axis = (call.inputs[:-1], call.inputs[-1])
    if call.op.name == "Concat":
        axis, *parts = call.inputs  # type: ignore[assignment]
    rank = len(call.sizes[0])
    if axis.value is None:
        return whole(rank)
    joined = int(axis.value.ravel()[0]) % rank
    specs = merged(rank, [one.specs for one in parts])
    return tuple(UNSHARDED if index == joined else s for index, s in enumerate(specs))


@rule_of("Pack")
def pack(call: Call) -> Specs:
    """The first axis of the tensors may be divided, as in TensorFlow."""
    rank = len(call.sizes[0])
    if rank == 1:
        return (UNSHARDED,)
    specs = merged(rank - 1, [one.specs for one in call.inputs])
    kept = [specs[0], *whole(rank - 2)]
    kept.insert(int(call.attr("axis")) % rank, UNSHARDED)
    return tuple(kept)


@rule_of("Unpack")
def unpack(call: Call) -> Specs:
    """The axes that stay."""
    first = call.inputs[0]
    gone = int(call.attr("axis")) % first.rank
    return tuple(spec for axis, spec in enumerate(first.specs) if axis != gone)


@rule_of("Split", "SplitV")
def split(call: Call) -> Specs:
    """The axis that is split is whole."""
    given, axis = call.inputs[0], call.inputs[-1]
    if call.op.name == "Split":
        axis, given = call.inputs
    if axis.value is None:
        return whole(given.rank)
    cut = int(axis.value.ravel()[0]) % given.rank
    return tuple(UNSHARDED if index == cut else s for index, s in enumerate(given.specs))


@rule_of("Tile", "Pad", "PadV2", "MirrorPad")
def same_sizes(call: Call) -> Specs:
    """An axis whose size changes is whole."""
    first = call.inputs[0]
    return tuple(
        spec if before == after else UNSHARDED
        for spec, before, after in zip(first.specs, first.sizes, call.sizes[0], strict=True)
    )


@rule_of("BroadcastTo")
def broadcast_to(call: Call) -> Specs:
    """New axes, and those that are repeated, are whole."""
    first, sizes = call.inputs[0], call.sizes[0]
    new = len(sizes) - first.rank
    kept = zip(first.specs, first.sizes, sizes[new:], strict=True)
    return (*whole(new), *(spec if a == b else UNSHARDED for spec, a, b in kept))
