"""Conversion between strings and numbers, and of case."""

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes

_CASES = {"StringLower": "LOWER", "StringUpper": "UPPER"}


@converts("StringToNumber")
def string_to_number(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Cast, which also parses 1e3 and NaN."""
    return g.cast(x, call.dtype("out_type"))


@converts("AsString")
def as_string(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Cast for integers without options; floats are formatted differently."""
    plain = call.attr("width") == -1 and call.attr("precision") == -1 and not call.attr("fill")
    if not x.dtype.is_integer or not plain:
        call.fail("ONNX formats numbers differently, except for integers without width and fill")
    return g.op("Cast", x, to=dtypes.string.onnx)


@converts(*_CASES)
def change_case(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """StringNormalizer on a vector, in the C locale, which every system has.

    It refuses empty vectors, so an empty string is appended and removed again.
    """
    if call.attr("encoding"):
        call.fail(
            "the case of other scripts depends on the system's locale, which may "
            "be missing; use encoding=''"
        )
    empty = g.constant(np.array([b""], object), dtype=dtypes.string)
    flat = g.joined(g.reshape(x, [-1]), empty)
    kind = _CASES[call.node.op.name]
    changed = g.op("StringNormalizer", flat, case_change_action=kind, locale="C")
    return g.reshape(g.slice(changed, 0, 0, -1), g.shape_of(x))
