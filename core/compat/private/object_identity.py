"""Collections by identity, for tensors, which are compared elementwise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping, MutableSet
from typing import Any

from pinnace.framework.tensor import Reference


class ObjectIdentityDictionary(MutableMapping[Any, Any]):
    """A mapping whose keys are compared by identity.

    Args:
        *items: a mapping, or pairs, to begin with.
    """

    def __init__(self, *items: Any) -> None:
        self._storage: dict[Reference, Any] = {}
        self.update(*items)

    def __getitem__(self, key: Any) -> Any:
        return self._storage[Reference(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._storage[Reference(key)] = value

    def __delitem__(self, key: Any) -> None:
        del self._storage[Reference(key)]

    def __len__(self) -> int:
        return len(self._storage)

    def __iter__(self) -> Iterator[Any]:
        return (key.deref() for key in self._storage)


class ObjectIdentitySet(MutableSet[Any]):
    """A set of objects compared by identity.

    Args:
        items: its initial elements.
    """

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._storage = {Reference(item) for item in items}

    def __contains__(self, item: object) -> bool:
        return Reference(item) in self._storage

    def add(self, value: Any) -> None:
        """Put it in."""
        self._storage.add(Reference(value))

    def discard(self, value: Any) -> None:
        """Remove the value if it is present."""
        self._storage.discard(Reference(value))

    def __len__(self) -> int:
        return len(self._storage)

    def __iter__(self) -> Iterator[Any]:
        return (item.deref() for item in self._storage)


__all__ = ["ObjectIdentityDictionary", "ObjectIdentitySet", "Reference"]
