"""Where the boxes of a model go, and the ways of the edges between them.

Boxes stand in rows; a frame is a box that is arranged first. Places are counted along the way of
the data and across it, so that one arrangement serves every direction.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from pinnace.graph.rows import Rows, in_rows
from pinnace.keras.drawing.boxes import Box, Frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Pair = tuple[int, int]

_GAP_ALONG, _GAP_ACROSS = 44.0, 28.0
_EDGE_ACROSS = 8.0
_LOOP = 12.0
_PADDING = 20.0
# Room above the boxes of a frame for its name.
TITLE = 24.0
_SWEEPS = 12
# How much straighter a long edge is kept than the boxes at its ends.
_STRAIGHT = 4.0


class Point(NamedTuple):
    """A place: how far along the way of the data, and how far across it."""

    along: float
    across: float

    def moved(self, by: Point) -> Point:
        """The place, seen from another corner."""
        return Point(self.along + by.along, self.across + by.across)


Way = list[Point]


@dataclass(slots=True)
class Arranged:
    """A frame with everything in its place, seen from its corner.

    Attributes:
        size: of all of it.
        corners: by key, the corner of each box.
        frames: the frames in it, each with its corner and size.
        ways: of the edges that begin and end in it.
        entries: by edge from outside, its way from the border to the box.
        exits: by edge to outside, its way from the box to the border.
    """

    size: Point
    corners: dict[int, Point] = field(default_factory=dict)
    frames: list[tuple[Frame, Point, Point]] = field(default_factory=list)
    ways: dict[Pair, Way] = field(default_factory=dict)
    entries: dict[Pair, Way] = field(default_factory=dict)
    exits: dict[Pair, Way] = field(default_factory=dict)


def arranged(
    frame: Frame, edges: Sequence[Pair], size_of: Callable[[Box], Point], title: Point
) -> Arranged:
    """The boxes of a frame in rows.

    Args:
        frame: with its boxes and frames.
        edges: those that touch a box in it.
        size_of: the size of a box.
        title: what a frame in it needs before its boxes, along and across.
    """
    return _Level(frame, edges, size_of, title).arranged()


class _Level:
    """One frame while it is arranged: its items are its boxes and frames, by number."""

    def __init__(
        self, frame: Frame, edges: Sequence[Pair], size_of: Callable[[Box], Point], title: Point
    ) -> None:
        self.parts = frame.parts
        self.title = title
        self.item = {key: n for n, part in enumerate(self.parts) for key in _keys(part)}
        self.inside: dict[int, Arranged] = {}
        self.sizes: dict[int, Point] = {}
        for number, part in enumerate(self.parts):
            if isinstance(part, Box):
                self.sizes[number] = size_of(part)
                continue
            inner = arranged(part, self._touching(edges, number), size_of, title)
            self.inside[number] = inner
            self.sizes[number] = Point(
                inner.size.along + title.along + 2 * _PADDING,
                inner.size.across + title.across + 2 * _PADDING,
            )
        item = self.item
        both = [e for e in edges if e[0] in item and e[1] in item]
        self.within = [(a, b) for a, b in both if item[a] != item[b]]
        self.loops = [(a, b) for a, b in both if a == b and item[a] not in self.inside]
        self.entering = [e for e in edges if e[0] not in item]
        self.leaving = [e for e in edges if e[1] not in item]
        self.rows = self._in_rows()

    def _touching(self, edges: Sequence[Pair], number: int) -> list[Pair]:
        item = self.item
        return [(a, b) for a, b in edges if number in (item.get(a), item.get(b))]

    def _in_rows(self) -> Rows:
        item = self.item
        first = [
            n
            for n, part in enumerate(self.parts)
            if isinstance(part, Box) and part.kind == "InputLayer"
        ]
        return in_rows(
            len(self.parts),
            [(item[a], item[b]) for a, b in self.within],
            first,
            [item[b] for _, b in self.entering],
            [item[a] for a, _ in self.leaving],
        )

    def arranged(self) -> Arranged:
        """Everything in its place."""
        corners, spans, size = self._corners()
        found = Arranged(size)
        for number, part in enumerate(self.parts):
            corner = corners[number]
            if isinstance(part, Box):
                found.corners[part.key] = corner
            else:
                self._take_in(found, number, corner)
        passing = {
            place: [Point(start, corners[place].across), Point(end, corners[place].across)]
            for row, (start, end) in zip(self.rows.rows, spans, strict=True)
            for place in row
            if place >= len(self.parts)
        }
        for source, target in self.within:
            a, b = self.item[source], self.item[target]
            way = self._out_of((source, target), a, corners[a])
            for place in self.rows.routes.get((a, b), ()):
                way += passing[place]
            found.ways[source, target] = way + self._into((source, target), b, corners[b])
        found.ways.update(
            {edge: self._around(corners[self.item[edge[0]]], edge) for edge in self.loops}
        )
        for edge in self.entering:
            number = self.item[edge[1]]
            way = [p for place in self.rows.entries.get(number, ()) for p in passing[place]]
            way += self._into(edge, number, corners[number])
            found.entries[edge] = [Point(0.0, way[0].across), *way]
        for edge in self.leaving:
            number = self.item[edge[0]]
            way = self._out_of(edge, number, corners[number])
            way += [p for place in self.rows.exits.get(number, ()) for p in passing[place]]
            found.exits[edge] = [*way, Point(size.along, way[-1].across)]
        return found

    def _origin(self, corner: Point) -> Point:
        """Where the boxes of a frame begin."""
        padded = Point(self.title.along + _PADDING, self.title.across / 2 + _PADDING)
        return corner.moved(padded)

    def _take_in(self, found: Arranged, number: int, corner: Point) -> None:
        inner, part = self.inside[number], self.parts[number]
        assert isinstance(part, Frame)  # noqa: S101 (for the type checker)
        by = self._origin(corner)
        found.frames.append((part, corner, self.sizes[number]))
        found.frames += [(frame, at.moved(by), size) for frame, at, size in inner.frames]
        found.corners.update({key: at.moved(by) for key, at in inner.corners.items()})
        found.ways.update({e: [p.moved(by) for p in way] for e, way in inner.ways.items()})

    def _out_of(self, edge: Pair, number: int, corner: Point) -> Way:
        size = self.sizes[number]
        if number not in self.inside:
            return [Point(corner.along + size.along, corner.across + size.across / 2)]
        way = [p.moved(self._origin(corner)) for p in self.inside[number].exits[edge]]
        return [*way, Point(corner.along + size.along, way[-1].across)]

    def _into(self, edge: Pair, number: int, corner: Point) -> Way:
        if number not in self.inside:
            return [Point(corner.along, corner.across + self.sizes[number].across / 2)]
        way = [p.moved(self._origin(corner)) for p in self.inside[number].entries[edge]]
        return [Point(corner.along, way[0].across), *way]

    def _around(self, corner: Point, edge: Pair) -> Way:
        """From the end of a box back to its beginning, for a layer that takes what it gives."""
        size = self.sizes[self.item[edge[0]]]
        end, middle = corner.along + size.along, corner.across + size.across / 2
        side = corner.across + size.across + _LOOP
        return [
            Point(end, middle),
            Point(end + _LOOP, side),
            Point(corner.along - _LOOP, side),
            Point(corner.along, middle),
        ]

    def _corners(self) -> tuple[dict[int, Point], list[tuple[float, float]], Point]:
        """The corner of each item and place, where each row begins and ends, and the size."""
        rows, count = self.rows.rows, len(self.parts)
        widths = {
            one: self.sizes[one].across if one < count else _EDGE_ACROSS
            for row in rows
            for one in row
        }
        middles = _across(rows, widths, self._links())
        least = min((middles[one] - widths[one] / 2 for one in widths), default=0.0)
        most = max((middles[one] + widths[one] / 2 for one in widths), default=0.0)
        corners: dict[int, Point] = {}
        spans = []
        along = 0.0
        for row in rows:
            height = max((self.sizes[one].along for one in row if one < count), default=0.0)
            spans.append((along, along + height))
            for one in row:
                if one < count:
                    start = along + (height - self.sizes[one].along) / 2
                    corners[one] = Point(start, middles[one] - widths[one] / 2 - least)
                else:
                    corners[one] = Point(along, middles[one] - least)
            along += height + _GAP_ALONG
        return corners, spans, Point(max(along - _GAP_ALONG, 0.0), most - least)

    def _links(self) -> list[Pair]:
        """What stands in neighbouring rows and is linked."""
        found: dict[Pair, None] = {}
        for source, target in self.within:
            a, b = self.item[source], self.item[target]
            found.update(dict.fromkeys(pairwise([a, *self.rows.routes.get((a, b), ()), b])))
        for one, places in self.rows.entries.items():
            found.update(dict.fromkeys(pairwise([*places, one])))
        for one, places in self.rows.exits.items():
            found.update(dict.fromkeys(pairwise([one, *places])))
        return list(found)


def _keys(part: Box | Frame) -> Iterable[int]:
    if isinstance(part, Box):
        return [part.key]
    return [key for inner in part.parts for key in _keys(inner)]


def _across(
    rows: Sequence[Sequence[int]], widths: dict[int, float], links: Sequence[Pair]
) -> dict[int, float]:
    """The middle of each item, near the middles of what it is linked to; none overlaps another."""
    row_of = {one: index for index, row in enumerate(rows) for one in row}
    boxes = {one for one in widths if widths[one] > _EDGE_ACROSS}
    beside: dict[int, list[tuple[int, float]]] = {}
    for a, b in links:
        weight = 1.0 if a in boxes or b in boxes else _STRAIGHT
        beside.setdefault(a, []).append((b, weight))
        beside.setdefault(b, []).append((a, weight))
    middles: dict[int, float] = {}
    for row in rows:
        middles.update(zip(row, _apart(row, widths, [0.0] * len(row)), strict=True))
    for sweep in range(_SWEEPS):
        # Down, then up, and at last both neighbours together.
        step = 0 if sweep >= _SWEEPS - 2 else (-1, 1)[sweep % 2]
        for index in range(len(rows)) if step <= 0 else reversed(range(len(rows))):
            wanted = []
            for one in rows[index]:
                near = [
                    (middles[other], weight)
                    for other, weight in beside.get(one, ())
                    if not step or row_of[other] - index == step
                ]
                total = sum(weight for _, weight in near)
                wanted.append(
                    sum(middle * weight for middle, weight in near) / total
                    if near
                    else middles[one]
                )
            moved = _apart(rows[index], widths, wanted)
            middles.update(zip(rows[index], moved, strict=True))
    return middles


def _apart(row: Sequence[int], widths: dict[int, float], wanted: Sequence[float]) -> list[float]:
    """Middles near the wanted ones, in the row's order and far enough apart.

    The mean of two ways to push: all to the right, and all to the left.
    """
    need = [(widths[a] + widths[b]) / 2 + _GAP_ACROSS for a, b in pairwise(row)]
    right, left = list(wanted), list(wanted)
    for i, room in enumerate(need):
        right[i + 1] = max(right[i + 1], right[i] + room)
    for i in range(len(need) - 1, -1, -1):
        left[i] = min(left[i], left[i + 1] - need[i])
    return [(a + b) / 2 for a, b in zip(right, left, strict=True)]
