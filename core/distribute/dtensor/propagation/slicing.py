"""Rules of slices and gathers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.distribute.dtensor.layout import UNSHARDED
from pinnace.distribute.dtensor.propagation.calls import distinct, rule_of, whole

if TYPE_CHECKING:
    from pinnace.distribute.dtensor.propagation.calls import Call, Specs


@rule_of("StridedSlice")
def strided_slice(call: Call) -> Specs:
    """An axis of which a part is taken is whole, one of which all is taken stays as it is.

    An index takes an axis away; as in TensorFlow, it is the last specs that are left out then.
    """
    first, begin, end, strides = call.inputs
    rank = len(call.sizes[0])
    if begin.value is None or end.value is None or strides.value is None:
        return whole(rank)
    masks = {
        name: int(call.attr(f"{name}_mask"))
        for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    }
    found: list[str] = []
    new: list[int] = []
    axis = 0
    count = begin.value.size
    for position in range(count):
        bit = 1 << position
        if masks["ellipsis"] & bit:
            later = sum(1 for p in range(position + 1, count) if not masks["new_axis"] & (1 << p))
            while axis < first.rank - later:
                found.append(first.specs[axis])
                axis += 1
        elif masks["new_axis"] & bit:
            new.append(len(found))
        else:
            whole_axis = masks["begin"] & bit and masks["end"] & bit
            kept = masks["shrink_axis"] & bit or whole_axis or _is_all(call, position, axis)
            found.append(first.specs[axis] if kept else UNSHARDED)
            axis += 1
    found += first.specs[axis:]
    found = found[: rank - len(new)]
    for offset, place in enumerate(new):
        found.insert(min(place + offset, len(found)), UNSHARDED)
    return tuple(found)


def _is_all(call: Call, position: int, axis: int) -> bool:
    first, begin, end, strides = call.inputs
    size = first.sizes[axis]
    if begin.value is None or end.value is None or strides.value is None or size is None:
        return False
    return bool(
        begin.value[position] == 0 and strides.value[position] == 1 and end.value[position] >= size
    )


@rule_of("Slice")
def plain_slice(call: Call) -> Specs:
    """An axis of which all is taken stays as it is."""
    first = call.inputs[0]
    return tuple(
        spec if before == after and before is not None else UNSHARDED
        for spec, before, after in zip(first.specs, first.sizes, call.sizes[0], strict=True)
    )


@rule_of("GatherV2", "Gather", "ResourceGather")
def gather(call: Call) -> Specs:
    """The indices' specs take the place of the axis that is gathered from."""
    params, indices = call.inputs[:2]
    axis = 0
    batch = int(call.attr("batch_dims"))
    if call.op.name == "GatherV2":
        given = call.inputs[2].value
        if given is None:
            return whole(len(call.sizes[0]))
        axis = int(given.ravel()[0]) % params.rank
    specs = (*params.specs[:axis], *indices.specs[batch:], *params.specs[axis + 1 :])
    kept = [*params.specs[:axis], *params.specs[axis + 1 :]]
    if len(set(specs) - {UNSHARDED}) != len([s for s in specs if s != UNSHARDED]):
        # What divides an axis of both divides that of the tensor.
        inner = [UNSHARDED if spec in kept else spec for spec in indices.specs[batch:]]
        specs = (*params.specs[:axis], *inner, *params.specs[axis + 1 :])
    return distinct(specs)


@rule_of("GatherNd")
def gather_nd(call: Call) -> Specs:
    """What is gathered is whole, what is in it stays as it is."""
    params, indices = call.inputs
    depth = indices.sizes[-1]
    if depth is None:
        return whole(len(call.sizes[0]))
    return distinct((*indices.specs[:-1], *params.specs[depth:]))
