"""Invalid inputs of ops: one clear error of TensorFlow's class each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.ops.execute import execute
from pinnace.ops.registry import lookup


def longs(*values: Any) -> Any:
    return np.array(values, np.int64)


def floats(*shape: int) -> Any:
    return np.ones(shape, np.float32)


def text(*items: bytes) -> Any:
    out = np.empty(len(items), object)
    out[:] = items
    return out


SPARSE = (longs([0, 1], [1, 0]), floats(2), longs(2, 2))
KEYED = (longs(3), np.array([1], np.uint64), np.array([1, 0], np.uint64), np.int32(1))
WINDOWS = {"strides": (1, 1, 1, 1), "padding": "SAME"}
LOGITS = floats(4, 2, 3)
STEPS = np.array([4, 4], np.int32)
ONCE = {"binary_output": True}
TRUTHS = np.array([True])
# An image of two rows that are one cell: the maximum of both is that of the first.
CELL = floats(1, 2, 1, 1)
ENDS = (floats(1, 1, 1, 1), longs(0, 2), longs(0, 1))

# op, inputs, attributes, part of the message.
REFUSED: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("SparseToDense", (longs(0), longs(1, 1), floats(1), np.float32(0)), {}, r"\[values, 2\]"),
    ("SparseSplit", (longs(0), *SPARSE), {"num_split": 2}, "split_dim must be a scalar"),
    (
        "SparseSplit",
        (np.int64(0), longs([0, 5]), floats(1), longs(2, 2)),
        {"num_split": 2},
        r"\[0, 5\] is out of bounds",
    ),
    ("SparseReshape", (longs([0, 0]), longs(-2, 1), longs(1, -1)), {}, "no negative size"),
    (
        "SparseSegmentSumWithNumSegments",
        (floats(2, 3), longs(0, 1), longs(0, 1), longs(4)),
        {},
        "num_segments must be a scalar",
    ),
    ("FakeQuantWithMinMaxArgsGradient", (floats(1, 4), floats(4)), {}, "shape of inputs"),
    (
        "FakeQuantWithMinMaxVarsGradient",
        (floats(1, 4), floats(4), np.float32(0), np.float32(1)),
        {},
        "shape of inputs",
    ),
    ("ExtractJpegShape", (text(b"\xff\xd8\xff"),), {}, "contents must be a scalar"),
    (
        "RaggedTensorToTensor",
        (longs(-1, 2), floats(5), np.float32(0), (np.int64(0),)),
        {"row_partition_types": ("ROW_SPLITS",)},
        "must be vectors",
    ),
    ("CTCLoss", (LOGITS, longs([0, -1]), np.int32([0]), STEPS), {}, "columns at least 0"),
    ("CTCLoss", (LOGITS, longs([0, 0], [0, 0]), np.int32([0, 0]), STEPS), {}, "is repeated"),
    ("CTCLoss", (LOGITS, longs([1, 0], [0, 0]), np.int32([0, 0]), STEPS), {}, "is out of order"),
    ("Diag", (np.float32(2),), {}, "at least one axis"),
    ("MatrixDiagPartV2", (floats(3, 4), np.int32([[-1, 1]]), np.float32(0)), {}, "k must be"),
    ("MatrixSetDiagV3", (floats(1, 1), floats(1), np.int32([[0, 0]])), {}, "k must be"),
    (
        "CropAndResizeGradBoxes",
        (floats(2, 3, 3, 2), floats(1, 2, 4, 4, 2), floats(2, 4), np.int32([0, 0])),
        {},
        "image must have four axes",
    ),
    (
        "StatelessRandomGammaV3",
        (KEYED[0], np.array([1, 2], np.uint64), *KEYED[2:], floats(3)),
        {},
        r"key must have shape \[1\]",
    ),
    (
        "Conv2DBackpropFilter",
        (floats(1, 4, 3, 0), np.int32([3, 1, 1, 2]), floats(1, 4, 3, 2)),
        WINDOWS,
        "channels",
    ),
    (
        "UnicodeEncode",
        (np.int32([65]), longs(0, 1, 0, 1)),
        {"output_encoding": "UTF-8"},
        "must not fall",
    ),
    ("DrawBoundingBoxesV2", (floats(1, 4, 4, 3), floats(1, 1, 4), floats(2, 1)), {}, "3 channels"),
    (
        "NonMaxSuppressionWithOverlaps",
        (floats(2, 2), floats(2), np.int32(-1), np.float32(0.5), np.float32(0)),
        {},
        "max_output_size must be non-negative",
    ),
    (
        "Substr",
        (np.array("ÄÄ".encode(), object), np.int32(-1), np.int32(-1)),
        {"unit": "UTF8_CHAR"},
        "len must not be negative where pos is",
    ),
    ("InplaceAdd", (TRUTHS, np.int32([0]), TRUTHS), {}, "of numbers, got bool"),
    ("InplaceSub", (TRUTHS, np.int32([0]), TRUTHS), {}, "of numbers, got bool"),
    ("InplaceAdd", (text(b"a"), np.int32([0]), text(b"b")), {}, "of numbers, got string"),
    ("XlaDynamicSlice", (text(b"a"), *2 * (np.int32([1]),)), {}, "input must be one of"),
    ("FractionalMaxPoolGrad", (CELL, 2 * CELL[:, :1], *ENDS), {}, "must be the maxima"),
    ("FractionalMaxPoolGrad", (CELL, CELL[:, :1], *ENDS[:2], longs([0, 1])), {}, "be a vector"),
    ("FractionalMaxPoolGrad", (CELL[:0], *2 * (CELL[:0, :1],), *ENDS[1:]), {}, "must not be empty"),
    (
        "Dilation2DBackpropInput",
        (CELL, floats(1, 1), CELL),
        {"strides": (1, 1, 1, 1), "rates": (1, 1, 1, 1), "padding": "VALID"},
        "filter three",
    ),
    (
        "Dilation2DBackpropFilter",
        (CELL, floats(1, 1, 1), CELL),
        {"strides": (1, 1, 1), "rates": (1, 1, 1, 1), "padding": "VALID"},
        "strides must be four numbers",
    ),
    (
        "DenseCountSparseOutput",
        (longs(1), floats(0)),
        ONCE | {"minlength": -2},
        "minlength must",
    ),
    (
        "DenseCountSparseOutput",
        (longs(1), floats(0)),
        ONCE | {"maxlength": -2},
        "maxlength must",
    ),
    ("Bincount", (np.int32([]), np.int32(2), floats(1)), {}, "as many elements as arr"),
    (
        "SparseCountSparseOutput",
        (np.zeros((0, 2), np.int64), longs(), longs(0, 3), floats(0)),
        ONCE,
        "a row where it has more",
    ),
]


@pytest.mark.parametrize(("op", "inputs", "attrs", "words"), REFUSED, ids=lambda x: str(x)[:40])
def test_an_input_that_cannot_be_meant_is_refused(
    op: str, inputs: tuple[Any, ...], attrs: dict[str, Any], words: str
) -> None:
    tensors = [
        tuple(map(tf.constant, one)) if isinstance(one, tuple) else tf.constant(one)
        for one in inputs
    ]
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        execute(lookup(op), *tensors, **attrs)


@pytest.mark.parametrize("axis", [2, -3])
def test_reduce_join_calls_a_missing_axis_out_of_range(axis: int) -> None:
    with pytest.raises(tf.errors.OutOfRangeError, match=r"axis must be in \[-2, 2\)"):
        tf.strings.reduce_join([["a", "b"]], axis)
