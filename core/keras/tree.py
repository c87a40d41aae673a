"""`keras.tree`: nested structures by Keras' rules.

Unlike in `tf.nest`, an OrderedDict keeps its order, and None is a leaf.
"""

from __future__ import annotations

import collections
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class MAP_TO_NONE:  # noqa: N801 (Keras' name)
    """A result for `traverse` that means None; None itself continues the traversal."""

    def __init__(self) -> None:
        raise NotImplementedError("keras.tree.MAP_TO_NONE: the class itself is the value")


def is_nested(structure: Any) -> bool:
    """Whether it contains other values: a list, tuple, dict or deque, even if empty.

    Args:
        structure: anything.
    """
    return isinstance(structure, (list, tuple, dict, collections.deque))


def flatten(structure: Any) -> list[Any]:
    """The leaves in order: dicts sorted by key, OrderedDicts in their own order.

    Args:
        structure: values in lists, tuples and dicts, or a single one.
    """
    return [leaf for _, leaf in _walk(structure, ())]


def flatten_with_path(structure: Any) -> list[tuple[tuple[Any, ...], Any]]:
    """The leaves, each with the numbers and keys that lead to it.

    Args:
        structure: values in lists, tuples and dicts, or a single one.

    Returns:
        Pairs (path, leaf); the path of a single value is empty.
    """
    return list(_walk(structure, ()))


def map_structure(func: Callable[..., Any], *structures: Any, none_is_leaf: bool = True) -> Any:
    """The results of a function for the leaves in the same places.

    Args:
        func: takes a leaf of each structure.
        *structures: one or several, equally nested.
        none_is_leaf: whether it is called for None too, which else stays None.

    Returns:
        A structure like the first.

    Raises:
        TypeError: `func` is no function.
        ValueError: no structure, or they are nested differently.
    """
    if not callable(func):
        raise TypeError(f"keras.tree.map_structure: func must be callable, got {func!r}")
    if not structures:
        raise ValueError("keras.tree.map_structure: there must be one structure at least")

    def mapped(first: Any, *others: Any) -> Any:
        if not is_nested(first):
            if any(is_nested(other) for other in others):
                raise _differing("map_structure", first, others)
            return None if first is None and not none_is_leaf else func(first, *others)
        rows = [_matched("map_structure", first, other) for other in others]
        parts = zip(_parts(first), *rows, strict=True)
        return _rebuilt(first, [mapped(part, *rest) for (_, part), *rest in parts])

    return mapped(*structures)


def map_structure_up_to(shallow_structure: Any, func: Callable[..., Any], *structures: Any) -> Any:
    """The results of a function for the parts in the places of a shallow structure's leaves.

    Args:
        shallow_structure: how far the others are taken apart.
        func: takes a part of each.
        *structures: one or several, nested like the shallow one or deeper.

    Returns:
        A structure like the shallow one.

    Raises:
        ValueError: no structure, or one is not nested like the shallow one.
    """
    if not structures:
        raise ValueError("keras.tree.map_structure_up_to: there must be one structure at least")

    def mapped(shallow: Any, *parts: Any) -> Any:
        if not is_nested(shallow):
            return func(*parts)
        rows = [_matched("map_structure_up_to", shallow, part) for part in parts]
        return _rebuilt(
            shallow,
            [mapped(part, *rest) for (_, part), *rest in zip(_parts(shallow), *rows, strict=True)],
        )

    return mapped(shallow_structure, *structures)


def assert_same_structure(a: Any, b: Any, check_types: bool | None = None) -> None:
    """Raise unless both are nested in the same way, by collections of the same types.

    Args:
        a: values in lists, tuples and dicts, or a single one.
        b: likewise; a dict, an OrderedDict and a defaultdict of the same keys are alike.
        check_types: has no effect, which a warning says.

    Raises:
        ValueError: the structures are nested differently.
    """
    if check_types is not None:
        warnings.warn(
            "keras.tree.assert_same_structure: check_types has no effect; "
            "assert_same_paths treats lists and tuples alike",
            DeprecationWarning,
            stacklevel=2,
        )
    if is_nested(a) != is_nested(b):
        raise _differing("assert_same_structure", a, (b,))
    if is_nested(a):
        others = _matched("assert_same_structure", a, b)
        for (_, part), other in zip(_parts(a), others, strict=True):
            assert_same_structure(part, other)


def assert_same_paths(a: Any, b: Any) -> None:
    """Raise unless the leaves of both have the same paths, whatever the collections are.

    Args:
        a: values in lists, tuples and dicts, or a single one.
        b: likewise.

    Raises:
        ValueError: a path is only in one of them.
    """
    one, other = ({path for path, _ in _walk(x, ())} for x in (a, b))
    if one != other:
        told = [
            f"only in {name}: {sorted(paths, key=repr)}"
            for name, paths in (("a", one - other), ("b", other - one))
            if paths
        ]
        raise ValueError(
            f"keras.tree.assert_same_paths: a and b do not have the same paths; {'; '.join(told)}"
        )


