"""Slices."""

import numpy as np

from pinnace.deploy.tfjs.graph.rewriting import Rewrite, rule
from pinnace.framework import dtypes
from pinnace.graph.graph import Value
from pinnace.graph.known import known_value

_LIMITS = ("begin", "end", "strides")
_LONGEST = 1 << 24  # integers that float32 represents exactly


@rule("Slice")
def part(r: Rewrite) -> tuple[Value, ...] | None:
    """Slice with sizes within 32 bits."""
    inputs = _within_32_bits(r)
    return None if inputs == r.inputs else r.same(*inputs)


def _within_32_bits(r: Rewrite) -> list[Value]:
    most = np.iinfo(np.int32).max
    inputs = list(r.inputs)
    for index in range(1, len(inputs)):
        known = r.known(index)
        if known is not None and known.dtype == np.int64 and np.any(np.abs(known) > most):
            inputs[index] = r.constant(np.clip(known, -most, most))
    return inputs


@rule("StridedSlice")
def strided_slice(  # noqa: C901 (a case for each kind of axis)
    r: Rewrite,
) -> tuple[Value, ...] | Value | None:
    """One range per axis, then new axes, since TensorFlow.js misinterprets an ellipsis."""
    inputs = _within_32_bits(r)
    x = r.inputs[0]
    new, ellipsis = int(r.attr("new_axis_mask")), int(r.attr("ellipsis_mask"))
    masks = {name: int(r.attr(f"{name}_mask")) for name in ("begin", "end", "shrink_axis")}
    if not new and not ellipsis:
        if not _is_right(x, inputs[3], masks["shrink_axis"]):
            return _ranges(r, x, inputs[1:], masks)
        return None if inputs == r.inputs else r.same(*inputs)
    limits = [known_value(value) for value in inputs[1:]]
    r.needs(x.shape.rank is not None, "with an ellipsis, of an unknown number of axes")
    r.needs(all(one is not None for one in limits), "with an ellipsis, at places not known")
    begin, end, strides = ([int(n) for n in np.asarray(one)] for one in limits)
    count, rank = len(begin), len(x.shape)
    made: dict[str, list[int]] = {"begin": [], "end": [], "strides": []}
    found = dict.fromkeys(masks, 0)
    axes: list[str] = []  # axes of the result: kept, new or removed
    spread = rank - (count - (new | ellipsis).bit_count())
    for place in range(count):
        bit = 1 << place
        if ellipsis & bit:
            for _ in range(spread):
                _whole(made, found)
                axes.append("kept")
        elif new & bit:
            axes.append("new")
        else:
            at = 1 << len(made["begin"])
            for name, value in (("begin", begin), ("end", end), ("strides", strides)):
                made[name].append(value[place])
            for name, mask in masks.items():
                found[name] |= at if mask & bit else 0
            axes.append("gone" if masks["shrink_axis"] & bit else "kept")
    while len(made["begin"]) < rank:
        _whole(made, found)
        axes.append("kept")
    result = _ranges(r, x, [r.constant(made[name], np.int32) for name in _LIMITS], found)
    for axis, kind in enumerate(one for one in axes if one != "gone"):
        if kind == "new":
            result = r.op("ExpandDims", result, r.constant(axis, np.int32))
    return result


def _whole(made: dict[str, list[int]], found: dict[str, int]) -> None:
    """Keep a whole axis."""
    at = 1 << len(made["begin"])
    for name, number in (("begin", 0), ("end", 0), ("strides", 1)):
        made[name].append(number)
    found["begin"] |= at
    found["end"] |= at


def _is_right(x: Value, strides: Value, shrunk: int) -> bool:
    """Whether TensorFlow.js' kernels read the right elements.

    With strides they take the remaining axes for the first ones, and in WebAssembly they read all
    elements as float32. For strings they have no kernel, and raise an error.
    """
    known = known_value(strides)
    if known is not None and np.all(np.asarray(known) == 1):
        return True
    return not shrunk and (x.dtype.is_floating or x.dtype is dtypes.string)


def _ranges(r: Rewrite, x: Value, limits: list[Value], masks: dict[str, int]) -> Value:
    """Slice ranges: first the axes that are removed, then the others.

    Args:
        r: the node.
        x: the tensor.
        limits: begin, end and strides.
        masks: the bits for begin, end and removed axes.
    """
    gone = masks["shrink_axis"]
    if _is_right(x, limits[2], gone):
        return _sliced(r, x, limits, **masks)
    lengths = [
        value.shape[0] for value in limits if value.shape.rank and value.shape[0] is not None
    ]
    r.needs(lengths, "with strides, of a number of axes that is not known")
    count = int(lengths[0] or 0)
    kept = [place for place in range(count) if not gone >> place & 1]
    if gone:
        whole = sum(1 << place for place in kept)
        ones = r.constant([1] * count, limits[0].dtype)
        x = _sliced(r, x, [*limits[:2], ones], begin=whole, end=whole, shrink_axis=gone)
        limits = [_at(r, value, kept) for value in limits]
        masks = {name: _bits(masks[name], kept) for name in ("begin", "end")}
    if not kept or _is_right(x, limits[2], 0):
        return _sliced(r, x, limits, **masks) if kept else x
    return _gathered(r, x, limits, masks, len(kept))


def _gathered(
    r: Rewrite, x: Value, limits: list[Value], masks: dict[str, int], count: int
) -> Value:
    """Slice integers and bools by gathering: the indices of each axis are sliced as float32."""
    strides = known_value(limits[2])
    apart = [axis for axis in range(count) if strides is None or strides[axis] != 1]
    if len(apart) < count:
        whole = sum(1 << axis for axis in apart)
        ones = r.constant([1] * count, limits[0].dtype)
        either = {name: masks[name] | whole for name in ("begin", "end")}
        x = _sliced(r, x, [*limits[:2], ones], **either)
    for axis in apart:
        size = r.size(x, axis)
        r.needs(isinstance(size, Value) or size <= _LONGEST, f"with strides, of {size} elements")
        zero, one = (r.constant(number, np.int32) for number in (0, 1))
        numbers = r.op("Cast", r.op("Range", zero, r.scalar(size), one), DstT=dtypes.float32)
        own = {name: _bits(masks[name], [axis]) for name in ("begin", "end")}
        places = _sliced(r, numbers, [_at(r, value, [axis]) for value in limits], **own)
        places = r.op("Cast", places, DstT=dtypes.int32)
        x = r.op("GatherV2", x, places, r.constant(axis, np.int32))
    return x


def _sliced(r: Rewrite, x: Value, limits: list[Value], **masks: int) -> Value:
    return r.op("StridedSlice", x, *limits, **{f"{name}_mask": n for name, n in masks.items()})


def _at(r: Rewrite, value: Value, places: list[int]) -> Value:
    """Some elements of a vector."""
    known = known_value(value)
    if known is not None:
        return r.constant(np.asarray(known)[places])
    return r.op("GatherV2", value, r.constant(places, np.int32), r.constant(0, np.int32))


def _bits(mask: int, places: list[int]) -> int:
    """Some bits of a mask, moved together."""
    return sum((mask >> place & 1) << index for index, place in enumerate(places))
