"""`raw_ops`: every op by its name, with the arguments and attributes of its definition."""

from __future__ import annotations

import functools
from collections import namedtuple
from typing import TYPE_CHECKING

from pinnace.framework.dtypes import as_dtype
from pinnace.framework.shapes import Shape
from pinnace.ops import registry
from pinnace.ops.execute import execute

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any  # imported here, since `raw_ops.Any` is an op


def _attribute(kind: str, value: Any) -> Any:
    """An attribute in kernels' form: dtypes for names and numbers, shapes for lists."""
    if kind == "type":
        return as_dtype(value)
    if kind == "list(type)" and isinstance(value, (list, tuple)):
        return tuple(map(as_dtype, value))
    if kind == "shape":
        return _shape(value)
    if kind == "list(shape)" and isinstance(value, (list, tuple)):
        return tuple(map(_shape, value))
    return tuple(value) if type(value) is list else value


def _shape(value: Any) -> Shape:
    """A shape with -1 for unknown sizes, as in TensorFlow's raw ops."""
    if isinstance(value, (list, tuple)):
        value = [None if size == -1 else size for size in value]
    return Shape(value)


@functools.cache
def _raw(op_name: str) -> Callable[..., Any]:
    op = registry.lookup(op_name)
    names = [arg.name for arg in op.inputs]
    outputs = [arg.name for arg in op.outputs]
    kinds = {
        **{key: "list(type)" if key in op.list_types else "type" for key in op.types},
        **{key: found.kind for key, found in op.attrs.items()},
    }
    # `rename` handles output names that are Python keywords, which a named tuple refuses.
    title = op.name.replace(">", "_")  # as in TFText>…, to make it an identifier
    packed = namedtuple(title, outputs, rename=True) if outputs[1:] else None  # noqa: PYI024

    def run(*args: Any, name: str | None = None, **given: Any) -> Any:
        if args:
            raise TypeError(f"raw_ops.{op.name} takes its arguments by name: {', '.join(names)}")
        missing = [n for n in names if n not in given]
        if missing:
            raise TypeError(
                f"raw_ops.{op.name}: no value for {', '.join(missing)} ({op.signature})"
            )
        inputs = [given.pop(n) for n in names]
        # Made hashable, as keys of kernels' caches.
        given = {key: _attribute(kinds.get(key, ""), x) for key, x in given.items()}
        result = execute(op, *inputs, name=name, **given)
        return packed(*result) if packed is not None else result

    run.__name__ = run.__qualname__ = op.name
    run.__doc__ = f"The op {op.name}: {op.signature}"
    return run


def __getattr__(name: str) -> Callable[..., Any]:
    found = None if name.startswith("__") else registry.find(name)
    if found is None:
        raise AttributeError(f"raw_ops has no op {name!r}")
    return _raw(found.name)


def __dir__() -> list[str]:
    return [name for name in registry.registered() if not name.startswith("_")]


__all__: list[str] = []
