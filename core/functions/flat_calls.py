"""Fast packing and unpacking of calls and results with plain structures.

A call with only eager tensors in tuples, lists and dicts has a key of their shapes, dtypes and
nesting: it is computed in a few steps per tensor, and the trace of a key is cached. Calls with
anything else (numbers, variables, ragged tensors, strings) take the general path.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Packer = Callable[[Sequence[Tensor]], Any]

# Structures that are nested deeper are packed leaf by leaf.
_MOST_NESTED = 20


def gather(values: Sequence[Any], key: list[object], tensors: list[Tensor]) -> bool:
    """Whether a call has only eager tensors in tuples, lists and dicts.

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
    """A function from a sequence of tensors to a structure of them.

    None if it has anything but TensorSpecs in tuples, lists and dicts.
    """
    names: dict[str, object] = {}
    text = _packed(results, itertools.count(), names, _MOST_NESTED)
    if text is None:
        return None
    return eval(f"lambda tensors: {text}", names)  # type: ignore[no-any-return]


def _packed(
    results: Any, places: Iterator[int], names: dict[str, object], levels: int
) -> str | None:
    """The expression of a structure; dicts keep their order, though their leaves are sorted.

    Args:
        results: the structure.
        places: positions of the tensors that come next.
        names: the expression's names of dict keys; extended.
        levels: how deep it may be nested: Python reads expressions of some 100.
    """
    kind = type(results)
    if isinstance(results, TensorSpec):
        return f"tensors[{next(places)}]"
    if not levels:
        return None
    if kind is tuple or kind is list:
        parts = [_packed(part, places, names, levels - 1) for part in results]
        if None in parts:
            return None
        inside = "".join(f"{part}, " for part in parts)
        return f"({inside})" if kind is tuple else f"[{inside}]"
    if kind is dict:
        try:
            order = sorted(results)
        except TypeError:
            return None
        found = {key: _packed(results[key], places, names, levels - 1) for key in order}
        if None in found.values():
            return None
        called = {}
        for key in results:
            called[key] = f"key{len(names)}"
            names[called[key]] = key
        return "{" + ", ".join(f"{called[key]}: {found[key]}" for key in results) + "}"
    return None
