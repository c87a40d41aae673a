"""Objects as checkpoints see them: `TrackableView` of live ones, `CheckpointView` of saved ones."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from pinnace.checkpoint.keys import OBJECT_GRAPH_KEY
from pinnace.checkpoint.object_graph import own_children, parse_object_graph, tree_of
from pinnace.checkpoint.state_file import resolve
from pinnace.framework.errors import InvalidArgumentError
from pinnace.storage.bundle import BundleReader

if TYPE_CHECKING:
    import os

    from pinnace.framework.trackable import Trackable


class TrackableView:
    """The objects below a root, by the names a checkpoint gives them.

    Args:
        root: the object to begin at; held weakly.
    """

    def __init__(self, root: Trackable) -> None:
        self._root = root if isinstance(root, weakref.ref) else weakref.ref(root)

    @property
    def root(self) -> Trackable:
        """The object to start from."""
        found: Trackable | None = self._root()
        if found is None:
            raise ReferenceError("TrackableView: the root is gone")
        return found

    @classmethod
    def children(cls, obj: Trackable, save_type: str = "checkpoint") -> dict[str, Trackable]:
        """The children of an object, by name."""
        del save_type
        return dict(own_children(obj))

    def descendants(self) -> list[Trackable]:
        """Every object once, the nearest first."""
        return list(tree_of(self.root).objects)


class CheckpointView:
    """The objects of a checkpoint by number; the root is 0.

    Args:
        save_path: the checkpoint, or a folder whose newest is taken.

    Raises:
        NotFoundError: there is no checkpoint.
        InvalidArgumentError: the checkpoint has names only, no objects.
    """

    def __init__(self, save_path: str | os.PathLike[str]) -> None:
        path = resolve(save_path)
        bundle = BundleReader(path)
        if OBJECT_GRAPH_KEY not in bundle:
            raise InvalidArgumentError(
                f"CheckpointView: {path} holds names only, no objects: TensorFlow 1 wrote it"
            )
        data: bytes = bundle.read(OBJECT_GRAPH_KEY).item()
        self._graph = parse_object_graph(data, path)

    def children(self, node_id: int) -> dict[str, int]:
        """Name -> number of the children of an object."""
        if not 0 <= node_id < len(self._graph):
            raise InvalidArgumentError(
                f"CheckpointView: node_id must be in [0, {len(self._graph)}), got {node_id}"
            )
        return dict(self._graph[node_id].children)

    def descendants(self) -> list[int]:
        """The number of every object, the nearest to the root first."""
        found = [0]
        seen = {0}
        for node in found:
            for child in self.children(node).values():
                if child not in seen:
                    seen.add(child)
                    found.append(child)
        return found

    def match(self, obj: Trackable) -> dict[int, Trackable]:
        """Number -> object, for objects that the same names lead to from both roots.

        Args:
            obj: the root of live objects.
        """
        found: dict[int, Trackable] = {0: obj}
        queue = [(0, obj)]
        for node, target in queue:
            live = own_children(target)
            for name, child in self.children(node).items():
                if child not in found and name in live:
                    found[child] = live[name]
                    queue.append((child, live[name]))
        return found

    def diff(self, obj: Trackable) -> tuple[dict[int, Trackable], list[int], list[Trackable]]:
        """Paths in both, only in the checkpoint, and only in the objects.

        Args:
            obj: the root of live objects.
        """
        both = self.match(obj)
        matched = {id(target) for target in both.values()}
        saved = [node for node in self.descendants() if node not in both]
        live = [target for target in tree_of(obj).objects if id(target) not in matched]
        return both, saved, live
