"""A limited number of slots for many keys, held by those used most recently.

The form of a set of shapes takes memory, so a plan has few of them. The first sets of shapes need
not be the most frequent: a slot passes to another key as soon as that is requested twice as often
as its holder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, MutableMapping

# Requests for keys without a slot after which all counts are halved, so that old requests count
# less; most keys that are counted.
_WINDOW, _MOST = 128, 1024
# Requests beyond twice the holder's, so that a key requested once or twice takes no slot away.
_BEYOND = 3


class Used(Protocol):
    """An entry that holds a share.

    Attributes:
        uses: how often it was used; its owner increments it, `Shares` halves it.
    """

    uses: int


T = TypeVar("T", bound=Used)


class Shares(Generic[T]):
    """The assignment of slots to keys. It is not thread-safe: the caller holds a lock.

    Args:
        held: the holder of each slot, by key; None is a key that needs no slot.
        places: the number of slots.
    """

    def __init__(self, held: MutableMapping[Hashable, T | None], places: int) -> None:
        self._held = held
        self._places = places
        self._asked: dict[Hashable, int] = {}
        self._requests = 0

    def admit(self, key: Hashable, *, at_once: bool = False) -> int:
        """The number of requests of a key without a slot, if it gets one now; else 0.

        Another key may lose its slot. The new holder starts with this many uses.

        Args:
            key: the requested key.
            at_once: give it a slot in any case, replacing the least used holder.
        """
        count = self._asked[key] = self._asked.get(key, 0) + 1
        self._requests += 1
        if self._requests % _WINDOW == 0 or len(self._asked) > _MOST:
            self._age()
        if at_once:
            self._drop_least()
        taken = [one for one, holder in self._held.items() if holder is not None]
        if len(taken) >= self._places:
            last = min(taken, key=self._uses)
            if count < 2 * self._uses(last) + _BEYOND:
                return 0
            self._asked[last] = self._uses(last)
            del self._held[last]
        if len(self._held) > _MOST:  # including keys that need no slot
            for one in [one for one, holder in self._held.items() if holder is None]:
                del self._held[one]
        self._asked.pop(key, None)
        return count

    def _drop_least(self) -> None:
        """Free the slot of the least used key, if all are taken."""
        taken = [one for one, holder in self._held.items() if holder is not None]
        if len(taken) >= self._places:
            del self._held[min(taken, key=self._uses)]

    def _uses(self, key: Hashable) -> int:
        holder = self._held[key]
        return 0 if holder is None else holder.uses

    def _age(self) -> None:
        self._asked = {key: count // 2 for key, count in self._asked.items() if count > 1}
        for holder in self._held.values():
            if holder is not None:
                holder.uses //= 2
