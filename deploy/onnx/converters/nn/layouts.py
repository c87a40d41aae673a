"""Windows of convolutions and pooling, and operators with channels first."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.ops.kernels.windows import place_windows

_ZERO = (0, 0)


class Window(NamedTuple):
    """The window attributes of an operator.

    Attributes:
        last: whether the channels are the last axis.
        strides: between windows, per spatial axis.
        dilations: between taps.
        pads: (before, after) per spatial axis; None for SAME with an unknown size.
        padding: SAME, VALID or EXPLICIT.
    """

    last: bool
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[tuple[int, int], ...] | None
    padding: str

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes in ONNX's form, without defaults."""
        found: dict[str, Any] = {"strides": list(self.strides)}
        if any(rate != 1 for rate in self.dilations):
            found["dilations"] = list(self.dilations)
        if self.pads is None:
            found["auto_pad"] = "SAME_UPPER"
        elif any(pair != _ZERO for pair in self.pads):
            found["pads"] = [before for before, _ in self.pads] + [after for _, after in self.pads]
        return found


def inner(values: Sequence[Any], last: bool) -> tuple[Any, ...]:
    """The entries for the spatial axes."""
    return tuple(values[1:-1]) if last else tuple(values[2:])


def window_of(
    call: NodeView, sizes: Sequence[int | None], taps: Sequence[int], strides: Sequence[int]
) -> Window:
    """The windows of a node: strides, dilations, padding.

    Args:
        call: the node, with the attributes `padding`, `data_format` and perhaps `explicit_paddings`
            and `dilations`.
        sizes: the input's shape.
        taps: the window's size per spatial axis.
        strides: one entry per axis.
    """
    attrs = call.node.op.attrs
    last = str(call.attr("data_format")).endswith("C") if "data_format" in attrs else True
    padding = call.attr("padding")
    rates = inner(call.attr("dilations"), last) if "dilations" in attrs else (1,) * len(taps)
    explicit: tuple[tuple[int, int], ...] = ()
    if padding == "EXPLICIT":
        flat = call.attr("explicit_paddings")
        explicit = inner(list(zip(flat[::2], flat[1::2], strict=True)), last)
    steps = inner(strides, last)
    if {strides[0], strides[-1 if last else 1]} != {1}:
        call.fail(f"its strides must be 1 for batch and channels, got {list(strides)}")
    placed = place_windows(inner(sizes, last), taps, steps, rates, padding, explicit)
    pads = tuple(pair for pair in placed.pads if pair is not None)
    return Window(last, steps, rates, pads if len(pads) == len(taps) else None, padding)


def spatial_sizes(g: GraphBuilder, x: Value, last: bool) -> Value:
    """The sizes of the spatial axes, int64."""
    return g.shape_of(x, 1, x.rank - 1) if last else g.shape_of(x, 2, x.rank)


def padded_for_same(g: GraphBuilder, x: Value, window: Window, taps: Sequence[int]) -> Value:
    """SAME padding computed by the model, as ONNX Runtime refuses SAME_UPPER with dilations."""
    sizes = spatial_sizes(g, x, window.last)
    one = g.ints(1)
    steps = g.ints(*window.strides)
    reach = g.ints(
        *[(tap - 1) * rate + 1 for tap, rate in zip(taps, window.dilations, strict=True)]
    )
    count = g.op("Div", g.op("Sub", g.op("Add", sizes, steps), one), steps)
    covered = g.op("Add", g.op("Mul", g.op("Sub", count, one), steps), reach)
    total = g.op("Max", g.op("Sub", covered, sizes), g.ints(0))
    before = g.op("Div", total, g.ints(2))
    after = g.op("Sub", total, before)
    none = g.ints(0)
    ends = (none, none)
    parts = (before, after)
    rows = [
        g.joined(ends[0], part, ends[1]) if window.last else g.joined(*ends, part) for part in parts
    ]
    return g.op("Pad", x, g.joined(*rows))


def emit(
    g: GraphBuilder, window: Window, kind: str, count: int, *inputs: Value | None, **attrs: Any
) -> tuple[Value, ...]:
    """The operator in the data's layout; ONNX itself has channels first only."""
    return (
        g.moved_ops(kind, count, *inputs, **attrs)
        if window.last
        else g.ops(kind, count, *inputs, **attrs)
    )
