"""Built-in functions with versions for tensors: print, len, range, max, zip..."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import structure
from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.functions.autograph.growing_lists import concat, stack
from pinnace.functions.autograph.iteration import Steps, ZippedIteration
from pinnace.functions.autograph.options import print_is_op
from pinnace.functions.autograph.variables import is_symbolic
from pinnace.ops.array import joining, shapes, sorting
from pinnace.ops.composites.tensor_array import TensorArray
from pinnace.ops.control import printing
from pinnace.ops.math import arithmetic, reduction

if TYPE_CHECKING:
    from collections.abc import Callable


# Built-in -> class -> its version for values of that class; `data` adds datasets.
_of_kinds: dict[Any, dict[type, Callable[..., Any]]] = {}


def register_python_functions(kind: type, functions: dict[Any, Callable[..., Any]]) -> None:
    """Register traced versions of built-in functions for values of a class.

    Args:
        kind: the class; its subclasses too.
        functions: by built-in. Each takes what the built-in takes, of which everything that is
            iterated over is of that class.
    """
    for function, replacement in functions.items():
        _of_kinds.setdefault(function, {})[kind] = replacement


def _of_kind(function: Any, *iterated: Any) -> Callable[..., Any] | None:
    """The version of a built-in for these arguments; None: the built-in itself."""
    if state.tracer is None or not iterated:
        return None
    for kind, replacement in _of_kinds.get(function, {}).items():
        if all(isinstance(one, kind) for one in iterated):
            return replacement
    return None


def _print(*objects: Any, **kwargs: Any) -> None:
    """Python's print, which runs while tracing, unless the function requests the op."""
    if print_is_op.get() and any(is_symbolic(leaf) for leaf in structure.flatten(objects)):
        kept = {name: kwargs[name] for name in ("sep", "end") if kwargs.get(name) is not None}
        printing.tf_print(*objects, output_stream="stdout", summarize=-1, **kept)
    else:
        print(*objects, **kwargs)  # noqa: T201 (the user's own print)


def _len(x: Any) -> Any:
    if isinstance(x, TensorArray):
        return x.size()
    if is_symbolic(x):
        tensor = convert_to_tensor(x)
        known = tensor.shape[0] if tensor.shape.rank else None
        return shapes.shape(tensor)[0] if known is None else known
    return (_of_kind(len, x) or len)(x)


def _range(*args: Any) -> Any:
    if any(is_symbolic(arg) for arg in args):
        start, stop, step = 0, args[0], 1
        if len(args) > 1:
            start, stop = args[:2]
        if len(args) > 2:
            step = args[2]
        return Steps(start, stop, step)
    return range(*args)


def _max(*args: Any, **kwargs: Any) -> Any:
    if not kwargs:
        if len(args) == 1 and is_symbolic(args[0]):
            return reduction.reduce_max(args[0])
        if len(args) > 1 and any(is_symbolic(arg) for arg in args):
            found = args[0]
            for arg in args[1:]:
                found = arithmetic.maximum(found, arg)
            return found
    return max(*args, **kwargs)


def _min(*args: Any, **kwargs: Any) -> Any:
    if not kwargs:
        if len(args) == 1 and is_symbolic(args[0]):
            return reduction.reduce_min(args[0])
        if len(args) > 1 and any(is_symbolic(arg) for arg in args):
            found = args[0]
            for arg in args[1:]:
                found = arithmetic.minimum(found, arg)
            return found
    return min(*args, **kwargs)


def _sum(x: Any, *start: Any) -> Any:
    if is_symbolic(x):
        total = reduction.reduce_sum(x, axis=0)
        return arithmetic.add(total, start[0]) if start else total
    return sum(x, *start)


def _any(x: Any) -> Any:
    return reduction.reduce_any(x) if is_symbolic(x) else (_of_kind(any, x) or any)(x)


def _all(x: Any) -> Any:
    return reduction.reduce_all(x) if is_symbolic(x) else (_of_kind(all, x) or all)(x)


def _enumerate(x: Any, start: Any = 0) -> Any:
    if is_symbolic(x) or isinstance(x, (Steps, ZippedIteration)):
        return ZippedIteration([x], start)
    return (_of_kind(enumerate, x) or enumerate)(x, start)


def _zip(*parts: Any, **kwargs: Any) -> Any:
    if parts and all(
        is_symbolic(part) or isinstance(part, (Steps, ZippedIteration)) for part in parts
    ):
        return ZippedIteration(parts)
    return (_of_kind(zip, *parts) or zip)(*parts, **kwargs)


def _map(function: Any, *parts: Any) -> Any:
    return (_of_kind(map, *parts) or map)(function, *parts)


def _filter(function: Any, part: Any) -> Any:
    return (_of_kind(filter, part) or filter)(function, part)


def _sorted(x: Any, **kwargs: Any) -> Any:
    if is_symbolic(x):
        direction = "DESCENDING" if kwargs.get("reverse") else "ASCENDING"
        return sorting.sort(x, direction=direction)
    return sorted(x, **kwargs)


OVERLOADS: dict[Any, Callable[..., Any]] = {
    all: _all,
    any: _any,
    enumerate: _enumerate,
    filter: _filter,
    len: _len,
    map: _map,
    max: _max,
    min: _min,
    print: _print,
    range: _range,
    sorted: _sorted,
    sum: _sum,
    zip: _zip,
    joining.concat: concat,
    joining.stack: stack,
}
