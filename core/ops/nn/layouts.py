"""Attributes of convolutions and pooling: data formats, strides, windows, padding."""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor
from pinnace.ops.array import shapes
from pinnace.ops.kernels.windows import Windows, explicit_pairs, place_windows
from pinnace.ops.opdef import AttrDef, InferCall, attr

__all__: list[str] = []

# The formats of ops with 2 and 3 spatial axes.
FORMATS = {2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}
PADDINGS = ("SAME", "VALID")


class Placement(NamedTuple):
    """The windows of one call, spatial axes only.

    Attributes:
        strides: step between windows.
        dilations: step between taps.
        pads: (before, after).
        counts: number of windows.
    """

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    counts: tuple[int, ...]


def window_attrs(spatial: int, *, explicit: bool, dilations: bool = False) -> dict[str, AttrDef]:
    """The attributes of an op that slides windows, in TensorFlow's order.

    Args:
        spatial: number of spatial axes.
        explicit: whether padding may be EXPLICIT.
        dilations: whether there is such an attribute.
    """
    attrs = {
        "strides": attr("list(int)"),
        "padding": attr("string", allowed=(*PADDINGS, "EXPLICIT") if explicit else PADDINGS),
    }
    if explicit:
        attrs["explicit_paddings"] = attr("list(int)", default=())
    attrs["data_format"] = attr("string", default=FORMATS[spatial][0], allowed=FORMATS[spatial])
    if dilations:
        attrs["dilations"] = attr("list(int)", default=(1,) * (spatial + 2))
    return attrs


def is_channels_last(data_format: str) -> bool:
    """Whether the channels are the last axis."""
    return data_format[-1] == "C"


def channels_last(x: Array, data_format: str) -> Array:
    """[batch, ..., channels], a view."""
    return x if data_format[-1] == "C" else np.moveaxis(x, 1, -1)


def as_format(y: Array, data_format: str) -> Array:
    """[batch, ..., channels] arranged by `data_format`, contiguous."""
    return y if data_format[-1] == "C" else np.ascontiguousarray(np.moveaxis(y, -1, 1))


def filled(out: Array, values: Array) -> Array:
    """`out`, filled with these values."""
    out[...] = values
    return out


def last_shape(sizes: Sequence[int], data_format: str) -> tuple[int, ...]:
    """Sizes arranged by `data_format` as [batch, ..., channels]."""
    if data_format[-1] == "C":
        return tuple(sizes)
    return (sizes[0], *sizes[2:], sizes[1])


def format_shape(batch: Any, sizes: Sequence[Any], channels: Any, data_format: str) -> Shape:
    """The shape with these sizes, arranged by `data_format`."""
    if data_format[-1] == "C":
        return Shape([batch, *sizes, channels])
    return Shape([batch, channels, *sizes])


def inner(values: Sequence[Any], data_format: str) -> tuple[Any, ...]:
    """The entries of spatial axes, from one entry per axis."""
    return tuple(values[1:-1] if data_format[-1] == "C" else values[2:])


@functools.lru_cache(maxsize=4096)
def placement(
    sizes: tuple[int, ...],
    window: tuple[int, ...],
    strides: tuple[int, ...],
    padding: str,
    explicit_paddings: tuple[int, ...] = (),
    data_format: str = "NHWC",
    dilations: tuple[int, ...] = (),
) -> Placement:
    """The windows for known sizes.

    Args:
        sizes: sizes of the spatial axes.
        window: taps per spatial axis.
        strides: the attribute, one entry per axis of `data_format`.
        padding: the attribute.
        explicit_paddings: the attribute.
        data_format: the attribute.
        dilations: the attribute; empty for 1 everywhere.

    Raises:
        InvalidArgumentError: a window is longer than the padded input, or an attribute is wrong.
    """
    steps = inner(strides, data_format)
    rates = inner(dilations, data_format) if dilations else (1,) * len(steps)
    explicit = explicit_pairs(explicit_paddings, data_format) if padding == "EXPLICIT" else ()
    found = place_windows(sizes, window, steps, rates, padding, explicit)
    return Placement(steps, rates, found.pads, found.sizes)  # type: ignore[arg-type]  # sizes known


