"""Inferred shapes of traced ops when only some of their inputs are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.ops.execute import execute
from pinnace.ops.registry import lookup

F, I, L = tf.float32, tf.int32, tf.int64  # noqa: E741
FOUR = {"strides": (1, 1, 1, 1), "padding": "SAME"}
COUNTS = {"binary_output": False}
# op, inputs (constants, or a dtype and a partial shape), attributes, first output shapes.
CASES: list[tuple[str, list[Any], dict[str, Any], list[Any]]] = [
    ("BandedTriangularSolve", [(F, [2, 2, 3]), (F, [2, None, 4])], {}, [[2, 3, 4]]),
    (
        "Conv2DBackpropInput",
        [(I, [4]), (F, None), (F, [7, 2, 2, 1])],
        FOUR,
        [[7, None, None, None]],
    ),
    (
        "CropAndResize",
        [(F, [1, 9, 9, 2]), (F, None), (I, [5]), np.int32([3, 4])],
        {},
        [[5, 3, 4, 2]],
    ),
    (
        "FakeQuantWithMinMaxVarsPerChannelGradient",
        [(F, None), (F, None), (F, [3]), (F, None)],
        {},
        [None, [3], [3]],
    ),
    ("RGBToHSV", [(F, [4, None])], {}, [[4, 3]]),
    ("Lu", [(F, [2, None, 3])], {}, [[2, 3, 3], [2, 3]]),
    ("MatrixSetDiag", [(F, [None, 3, 4]), (F, [5, 3])], {}, [[5, 3, 4]]),
    (
        "MatrixSetDiagV3",
        [(F, [None, 3, 4]), (F, [5, 3]), np.int32(0)],
        {},
        [[5, 3, 4]],
    ),
    ("MatrixSolve", [(F, [None, 3]), (F, None)], {}, [[3, None]]),
    ("MatrixSolve", [(F, [None, None]), (F, [3, 2])], {}, [[3, 2]]),
    ("MatrixTriangularSolve", [(F, [3, None]), (F, [None, 2])], {}, [[3, 2]]),
    ("RaggedRange", [(I, None), (I, [4]), (I, [])], {}, [[5], [None]]),
    ("ReverseSequence", [(F, [None, 3]), (L, [6])], {"seq_dim": 1, "batch_dim": 0}, [[6, 3]]),
    ("SoftmaxCrossEntropyWithLogits", [(F, [2, 3]), (F, None)], {}, [[2], [2, 3]]),
    ("SpaceToBatchND", [(F, [1, 4, 4, 2]), (I, [2]), (I, [2, 2])], {}, [[None, None, None, 2]]),
    ("BatchToSpaceND", [(F, [4, 4, 4, 2]), (I, [2]), (I, [2, 2])], {}, [[None, None, None, 2]]),
    (
        "SparseFillEmptyRows",
        [(L, None), (F, [6]), (L, [2]), (F, [])],
        {},
        [[None, 2], [None], [None], [6]],
    ),
    ("SparseReorder", [(L, [None, 2]), (F, [6]), (L, None)], {}, [[6, 2], [6]]),
    ("SparseSoftmax", [(L, None), (F, [6]), (L, None)], {}, [[6]]),
    ("BroadcastTo", [(F, [1, None, 2]), (I, [4])], {}, [[None, None, None, 2]]),
    ("BroadcastTo", [(F, [None, None]), np.int32([0, 1, 1])], {}, [[0, 1, 1]]),
    ("Tile", [(F, [2, 0]), (I, [2])], {}, [[None, 0]]),
    ("Tile", [(F, None), np.int32([3, 0])], {}, [[None, 0]]),
    (
        "DecodeAndCropJpeg",
        [(tf.string, []), np.int32([1, 2, 7, 5])],
        {"channels": 3},
        [[7, 5, 3]],
    ),
    # An axis of size 0 is enough to know that there are no elements.
    ("Reshape", [(F, [None, 0, None]), np.int32([1, -1, 1])], {}, [[1, 0, 1]]),
    ("Reshape", [(F, [0, None]), np.int32([-1, 2, 2])], {}, [[0, 2, 2]]),
    ("Reshape", [(F, [0, None]), np.int32([-1, 0])], {}, [[None, 0]]),
    ("Reshape", [(F, [None, 4]), np.int32([12])], {}, [[12]]),
    ("XlaDynamicSlice", [(F, None), (I, None), (I, [2])], {}, [[None, None]]),
    ("XlaDynamicSlice", [(F, None), (I, [2]), (I, None)], {}, [[None, None]]),
    ("XlaDynamicSlice", [(F, None), (I, None), np.int32([2, 3])], {}, [[2, 3]]),
    ("DenseCountSparseOutput", [(I, None), (F, [3])], COUNTS, [[None, 1], [None], [1]]),
    ("DenseCountSparseOutput", [(I, None), (F, [None])], COUNTS, [[None, None], [None], [None]]),
]
# As above; TensorFlow does not trace them either.
IMPOSSIBLE: list[tuple[str, list[Any], dict[str, Any], str]] = [
    ("Reshape", [(F, [None, 0]), np.int32([5])], {}, "0 values, but the requested shape has 5"),
    ("Reshape", [(F, [3, None]), np.int32([])], {}, "1 elements wanted are no multiple of 3"),
    ("Reshape", [(F, [None, 4]), np.int32([7])], {}, "7 elements wanted are no multiple of 4"),
    ("Reshape", [(F, [3, 4]), np.int32([-1, 0])], {}, "12 values, but the requested shape has 0"),
    ("Reshape", [(F, None), np.int32([-2, 6])], {}, "size 0 must be non-negative, not -2"),
    ("XlaDynamicSlice", [(F, None), (I, [2]), (I, [3])], {}, "one entry per axis"),
]


def traced(op: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    specs = [tf.TensorSpec(one[1], one[0]) for one in inputs if isinstance(one, tuple)]

    def function(*tensors: Any) -> Any:
        rest = iter(tensors)
        given = [next(rest) if isinstance(one, tuple) else tf.constant(one) for one in inputs]
        return execute(lookup(op), *given, **attrs)

    return tf.function(function).get_concrete_function(*specs)


@pytest.mark.parametrize(("op", "inputs", "attrs", "shapes"), CASES, ids=lambda x: str(x)[:30])
def test_what_one_input_tells_is_known(
    op: str, inputs: list[Any], attrs: dict[str, Any], shapes: list[Any]
) -> None:
    found = traced(op, inputs, attrs).outputs
    assert [y.shape.as_list() if y.shape.rank is not None else None for y in found] == shapes


@pytest.mark.parametrize(("op", "inputs", "attrs", "words"), IMPOSSIBLE, ids=lambda x: str(x)[:30])
def test_what_no_sizes_make_right_is_refused_while_tracing(
    op: str, inputs: list[Any], attrs: dict[str, Any], words: str
) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        traced(op, inputs, attrs)
