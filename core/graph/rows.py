"""Layered drawing of one group: boxes in rows, with edges that lead down and rarely cross.

Source:
    K. Sugiyama, S. Tagawa, M. Toda: Methods for Visual Understanding of Hierarchical System
    Structures, 1981; ranks by longest paths, orders by barycentres.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

_SWEEPS = 8
# Rows larger than this keep their last order: counting crossings would take too long.
_MOST_COUNTED = 4_000
_ALONE_IN_A_ROW = 6
Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Rows:
    """The positions of a group's boxes.

    Attributes:
        rows: from the top; each its items from the left. Items below `count` are the boxes, others
            are the places where a long edge passes a row.
        routes: the places that an edge passes, in the direction of the edge.
        entries: by box, the places that edges pass which come to it from above the group.
        exits: by box, the places that edges pass which leave the group below.
        count: how many boxes there are.
    """

    rows: list[list[int]]
    routes: dict[Pair, list[int]]
    entries: dict[int, list[int]]
    exits: dict[int, list[int]]
    count: int


def in_rows(
    count: int,
    edges: Iterable[Pair],
    first: Collection[int] = (),
    entering: Iterable[int] = (),
    leaving: Iterable[int] = (),
) -> Rows:
    """Rows for boxes 0, 1, ... connected by edges.

    Args:
        count: how many boxes.
        edges: (from, to).
        first: boxes that stay as high as they can; others stand near what they lead to.
        entering: boxes to which edges come from outside.
        leaving: boxes from which edges go outside.
    """
    entering, leaving = list(dict.fromkeys(entering)), list(dict.fromkeys(leaving))
    wanted = list(dict.fromkeys((a, b) for a, b in edges if a != b))
    turned = _without_circles(count, wanted)
    linked = {end for pair in turned for end in pair} | {*entering, *leaving}
    ranks = _ranks(count, turned, set(first))
    height = max((ranks[one] for one in linked), default=-1) + 1
    rows: list[list[int]] = [[] for _ in range(height)]
    for one in range(count):
        if one in linked:
            rows[ranks[one]].append(one)
    places = _Places(count, ranks, rows)
    routes = places.between(wanted)
    entries = {one: places.column(one, range(ranks[one])) for one in entering}
    exits = {one: places.column(one, range(ranks[one] + 1, height)) for one in leaving}
    _order(rows, list(places.links))
    alone = [one for one in range(count) if one not in linked]
    rows.extend(
        alone[start : start + _ALONE_IN_A_ROW] for start in range(0, len(alone), _ALONE_IN_A_ROW)
    )
    return Rows([row for row in rows if row], routes, entries, exits, count)


def _without_circles(count: int, edges: Sequence[Pair]) -> list[Pair]:
    """The edges, with back edges of a depth-first walk reversed."""
    after: list[list[int]] = [[] for _ in range(count)]
    for a, b in edges:
        after[a].append(b)
    state = [0] * count  # 1: on the current path, 2: done
    back: set[Pair] = set()
    for root in range(count):
        if state[root]:
            continue
        state[root] = 1
        stack = [(root, iter(after[root]))]
        while stack:
            one, rest = stack[-1]
            for other in rest:
                if state[other] == 1:
                    back.add((one, other))
                elif state[other] == 0:
                    state[other] = 1
                    stack.append((other, iter(after[other])))
                    break
            else:
                state[one] = 2
                stack.pop()
    return list(dict.fromkeys((b, a) if (a, b) in back else (a, b) for a, b in edges))


def _ranks(count: int, edges: Sequence[Pair], first: set[int]) -> list[int]:
    """The row of each box: below its predecessors, and as low as possible otherwise."""
    after: list[list[int]] = [[] for _ in range(count)]
    waits = [0] * count
    for a, b in edges:
        after[a].append(b)
        waits[b] += 1
    ranks = [0] * count
    sources = [one for one in range(count) if not waits[one]]
    ready = list(sources)
    while ready:
        one = ready.pop()
        for other in after[one]:
            ranks[other] = max(ranks[other], ranks[one] + 1)
            waits[other] -= 1
            if not waits[other]:
                ready.append(other)
    for one in sources:
        if after[one] and one not in first:
            ranks[one] = min(ranks[other] for other in after[one]) - 1
    return ranks


class _Places:
    """Points where edges pass through rows, inserted on demand.

    Args:
        count: how many boxes.
        ranks: the row of each.
        rows: to put them into.
    """

    def __init__(self, count: int, ranks: Sequence[int], rows: list[list[int]]) -> None:
        self._ranks = ranks
        self._rows = rows
        self._next = count
        # Beyond this number of points edges are drawn straight: their bends would dominate the
        # picture.
        self._last = 9 * count + 2_000
        # Linked pairs in neighbouring rows, the upper one first.
        self.links: dict[Pair, None] = {}

    def _place(self, row: int) -> int:
        self._rows[row].append(self._next)
        self._next += 1
        return self._next - 1

    def between(self, edges: Sequence[Pair]) -> dict[Pair, list[int]]:
        """The places of each edge that passes rows; short edges first.

        The edges of one source share places: they are drawn as one line that forks.
        """
        ranks = self._ranks
        routes: dict[Pair, list[int]] = {}
        shared: dict[tuple[int, bool], dict[int, int]] = {}
        for a, b in sorted(edges, key=lambda pair: abs(ranks[pair[1]] - ranks[pair[0]])):
            down = ranks[b] > ranks[a]
            step = 1 if down else -1
            between = range(ranks[a] + step, ranks[b], step)
            if self._next + len(between) > self._last:
                continue
            places = shared.setdefault((a, down), {})
            for row in between:
                if row not in places:
                    places[row] = self._place(row)
            route = [places[row] for row in between]
            if route:
                routes[a, b] = route
            self._link([a, *route, b], down)
        return routes

    def column(self, one: int, between: range) -> list[int]:
        """The points from a box to the edge of its group, from the top."""
        if self._next + len(between) > self._last:
            return []
        places = [self._place(row) for row in between]
        above = bool(between) and between[0] < self._ranks[one]
        self._link([*places, one] if above else [one, *places], down=True)
        return places

    def _link(self, path: Sequence[int], down: bool) -> None:
        for one, other in pairwise(path):
            self.links[(one, other) if down else (other, one)] = None


def _order(rows: list[list[int]], links: Sequence[Pair]) -> None:
    """Sort each row in place so that few links cross."""
    above: dict[int, list[int]] = {}
    below: dict[int, list[int]] = {}
    for a, b in links:
        below.setdefault(a, []).append(b)
        above.setdefault(b, []).append(a)
    best = [list(row) for row in rows]
    counted = sum(map(len, rows)) <= _MOST_COUNTED
    fewest = _crossings(rows, below) if counted else 0
    for sweep in range(_SWEEPS):
        if counted and not fewest:
            break
        down = sweep % 2 == 0
        beside = above if down else below
        order = range(1, len(rows)) if down else range(len(rows) - 2, -1, -1)
        for index in order:
            near = rows[index - 1 if down else index + 1]
            place = {one: position for position, one in enumerate(near)}
            rows[index] = _sorted_row(rows[index], beside, place)
        crossings = _crossings(rows, below) if counted else 0
        if not counted or crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    rows[:] = best


def _sorted_row(
    row: Sequence[int], beside: dict[int, list[int]], place: dict[int, int]
) -> list[int]:
    """A row sorted by the mean position of neighbours; items without any keep their place."""
    means = {}
    for position, one in enumerate(row):
        near = [place[other] for other in beside.get(one, ()) if other in place]
        means[one] = sum(near) / len(near) if near else float(position)
    return sorted(row, key=means.__getitem__)


def _crossings(rows: Sequence[Sequence[int]], below: dict[int, list[int]]) -> int:
    total = 0
    for upper, lower in pairwise(rows):
        place = {one: position for position, one in enumerate(lower)}
        seen: list[int] = []
        for one in upper:
            ends = sorted(place[other] for other in below.get(one, ()) if other in place)
            total += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total
