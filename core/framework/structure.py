"""Nested structures by the rules of TensorFlow's `nest`: flatten, pack, map, compare.

Sequences but strings, mappings and their views, classes of `attrs` and those with `__tf_flatten__`
are structure; all else is a leaf, also None, arrays and other dataclasses. Mappings are flattened
by sorted key and packed in the order of the structure they are packed as. A single leaf is a
structure too.

With `expand_composites` a value made of several tensors (a ragged or sparse tensor, marked by the
class attribute `_is_composite`) is replaced by its components, and so is its spec.
"""

# optree is not used here: it orders OrderedDict by insertion, opens deques and treats subclasses of
# list and dict as leaves. It takes 31 ms to import, and longer to flatten (a flat tuple 0.9 against
# 0.5 microseconds, eleven leaves in six containers 3.5 against 3.1); only packing is faster.

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, MappingView, Sequence
from typing import Any, Final, TypeAlias

from pinnace.framework.specs import TensorSpec, TypeSpec

Nest: TypeAlias = Any
Path: TypeAlias = tuple[object, ...]

_LEAF: Final = 0
_LIST: Final = 1
_TUPLE: Final = 2
_NAMED: Final = 3
_DICT: Final = 4
_COMPOSITE: Final = 5
_OBJECT: Final = 6  # of attrs, or with __tf_flatten__
_KIND_NAMES = (
    *("a leaf", "a list", "a tuple", "a named tuple", "a mapping", "a composite value"),
    "an object with parts",
)


def _classify(kind: type) -> int:
    """The kind of structure that instances of a class are."""
    if issubclass(kind, tuple):
        return _NAMED if hasattr(kind, "_fields") else _TUPLE
    if issubclass(kind, Mapping):
        return _DICT
    if hasattr(kind, "__attrs_attrs__") or hasattr(kind, "__tf_flatten__"):
        return _OBJECT
    listed = issubclass(kind, (Sequence, MappingView))
    return _LIST if listed and not issubclass(kind, (str, bytes, bytearray)) else _LEAF


# Remembered, since asking costs more than flattening.
_kind_of: Callable[[type], int] = functools.lru_cache(maxsize=4096)(_classify)


def _kind(x: object) -> int:
    return _kind_of(type(x))


def _expanding_kind(x: object) -> int:
    if isinstance(x, TypeSpec):
        # A spec without component specs is a leaf: it cannot be expanded.
        known = type(x).component_specs is not TypeSpec.component_specs
        return _COMPOSITE if known and not isinstance(x, TensorSpec) else _LEAF
    if getattr(type(x), "_is_composite", False):
        return _COMPOSITE
    return _kind(x)


def _sorted_keys(x: Mapping[Any, object]) -> list[Any]:
    try:
        return sorted(x)
    except TypeError:
        keys = list(x)
        raise TypeError(
            f"A nested dict must have keys that can be sorted, got {_excerpt(keys)}"
        ) from None


def _entries(x: Nest, kind: int) -> list[tuple[object, Nest]]:
    """The (key, element) pairs of one level, in the order in which they are flattened."""
    if kind == _DICT:
        return [(key, x[key]) for key in _sorted_keys(x)]
    if kind == _NAMED:
        return list(zip(type(x)._fields, x, strict=True))
    if kind == _OBJECT and not hasattr(x, "__tf_flatten__"):
        return [(field.name, getattr(x, field.name)) for field in x.__attrs_attrs__]
    return list(enumerate(_parts(x, kind)))


def _components(x: Nest) -> tuple[object, ...]:
    return x.component_specs() if isinstance(x, TypeSpec) else x.spec.to_components(x)


def _parts(x: Nest, kind: int) -> Iterable[Nest]:
    """The elements of one level, in the order in which they are flattened."""
    if kind == _DICT:
        return [x[key] for key in _sorted_keys(x)]
    if kind == _OBJECT:
        if hasattr(x, "__tf_flatten__"):
            return x.__tf_flatten__()[1]  # type: ignore[no-any-return]
        return [part for _, part in _entries(x, kind)]
    return x if kind != _COMPOSITE else _components(x)


