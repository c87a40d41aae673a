"""Tracked lists, dicts and tuples, whose trackable items are children.

The children are computed from the content each time, so they are never stale. Nested containers are
wrapped when they are inserted.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, ClassVar, Self, SupportsIndex, TypeVar, cast, overload

from pinnace.framework.trackable import NoDependency, Trackable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


def wrap(value: object) -> object:
    """`value` in a form that can be tracked.

    A plain list or dict becomes a tracked copy, and so does a tuple that contains, at any depth,
    something to track; anything else is returned unchanged, including subclasses of list and dict.
    """
    kind = type(value)
    if kind is list:
        return ListWrapper(cast("list[object]", value))
    if kind is dict:
        return DictWrapper(cast("dict[object, object]", value))
    if kind is OrderedDict:
        return OrderedDictWrapper(cast("dict[object, object]", value))
    if isinstance(value, tuple) and not isinstance(value, Trackable):
        items = [wrap(item) for item in value]
        if any(isinstance(item, Trackable) for item in items):
            if kind is tuple:
                return TupleWrapper(items)
            if hasattr(kind, "_fields"):
                return _named_wrapper(kind)._make(items)  # type: ignore[attr-defined]  # a named tuple's
    return value.value if isinstance(value, NoDependency) else value


class ListWrapper(Trackable, list[T]):
    """A list whose trackable elements are its children, named by their indices.

    Args:
        items: its initial elements.
    """

    _plain_type: ClassVar[type] = list

    def __init__(self, items: Iterable[T] = ()) -> None:
        super().__init__(_wrapped(items))

    def _trackable_children(self) -> dict[str, Trackable]:
        return {str(i): item for i, item in enumerate(self) if isinstance(item, Trackable)}

    def append(self, item: T, /) -> None:
        """Add one element at the end."""
        super().append(_wrapped_one(item))
        self._children_changed()

    def extend(self, items: Iterable[T], /) -> None:
        """Add elements at the end."""
        super().extend(_wrapped(items))
        self._children_changed()

    def insert(self, index: SupportsIndex, item: T, /) -> None:
        """Add one element before the one at `index`."""
        super().insert(index, _wrapped_one(item))
        self._children_changed()

    @overload
    def __setitem__(self, key: SupportsIndex, value: T, /) -> None: ...

    @overload
    def __setitem__(self, key: slice, value: Iterable[T], /) -> None: ...

    def __setitem__(self, key: Any, value: Any, /) -> None:
        super().__setitem__(key, _wrapped(value) if isinstance(key, slice) else _wrapped_one(value))
        self._children_changed()

    def __iadd__(self, items: Iterable[T], /) -> Self:  # type: ignore[override,misc]  # as typeshed has it
        self.extend(items)
        return self

    def copy(self) -> ListWrapper[T]:
        """A copy as a tracked list."""
        return ListWrapper(self)

    __hash__ = None  # a list has none


class DictWrapper(Trackable, dict[K, V]):
    """A dict whose trackable values are its children, named by their keys, which must be strings.

    Args:
        *args: as for `dict`.
        **kwargs: as for `dict`.
    """

    _plain_type: ClassVar[type] = dict

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self.update(*args, **kwargs)

    def _trackable_children(self) -> dict[str, Trackable]:
        children: dict[str, Trackable] = {}
        for key, value in self.items():
            if isinstance(value, Trackable):
                if not isinstance(key, str):
                    raise ValueError(  # noqa: TRY004 (TensorFlow raises it too)
                        f"A dict with something to save in it must have strings as keys, "
                        f"got {key!r} ({type(key).__name__}) for {type(value).__name__}\n"
                        "  Try: str(key), or NoDependency(dict) to leave the whole dict out"
                    )
                children[key] = value
        return children

    def __setitem__(self, key: K, value: V, /) -> None:
        super().__setitem__(key, _wrapped_one(value))
        self._children_changed()

    def setdefault(self, key: K, default: Any = None, /) -> Any:
        """The value of `key`, set to `default` if it is missing."""
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Add or replace entries, like `dict.update`."""
        new: dict[Any, Any] = dict(*args, **kwargs)
        for key, value in new.items():
            self[key] = value

    def __ior__(self, other: Mapping[K, V] | Iterable[tuple[K, V]], /) -> Self:  # type: ignore[override,misc]  # dict's own has overloads
        self.update(other)
        return self

    def copy(self) -> DictWrapper[K, V]:
        """A copy as a tracked dict."""
        return DictWrapper(self)

    __hash__ = None  # a dict has none


class OrderedDictWrapper(DictWrapper[K, V], OrderedDict[K, V]):
    """A tracked OrderedDict, like DictWrapper."""

    _plain_type: ClassVar[type] = OrderedDict

    def copy(self) -> OrderedDictWrapper[K, V]:
        """A copy as a tracked OrderedDict."""
        return OrderedDictWrapper(self)


class TupleWrapper(Trackable, tuple[T, ...]):
    """A tuple whose trackable elements are its children.

    Items are named by their indices, or by their fields in a named tuple. `wrap` creates it.
    """

    __slots__ = ()

    _plain_type: ClassVar[type] = tuple

    def _trackable_children(self) -> dict[str, Trackable]:
        names = getattr(type(self), "_fields", None) or range(len(self))
        return {
            str(name): item
            for name, item in zip(names, self, strict=True)
            if isinstance(item, Trackable)
        }

    def __reduce__(self) -> tuple[Callable[[object], object], tuple[object]]:
        plain = type(self)._plain_type
        return wrap, (plain(*self) if hasattr(plain, "_fields") else plain(self),)

    def __eq__(self, other: object) -> bool:
        return tuple.__eq__(self, other)

    def __hash__(self) -> int:
        return tuple.__hash__(self)


def _named_wrapper(kind: type) -> type:
    """A subclass of the named tuple `kind` whose items are tracked."""
    return type(kind.__name__, (TupleWrapper, kind), {"_plain_type": kind})


def _wrapped(items: Iterable[T]) -> list[T]:
    return [_wrapped_one(item) for item in items]


def _wrapped_one(item: T) -> T:
    return cast("T", wrap(item))
