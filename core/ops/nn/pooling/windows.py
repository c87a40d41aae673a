"""Windows over spatial axes: their inputs, and the shape of the result."""

from typing import Any

from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array
from pinnace.ops.nn import layouts
from pinnace.ops.opdef import AttrDef, InferCall, OpCall, OpDef, attr

FORMATS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


def options_of(
    function: str, spatial: int, ksize: Any, strides: Any, padding: Any, data_format: str
) -> dict[str, Any]:
    """The attributes of an op from the arguments of a public function."""
    data_format = layouts.checked_format(function, data_format, FORMATS[spatial])
    return {
        "ksize": layouts.per_axis(function, "ksize", ksize, spatial, data_format),
        "strides": layouts.per_axis(function, "strides", strides, spatial, data_format),
        **layouts.padding_attrs(function, padding),
        "data_format": data_format,
    }


class Windows:
    """A pooling's attributes, and arrays arranged for kernels."""

    __slots__ = ("across", "data_format", "explicit", "ksize", "padding", "strides")

    def __init__(
        self,
        ksize: Any,
        strides: Any,
        padding: str,
        data_format: str = "NHWC",
        explicit: tuple[int, ...] = (),
    ) -> None:
        self.padding = padding
        self.data_format = data_format
        self.explicit = explicit
        channel = data_format.index("C")
        # Windows over channels: the channels become one more spatial axis, of a single channel.
        self.across = ksize[channel] != 1 or strides[channel] != 1
        if self.across:
            self.data_format = f"{data_format}c" if data_format[-1] == "C" else data_format
            self.ksize, self.strides = (*ksize[1:],), (*strides[1:],)
        else:
            self.ksize = layouts.inner(ksize, data_format)
            self.strides = layouts.inner(strides, data_format)

    def last(self, x: Array) -> Array:
        """x arranged as [batch, ..., channels]."""
        return x[..., None] if self.across else layouts.channels_last(x, self.data_format)

    def given(self, y: Array) -> Array:
        """The inverse."""
        return y[..., 0] if self.across else layouts.as_format(y, self.data_format)

    def shape(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """`last` for shapes."""
        return (*sizes, 1) if self.across else layouts.last_shape(sizes, self.data_format)

    def pads(self, shape: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
        """(before, after) per spatial axis of an input of this shape, channels last."""
        if self.across:
            strides, data_format = (1, *self.strides, 1), "N" + "X" * len(self.strides) + "C"
        else:
            channel_first = self.data_format[-1] != "C"
            strides = (1, 1, *self.strides) if channel_first else (1, *self.strides, 1)
            data_format = self.data_format
        return layouts.placement(
            shape[1:-1], self.ksize, strides, self.padding, self.explicit, data_format
        ).pads


def pooled_shape(call: InferCall, ksize: Any, strides: Any) -> Shape:
    """The output's shape for known windows and strides, one entry per axis."""
    data_format = call.attrs.get("data_format", "NHWC")
    x = layouts.known_rank(call, 0, len(data_format))
    for name, values in (("ksize", ksize), ("strides", strides)):
        if len(values) != len(data_format):
            call.fail(f"{name} must have {len(data_format)} entries, got {list(values)}")
        if values[0] != 1:
            call.fail(f"{name} must be 1 for the batch, got {list(values)}")
        if min(values) < 1:
            call.fail(f"{name} must be positive, got {list(values)}")
    windows = Windows(ksize, strides, call.attrs["padding"], data_format)
    if windows.across:
        if data_format[-1] != "C" or call.attrs["padding"] == "EXPLICIT":
            call.fail("windows over channels need channels last and no explicit padding")
        pooled = [
            _pooled_size(call, size, taps, step)
            for size, taps, step in zip(
                x.as_list()[1:], windows.ksize, windows.strides, strict=True
            )
        ]
        return Shape([x[0], *pooled])
    sizes = layouts.inner(x.as_list(), data_format)
    view = InferCall(
        call.op, call.inputs, {**call.attrs, "strides": tuple(strides), "data_format": data_format}
    )
    found = layouts.inferred_windows(view, sizes, windows.ksize)
    return layouts.format_shape(x[0], found.sizes, x[data_format.index("C")], data_format)


def _pooled_size(call: InferCall, size: int | None, taps: int, step: int) -> int | None:
    if size is None:
        return None
    if call.attrs["padding"] == "SAME":
        return -(-size // step)
    if size < taps:
        call.fail(f"a window must not be larger than the input, got {taps} and {size}")
    return (size - taps) // step + 1


def inferred(call: InferCall) -> Shape:
    """`pooled_shape` from the attributes."""
    return pooled_shape(call, call.attrs["ksize"], call.attrs["strides"])


def inferred_from_shape(call: InferCall) -> Shape:
    """The shape given by the first input, as far as known."""
    shape = call.shape_constant(0)
    return (
        layouts.known_rank(call, 1, len(call.attrs["data_format"])).most_general_compatible_shape()
        if shape.rank is None
        else shape
    )


def image_shape(call: InferCall, index: int) -> Shape:
    """The shape of an input that must be a batch of images or volumes."""
    shape = call.spec(index).shape
    rank = len(call.attrs["ksize"]) if "ksize" in call.attrs else 4
    if shape.rank not in {None, rank}:
        call.fail(f"{call.op.inputs[index].name} must have {rank} axes, got {shape.rank}")
    return shape if shape.rank is not None else Shape([None] * rank)


def like_input(call: InferCall) -> Shape:
    """The shape of the pooling's input, for gradients that flow back."""
    if not image_shape(call, 1).is_compatible_with(image_shape(call, 2)):
        call.fail("grad must have the shape of orig_output")
    _check_output(call)
    return image_shape(call, 0)


def like_output(call: InferCall) -> Shape:
    """The shape of the pooling's output, for gradients of gradients."""
    if not image_shape(call, 0).is_compatible_with(image_shape(call, 2)):
        call.fail("grad must have the shape of orig_input")
    return _check_output(call)


def _check_output(call: InferCall) -> Shape:
    """The shape of orig_output, checked to be that of pooling orig_input."""
    shape = image_shape(call, 1)
    if "ksize" not in call.attrs:  # the window is an input, known at run time only
        return shape
    pooled = inferred(call)
    if not pooled.is_compatible_with(shape):
        call.fail("orig_output must have the shape that pooling orig_input gives")
    return pooled.merge_with(shape)


def passed_on(call: OpCall, op: OpDef) -> dict[str, Any]:
    """The attributes that `op` has too."""
    return {name: call.attr(name) for name in call.op.attrs if name in op.attrs}


def pooling_attrs(spatial: int, *, explicit: bool = False) -> dict[str, AttrDef]:
    """The attributes of a pooling; `explicit` allows explicit paddings."""
    return {"ksize": attr("list(int)"), **layouts.window_attrs(spatial, explicit=explicit)}
