"""Every op has a converter, or a reason why not."""

import importlib
import pkgutil

import pinnace
import pinnace.deploy.onnx.converters
import pinnace.deploy.onnx.flow.lowering
import pinnace.ops
from pinnace.deploy.onnx import NO_ONNX
from pinnace.deploy.onnx.converters import registry
from pinnace.deploy.onnx.ir.element_types import KERNELS
from pinnace.ops.registry import registered


def load_all_ops() -> None:
    for found in pkgutil.walk_packages(pinnace.ops.__path__, "pinnace.ops."):
        importlib.import_module(found.name)


def test_every_op_has_a_converter_or_a_reason() -> None:
    load_all_ops()
    known = set(registry.converters()) | set(NO_ONNX)
    missing = sorted(set(registered()) - known)
    assert not missing, (
        f"write a converter, or a line into `converters/unsupported.py`, for {missing}"
    )


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


def test_the_table_of_kernels_knows_operators_only() -> None:
    from onnx import defs

    names = {schema.name for schema in defs.get_all_schemas() if not schema.domain}
    assert set(KERNELS) <= names
