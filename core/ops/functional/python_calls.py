"""Python functions as ops: graphs can run them in this process, but not be saved with them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import denormals, dtypes, structure
from pinnace.framework.composite import CompositeSpec, is_composite
from pinnace.framework.context import state
from pinnace.framework.convert import array_of, convert_to_tensor
from pinnace.framework.errors import InvalidArgumentError, UnknownError
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import SymbolicTensor, Tensor, wrap
from pinnace.ops.execute import execute
from pinnace.ops.opdef import GRADIENT_ABOVE, NOT_DIFFERENTIABLE, InferCall, OpDef, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Array

__all__ = ["numpy_function", "py_function"]


class Token(str):
    """The name of a Python function in a graph, which keeps the function alive with the graph."""

    __slots__ = ("function",)

    function: Callable[..., Any]

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Token:
        """A name for a function."""
        token = cls(f"pyfunc_{getattr(function, '__name__', 'function')}_{id(function)}")
        token.function = function
        return token


def _decorator(call: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(_checked(function))
        def called(*args: Any) -> Any:
            return call(function, args)

        return called

    return decorate


def _checked(func: Any) -> Any:
    if not callable(func):
        raise TypeError(f"py_function: func must be a function, got {type(func).__name__}")
    return func


def _kinds(given: Any) -> tuple[tuple[Any, ...], bool]:
    if isinstance(given, (list, tuple)):
        return tuple(dtypes.as_dtype(getattr(one, "dtype", one)) for one in given), False
    return (dtypes.as_dtype(getattr(given, "dtype", given)),), True


def function_of(token: str) -> Callable[..., Any]:
    function = getattr(token, "function", None)
    if function is None:
        raise UnknownError(
            f"the Python function {token!r} is not part of a saved model: a graph that calls "
            "Python runs only in the "
            "process that made it"
        )
    return function  # type: ignore[no-any-return]


def _numpy_kernel(
    input: tuple[Array, ...],
    *,
    token: str,
    Tout: Any,  # noqa: N803 (the attribute's name)
) -> tuple[Array, ...]:
    function = function_of(token)
    found = _outside(function, [x[()] if x.ndim == 0 else x for x in input])
    return _arrays(found, Tout)


def _outside(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """Call the function outside of tracing and recording."""
    saved = state.tracer, state.tapes, state.scope
    state.tracer, state.tapes, state.scope = None, state.observers, ""
    try:
        with denormals.theirs():
            return function(*arguments)
    finally:
        state.tracer, state.tapes, state.scope = saved


def _arrays(found: Any, kinds: Sequence[Any]) -> tuple[Array, ...]:
    if not kinds:
        return ()
    values = list(found) if isinstance(found, (list, tuple)) and len(kinds) != 1 else [found]
    if len(kinds) == 1 and isinstance(found, (list, tuple)) and len(found) == 1:
        values = list(found)
    if len(values) != len(kinds):
        raise InvalidArgumentError(
            f"py_function: the function must give {len(kinds)} values, gave {len(values)}"
        )
    made = []
    for value, kind in zip(values, kinds, strict=True):
        array = (
            np.asarray(value._array) if isinstance(value, Tensor) else array_of(value, None, kind)
        )
        if kind.numpy != array.dtype:
            raise InvalidArgumentError(
                f"py_function: the function must give {kind.name}, as Tout says, gave "
                f"{array.dtype.name}"
            )
        made.append(array)
    return tuple(made)


def _infer_unknown(call: InferCall) -> tuple[Shape, ...]:
    return tuple(Shape(None) for _ in call.attrs["Tout"])


def _python_op(name: str, kernel: Any, gradient: Any, effect: Any, more: dict[str, Any]) -> OpDef:
    return define(
        name=name,
        signature="input: (Tin) -> output: (Tout)",
        attrs={
            "token": attr("string"),
            "Tin": attr("list(type)", default=()),
            "Tout": attr("list(type)", default=()),
            **more,
        },
        infer=_infer_unknown,
        kernel=kernel,
        gradient=gradient,
        effect=effect,
        reaches="Python",
    )


def numpy_function(
    func: Callable[..., Any] | None = None,
    inp: Sequence[Any] | None = None,
    Tout: Any = None,  # noqa: N803 (TensorFlow's name)
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """func(*inp) on NumPy arrays, called when the graph runs.

    Args:
        func: takes one array per input, gives one array per output; left out, a decorator is
            returned, whose functions take the inputs as arguments.
        inp: the inputs.
        Tout: the dtype of the output, or a list of them.
        stateful: whether it must be called although its result is not needed, and in program order.
        name: name of the node while tracing.

    Returns:
        A tensor, or a list of them if `Tout` is a list. Shapes are unknown; there is no gradient.

    Source:
        TensorFlow ops `PyFunc`, `PyFuncStateless` (script_ops.cc).
    """
    if func is None:
        return _decorator(lambda f, args: numpy_function(f, args, Tout, stateful, name))
    kinds, single = _kinds(Tout)
    op = PY_FUNC if stateful else PY_FUNC_STATELESS
    found = execute(op, list(inp or ()), token=Token.of(_checked(func)), Tout=kinds, name=name)
    return found[0] if single else list(found)


PY_FUNC = _python_op("PyFunc", _numpy_kernel, NOT_DIFFERENTIABLE, "io", {})


def py_function(
    func: Callable[..., Any] | None = None,
    inp: Sequence[Any] | None = None,
    Tout: Any = None,  # noqa: N803 (TensorFlow's name)
    name: str | None = None,
) -> Any:
    """func(*inp) on eager tensors, called when the graph runs; it has a gradient.

    Args:
        func: takes one tensor per input, gives one tensor (or value) per output; left out, a
            decorator is returned, whose functions take the inputs as arguments.
        inp: the inputs, also ragged and sparse tensors.
        Tout: the dtype of the output, or a list of them; [] for none. For a ragged or sparse tensor
            its spec.
        name: name of the node while tracing.

    Returns:
        A tensor, or a list of them if `Tout` is a list. Shapes are unknown, but for what the spec
        of a ragged or sparse tensor says.

    Raises:
        InvalidArgumentError: the function gives other values than `Tout` says.
    """
    if func is None:
        return _decorator(lambda f, args: py_function(f, args, Tout, name))
    listed = list(Tout) if isinstance(Tout, (list, tuple)) else [Tout]
    if any(map(is_composite, inp or ())) or any(isinstance(one, CompositeSpec) for one in listed):
        made = _of_components(_checked(func), list(inp or ()), listed, name)
        return made if isinstance(Tout, (list, tuple)) else made[0]
    kinds, single = _kinds(Tout)
    token = Token.of(_checked(func))
    found = execute(EAGER_PY_FUNC, list(inp or ()), token=token, Tout=kinds, name=name)
    return found[0] if single else list(found)


def _of_components(
    func: Callable[..., Any], inp: list[Any], outputs: list[Any], name: str | None
) -> list[Any]:
    """`py_function` of the tensors that ragged and sparse tensors are made of."""
    given = [x if is_composite(x) else convert_to_tensor(x) for x in inp]

    def of_tensors(*tensors: Tensor) -> list[Any]:
        found = func(*structure.pack_sequence_as(given, tensors, expand_composites=True))
        if not outputs:
            return []
        values = list(found) if isinstance(found, (list, tuple)) else [found]
        if len(values) != len(outputs) or not all(map(_matches, values, outputs)):
            raise InvalidArgumentError(
                f"py_function: func={func} returned {found!r}, which did not match Tout={outputs!r}"
            )
        return structure.flatten(values, expand_composites=True)

    specs = structure.flatten(outputs, expand_composites=True)
    parts = structure.flatten(given, expand_composites=True)
    found = py_function(of_tensors, parts, specs, name)
    rest = iter(found)
    for one in outputs:
        for spec in structure.flatten(one, expand_composites=True):
            tensor = next(rest)
            if isinstance(one, CompositeSpec) and isinstance(tensor, SymbolicTensor):
                tensor.set_shape(spec.shape)
    return list(structure.pack_sequence_as(outputs, found, expand_composites=True))


def _matches(value: Any, wanted: Any) -> bool:
    """Whether a value is of the kind of a spec, or no composite where a dtype is given."""
    if isinstance(wanted, CompositeSpec):
        return is_composite(value) and bool(wanted.is_compatible_with(value))
    return not is_composite(value)


def _eager_kernel(
    input: tuple[Array, ...],
    *,
    token: str,
    Tin: Any,  # noqa: N803 (the attribute's name)
    Tout: Any,  # noqa: N803
) -> tuple[Array, ...]:
    function = function_of(token)
    tensors = [wrap(array, kind) for array, kind in zip(input, Tin, strict=True)]
    return _arrays(_outside(function, tensors), Tout)


# Its gradient is in autodiff/python_functions.py.
EAGER_PY_FUNC = _python_op(
    "EagerPyFunc", _eager_kernel, GRADIENT_ABOVE, "io", {"is_async": attr("bool", default=False)}
)


PY_FUNC_STATELESS = _python_op("PyFuncStateless", _numpy_kernel, NOT_DIFFERENTIABLE, None, {})
