"""Minimum cuts of flow networks."""

from collections import deque
from collections.abc import Hashable

SOURCE: Hashable = "source"
SINK: Hashable = "sink"


class Network:
    """A flow network; `cut` finds the cheapest separation of source and sink."""

    def __init__(self) -> None:
        self._edges: dict[Hashable, dict[Hashable, float]] = {SOURCE: {}, SINK: {}}

    def edge(self, start: Hashable, end: Hashable, capacity: float) -> None:
        """Add an edge that costs `capacity` if `start` is on the source's side and `end` is not."""
        if start == end:
            return
        there = self._edges.setdefault(start, {})
        there[end] = there.get(end, 0) + capacity
        self._edges.setdefault(end, {}).setdefault(start, 0)

    def cut(self, *, early: bool = False) -> set[Hashable]:
        """The nodes on the source's side of a minimum cut.

        Args:
            early: whether to return as few nodes as possible at that cost, else as many.
        """
        while self._augment():
            pass
        if early:
            return self._reached()
        behind: set[Hashable] = {SINK}
        queue: deque[Hashable] = deque([SINK])
        while queue:
            end = queue.popleft()
            for start in self._edges[end]:
                if start not in behind and self._edges[start].get(end, 0) > 0:
                    behind.add(start)
                    queue.append(start)
        return set(self._edges) - behind

    def _reached(self) -> set[Hashable]:
        found: set[Hashable] = {SOURCE}
        queue: deque[Hashable] = deque([SOURCE])
        while queue:
            for there, room in self._edges[queue.popleft()].items():
                if room > 0 and there not in found:
                    found.add(there)
                    queue.append(there)
        return found

    def _augment(self) -> bool:
        """Augment the flow along a shortest path; False if there is none."""
        came: dict[Hashable, Hashable] = {SOURCE: SOURCE}
        queue: deque[Hashable] = deque([SOURCE])
        while queue and SINK not in came:
            here = queue.popleft()
            for there, room in self._edges[here].items():
                if room > 0 and there not in came:
                    came[there] = here
                    queue.append(there)
        if SINK not in came:
            return False
        path = []
        end: Hashable = SINK
        while end != SOURCE:
            path.append((came[end], end))
            end = came[end]
        push = min(self._edges[a][b] for a, b in path)
        for a, b in path:
            self._edges[a][b] -= push
            self._edges[b][a] += push
        return True
