"""OpCase: the expected results of one op as data; and the runs that tests are made of."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from pinnace.autodiff.tape import GradientTape
from pinnace.framework import dtypes
from pinnace.framework.indexed_slices import dense
from pinnace.framework.tensor import Tensor, wrap
from pinnace.ops.execute import execute
from pinnace.ops.opdef import InferCall, OpDef
from pinnace.ops.registry import lookup

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.framework.dtypes import DType

Array: TypeAlias = npt.NDArray[Any]
# One entry per argument of the signature: an array, or a tuple of arrays for a list argument.
Inputs: TypeAlias = tuple[Any, ...]

_FLOATS = (dtypes.float64, dtypes.float32, dtypes.float16, dtypes.bfloat16)
_COMPLEX_OF = {dtypes.float64: dtypes.complex128, dtypes.float32: dtypes.complex64}


def _unchanged(x: Any) -> Any:
    return x


@dataclass(frozen=True, kw_only=True)
class _Options:
    attrs: Mapping[str, Any] | st.SearchStrategy[Mapping[str, Any]] = field(default_factory=dict)
    ulps: int = 4
    slack: float = 16.0
    reason: str = ""
    dtypes: tuple[DType, ...] | None = None
    differentiable: tuple[int, ...] | None = None
    smooth: float = 1.0
    project: Callable[[Any], Any] = _unchanged


@dataclass(frozen=True)
class OpCase(_Options):
    """One op, random inputs for it, and the reference of its results.

    Args:
        op: the op's name.
        inputs: draws a tuple, one entry per argument: float64 or complex128 arrays, which run in
            several dtypes; arrays of other types, which stay as they are; tuples of arrays for list
            arguments.
        reference: computes the expected results in float64 from float64, by a method other than the
            kernel's; a tuple for several outputs.
        attrs: attributes, or a strategy of them.
        ulps: permitted error in units in the last place of the result.
        slack: additional permitted error in units of the dtype's epsilon: the size of cancelling
            terms.
        reason: why the permitted error exceeds the default.
        dtypes: dtypes of the floating-point inputs; by default all that the op accepts.
        differentiable: arguments whose gradients are checked; by default all floating point ones,
            () for none.
        smooth: factor on the tolerance of the gradient, for large third derivatives.
        project: projects a step of an input to the directions that the op's gradient covers.
    """

    op: str
    inputs: st.SearchStrategy[Inputs]
    reference: Callable[..., Any]

    @property
    def definition(self) -> OpDef:
        """The op itself."""
        return lookup(self.op)

    def draw(self, data: st.DataObject) -> tuple[Inputs, dict[str, Any]]:
        """Inputs and attributes."""
        xs = data.draw(self.inputs, label="inputs")
        attrs = (
            data.draw(self.attrs, "attrs")
            if isinstance(self.attrs, st.SearchStrategy)
            else self.attrs
        )
        return xs, dict(attrs)

    def draw_first(self, data: st.DataObject) -> tuple[Inputs, dict[str, Any]]:
        """Inputs in the first of the dtypes, and attributes."""
        xs, attrs = self.draw(data)
        return in_dtype(xs, self.float_dtypes()[0]), attrs

    def float_dtypes(self) -> tuple[DType, ...]:
        """The dtypes of floating-point inputs."""
        if self.dtypes is not None:
            return self.dtypes
        sets = self.definition.type_sets.values()
        return tuple(t for t in _FLOATS if any(t in s.allowed for s in sets)) or (dtypes.float32,)

    def __str__(self) -> str:
        return self.op


@cache
def all_cases(folder: str = "") -> tuple[OpCase, ...]:
    """Every case under tests/cases/<folder>, in the order of files and lines."""
    root = Path(__file__).resolve().parent.parent
    found: list[OpCase] = []
    for file in sorted((root / "cases" / folder).rglob("*.py")):
        module = importlib.import_module(".".join(file.relative_to(root).with_suffix("").parts))
        found.extend(module.CASES)
    return tuple(found)


def in_dtype(xs: Inputs, dtype: DType) -> Inputs:
    """Floating point inputs in `dtype`, complex ones in its complex type, others unchanged."""

    def cast(x: Any) -> Any:
        if isinstance(x, tuple):
            return tuple(cast(part) for part in x)
        if x.dtype == np.float64:
            return x.astype(dtype.numpy)
        if x.dtype == np.complex128:
            return x.astype(_COMPLEX_OF.get(dtype, dtypes.complex64).numpy)
        return x

    return tuple(cast(x) for x in xs)


def widened(xs: Inputs) -> Inputs:
    """Floating point inputs as float64, complex ones as complex128."""

    def widen(x: Any) -> Any:
        if isinstance(x, tuple):
            return tuple(widen(part) for part in x)
        if is_float(x):
            return x.astype(np.float64)
        return x.astype(np.complex128) if x.dtype.kind == "c" else x

    return tuple(widen(x) for x in xs)


def is_float(x: Any) -> bool:
    """Whether an array has floating-point numbers, including 16-bit ones."""
    return bool(x.dtype.kind == "f" or x.dtype == ml_dtypes.bfloat16)


def run(case: OpCase, xs: Inputs, attrs: Mapping[str, Any]) -> tuple[Array, ...]:
    """The outputs of the case's op, as a flat list."""
    return arrays_of(execute(case.definition, *tensors_of(xs), **attrs))


