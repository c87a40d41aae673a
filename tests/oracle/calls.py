"""From the cases of tests/cases to calls: other dtypes, special values, invalid inputs."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

from oracle import wire
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType
from pinnace.framework.shapes import Shape
from support.golden import golden
from support.opcase import OpCase, in_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.ops.opdef import OpDef

# The usual dtypes of tensors; narrower and quantised types take part if a case names them.
COMMON = (
    *(dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16),
    *(dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64),
    *(dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64),
    *(dtypes.complex64, dtypes.complex128, dtypes.bool, dtypes.string),
)
SIGNATURES: dict[str, Any] = json.loads(golden("signatures/ops.json").read_text())
# An imaginary part would make a matrix that is no longer positive definite.
REAL_ONLY_FAMILIES = ("linalg",)


@dataclass(frozen=True)
class Call:
    """One op with inputs, which both sides run.

    Args:
        op: name of the op.
        inputs: one entry per argument: an array, or a tuple of arrays.
        attrs: attributes.
        kind: "plain", "dtype", "special" or "wrong": how it came from its case.
    """

    op: str
    inputs: tuple[Any, ...]
    attrs: Mapping[str, Any]
    kind: str = "plain"

    def flat(self) -> list[Any]:
        """The inputs, with lists flattened."""
        return [x for one in self.inputs for x in (one if isinstance(one, tuple) else (one,))]

    def request(
        self, definition: OpDef, seed: int | None, static: list[Any] | None
    ) -> dict[str, Any]:
        """The request to the worker."""
        return {
            "op": self.op,
            "arguments": [arg.name for arg in definition.inputs],
            "inputs": self.inputs,
            "attrs": {
                name: _sent(value) for name, value in _complete(definition, self.attrs).items()
            },
            "seed": seed,
            "static": static,
        }

    def __str__(self) -> str:
        lines = [f"{self.op} ({self.kind}) {dict(self.attrs)}"]
        lines += [f"  {x.dtype}{list(x.shape)} {x.tolist()!r}"[:1500] for x in self.flat()]
        return "\n".join(lines)


def _complete(op: OpDef, attrs: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes, with defaults for those that inputs do not determine."""
    told = {part for arg in op.inputs for part in (arg.type_attr, arg.number_attr, arg.list_attr)}
    types = {name: t.default for name, t in op.type_sets.items() if name not in told and t.default}
    others = {
        name: definition.default
        for name, definition in op.attrs.items()
        if name not in told and not definition.required
    }
    return others | types | dict(attrs)


def _sent(value: Any) -> Any:
    if isinstance(value, DType):
        return wire.DTypeName(value.name)
    if isinstance(value, Shape):
        return None if value.rank is None else wire.Sizes(value.as_list())
    if isinstance(value, (tuple, list)):
        return [_sent(one) for one in value]
    return value


class Wide(OpCase):
    """A case for the oracle alone: `inputs` draws (inputs, attributes), there is no reference."""


@st.composite
def calls_of(draw: st.DrawFn, case: OpCase) -> list[Call]:
    """Calls of the case's op on inputs it draws: each dtype of the case, and others."""
    inputs = draw(case.inputs)
    if isinstance(case, Wide):
        inputs, attrs = inputs
    else:
        attrs = draw(case.attrs) if isinstance(case.attrs, st.SearchStrategy) else case.attrs
    attrs = dict(attrs)
    found = [Call(case.op, inputs, attrs)]
    if _drawn_numbers(inputs):
        types = case.float_dtypes()
        found = [Call(case.op, in_dtype(inputs, dtype), attrs) for dtype in types]
    first = found[0]
    if draw(st.booleans()):
        found.append(_in_other_types(draw, case, inputs, attrs))
    if case.definition.elementwise and draw(st.booleans()):
        found.append(_with_special_values(draw, draw(st.sampled_from(found))))
    if first.flat() and draw(st.integers(0, 2)) == 0:
        found.append(_broken(draw, first))
    return found


def _drawn_numbers(inputs: tuple[Any, ...]) -> bool:
    """Whether some input has numbers that exist in several dtypes."""
    leaves = Call("", inputs, {}).flat()
    return any(x.dtype in (np.float64, np.complex128) for x in leaves)


def _in_other_types(
    draw: st.DrawFn, case: OpCase, inputs: tuple[Any, ...], attrs: dict[str, Any]
) -> Call:
    """The same numbers in dtypes that the case does not name."""
    op = case.definition
    chosen: dict[str, DType] = {}
    changed = []
    for arg, value in zip(op.inputs, inputs, strict=True):
        name = arg.type_attr
        leaves = value if isinstance(value, tuple) else (value,)
        if name and leaves and leaves[0].dtype != object:
            known = chosen.get(name) or draw(st.sampled_from(_candidates(op, name, leaves[0])))
            chosen[name] = known
            imaginary = op.name not in _real_only()
            leaves = tuple(as_dtype(x, known, imaginary=imaginary) for x in leaves)
        changed.append(leaves if isinstance(value, tuple) else leaves[0])
    given = dict(attrs)
    for name, value in attrs.items():
        fixed = any(isinstance(one, np.ndarray) for one in attrs.values())
        if isinstance(value, DType) and name in op.type_sets and not fixed:
            given[name] = draw(st.sampled_from(_allowed(op, name) or [value]))
    changed = list(in_dtype(tuple(changed), dtypes.float32)) if not chosen else changed
    return Call(op.name, tuple(changed), given, "dtype")