def _rebuild(like: Nest, kind: int, items: list[Nest]) -> Nest:
    """A structure of the kind of `like` with these elements, given in flattening order."""
    make = type(like)
    if make is tuple:
        return tuple(items)
    if make is list:
        return items
    if kind == _COMPOSITE:
        return (like if isinstance(like, TypeSpec) else like.spec).from_components(items)
    # A tracked container (containers.py) is packed as a plain one.
    make = getattr(make, "_plain_type", make)
    if kind == _DICT:
        by_key = dict(zip(_sorted_keys(like), items, strict=True))
        ordered = {key: by_key[key] for key in like}  # the order of insertion, not of flattening
        if isinstance(like, defaultdict):
            return defaultdict(like.default_factory, ordered)
        return ordered if make is dict else make(ordered)
    if kind == _OBJECT and hasattr(like, "__tf_flatten__"):
        return like.__tf_unflatten__(like.__tf_flatten__()[0], tuple(items))
    if kind in {_NAMED, _OBJECT}:
        return make(*items)
    # Views of mappings and ranges cannot be made of any elements.
    return items if issubclass(make, (MappingView, range)) else make(items)


def is_nested(seq: object) -> bool:
    """Whether it is structure (a list, tuple or mapping) rather than a leaf."""
    return _kind(seq) != _LEAF


def flatten(structure: Nest, expand_composites: bool = False) -> list[Any]:
    """The leaves, in order.

    Args:
        structure: a nested structure or a leaf.
        expand_composites: whether ragged and sparse tensors count as the tensors they are made of.

    Raises:
        TypeError: a mapping has keys that cannot be sorted.
    """
    leaves: list[Any] = []
    if expand_composites:
        _expand_into(structure, leaves)
    elif kind := _kind(structure):
        _flatten_into(structure, kind, leaves)
    else:
        leaves.append(structure)
    return leaves


def _flatten_into(x: Nest, kind: int, leaves: list[Any]) -> None:
    for item in _parts(x, kind) if kind in {_DICT, _OBJECT} else x:
        below = _kind_of(type(item))
        if below == _LEAF:
            leaves.append(item)
        else:
            _flatten_into(item, below, leaves)


def _expand_into(x: Nest, leaves: list[Any]) -> None:
    kind = _expanding_kind(x)
    if kind == _LEAF:
        leaves.append(x)
    else:
        for part in _parts(x, kind):
            _expand_into(part, leaves)


def flatten_with_paths(structure: Nest, expand_composites: bool = False) -> list[tuple[Path, Any]]:
    """The leaves, each with the keys that lead to it.

    Args:
        structure: a nested structure or a leaf; the path of a lone leaf is empty.
        expand_composites: whether ragged and sparse tensors count as the tensors they are made of.

    Returns:
        (path, leaf) in the order of `flatten`. A path holds indices, keys and field names.
    """
    return list(_with_paths(structure, (), _expanding_kind if expand_composites else _kind))


def _with_paths(
    x: Nest, path: Path, kind_of: Callable[[object], int]
) -> Iterator[tuple[Path, Any]]:
    kind = kind_of(x)
    if kind == _LEAF:
        yield path, x
        return
    for key, item in _entries(x, kind):
        yield from _with_paths(item, (*path, key), kind_of)