def inferred_windows(
    call: InferCall, sizes: Sequence[int | None], window: Sequence[int | None]
) -> Windows:
    """The windows from specs, whose sizes may be unknown; errors name the op."""
    data_format = call.attrs["data_format"]
    steps = inner(check_per_axis(call, "strides"), data_format)
    rates = (1,) * len(steps)
    if "dilations" in call.attrs:
        rates = inner(check_per_axis(call, "dilations"), data_format)
    padding = call.attrs["padding"]
    if padding not in call.op.attrs["padding"].allowed:
        allowed = ", ".join(call.op.attrs["padding"].allowed)
        call.fail(f"padding must be one of {allowed}, got {padding!r}")
    try:
        explicit: Sequence[tuple[int, int]] = ()
        if padding == "EXPLICIT":
            explicit = explicit_pairs(call.attrs["explicit_paddings"], data_format)
        # An axis with an unknown window is treated as one of unknown size.
        known = [None if taps is None else size for size, taps in zip(sizes, window, strict=True)]
        taps = [1 if taps is None else taps for taps in window]
        found = place_windows(known, taps, steps, rates, padding, explicit)
    except InvalidArgumentError as error:
        call.fail(str(error))
    if padding == "SAME":
        counts = [None if n is None else -(-n // s) for n, s in zip(sizes, steps, strict=True)]
        return Windows(found.pads, tuple(counts))
    return found


def check_per_axis(call: InferCall, name: str) -> tuple[int, ...]:
    """An attribute with an entry per axis, which must be 1 for batch and channels."""
    values = tuple(call.attrs[name])
    data_format = call.attrs["data_format"]
    if len(values) != len(data_format):
        call.fail(
            f"{name} must have {len(data_format)} entries, one per axis of {data_format}, "
            f"got {list(values)}"
        )
    for letter, value in zip(data_format, values, strict=True):
        if letter in "NC" and value != 1:
            call.fail(
                f"{name} must be 1 for batch and channels, got {list(values)} for {data_format}"
            )
    return values


def known_rank(call: InferCall, index: int, rank: int) -> Shape:
    """The shape of input `index`, which must have `rank` axes."""
    shape = call.spec(index).shape
    if shape.rank is None:
        return Shape([None] * rank)
    if shape.rank != rank:
        call.fail(f"{call.op.inputs[index].name} must have {rank} axes, got rank {shape.rank}")
    return shape


# For public functions.


def per_axis(
    function: str, argument: str, value: Any, spatial: int, data_format: str
) -> tuple[int, ...]:
    """A public argument as an attribute with one entry per axis.

    Args:
        function: name of the function, for the message.
        argument: its name.
        value: a number for all spatial axes, one per spatial axis, one per axis, or None for 1.
        spatial: number of spatial axes.
        data_format: the position of the channels.

    Raises:
        ValueError: wrong number of entries.
    """
    if value is None:
        value = 1
    entries = [int(value)] if isinstance(value, (int, np.integer)) else [int(n) for n in value]
    if len(entries) == 1:
        entries *= spatial
    if len(entries) == spatial:
        entries = [1, *entries, 1] if data_format[-1] == "C" else [1, 1, *entries]
    if len(entries) != spatial + 2:
        raise ValueError(
            f"{function}: {argument} must have 1, {spatial} or {spatial + 2} entries, got {value!r}"
        )
    return tuple(entries)


def padding_attrs(function: str, padding: Any) -> dict[str, Any]:
    """A public `padding` as attributes: a name, or a pair of numbers for each axis.

    Raises:
        ValueError: neither.
    """
    if isinstance(padding, str):
        if padding.upper() in PADDINGS:
            return {"padding": padding.upper()}
    elif isinstance(padding, (list, tuple)) and all(len(pair) == 2 for pair in padding):
        return {
            "padding": "EXPLICIT",
            "explicit_paddings": tuple(int(n) for pair in padding for n in pair),
        }
    raise ValueError(
        f"{function}: padding must be 'SAME', 'VALID' or a (before, after) pair for each axis, "
        f"got {padding!r}"
    )


def checked_format(function: str, data_format: str | None, allowed: Sequence[str]) -> str:
    """A public `data_format`, the first of `allowed` if None.

    Raises:
        ValueError: the format is not among `allowed`.
    """
    if data_format is None:
        return allowed[0]
    if data_format not in allowed:
        raise ValueError(
            f"{function}: data_format must be {' or '.join(allowed)}, got {data_format!r}"
        )
    return data_format


def sizes_of(x: Tensor) -> Any:
    """The shape of x as an argument of ops: numbers if known, else a tensor."""
    if x.shape.is_fully_defined():
        return np.array(x.shape.as_list(), np.int32)
    return shapes.shape(x)