def _allowed(op: OpDef, name: str) -> list[DType]:
    """The common types that TensorFlow allows for a type attribute."""
    entry = SIGNATURES.get(op.name, {}).get("attrs", {}).get(name, {})
    names = entry.get("allowed")
    types = op.type_sets[name].allowed
    return [t for t in COMMON if (t.name in names if names is not None else t in types)]


def _candidates(op: OpDef, name: str, x: Any) -> list[DType]:
    allowed = _allowed(op, name)
    # Indices, sizes and axes stay integers.
    if x.dtype.kind in "iu":
        allowed = [t for t in allowed if t.is_integer]
    if x.dtype == np.bool_:
        allowed = [t for t in allowed if t.is_bool]
    if x.dtype == np.complex128:
        allowed = [t for t in allowed if t.is_complex]
    return allowed or [dtypes.from_numpy(x.dtype)]


def _real_only() -> frozenset[str]:
    from support.opcase import all_cases

    return frozenset(c.op for folder in REAL_ONLY_FAMILIES for c in all_cases(folder))


@np.errstate(invalid="ignore")  # infinity times i
def as_dtype(x: Any, dtype: DType, *, imaginary: bool) -> Any:
    """The numbers of `x` in `dtype`, rounded; no value is out of its range."""
    if x.dtype == object:
        return x
    if dtype is dtypes.string:
        texts = np.array([str(n).encode() for n in x.ravel().tolist()], object)
        return texts.reshape(x.shape) if texts.size else np.empty(x.shape, object)
    if dtype.is_bool:
        return x.real > 0 if x.dtype.kind == "c" else x > 0
    if dtype.is_complex:
        wide = x.astype(np.complex128)
        if imaginary and x.dtype.kind != "c":
            wide = wide + 1j * np.roll(wide.ravel(), 1).reshape(x.shape)
        return wide.astype(dtype.numpy)
    real = x.real if x.dtype.kind == "c" else x
    if dtype.is_integer:
        low, high = dtype.limits if dtype.size < 8 else (-(2**53), 2**53)
        if dtype.is_unsigned:
            real, low = np.abs(real), 0
        return np.clip(np.nan_to_num(real), low, high).astype(dtype.numpy)
    return real.astype(dtype.numpy)


# Values at which formulas fail: the ends of the range, infinity and NaN.
SPECIAL = (0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf"), float("nan"), 1e-30, 65504.0, -3e38)


def _with_special_values(draw: st.DrawFn, call: Call) -> Call:
    """The call with special values in some elements of its floating-point inputs."""

    def sprinkle(x: Any) -> Any:
        if not x.size or not (x.dtype.kind == "f" or x.dtype == ml_dtypes.bfloat16):
            return x
        changed = x.copy()
        for _ in range(draw(st.integers(1, 3))):
            place = draw(st.integers(0, x.size - 1))
            with np.errstate(over="ignore"):
                changed.flat[place] = np.float64(draw(st.sampled_from(SPECIAL))).astype(x.dtype)
        return changed

    inputs = tuple(
        tuple(map(sprinkle, value)) if isinstance(value, tuple) else sprinkle(value)
        for value in call.inputs
    )
    return replace(call, inputs=inputs, kind="special")


def _broken(draw: st.DrawFn, call: Call) -> Call:
    """The call with one input of another rank or size, or with an index out of range."""
    inputs = list(call.inputs)
    index = draw(
        st.sampled_from([i for i, x in enumerate(inputs) if not isinstance(x, tuple) or x])
    )
    value = inputs[index]
    leaves = list(value) if isinstance(value, tuple) else [value]
    at = draw(st.integers(0, len(leaves) - 1))
    x = leaves[at]
    ways = ["rank"]
    if x.ndim:
        ways += ["longer", "shorter", "flat"]
    if x.size and x.dtype.kind in "iu":
        ways += ["index", "index"]
    way = draw(st.sampled_from(ways))
    if way == "rank":
        x = x[np.newaxis]
    elif way == "flat":
        x = x.ravel() if x.ndim > 1 else x[:1].reshape(()) if x.size else x
    elif way == "index":
        x = x.copy()
        place = draw(st.integers(0, x.size - 1))
        x.flat[place] = draw(st.sampled_from([77, 5, 0] if x.dtype.kind == "u" else [-77, -2, 77]))
    else:
        axis = draw(st.integers(0, x.ndim - 1))
        longer = np.concatenate([x, np.take(x, [0], axis)] if x.shape[axis] else [x], axis)
        x = longer if way == "longer" else np.delete(x, -1, axis) if x.shape[axis] else x
    leaves[at] = x
    inputs[index] = tuple(leaves) if isinstance(value, tuple) else leaves[0]
    return Call(call.op, tuple(inputs), call.attrs, "wrong")


@st.composite
def knowledge(draw: st.DrawFn, call: Call) -> list[Any]:
    """What a graph knows of each input: "constant", nothing (None), or a partial shape."""
    told: list[Any] = []
    for x in call.flat():
        whole = x.dtype.kind in "iu" and x.ndim < 2
        way = draw(st.sampled_from(["nothing", "some", "some", "all"] + ["constant"] * 3 * whole))
        if way == "constant":
            told.append("constant")
        elif way == "nothing":
            told.append(None)
        elif way == "all":
            told.append(wire.Sizes(x.shape))
        else:
            told.append(wire.Sizes(n if draw(st.booleans()) else None for n in x.shape))
    return told
