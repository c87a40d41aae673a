"""Convolutions and transposed convolutions."""

from collections.abc import Sequence
from typing import Any

from pinnace.deploy.onnx.converters.nn import layouts
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.deploy.onnx.ir.size_origins import is_multiple


@converts("Conv2D", "Conv3D")
def convolution(g: GraphBuilder, call: NodeView, x: Value, weights: Value) -> Value:
    """Conv; the filter [positions..., in, out] becomes [out, in, positions...]."""
    sizes = list(weights.shape)[:-2]
    if None in sizes:
        window = layouts.window_of(call, [None] * x.rank, [1] * len(sizes), call.attr("strides"))
        if window.padding == "SAME":
            if any(rate != 1 for rate in window.dilations):
                call.fail("the window's size must be known for dilations")
            window = window._replace(pads=None)
        return grouped(g, window, x, weights, ())
    taps = known(call, sizes)
    window = layouts.window_of(call, list(x.shape), taps, call.attr("strides"))
    return grouped(g, window, x, weights, taps)


def grouped(
    g: GraphBuilder,
    window: layouts.Window,
    x: Value,
    weights: Value,
    taps: Sequence[int],
) -> Value:
    """Conv; the number of groups follows from the numbers of channels.

    If one of them is unknown, there is one group: ONNX Runtime refuses mismatching weights.
    """
    channels = x.size(x.rank - 1 if window.last else 1)
    inside = weights.size(weights.rank - 2)
    groups = 1 if channels is None or inside is None else channels // inside
    return convolved(g, window, x, outputs_first(g, weights), taps, groups)


def convolved(
    g: GraphBuilder,
    window: layouts.Window,
    x: Value,
    weights: Value,
    taps: Sequence[int],
    group: int,
) -> Value:
    """Conv, with explicit padding where ONNX Runtime needs it."""
    if window.pads is None and any(rate != 1 for rate in window.dilations):
        x = layouts.padded_for_same(g, x, window, taps)
        window = window._replace(pads=((0, 0),) * len(taps))
    attrs = window.attributes
    if taps:  # otherwise the weights determine it
        attrs["kernel_shape"] = list(taps)
    if group != 1:
        attrs["group"] = group
    return layouts.emit(g, window, "Conv", 1, x, weights, **attrs)[0]


def known(call: NodeView, sizes: Sequence[int | None]) -> list[int]:
    """The sizes of a window, which must be known."""
    if None in sizes:
        call.fail("the size of the window must be known")
    return [size for size in sizes if size is not None]


def outputs_first(g: GraphBuilder, weights: Value) -> Value:
    """[positions..., a, b] as [b, a, positions...]."""
    rank = weights.rank
    return g.transpose(weights, [rank - 1, rank - 2, *range(rank - 2)])


@converts("Conv2DBackpropInput", "Conv3DBackpropInputV2")
def transposed_convolution(
    g: GraphBuilder, call: NodeView, sizes: Value, weights: Value, dy: Value
) -> Value:
    """ConvTranspose; the filter [positions..., out, in] becomes [in, out, positions...]."""
    shape = list(weights.shape)
    taps = known(call, shape[:-2])
    target = call.output_spec().shape
    last = str(call.attr("data_format")).endswith("C")
    channels = target[-1 if last else 1] if target.rank else None
    group = 1 if channels is None or shape[-2] is None else int(channels) // shape[-2]
    return spread(g, call, sizes, outputs_first(g, weights), dy, taps, group)


