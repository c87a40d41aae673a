"""Specialised eager entries: the usual call of an op in as few steps as Python allows.

An entry does the same as `execute`, for an op whose inputs are all single tensors and whose
attributes have defaults. It knows the op's arity, its kernel and its dtypes; all but the plain case
goes to `execute`. A test keeps the two equal for every op.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.context import state
from pinnace.framework.dtype_sets import numpy_dtypes
from pinnace.framework.tensor import Tensor, wrap
from pinnace.framework.variable import Variable
from pinnace.ops.execute import execute
from pinnace.ops.kernels.halves import HALVES

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.ops.opdef import ArgDef, OpDef

_OPAQUE = frozenset(
    {
        dtypes.resource,
        dtypes.variant,
        dtypes.qint8,
        dtypes.quint8,
        dtypes.qint16,
        dtypes.quint16,
        dtypes.qint32,
    }
)
# Dtypes to which a Python number is converted without a check.
_SIMPLE = frozenset({np.dtype(np.float32), np.dtype(np.float64)})
# How many shapes an entry remembers before it clears the cache.
_PASSED_LIMIT = 4096
_new = Tensor.__new__


def make_entry(op: OpDef, **attrs: Any) -> Callable[..., Tensor]:
    """entry(*inputs, name=None), equal to `execute(op, *inputs, name=name, **attrs)`."""
    if not _is_plain(op, attrs):
        count = len(op.inputs)

        def general(*arguments: Any, name: str | None = None) -> Any:
            if len(arguments) > count:  # the name by position
                name = arguments[count]
            return execute(op, *arguments[:count], name=name, **attrs)

        return general
    kernel = _bound_kernel(op, attrs)
    if len(op.inputs) == 1:
        return _unary_entry(op, kernel, attrs)
    return _binary_entry(op, kernel, attrs)


def _is_plain(op: OpDef, attrs: dict[str, Any]) -> bool:
    """Whether it has one or two inputs of one dtype, one output, optional attributes, no effect."""
    if op.kernel is None or op.effect is not None or op.wants_ctx:
        return False
    if len(op.outputs) != 1 or op.outputs[0].is_list or len(op.inputs) not in {1, 2}:
        return False
    if any(arg.is_list for arg in op.inputs) or any(
        definition.required and name not in attrs for name, definition in op.attrs.items()
    ):
        return False
    if len({_kind(arg) for arg in op.inputs}) != 1 or any(
        name in op.type_sets for name in op.kernel_attrs
    ):
        return False
    output = op.outputs[0]
    if output.type_attr and output.type_attr != op.inputs[0].type_attr:
        return False
    kinds = {output.dtype} | set(_allowed(op, op.inputs[0]))
    return not kinds & _OPAQUE


def _kind(arg: ArgDef) -> object:
    return arg.type_attr or arg.dtype


def _allowed(op: OpDef, arg: ArgDef) -> frozenset[Any]:
    return frozenset({arg.dtype}) if arg.dtype else op.type_sets[arg.type_attr].allowed


def _plain(op: OpDef) -> frozenset[Any]:
    """The dtypes that the op's kernel computes in: `execute` has another one for 16-bit floats."""
    kinds = _allowed(op, op.inputs[0])
    return kinds - HALVES if op.wide else kinds


def _bound_kernel(op: OpDef, attrs: dict[str, Any]) -> Callable[..., Any]:
    kernel: Any = op.eager
    options = {name: attrs[name] if name in attrs else op.default(name) for name in op.kernel_attrs}
    if not options:
        return kernel  # type: ignore[no-any-return]
    return functools.partial(kernel, **options)


def _unary_entry(
    op: OpDef, kernel: Callable[..., Any], attrs: dict[str, Any]
) -> Callable[..., Any]:
    allowed = numpy_dtypes(_plain(op))
    # Shapes that passed inference; elementwise ops need none.
    passed: set[object] | None = None if op.elementwise else set()

    def entry(x: Any, name: str | None = None) -> Any:
        if type(x) is Tensor and state.tracer is None:
            a = x._array
            if a.dtype in allowed:
                if passed is not None and (a.shape, a.dtype) not in passed:
                    result = execute(op, x, name=name, **attrs)
                    _remember(passed, (a.shape, a.dtype))
                    return result
                try:
                    out = kernel(a)
                except (RuntimeWarning, FloatingPointError):
                    with np.errstate(all="ignore"):
                        out = kernel(a)
                tensor = _new(Tensor)
                tensor._array = out
                tapes = state.tapes
                if tapes:
                    for tape in tapes:
                        tape.record(op, (x,), attrs, (tensor,))
                return tensor
        return execute(op, x, name=name, **attrs)

    return entry


def _binary_entry(
    op: OpDef, kernel: Callable[..., Any], attrs: dict[str, Any]
) -> Callable[..., Any]:
    allowed = numpy_dtypes(_plain(op))
    passed: set[object] | None = None if op.elementwise else set()

    def entry(x: Any, y: Any, name: str | None = None) -> Any:
        if (type(x) is not Tensor or type(y) is not Tensor) and state.tracer is None:
            x, y = _plain_pair(x, y)
        if type(x) is Tensor and type(y) is Tensor and state.tracer is None:
            a = x._array
            b = y._array
            if a.dtype is b.dtype and a.dtype in allowed:
                if passed is not None and (a.shape, b.shape, a.dtype) not in passed:
                    result = execute(op, x, y, name=name, **attrs)
                    _remember(passed, (a.shape, b.shape, a.dtype))
                    return result
                try:
                    out = kernel(a, b)
                except (RuntimeWarning, FloatingPointError):
                    with np.errstate(all="ignore"):
                        out = kernel(a, b)
                except ValueError:
                    return execute(
                        op, x, y, name=name, **attrs
                    )  # which raises an error that explains the shapes
                tensor = _new(Tensor)
                tensor._array = out
                tapes = state.tapes
                if tapes:
                    for tape in tapes:
                        tape.record(op, (x, y), attrs, (tensor,))
                return tensor
        return execute(op, x, y, name=name, **attrs)

    return entry


def _plain_pair(x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands with variables read, and Python numbers beside a float tensor as tensors."""
    if type(x) is Variable:
        x = x._as_tensor()
    if type(y) is Variable:
        y = y._as_tensor()
    if type(x) is Tensor and (type(y) is float or type(y) is int) and x._array.dtype in _SIMPLE:
        y = wrap(x._array.dtype.type(y))
    elif type(y) is Tensor and (type(x) is float or type(x) is int) and y._array.dtype in _SIMPLE:
        x = wrap(y._array.dtype.type(x))
    return x, y


def _remember(passed: set[object], key: object) -> None:
    if len(passed) >= _PASSED_LIMIT:
        passed.clear()
    passed.add(key)
