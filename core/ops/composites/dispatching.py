"""Ops and functions called with ragged, sparse or operator arguments."""

from __future__ import annotations

import functools
import importlib
import inspect
from typing import TYPE_CHECKING, Any

from pinnace.ops.composite_arguments import ITSELF, refuse
from pinnace.ops.composites.extension.hooks import hook_of
from pinnace.ops.execute import execute

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.ops.composite_arguments import Composites
    from pinnace.ops.opdef import OpDef

# Ops that map 0 to 0, and so preserve sparsity.
_KEEP_ZERO = frozenset(
    {
        "Abs",
        "Asin",
        "Asinh",
        "Atan",
        "Atanh",
        "Ceil",
        "Erf",
        "Expm1",
        "Floor",
        "Identity",
        "Log1p",
        "Neg",
        "Relu",
        "Relu6",
        "Rint",
        "Sign",
        "Sin",
        "Sinh",
        "Sqrt",
        "Square",
        "Tan",
        "Tanh",
    }
)


def execute_on_composites(
    op: OpDef, arguments: tuple[Any, ...], name: str | None, attrs: dict[str, Any]
) -> Any:
    """An op called with composite values.

    Raises:
        ValueError: the op is not elementwise, so the values alone do not determine the result.
    """
    answer = _answer_of(arguments)
    if answer is not None:
        return answer(op.name, arguments, {**attrs, "name": name})
    kind = _kind_of(arguments)
    if kind == "ragged" and op.elementwise:
        return _elementwise()(lambda *xs: execute(op, *xs, name=name, **attrs), *arguments)
    if kind == "sparse" and len(arguments) == 1 and op.name in _KEEP_ZERO:
        return arguments[0].with_values(execute(op, arguments[0].values, name=name, **attrs))
    if kind == "sparse" and op.name == "Mul":
        return _imported("sparse", "products:multiply")(*arguments)
    return refuse(op.name, kind or "composite")


def call_on_composites(
    function: Callable[..., Any],
    composites: Composites,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Call a function on composite values, by its `@takes_composites` rule.

    Raises:
        ValueError: the function does not take values of this kind.
    """
    hook = hook_of(function)
    registered = None if hook is None else hook.target_for(args, kwargs)
    if registered is not None:
        return registered(*args, **kwargs)
    return _of_kind(function, composites, args, kwargs)


def _of_kind(
    function: Callable[..., Any],
    composites: Composites,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    answer = _answer_of((*args, *kwargs.values()))
    if answer is not None:
        return answer(function.__name__, args, kwargs)
    kind = _kind_of((*args, *kwargs.values()))
    target = composites.ragged if kind == "ragged" else composites.sparse
    if kind is None or target == ITSELF:  # indexed slices become tensors by themselves
        return function(*args, **kwargs)
    if target:
        return _without_defaults(function, _imported(kind, target), args, kwargs)
    if composites.values == 2 and kind == "ragged":
        return _elementwise_pair(function, args, kwargs)
    if composites.values == 1:
        key = "" if args else next(iter(kwargs))
        x = args[0] if args else kwargs[key]

        def run(values: Any) -> Any:
            if not key:
                return function(values, *args[1:], **kwargs)
            return function(**{**kwargs, key: values})

        if kind == "ragged" and getattr(type(x), "_takes_ops", None) == "ragged":
            return _elementwise()(run, x)
        if kind == "sparse" and composites.keeps_zero:
            return x.with_values(run(x.values))
    return refuse(function.__name__, kind)


def _answer_of(arguments: tuple[Any, ...]) -> Callable[..., Any] | None:
    """The function of a composite class that replaces calls: `_answer(name, args, kwargs)`."""
    found = [getattr(type(x), "_answer", None) for x in arguments]
    return next((answer for answer in found if answer is not None), None)


def _kind_of(arguments: tuple[Any, ...]) -> str | None:
    """The kind of composite values among the arguments; ragged before sparse."""
    kinds = set()
    for x in arguments:
        kinds.add(getattr(type(x), "_takes_ops", None))
        if type(x) in {list, tuple}:
            kinds.update(getattr(type(y), "_takes_ops", None) for y in x)
    return "ragged" if "ragged" in kinds else "sparse" if "sparse" in kinds else None


def _imported(kind: str, target: str) -> Callable[..., Any]:
    """A function of ragged or sparse values, imported on demand since few programs need it."""
    module, _, name = target.partition(":")
    home = importlib.import_module(f"{__package__}.{kind}.{module}")
    found: Callable[..., Any] = getattr(home, name)
    return found


def _elementwise() -> Callable[..., Any]:
    return _imported("ragged", "elementwise:elementwise")


def _elementwise_pair(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """A function of the values of its first two arguments, which must have equal rows."""
    named = dict(kwargs)
    operands = list(args[:2])
    keys = [key for key in named if key != "name"][: 2 - len(operands)]
    operands += [named.pop(key) for key in keys]
    rest = args[2:]
    count = len(args[:2])

    def run(*values: Any) -> Any:
        by_name = dict(zip(keys, values[count:], strict=True))
        return function(*values[:count], *rest, **by_name, **named)

    return _elementwise()(run, *operands)


def _without_defaults(
    function: Callable[..., Any],
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """The call of `target`, without default arguments that traced functions pass explicitly."""
    parameters = _parameters(function)
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return target(*args, **kwargs)
    last = max(
        (i for i, (x, p) in enumerate(zip(args, parameters, strict=False)) if x is not p.default),
        default=-1,
    )
    return target(*args[: last + 1], **kwargs)


@functools.cache
def _parameters(function: Callable[..., Any]) -> tuple[inspect.Parameter, ...]:
    return tuple(inspect.signature(function).parameters.values())
