"""The types and values that an op allows are a subset of TensorFlow's.

Names, arguments, kinds, defaults and state are compared in tests/unit/graph/test_op_definitions.py.
"""

import json
from typing import Any

import pinnace.ops  # noqa: F401 (registers the ops)
from pinnace.ops.opdef import OpDef
from pinnace.ops.registry import registered
from support.each import holds_for_each
from support.golden import golden

TABLE: dict[str, Any] = json.loads(golden("signatures/ops.json").read_text())

# Ops that TensorFlow 2.21 does not have, and why they exist here.
OURS: dict[str, str] = dict.fromkeys(
    (
        *("CaseFoldUTF8", "NormalizeUTF8", "RegexSplitWithOffsets"),
        *("TFText>WhitespaceTokenizeWithOffsetsV2", "WordpieceTokenizeWithOffsets"),
        *("TFText>RoundRobinGenerateMasks", "TFText>RoundRobinTrim"),
        *("SentencepieceDetokenizeOp", "SentencepieceIdToStringOp", "SentencepieceOp"),
        *("SentencepieceStringToIdOp", "SentencepieceTokenizeOp", "SentencepieceVocabSizeOp"),
        *("SentencepieceTokenizeWithOffsetsOp", "SplitMergeTokenizeWithOffsets", "RougeL"),
        *("ConstrainedSequence", "MaxSpanningTree", "SentenceFragments"),
        "UnicodeScriptTokenizeWithOffsets",
    ),
    "TensorFlow Text's; it allows one type, or a string without choices",
)
OURS |= dict.fromkeys(
    (
        *("SimpleMLCreateModelResource", "SimpleMLInferenceLeafIndexOpWithHandle"),
        *("SimpleMLInferenceOpWithHandle", "SimpleMLLoadModelFromPathWithHandle"),
    ),
    "TensorFlow Decision Forests'; it allows one type, or a string without choices",
)

THEIRS = [op for name, op in registered().items() if name not in OURS]


def known(op: OpDef) -> Any:
    assert op.name in TABLE, "no such op in TensorFlow; run tests/golden/signatures/make.py"
    return TABLE[op.name]


# Supported here in more types than TensorFlow has kernels for; such nodes run only here.
WIDER = {
    "MaxPool3D": {"float64"},
    "MaxPool3DGrad": {"float64"},
    "ResizeNearestNeighborGrad": {"int16", "int64", "uint16"},
    "CropAndResize": {"bfloat16"},
    "CropAndResizeGradBoxes": {"bfloat16"},
    "CropAndResizeGradImage": {"bfloat16"},
}


def test_types_are_among_those_of_tensorflow() -> None:
    holds_for_each(THEIRS, types_are_theirs, lambda op: op.name)


def types_are_theirs(op: OpDef) -> None:
    attrs = known(op)["attrs"]
    for name, types in op.type_sets.items():
        assert name in attrs, f"it has no type attribute {name}"
        entry = attrs[name]
        assert entry["kind"] == "type"
        if "allowed" in entry:
            more = {dtype.name for dtype in types.allowed} - set(entry["allowed"])
            more -= WIDER.get(op.name, set())
            assert not more, f"TensorFlow's {name} does not allow {sorted(more)}"


def test_values_are_among_those_of_tensorflow() -> None:
    holds_for_each(THEIRS, values_are_theirs, lambda op: op.name)


def values_are_theirs(op: OpDef) -> None:
    attrs = known(op)["attrs"]
    for name, definition in op.attrs.items():
        entry = attrs.get(name, {})
        if definition.allowed and "allowed" in entry:
            assert set(definition.allowed) <= set(entry["allowed"]), name
