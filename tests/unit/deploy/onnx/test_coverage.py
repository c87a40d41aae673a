"""Every op is converted, or says why it is not."""

import importlib
import pkgutil

import pinnace
import pinnace.deploy.onnx.converters
import pinnace.deploy.onnx.lowering
import pinnace.ops
from pinnace.deploy.onnx import NO_ONNX, registry
from pinnace.deploy.onnx.kernels import KERNELS
from pinnace.ops.opdef import OpDef
from pinnace.ops.registry import registered


def load_all_ops() -> None:
    for found in pkgutil.walk_packages(pinnace.ops.__path__, "pinnace.ops."):
        importlib.import_module(found.name)


def test_every_op_has_a_converter_or_a_reason() -> None:
    load_all_ops()
    known = set(registry.converters()) | set(NO_ONNX)
    missing = sorted(set(registered()) - known)
    assert not missing, f"write a converter, or a reason into `refuses(...)`, for {missing}"


def test_no_op_has_both() -> None:
    assert not set(registry.converters()) & set(NO_ONNX)


def test_reasons_are_sentences() -> None:
    for op, reason in NO_ONNX.items():
        assert len(reason.split()) >= 3, f"{op}: {reason!r}"
        assert reason == reason.strip().rstrip(".")


def test_many_ops_are_converted() -> None:
    load_all_ops()
    assert len(set(registry.converters()) & set(registered())) >= 300


def test_the_constants_that_converters_declare_are_arguments() -> None:
    load_all_ops()
    for name, converter in registry.converters().items():
        op = registered().get(name)
        assert op is None or set(converter.constants) <= {arg.name for arg in op.inputs}, name


def test_a_converter_stands_in_the_file_named_as_that_of_the_op() -> None:
    load_all_ops()
    ops = pinnace.ops.__name__
    wrong = []
    for found in pkgutil.walk_packages(pinnace.ops.__path__, f"{ops}."):
        module = importlib.import_module(found.name)
        for value in vars(module).values():
            converter = registry.find(value.name) if isinstance(value, OpDef) else None
            if converter is None:
                continue
            here = converter.function.__module__.removeprefix("pinnace.deploy.onnx.converters.")
            there = found.name.removeprefix(f"{ops}.")
            if here.split(".")[0] != there.split(".")[0]:
                wrong.append(f"{value.name}: {here}, the op stands in {there}")
    assert not wrong, wrong


def test_the_table_of_kernels_knows_operators_only() -> None:
    from onnx import defs

    names = {schema.name for schema in defs.get_all_schemas() if not schema.domain}
    assert set(KERNELS) <= names
