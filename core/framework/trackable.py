"""Objects with named children, the graph that checkpoints, SavedModels and `variables` traverse."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")
Path = tuple[str, ...]


class Trackable:
    """An object that may have named children.

    A subclass's constructor need not call anything: the table of children is created with the first
    child.
    """

    _tracked: dict[str, Trackable]

    def _trackable_children(self) -> dict[str, Trackable]:
        """The children by name, in the order in which they were first tracked.

        A class whose children follow from its contents overrides this.
        """
        return dict(self.__dict__.get("_tracked", ()))

    def _children_elsewhere(self) -> dict[str, Trackable]:
        """Children under the names that the class has for them in TensorFlow or Keras.

        Only names that are not in `_trackable_children`. A checkpoint records both names of an
        object, so that either can be looked up.
        """
        return {}

    def _track(self, name: str, child: Trackable, overwrite: bool = False) -> Trackable:
        """Make `child` a child of this object and return it.

        Args:
            name: its name here; part of its key in checkpoints.
            child: the object; it may have other parents.
            overwrite: whether it may take the place of another child.

        Raises:
            TypeError: `child` is not a Trackable.
            ValueError: the name belongs to another object.
        """
        if not isinstance(child, Trackable):
            raise TypeError(
                f"{type(self).__name__}: child {name!r} must be a Trackable, "
                f"got {type(child).__name__}"
            )
        tracked = self.__dict__.get("_tracked")
        if tracked is None:
            tracked = {}
            # Past any __setattr__ of a subclass: this is bookkeeping, no attribute of the user's.
            object.__setattr__(self, "_tracked", tracked)
        known = tracked.get(name)
        if known is not None and known is not child and not overwrite:
            raise ValueError(
                f"{type(self).__name__}: a child named {name!r} is there already "
                f"({type(known).__name__})"
            )
        tracked[name] = child
        self._children_changed()
        return child

    def _untrack(self, name: str) -> None:
        """Remove the child of that name, if there is one."""
        tracked = self.__dict__.get("_tracked")
        if tracked:
            tracked.pop(name, None)

    def __getstate__(self) -> object:
        """The state for pickle and deepcopy: all but callbacks that wait for children."""
        state = super().__getstate__()
        if isinstance(state, dict) and "_waiting_for_children" in state:
            return {key: x for key, x in state.items() if key != "_waiting_for_children"}
        return state

    def _when_children_change(self, waiting: Callable[[], bool]) -> None:
        """Call `waiting` whenever this object gets new children, until it returns True.

        This is how a checkpoint restores objects created later.
        """
        found = self.__dict__.get("_waiting_for_children")
        if found is None:
            found = []
            object.__setattr__(self, "_waiting_for_children", found)
        found.append(waiting)

    def _children_changed(self) -> None:
        """Notify the listeners for children."""
        found = self.__dict__.get("_waiting_for_children")
        if found:
            found[:] = [waiting for waiting in list(found) if not waiting()]


class NoDependency(Generic[T]):
    """A wrapper for an attribute's value that is neither tracked nor wrapped.

    `self.shared = NoDependency(layer)` stores `layer` and leaves it out of checkpoints.
    """

    __slots__ = ("value",)

    def __init__(self, value: T) -> None:
        self.value = value


def walk(root: Trackable) -> Iterator[tuple[Trackable, Path]]:
    """Every object below `root`, `root` first, breadth first.

    Several parents and cycles are fine: each object comes once.

    Yields:
        (object, path): the names that lead to it the shortest way; of equally short ways the first.
    """
    seen = {id(root)}
    queue: deque[tuple[Trackable, Path]] = deque([(root, ())])
    while queue:
        parent, path = queue.popleft()
        yield parent, path
        for name, child in parent._trackable_children().items():
            if id(child) not in seen:
                seen.add(id(child))
                queue.append((child, (*path, name)))


def is_variable(x: object) -> bool:
    """Whether it is a variable, or its class is marked as one."""
    return getattr(type(x), "_is_variable", False) is True


def walk_variables(root: Trackable) -> Iterator[tuple[Trackable, Path]]:
    """The variables among the objects below `root`, in the order of `walk`."""
    return ((x, path) for x, path in walk(root) if is_variable(x))
