"""One op as a function, as an ONNX model, and as a run of that model."""

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

import pinnace.ops  # noqa: F401 (registers the ops)
from pinnace.deploy.onnx import ExportReport
from pinnace.deploy.onnx.verification.checking import open_session, run_session
from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import wrap
from pinnace.functions.concrete import ConcreteFunction
from pinnace.functions.tracing import trace
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
    """Return a function that applies the op; arguments in `constants` become constants in it.

    A complex argument is fed as its two parts, and a complex result is returned as such.
    """
    flat: list[Array] = []
    specs: list[TensorSpec] = []

    def take(x: Array) -> int | tuple[int, int]:
        if x.dtype.kind == "c":
            return take_one(x.real), take_one(x.imag)
        return take_one(x)

    def take_one(x: Array) -> int:
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
            tuple(argument(p, tensors) for p in place)
            if isinstance(place, list)
            else argument(place, tensors)
            for place in plan
        ]
        return in_parts(execute(lookup(op), *given, **attrs))

    return trace(apply, tuple(specs), {}, op.lower())[0]


def argument(place: Any, tensors: tuple[Any, ...]) -> Any:
    """An argument of an op: a tensor, a complex tensor made of two, or a constant."""
    if isinstance(place, int):
        return tensors[place]
    if not isinstance(place, tuple) or not place or not isinstance(place[0], int):
        return place
    real, imaginary = (tensors[i] for i in place)
    kind = dtypes.complex64 if real.dtype is dtypes.float32 else dtypes.complex128
    return execute(lookup("Complex"), real, imaginary, Tout=kind)


def in_parts(result: Any) -> Any:
    """Complex results as their real and imaginary parts."""
    results = result if isinstance(result, tuple) else (result,)
    if not any(getattr(y, "dtype", dtypes.float32).is_complex for y in results):
        return result
    found: list[Any] = []
    for y in results:
        if y.dtype.is_complex:
            kind = dtypes.float32 if y.dtype is dtypes.complex64 else dtypes.float64
            found += [execute(lookup(part), y, Tout=kind) for part in ("Real", "Imag")]
        else:
            found.append(y)
    return tuple(found)


def arguments(xs: tuple[Any, ...], constants: set[int]) -> list[Array]:
    """The arrays for the inputs of `function_of`."""
    found: list[Array] = []
    for index, x in enumerate(xs):
        if index not in constants:
            for part in x if isinstance(x, tuple) else (x,):
                found.extend((part.real, part.imag) if part.dtype.kind == "c" else (part,))
    return found


def run_model(report: ExportReport, arrays: list[Array]) -> list[Array]:
    """The outputs of the exported model in ONNX Runtime."""
    session = open_session(report.model.SerializeToString())
    names = [entry.name for entry in report.model.graph.input]
    return run_session(session, dict(zip(names, arrays, strict=True)))
