"""Colour spaces."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes


@converts("RGBToHSV")
def rgb_to_hsv(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Hue, saturation, value."""
    del call
    return g.cast(g.concat(_hsv(g, _wide(g, x)), x.rank - 1), x.dtype)


@converts("HSVToRGB")
def hsv_to_rgb(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """The inverse of RGBToHSV."""
    del call
    return g.cast(_rgb(g, *_channels(g, _wide(g, x))), x.dtype)


@converts("AdjustHue")
def adjust_hue(g: GraphBuilder, call: NodeView, x: Value, delta: Value) -> Value:
    """The hue plus delta, modulo 1."""
    del call
    hue, saturation, value = _hsv(g, _wide(g, x))
    turned = g.op("Add", hue, delta)
    return g.cast(_rgb(g, g.op("Sub", turned, g.op("Floor", turned)), saturation, value), x.dtype)


@converts("AdjustSaturation")
def adjust_saturation(g: GraphBuilder, call: NodeView, x: Value, scale: Value) -> Value:
    """The saturation times a factor, clipped to [0, 1]."""
    del call
    hue, saturation, value = _hsv(g, _wide(g, x))
    return g.cast(_rgb(g, hue, _share(g, g.op("Mul", saturation, scale)), value), x.dtype)


@converts("AdjustContrastv2")
def adjust_contrast(g: GraphBuilder, call: NodeView, x: Value, factor: Value) -> Value:
    """The difference from the mean of each channel of each image, times a factor."""
    del call
    wide = _wide(g, x)
    mean = g.op("ReduceMean", wide, g.ints(x.rank - 3, x.rank - 2), keepdims=1)
    away = g.op("Mul", g.op("Sub", wide, mean), factor)
    return g.cast(g.op("Add", away, mean), x.dtype)


def _wide(g: GraphBuilder, x: Value) -> Value:
    return g.cast(x, dtypes.float32) if x.dtype.size == 2 else x


def _channels(g: GraphBuilder, x: Value) -> tuple[Value, Value, Value]:
    """The three channels, [..., 1] each."""
    first, second, third = (g.slice(x, x.rank - 1, n, n + 1) for n in range(3))
    return first, second, third


def _share(g: GraphBuilder, x: Value) -> Value:
    return g.op("Clip", x, g.like(x, 0), g.like(x, 1))


def _hsv(g: GraphBuilder, x: Value) -> tuple[Value, Value, Value]:
    """Hue, saturation and value, [..., 1] each; among equal channels the first is the largest."""
    red, green, blue = _channels(g, x)
    value = g.op("Max", red, green, blue)
    spread = g.op("Sub", value, g.op("Min", red, green, blue))
    zero, one = g.like(x, 0), g.like(x, 1)
    lit, coloured = g.op("Greater", value, zero), g.op("Greater", spread, zero)
    saturation = g.where(lit, g.op("Div", spread, g.where(lit, value, one)), zero)
    six = g.binary("Mul", g.where(coloured, spread, one), 6)

    def turned(a: Value, b: Value, start: float) -> Value:
        return g.binary("Add", g.op("Div", g.op("Sub", a, b), six), start)

    others = g.where(
        g.op("Equal", green, value), turned(blue, red, 2 / 6), turned(red, green, 4 / 6)
    )
    hue = g.where(g.op("Equal", red, value), turned(green, blue, 0), others)
    hue = g.where(coloured, hue, zero)
    return g.where(g.op("Less", hue, zero), g.op("Add", hue, one), hue), saturation, value


def _rgb(g: GraphBuilder, hue: Value, saturation: Value, value: Value) -> Value:
    sixths = g.binary("Mul", hue, 6)

    def away(middle: float) -> Value:
        return g.op("Abs", g.binary("Sub", sixths, middle))

    shares = (
        g.binary("Sub", away(3), 1),
        g.op("Sub", g.like(hue, 2), away(2)),
        g.op("Sub", g.like(hue, 2), away(4)),
    )
    grey = g.op("Sub", g.like(hue, 1), saturation)
    parts = [
        g.op("Mul", g.op("Add", grey, g.op("Mul", saturation, _share(g, share))), value)
        for share in shares
    ]
    return g.concat(parts, hue.rank - 1)
