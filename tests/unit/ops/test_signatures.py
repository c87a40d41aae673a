"""Every op has TensorFlow's name, arguments, attributes, defaults and state: they are on disk."""

import json
from typing import Any

import pytest

import pinnace.ops  # noqa: F401 (registers the ops)
from pinnace.framework.dtypes import DType
from pinnace.framework.shapes import Shape
from pinnace.ops.opdef import ArgDef, OpDef
from pinnace.ops.registry import registered
from support.golden import golden

TABLE: dict[str, Any] = json.loads(golden("signatures/ops.json").read_text())

# Ops that TensorFlow 2.21 does not have, and why we do.
OURS: dict[str, str] = {}

# Newer than the releases that must read what we write; never written.
OMITTED = {"grad_a", "grad_b", "grad_x", "grad_y", "debug_name", "bad_indices_policy"}

every_op = pytest.mark.parametrize("op", registered().values(), ids=lambda op: op.name)


def known(op: OpDef) -> Any:
    if op.name in OURS:
        pytest.skip(OURS[op.name])
    assert op.name in TABLE, "no such op in TensorFlow; run tests/golden/signatures/make.py"
    return TABLE[op.name]


def written(arg: ArgDef) -> list[str]:
    if arg.list_attr:
        return [arg.name, f"({arg.list_attr})"]
    kind = arg.type_attr or (arg.dtype.name if arg.dtype else "")
    return [arg.name, f"{arg.number_attr}*{kind}" if arg.number_attr else kind]


def plain(value: Any) -> Any:
    """A default as the table has it."""
    if isinstance(value, Shape):
        return None if value.rank is None else value.as_list()
    if isinstance(value, DType):
        return value.name
    if isinstance(value, (tuple, list)):
        return [plain(part) for part in value]
    return pytest.approx(value, rel=1e-7) if isinstance(value, float) else value


@every_op
def test_arguments_are_those_of_tensorflow(op: OpDef) -> None:
    table = known(op)
    assert [written(arg) for arg in op.inputs] == table["inputs"]
    assert [written(arg) for arg in op.outputs] == table["outputs"]


# Computed here in more types than TensorFlow has kernels for; such a node is ours alone.
WIDER = {
    "MaxPool3D": {"float64"},
    "MaxPool3DGrad": {"float64"},
    "ResizeNearestNeighborGrad": {"int16", "int64", "uint16"},
    "CropAndResize": {"bfloat16"},
    "CropAndResizeGradBoxes": {"bfloat16"},
    "CropAndResizeGradImage": {"bfloat16"},
}


@every_op
def test_types_are_among_those_of_tensorflow(op: OpDef) -> None:
    attrs = known(op)["attrs"]
    for name, types in op.type_sets.items():
        assert name in attrs, f"{op.name} has no type attribute {name}"
        entry = attrs[name]
        assert entry["kind"] == "type"
        # A default here and none there is harmless: types are always written.
        if types.default is None or "default" in entry:
            assert (types.default.name if types.default else None) == entry.get("default"), name
        if "allowed" in entry:
            more = {dtype.name for dtype in types.allowed} - set(entry["allowed"])
            more -= WIDER.get(op.name, set())
            assert not more, f"{op.name}: TensorFlow's {name} does not allow {sorted(more)}"


@every_op
def test_attributes_and_defaults_are_those_of_tensorflow(op: OpDef) -> None:
    attrs = known(op)["attrs"]
    deduced = {*op.type_sets, *op.list_types, *op.number_attrs}
    for name, definition in op.attrs.items():
        if name in deduced:
            continue
        assert name in attrs, f"{op.name} has no attribute {name}"
        entry = attrs[name]
        assert definition.kind == entry["kind"], name
        assert definition.required == ("default" not in entry), name
        if not definition.required:
            assert plain(definition.default) == entry["default"], name
        if definition.allowed and "allowed" in entry:
            assert set(definition.allowed) <= set(entry["allowed"]), name
    missing = set(attrs) - set(op.attrs) - deduced - OMITTED
    assert not missing, f"{op.name} lacks {sorted(missing)}"


@every_op
def test_state_is_that_of_tensorflow(op: OpDef) -> None:
    if op.name in {"MatchingFiles", "ReadFile"}:
        assert op.stateful  # so that no pass computes them before a run
        return
    assert op.stateful == known(op)["stateful"]