def pack_sequence_as(
    structure: Nest, flat_sequence: Iterable[Any], expand_composites: bool = False
) -> Nest:
    """`flat_sequence` in the structure of `structure`; the inverse of `flatten`.

    Args:
        structure: a nested structure or a leaf, of which only the form counts.
        flat_sequence: as many values as the structure has leaves.
        expand_composites: whether ragged and sparse tensors are put together from their components.

    Raises:
        ValueError: the numbers of values and leaves differ.
        TypeError: `flat_sequence` is no sequence.
    """
    if isinstance(flat_sequence, (str, bytes)) or not hasattr(flat_sequence, "__iter__"):
        raise TypeError(
            "pack_sequence_as: flat_sequence must be a sequence of values, "
            f"got {_excerpt(flat_sequence)} ({type(flat_sequence).__name__})"
        )
    values = list(flat_sequence)
    kind_of = _expanding_kind if expand_composites else _kind
    rest = iter(values)
    try:
        packed = _pack(structure, rest, kind_of)
    except StopIteration:
        left = 1
    else:
        left = sum(1 for _ in rest)
    if left:
        wanted = len(flatten(structure, expand_composites))
        raise ValueError(
            f"pack_sequence_as: the structure has {wanted} leaves, got {len(values)} values\n"
            f"  structure: {_excerpt(structure)}\n  values: {_excerpt(values)}"
        )
    return packed


def _pack(like: Nest, values: Iterator[Any], kind_of: Callable[[object], int]) -> Nest:
    """The next values in the form of `like`; StopIteration if there are too few."""
    kind = kind_of(like)
    if kind == _LEAF:
        return next(values)
    return _rebuild(like, kind, [_pack(part, values, kind_of) for part in _parts(like, kind)])


def map_structure(
    func: Callable[..., Any],
    *structures: Nest,
    check_types: bool = True,
    expand_composites: bool = False,
) -> Nest:
    """`func` of the corresponding leaves, for every position.

    Args:
        func: takes one leaf of each structure.
        *structures: at least one, all of the same structure.
        check_types: whether a list where another has a tuple is an error.
        expand_composites: whether ragged and sparse tensors count as the tensors they are made of.

    Returns:
        The results in the form of the first structure.

    Raises:
        ValueError: no structure, or structures that differ.
        TypeError: structures that differ in type only, under `check_types`; or `func` is no
            function.
    """
    if not callable(func):
        raise TypeError(f"map_structure: func must be callable, got {_excerpt(func)}")
    if not structures:
        raise ValueError("map_structure: at least one structure is required, got none")
    kind_of = _expanding_kind if expand_composites else _kind
    if len(structures) == 1:
        return _map_one(func, structures[0], kind_of)
    first = structures[0]
    for other in structures[1:]:
        _compare(first, other, (), kind_of, check_types)
    leaves = [flatten(structure, expand_composites) for structure in structures]
    results = [func(*group) for group in zip(*leaves, strict=True)]
    return _pack(first, iter(results), kind_of)


def _map_one(func: Callable[..., Any], x: Nest, kind_of: Callable[[object], int]) -> Nest:
    kind = kind_of(x)
    if kind == _LEAF:
        return func(x)
    return _rebuild(x, kind, [_map_one(func, part, kind_of) for part in _parts(x, kind)])


def map_structure_with_paths(
    func: Callable[..., Any], structure: Nest, expand_composites: bool = False
) -> Nest:
    """`func(path, leaf)` for each leaf, in the given structure."""
    results = [func(path, leaf) for path, leaf in flatten_with_paths(structure, expand_composites)]
    return pack_sequence_as(structure, results, expand_composites)