def run_vjp(
    case: OpCase, xs: Inputs, attrs: Mapping[str, Any], dys: Sequence[Array | None]
) -> tuple[Any, ...]:
    """The gradients of the differentiable inputs, in their structure; None without a gradient."""
    inputs = tensors_of(xs)
    chosen = [inputs[index] for index in differentiable_inputs(case, xs)]
    with GradientTape() as tape:
        for one in _flat(chosen):
            tape.watch(one)
        outputs = _flat(execute(case.definition, *inputs, **attrs))
    pairs = [(y, wrap(dy)) for y, dy in zip(outputs, dys, strict=True) if dy is not None]
    found = tape.gradient([y for y, _ in pairs], _flat(chosen), [dy for _, dy in pairs])
    answers = iter([None if g is None else np.asarray(dense(g)._array) for g in found])
    return tuple(
        tuple(next(answers) for _ in one) if isinstance(one, tuple) else next(answers)
        for one in chosen
    )


def differentiable_inputs(case: OpCase, xs: Inputs) -> tuple[int, ...]:
    """The arguments whose gradients are checked."""
    if case.differentiable is not None:
        return case.differentiable
    if not case.definition.differentiable:
        return ()
    firsts = [x[0] if isinstance(x, tuple) and x else x for x in xs]
    return tuple(
        index
        for index, x in enumerate(firsts)
        if not isinstance(x, tuple) and (is_float(x) or x.dtype.kind == "c")
    )


def tensors_of(xs: Inputs) -> tuple[Any, ...]:
    """Tensors of read-only copies, so that kernels which write into their inputs fail."""
    return tuple(tensors_of(x) if isinstance(x, tuple) else _tensor(x) for x in xs)


def _tensor(x: Array) -> Tensor:
    copy = np.array(x)
    copy.flags.writeable = False
    return wrap(copy)


def arrays_of(result: Any) -> tuple[Array, ...]:
    """The results of `execute`, as flat arrays."""
    return tuple(np.asarray(t._array) for t in _flat(result))


def _flat(result: Any) -> list[Tensor]:
    if result is None:
        return []
    if isinstance(result, (tuple, list)):
        return [tensor for part in result for tensor in _flat(part)]
    return [result]


def references(case: OpCase, xs: Inputs) -> tuple[Array, ...]:
    """The expected results, flat."""
    with np.errstate(all="ignore"):
        result = case.reference(*widened(xs))
    return tuple(np.asarray(y) for y in (result if isinstance(result, tuple) else (result,)))


def assert_close(case: OpCase, got: Array, wanted: Array) -> None:
    """Assert that `got` is `wanted` within the case's tolerance."""
    assert got.shape == wanted.shape, f"{case.op}: shape {got.shape}, wanted {wanted.shape}"
    if not (is_float(got) or got.dtype.kind == "c"):
        np.testing.assert_array_equal(got, wanted.astype(got.dtype))
        return
    if got.dtype.kind == "c":
        for part in ("real", "imag"):
            assert_close(case, getattr(got, part), getattr(wanted, part))
        return
    with np.errstate(all="ignore"):
        exact = wanted.astype(got.dtype).astype(np.float64)
        limits = ml_dtypes.finfo(got.dtype)  # type: ignore[no-untyped-call]
        spacing = np.maximum(np.abs(wanted), float(limits.smallest_normal)) * float(limits.eps)
        allowed = case.ulps * spacing + case.slack * float(limits.eps)
        wide = got.astype(np.float64)
        # A number that overflows in the narrower dtype counts as infinite.
        same = (wide == exact) | (np.isnan(wide) & np.isnan(wanted))
        near = np.abs(wide - wanted) <= allowed
    bad = ~(same | near)
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        raise AssertionError(
            f"{case.op} {got.dtype}: at {at} {wide[at]!r}, wanted {wanted[at]!r}, "
            f"off by {abs(wide[at] - wanted[at]) / spacing[at]:.3g} ulps"
        )


def inferred(case: OpCase, xs: Inputs, attrs: Mapping[str, Any], *, known: str) -> tuple[Any, ...]:
    """The inferred shapes.

    Args:
        case: the case.
        xs: its inputs.
        attrs: its attributes.
        known: "values" (shapes and constants), "shapes", "ranks" or "nothing".
    """
    from pinnace.framework.shapes import Shape
    from pinnace.framework.specs import TensorSpec
    from pinnace.ops.execute import infer_shapes, resolve

    op = case.definition
    full = dict(attrs)
    inputs = resolve(op, tensors_of(xs), full)

    def spec(t: Tensor) -> TensorSpec:
        shape = t.shape
        if known == "ranks":
            shape = Shape([None] * len(shape))
        return TensorSpec(Shape(None) if known == "nothing" else shape, t.dtype)

    def constant(index: int) -> Array | None:
        value = inputs[index]
        return np.asarray(value._array) if known == "values" and isinstance(value, Tensor) else None

    specs = tuple(tuple(spec(t) for t in x) if isinstance(x, tuple) else spec(x) for x in inputs)
    full = op.full_attrs(full)
    count = len(op.output_dtypes(full))
    return infer_shapes(op, InferCall(op, specs, full, constant), count)
