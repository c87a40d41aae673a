"""One op as a function, as an ONNX model, and as a run of that model."""

from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

import pinnace.ops  # noqa: F401 (registers the ops)
from pinnace.deploy.onnx import ExportReport, export
from pinnace.deploy.onnx.checking import open_session, str_of
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import wrap
from pinnace.functions.concrete import ConcreteFunction
from pinnace.functions.function import trace
from pinnace.ops.execute import execute
from pinnace.ops.registry import lookup

Array = npt.NDArray[Any]


def function_of(
    op: str, xs: tuple[Any, ...], attrs: Mapping[str, Any], *, sizes_known: bool, constants: set[int]
) -> ConcreteFunction:
    """The op applied to arguments; those in `constants` are written into the function instead."""
    flat: list[Array] = []
    specs: list[TensorSpec] = []

    def take(x: Array) -> int:
        sizes = x.shape if sizes_known else (None,) * x.ndim
        specs.append(TensorSpec(Shape(sizes), wrap(x).dtype))
        flat.append(x)
        return len(flat) - 1

    plan: list[Any] = []
    for index, x in enumerate(xs):
        if index in constants:
            plan.append(wrap(x) if not isinstance(x, tuple) else tuple(wrap(part) for part in x))
        elif isinstance(x, tuple):
            plan.append([take(part) for part in x])
        else:
            plan.append(take(x))

    def apply(*tensors: Any) -> Any:
        given = [
            tensors[place]
            if isinstance(place, int)
            else tuple(tensors[i] for i in place)
            if isinstance(place, list)
            else place
            for place in plan
        ]
        return execute(lookup(op), *given, **attrs)

    return trace(apply, tuple(specs), {}, op.lower())[0]


def arguments(xs: tuple[Any, ...], constants: set[int]) -> list[Array]:
    """The arrays that `function_of` takes."""
    found: list[Array] = []
    for index, x in enumerate(xs):
        if index not in constants:
            found.extend(x if isinstance(x, tuple) else (x,))
    return found


def run_model(report: ExportReport, arrays: list[Array]) -> list[Array]:
    """The outputs of the exported model in ONNX Runtime."""
    session = open_session(report.model.SerializeToString())
    names = [entry.name for entry in report.model.graph.input]
    feeds = {}
    for name, x in zip(names, arrays, strict=True):
        value = x
        if x.dtype == object:
            value = np.array([str_of(s) for s in x.reshape(-1)], object).reshape(x.shape)
        feeds[name] = value
    if any(x.dtype == ml_dtypes.bfloat16 for x in arrays) or any(
        entry.type.tensor_type.elem_type == 16 for entry in report.model.graph.output
    ):
        return _run_bfloat16(session, feeds)
    return [np.asarray(y) for y in session.run(None, feeds)]


def _run_bfloat16(session: Any, feeds: dict[str, Array]) -> list[Array]:
    """NumPy has no bfloat16, so the values go through OrtValue."""
    import onnxruntime

    binding = session.io_binding()
    for name, x in feeds.items():
        if x.dtype == ml_dtypes.bfloat16:
            value = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(np.ascontiguousarray(x.view(np.uint16)), 16)
        else:
            value = onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(x))
        binding.bind_ortvalue_input(name, value)
    for entry in session.get_outputs():
        binding.bind_output(entry.name)
    session.run_with_iobinding(binding)
    results = []
    for value in binding.get_outputs():
        if value.element_type() == 16:
            raw = onnxruntime.OrtValue
            del raw
            results.append(_bits(value))
        else:
            results.append(np.asarray(value.numpy()))
    return results


def _bits(value: Any) -> Array:
    import ctypes

    count = int(np.prod(value.shape()))
    if not count:
        return np.zeros(value.shape(), ml_dtypes.bfloat16)
    words = (ctypes.c_uint16 * count).from_address(value.data_ptr())
    return np.array(words, np.uint16).view(ml_dtypes.bfloat16).reshape(value.shape())


__all__ = ["arguments", "export", "function_of", "run_model"]