def pack_sequence_as(structure: Any, flat_sequence: Iterable[Any]) -> Any:
    """Values in the structure of another one.

    Args:
        structure: values in lists, tuples and dicts, or a single one.
        flat_sequence: as many values as it has leaves, in the order of `flatten`.

    Returns:
        A structure like `structure`.

    Raises:
        TypeError: `flat_sequence` cannot be gone through.
        ValueError: the numbers of values and leaves differ.
    """
    values = list(flat_sequence)
    count = len(flatten(structure))
    if len(values) != count:
        raise ValueError(
            f"keras.tree.pack_sequence_as: the structure has {count} leaves, got "
            f"{len(values)} values"
        )
    rest = iter(values)

    def packed(like: Any) -> Any:
        if not is_nested(like):
            return next(rest)
        return _rebuilt(like, [packed(part) for _, part in _parts(like)])

    return packed(structure)


def traverse(func: Callable[[Any], Any], structure: Any, top_down: bool = True) -> Any:
    """The structure with parts replaced by the results of a function.

    Args:
        func: takes a part, the whole and the leaves too, gives what replaces it; None if it
            stays, `MAP_TO_NONE` if None replaces it.
        structure: values in lists, tuples and dicts, or a single one.
        top_down: whether a part comes before what is in it, which is then left alone where the
            part is replaced; else behind it.

    Raises:
        TypeError: `func` is no function.
    """
    if not callable(func):
        raise TypeError(f"keras.tree.traverse: func must be callable, got {func!r}")

    def inside(part: Any) -> Any:
        if not is_nested(part):
            return part
        return _rebuilt(part, [visited(child) for _, child in _parts(part)])

    def visited(part: Any) -> Any:
        whole = part if top_down else inside(part)
        found = func(whole)
        if found is None:
            return inside(part) if top_down else whole
        return None if found is MAP_TO_NONE else found

    return visited(structure)


def lists_to_tuples(structure: Any) -> Any:
    """The structure with tuples in the place of lists.

    Args:
        structure: values in lists, tuples and dicts, or a single one.
    """
    return traverse(lambda x: tuple(x) if isinstance(x, list) else None, structure, False)


def map_shape_structure(func: Callable[[Any], Any], structure: Any) -> Any:
    """The results of a function for each shape: a list or tuple of numbers and None.

    Args:
        func: takes a shape.
        structure: shapes in lists, tuples and dicts, or a single one.

    Returns:
        A structure like it, with the function's results in the places of the shapes.

    Raises:
        TypeError: `func` is no function.
    """
    if not callable(func):
        raise TypeError(f"keras.tree.map_shape_structure: func must be callable, got {func!r}")

    def mapped(part: Any) -> Any:
        sizes = isinstance(part, (list, tuple))
        if not is_nested(part) or (sizes and all(n is None or isinstance(n, int) for n in part)):
            return func(part)
        return _rebuilt(part, [mapped(child) for _, child in _parts(part)])

    return mapped(structure)


def _walk(x: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if not is_nested(x):
        yield path, x
        return
    for key, part in _parts(x):
        yield from _walk(part, (*path, key))


def _keys(x: dict[Any, Any]) -> list[Any]:
    if isinstance(x, collections.OrderedDict):
        return list(x)
    try:
        return sorted(x)
    except TypeError:
        # Keys of several types have no order: they are sorted by the names of the types first.
        return sorted(x, key=lambda key: (type(key).__qualname__, repr(key)))


def _parts(x: Any) -> list[tuple[Any, Any]]:
    return [(key, x[key]) for key in _keys(x)] if isinstance(x, dict) else list(enumerate(x))


def _rebuilt(like: Any, parts: list[Any]) -> Any:
    if isinstance(like, dict):
        found = dict(zip(_keys(like), parts, strict=True))
        kept = {key: found[key] for key in like}
        if isinstance(like, collections.defaultdict):
            return collections.defaultdict(like.default_factory, kept)
        return collections.OrderedDict(kept) if isinstance(like, collections.OrderedDict) else kept
    if isinstance(like, collections.deque):
        return collections.deque(parts, like.maxlen)
    if isinstance(like, tuple):
        return type(like)(*parts) if hasattr(like, "_fields") else tuple(parts)
    return parts


def _matched(who: str, like: Any, other: Any) -> list[Any]:
    """The parts of `other` in the order of those of `like`."""
    if isinstance(like, dict):
        if not isinstance(other, dict) or other.keys() != like.keys():
            raise _differing(who, like, (other,))
        return [other[key] for key in _keys(like)]
    if _form(like) is not _form(other) or len(like) != len(other):
        raise _differing(who, like, (other,))
    return list(other)


def _form(x: Any) -> Any:
    if isinstance(x, tuple):
        return type(x) if hasattr(x, "_fields") else tuple
    return next((kind for kind in (list, collections.deque) if isinstance(x, kind)), None)


def _differing(who: str, first: Any, others: Iterable[Any]) -> ValueError:
    got = list(others)
    told = " and ".join(repr(x)[:60] for x in (first, *got))
    kinds = " and ".join(type(x).__name__ for x in got)
    return ValueError(
        f"keras.tree.{who}: the structures are nested differently, expected {_kind(first)}, "
        f"got {kinds}: {told}"
    )


def _kind(x: Any) -> str:
    """`tuple of 2`, `dict of a, b`, or the type of a leaf."""
    if isinstance(x, dict):
        return f"{type(x).__name__} of {', '.join(map(str, x))}"
    return f"{type(x).__name__} of {len(x)}" if is_nested(x) else type(x).__name__