def spread(
    g: GraphBuilder,
    call: NodeView,
    sizes: Value,
    weights: Value,
    dy: Value,
    taps: list[int],
    group: int,
) -> Value:
    """ConvTranspose with a given output size.

    Args:
        g: the graph.
        call: the gradient of a convolution with respect to its input.
        sizes: the shape of the result.
        weights: [in, out / group, positions...].
        dy: the data.
        taps: the window's size.
        group: the number of groups of channels.
    """
    target = call.output_spec().shape
    window = layouts.window_of(call, list(target), taps, call.attr("strides"))
    attrs: dict[str, Any] = {"kernel_shape": taps, "strides": list(window.strides)}
    if group != 1:
        attrs["group"] = group
    if any(rate != 1 for rate in window.dilations):
        attrs["dilations"] = list(window.dilations)
    reach = [(tap - 1) * rate + 1 for tap, rate in zip(taps, window.dilations, strict=True)]
    given = layouts.inner(list(dy.shape), window.last)
    wanted = layouts.inner(list(target), window.last)
    if window.padding == "SAME" and None in (*given, *wanted) and _multiplies(sizes, dy, window):
        # Every size is that of dy times the stride, so the padding does not depend on it.
        totals = [max(far - step, 0) for far, step in zip(reach, window.strides, strict=True)]
        attrs["pads"] = [n // 2 for n in totals] + [n - n // 2 for n in totals]
        extra = [max(step - far, 0) for far, step in zip(reach, window.strides, strict=True)]
        attrs["output_padding"] = extra
        return layouts.emit(g, window, "ConvTranspose", 1, dy, weights, **attrs)[0]
    if None not in given and None not in wanted and window.pads is not None:
        attrs["pads"] = [before for before, _ in window.pads] + [after for _, after in window.pads]
        attrs["output_padding"] = [
            want - ((have - 1) * step + far - sum(pair))
            for want, have, step, far, pair in zip(
                wanted, given, window.strides, reach, window.pads, strict=True
            )
        ]
        extra = attrs["output_padding"]
        if all(0 <= n < step for n, step in zip(extra, window.strides, strict=True)):
            return layouts.emit(g, window, "ConvTranspose", 1, dy, weights, **attrs)[0]
        del attrs["pads"], attrs["output_padding"]
    return _cut_to_size(g, window, sizes, weights, dy, reach, attrs)


def _multiplies(sizes: Value, dy: Value, window: layouts.Window) -> bool:
    """Whether the result's sizes are provably those of dy times the strides."""
    node = sizes.node
    while node is not None and node.kind == "Cast":
        node = node.inputs[0].node if node.inputs[0] is not None else None
    if node is None or node.kind != "Concat" or len(node.inputs) != dy.rank:
        return False
    axes = range(1, dy.rank - 1) if window.last else range(2, dy.rank)
    for axis, step in zip(axes, window.strides, strict=True):
        part = node.inputs[axis]
        if part is None or not is_multiple(part, dy, axis, step):
            return False
    return True


def _cut_to_size(
    g: GraphBuilder,
    window: layouts.Window,
    sizes: Value,
    weights: Value,
    dy: Value,
    reach: list[int],
    attrs: dict[str, Any],
) -> Value:
    """The full result, sliced to the output size."""
    rank = dy.rank
    axes = list(range(1, rank - 1)) if window.last else list(range(2, rank))
    wanted = g.op("Slice", g.as_int64(sizes), g.ints(axes[0]), g.ints(axes[-1] + 1))
    whole = layouts.emit(g, window, "ConvTranspose", 1, dy, weights, **attrs)[0]
    one, steps = g.ints(1), g.ints(*window.strides)
    if window.padding == "SAME":
        count = g.op("Div", g.op("Sub", g.op("Add", wanted, steps), one), steps)
        covered = g.op("Add", g.op("Mul", g.op("Sub", count, one), steps), g.ints(*reach))
        total = g.op("Max", g.op("Sub", covered, wanted), g.ints(0))
        before = g.op("Div", total, g.ints(2))
    else:
        before = g.ints(*[pair[0] for pair in window.pads or ()])
    # Positions that no window touches are zeros at the end.
    room = g.op("Sub", g.op("Add", before, wanted), layouts.spatial_sizes(g, whole, window.last))
    behind = g.op("Max", room, g.ints(0))
    none = g.ints(*[0] * rank)
    ends = g.joined(g.ints(0), behind, g.ints(0)) if window.last else g.joined(g.ints(0, 0), behind)
    grown = g.op("Pad", whole, g.joined(none, ends))
    return g.op("Slice", grown, before, g.op("Add", before, wanted), g.ints(*axes))