def assert_same_structure(
    nest1: Nest, nest2: Nest, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Check that both have leaves at the same positions.

    Args:
        nest1: a nested structure or a leaf.
        nest2: another.
        check_types: whether lists, tuples and the types of named tuples must agree too. Any mapping
            agrees with any other, and a tracked container with the plain one.
        expand_composites: whether ragged and sparse tensors count as the tensors they are made of.

    Raises:
        ValueError: leaves at different places; the message names the first.
        TypeError: only the types differ.
    """
    _compare(nest1, nest2, (), _expanding_kind if expand_composites else _kind, check_types)


def _compare(
    a: Nest, b: Nest, path: Path, kind_of: Callable[[object], int], check_types: bool
) -> None:
    kind, other = kind_of(a), kind_of(b)
    if kind == other == _LEAF:
        return
    where = f"The structures differ {_at(path)}: "
    if kind != other:
        both = f"{_described(a, kind)} against {_described(b, other)}"
        if not {_LEAF, _DICT, _COMPOSITE}.isdisjoint((kind, other)):
            raise ValueError(where + both)
        if check_types:
            raise TypeError(where + both)
    elif check_types and (
        (kind == _NAMED and not _same_named(type(a), type(b)))
        or (kind == _OBJECT and type(a) is not type(b))
    ):
        raise TypeError(f"{where}{type(a).__name__} against {type(b).__name__}")
    mine, theirs = _entries(a, kind), _entries(b, other)
    if kind == _DICT:
        keys, others = [key for key, _ in mine], [key for key, _ in theirs]
        if keys != others:
            raise ValueError(f"{where}keys {_excerpt(keys)} against {_excerpt(others)}")
    elif len(mine) != len(theirs):
        raise ValueError(f"{where}{len(mine)} elements against {len(theirs)}")
    for (key, x), (_, y) in zip(mine, theirs, strict=True):
        _compare(x, y, (*path, key), kind_of, check_types)


def _same_named(a: Any, b: Any) -> bool:
    a, b = getattr(a, "_plain_type", a), getattr(b, "_plain_type", b)
    if a is b:
        return True
    # TensorFlow: named tuples match if their names and fields do; loading creates duplicates.
    return bool(a.__name__ == b.__name__ and a._fields == b._fields)


def flatten_up_to(shallow: Nest, structure: Nest, check_types: bool = True) -> list[Any]:
    """The parts of `structure` at the leaves of `shallow`; each may be a structure.

    Args:
        shallow: a nested structure or a leaf.
        structure: the same at the top, perhaps deeper.
        check_types: whether lists, tuples and the types of named tuples must agree too.

    Raises:
        ValueError: `structure` is not the same at the top.
        TypeError: only the types differ.
    """
    parts: list[Any] = []
    _flatten_up_to(shallow, structure, (), check_types, parts)
    return parts


def _flatten_up_to(a: Nest, b: Nest, path: Path, check_types: bool, parts: list[Any]) -> None:
    kind = _kind(a)
    if kind == _LEAF:
        parts.append(b)
        return
    # One level at a time: nested parts are compared when they are reached.
    top = _kind(b)
    flat_a = _rebuild_flat(a, kind)
    _compare(flat_a, b if top == _LEAF else _rebuild_flat(b, top), path, _kind, check_types)
    for (key, x), (_, y) in zip(_entries(a, kind), _entries(b, top), strict=True):
        _flatten_up_to(x, y, (*path, key), check_types, parts)


def _rebuild_flat(x: Nest, kind: int) -> Nest:
    return _rebuild(x, kind, [None] * len(_entries(x, kind)))


def map_structure_up_to(
    shallow: Nest, func: Callable[..., Any], *structures: Nest, check_types: bool = True
) -> Nest:
    """`func` of the corresponding parts at the leaves of `shallow`.

    Args:
        shallow: a nested structure or a leaf, whose form the result takes.
        func: takes one part of each structure.
        *structures: each the same as `shallow` at the top.
        check_types: whether lists, tuples and the types of named tuples must agree too.

    Raises:
        ValueError: no structure, or one that differs at the top.
        TypeError: only the types differ.
    """
    if not structures:
        raise ValueError("map_structure_up_to: at least one structure is required, got none")
    parts = [flatten_up_to(shallow, structure, check_types) for structure in structures]
    return pack_sequence_as(shallow, [func(*group) for group in zip(*parts, strict=True)])


def path_text(path: Sequence[object]) -> str:
    """A path in Python syntax: `['kernel'][0]`."""
    return "".join(f"[{key!r}]" for key in path)


def _at(path: Path) -> str:
    return f"at {path_text(path)}" if path else "at the top"


def _described(x: object, kind: int) -> str:
    return f"{_KIND_NAMES[kind]} ({_excerpt(x)})"


def _excerpt(x: object) -> str:
    text = repr(x)
    return text if len(text) <= 100 else text[:97] + "..."
