"""One op as a function, as an ONNX model, and as a run of that model."""

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

import pinnace.ops  # noqa: F401 (registers the ops)
from pinnace.deploy.onnx import ExportReport
from pinnace.deploy.onnx.checking import open_session, run_session
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import wrap
from pinnace.functions.concrete import ConcreteFunction
from pinnace.functions.function import trace
from pinnace.ops.execute import execute
from pinnace.ops.registry import lookup

Array = npt.NDArray[Any]


def function_of(
    op: str,
    xs: tuple[Any, ...],
    attrs: Mapping[str, Any],
    *,
    sizes_known: bool,
    constants: set[int],
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
    return run_session(session, dict(zip(names, arrays, strict=True)))
