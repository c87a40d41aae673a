"""Fast packing and unpacking of calls and results of plain structure.

A call with nothing but eager tensors in tuples, lists and dicts has a key of their shapes, dtypes
and nesting: making it takes a few steps for each tensor, and the trace of a key is cached. Anything
else (numbers, variables, ragged tensors, strings) takes the general path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Packer = Callable[[Any], Any]


def gather(values: Sequence[Any], key: list[object], tensors: list[Tensor]) -> bool:
    """Whether a call is of that kind.

    Args:
        values: the arguments, or what is in one of them.
        key: shapes, dtypes and nesting are added to it.
        tensors: the tensors are added to it, in the order of `structure.flatten`.
    """
    for value in values:
        kind = type(value)
        if kind is Tensor:
            array = value._array
            dtype = array.dtype
            if dtype.hasobject:
                # Strings, handles and lists: all have the same NumPy dtype.
                return False
            key.append(array.shape)
            key.append(dtype)
            tensors.append(value)
        elif kind is tuple or kind is list:
            key.append((kind, len(value)))
            if not gather(value, key, tensors):
                return False
        elif kind is dict:
            try:
                names = tuple(sorted(value))
            except TypeError:
                return False
            key.append((kind, names))
            if not gather([value[name] for name in names], key, tensors):
                return False
        else:
            return False
    return True


def packer(results: Any) -> Packer | None:
    """A function from an iterator of tensors to them in this structure.

    None if it holds anything but TensorSpecs in tuples, lists and dicts.
    """
    kind = type(results)
    if isinstance(results, TensorSpec):
        return next
    if kind is tuple or kind is list:
        parts = [packer(part) for part in results]
        if any(part is None for part in parts):
            return None
        if all(part is next for part in parts):
            count = len(parts)
            return lambda tensors: kind([next(tensors) for _ in range(count)])
        return lambda tensors: kind([part(tensors) for part in parts])  # type: ignore[misc]
    if kind is dict:
        try:
            names = sorted(results)
        except TypeError:
            return None
        inside = {name: packer(results[name]) for name in names}
        if any(part is None for part in inside.values()):
            return None
        order = list(results)

        def pack(tensors: Any) -> Any:
            found = {name: part(tensors) for name, part in inside.items()}  # type: ignore[misc]
            return {name: found[name] for name in order}

        return pack
    return None
