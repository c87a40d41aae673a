"""Elements that fail: they end neither a pass nor `ignore_errors`.

A generator ends with the first error that passes through it, and what follows would be lost. Inside
generators an error is therefore a value among the elements, and `raising` raises it outside.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class Failure:
    """An error in place of an element."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error


class Guarded:
    """The items of an iterator, with a Failure in place of each that raises an error."""

    __slots__ = ("_source",)

    def __init__(self, source: Iterator[Any]) -> None:
        self._source = source

    def __iter__(self) -> Guarded:
        return self

    def __next__(self) -> Any:
        try:
            return next(self._source)
        except StopIteration:
            raise
        except Exception as error:
            return Failure(error)


class Raising:
    """The items of an iterator; the error of each Failure is raised."""

    __slots__ = ("_items",)

    def __init__(self, items: Iterator[Any]) -> None:
        self._items = items

    def __iter__(self) -> Raising:
        return self

    def __next__(self) -> Any:
        item = next(self._items)
        if type(item) is Failure:
            raise item.error
        return item


def raising(method: Callable[..., Iterator[Any]]) -> Callable[..., Any]:
    """A decorator for methods that are generators and may yield Failures."""

    @functools.wraps(method)
    def wrapped(*args: Any) -> Raising:
        return Raising(method(*args))

    return wrapped


class Chained:
    """The items of one iterator after the other; an item that fails does not end the iteration."""

    __slots__ = ("_current", "_parts")

    def __init__(self, make: Callable[[Any], Iterable[Any]], items: Iterable[Any]) -> None:
        """`make` makes the iterators of `items`, each when the one before it ends."""
        self._parts = map(make, items)
        self._current: Iterator[Any] = iter(())

    def __iter__(self) -> Chained:
        return self

    def __next__(self) -> Any:
        for item in self._current:
            return item
        while True:
            self._current = iter(next(self._parts))
            for item in self._current:
                return item
