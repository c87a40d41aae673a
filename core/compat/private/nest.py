"""Nested structures with paths to their leaves, and comparison of their top levels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pinnace.framework import structure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pinnace.framework.structure import Nest, Path


def is_mapping(obj: object) -> bool:
    """Whether it is a mapping."""
    return isinstance(obj, Mapping)


def is_nested_or_composite(seq: object) -> bool:
    """Whether it is a nested structure or a composite value."""
    return structure.flatten([seq], expand_composites=True)[:1] != [seq] or is_nested(seq)


def flatten_with_tuple_paths(
    structure_: Nest, expand_composites: bool = False
) -> list[tuple[Path, Any]]:
    """The leaves, each with the tuple of keys that leads to it."""
    return structure.flatten_with_paths(structure_, expand_composites)


def yield_flat_paths(nest: Nest, expand_composites: bool = False) -> Iterator[Path]:
    """The keys that lead to each leaf."""
    return (path for path, _ in structure.flatten_with_paths(nest, expand_composites))


def flatten_with_joined_string_paths(
    structure_: Nest, separator: str = "/", expand_composites: bool = False
) -> list[tuple[str, Any]]:
    """The leaves, each with the keys that lead to it, joined by `/`."""
    pairs = structure.flatten_with_paths(structure_, expand_composites)
    return [(separator.join(map(str, path)), leaf) for path, leaf in pairs]


def map_structure_with_tuple_paths(
    func: Callable[..., Any], *structures: Nest, **options: Any
) -> Nest:
    """`func` applied to the keys of each leaf and to the structures' values there.

    Args:
        func: takes a tuple of keys and a leaf of each structure.
        *structures: at least one; the result has the form of the first.
        **options: `check_types` and `expand_composites`, as in `map_structure`.
    """
    first = structures[0]
    paths = structure.pack_sequence_as(
        first, [_Path(path) for path, _ in structure.flatten_with_paths(first)]
    )
    return structure.map_structure(
        lambda path, *leaves: func(path.keys, *leaves), paths, *structures, **options
    )


def map_structure_with_paths(func: Callable[..., Any], *structures: Nest, **options: Any) -> Nest:
    """Like `map_structure_with_tuple_paths`, with the keys joined by `/`."""
    return map_structure_with_tuple_paths(
        lambda path, *leaves: func("/".join(map(str, path)), *leaves), *structures, **options
    )


def map_structure_with_tuple_paths_up_to(
    shallow_tree: Nest, func: Callable[..., Any], *structures: Nest, **options: Any
) -> Nest:
    """Apply `func` to the keys of each leaf of `shallow_tree` and the values there.

    Args:
        shallow_tree: a structure, whose form the result takes.
        func: takes a tuple of keys and a part of each structure.
        *structures: structures equal to `shallow_tree` at the top.
        **options: `check_types`, as in `map_structure_up_to`.
    """
    paths = structure.pack_sequence_as(
        shallow_tree, [_Path(path) for path, _ in structure.flatten_with_paths(shallow_tree)]
    )
    return structure.map_structure_up_to(
        shallow_tree,
        lambda path, *parts: func(path.keys, *parts),
        paths,
        *structures,
        check_types=options.get("check_types", True),
    )


def assert_shallow_structure(
    shallow_tree: Nest, input_tree: Nest, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Check that a structure is the same as another at the top.

    Args:
        shallow_tree: the structure it must have at the top.
        input_tree: the structure.
        check_types: whether lists, tuples and the types of named tuples must agree too.
        expand_composites: has no effect: composite values are leaves here.

    Raises:
        ValueError: the structures differ.
        TypeError: only the types differ.
    """
    del expand_composites
    structure.flatten_up_to(shallow_tree, input_tree, check_types)


def get_traverse_shallow_structure(
    traverse_fn: Callable[[Any], Any], structure_: Nest, expand_composites: bool = False
) -> Nest:
    """The upper levels of a structure as bools: False where `traverse_fn` stops the traversal.

    Args:
        traverse_fn: takes a part; gives whether to go into it, or a structure of bools for what is
            directly in it.
        structure_: a nested structure.
        expand_composites: has no effect: composite values are leaves here.

    Raises:
        TypeError: `traverse_fn` gives something else, or a True where there is a leaf.
    """
    del expand_composites
    into = traverse_fn(structure_)
    if not structure.is_nested(structure_):
        if not isinstance(into, bool):
            raise TypeError(f"traverse_fn must return a bool for a leaf, got {into!r}")
        return into
    if not structure.is_nested(into):
        if not isinstance(into, bool):
            raise TypeError(f"traverse_fn must return a bool or a structure of them, got {into!r}")
        if not into:
            return False
        into = structure.map_structure_up_to(_level(structure_), lambda _: True, structure_)

    def below(enter: Any, part: Any) -> Any:
        if not isinstance(enter, bool):
            raise TypeError(f"traverse_fn must return bools in its structure, got {enter!r}")
        return get_traverse_shallow_structure(traverse_fn, part) if enter else False

    return structure.map_structure_up_to(_level(structure_), below, into, structure_)


def list_to_tuple(structure_: Nest) -> Nest:
    """The structure with a tuple for each list."""
    if type(structure_) is list:
        return tuple(map(list_to_tuple, structure_))
    if isinstance(structure_, Mapping):
        return type(structure_)({key: list_to_tuple(part) for key, part in structure_.items()})  # type: ignore[call-arg]
    return structure_


class _Path:
    """A path as one leaf: a tuple would count as structure."""

    def __init__(self, keys: Path) -> None:
        self.keys = keys


def _level(x: Nest) -> Nest:
    """The structure in which everything below the top level is a leaf."""
    if isinstance(x, Mapping):
        return dict.fromkeys(x)
    if hasattr(x, "_fields"):
        return type(x)(*[None] * len(x))
    return type(x)([None] * len(x))


is_sequence = is_nested = structure.is_nested


# Private there too; TensorFlow Probability calls them.


def _is_namedtuple(instance: object, strict: bool = False) -> bool:
    del strict
    return isinstance(instance, tuple) and hasattr(instance, "_fields")


def _yield_sorted_items(iterable: Nest) -> Iterator[tuple[Any, Any]]:
    if isinstance(iterable, Mapping):
        yield from ((key, iterable[key]) for key in sorted(iterable))
    elif _is_namedtuple(iterable):
        yield from zip(iterable._fields, iterable, strict=True)
    else:
        yield from enumerate(iterable)


def _yield_value(iterable: Nest) -> Iterator[Any]:
    return (value for _, value in _yield_sorted_items(iterable))


def _sequence_like(instance: Nest, args: Any) -> Nest:
    return structure.pack_sequence_as(_level(instance), list(args))
