"""Splitting of strings at a separator."""

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes


@converts("StringSplitV2", since=20, constants=("sep",))
def split(
    g: GraphBuilder, call: NodeView, x: Value, separator: Value
) -> tuple[Value, Value, Value]:
    """StringSplit; for an empty string it gives no piece, TensorFlow one empty piece."""
    del separator
    between = _text(call, bytes(call.needed(1, "sep").reshape(-1)[0]))
    most = int(call.attr("maxsplit"))
    if not between:
        call.fail("without a separator, ONNX Runtime splits at spaces only, not at all whitespace")
    if most == 0:
        call.fail("maxsplit must not be 0, which means no limit in ONNX")
    pieces, counts = g.ops(
        "StringSplit", 2, x, delimiter=between, maxsplit=most if most > 0 else None
    )
    # An additional column, so that an empty string has a piece even if all are empty.
    none = g.constant(np.array(b"", object), dtype=dtypes.string)
    rows = g.size_of(x, 0)
    wider = g.op("Concat", pieces, g.expand(none, g.joined(rows, g.ints(1))), axis=1)
    counts = g.op("Max", counts, g.index(1))
    columns = g.iota(g.scalar(g.op("Shape", wider, start=1, end=2)))
    present = g.op("Less", g.unsqueeze(columns, 0), g.unsqueeze(counts, 1))
    places = g.transpose(g.op("NonZero", present), [1, 0])
    longest = g.op("ReduceMax", g.joined(counts, g.ints(0)), g.ints(0), keepdims=1)
    return places, g.op("GatherND", wider, places), g.joined(rows, longest)


def _text(call: NodeView, text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        call.fail("the separator must be UTF-8, as in ONNX")
