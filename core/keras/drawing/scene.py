"""A model's boxes as rectangles, texts and curves: what both our SVG and our pixels are made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from pinnace.keras.drawing.boxes import PLAIN, Box, Cell, Frame
from pinnace.keras.drawing.lettering import width
from pinnace.keras.drawing.placing import TITLE, Point, Way, arranged

if TYPE_CHECKING:
    from collections.abc import Iterable

HEAD_SIZE, FACT_SIZE = 15.0, 13.0
_PAD_X, _PAD_Y = 10.0, 8.0
_MARGIN = 16.0
_ARROW = 9.0
_HEAD = "black"
_DIRECTIONS = ("TB", "BT", "LR", "RL")

XY = tuple[float, float]


class Rect(NamedTuple):
    """A filled rectangle; `dashed`: of its border alone."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    dashed: bool = False


class Piece(NamedTuple):
    """A part of a line of text."""

    text: str
    bold: bool


class Line(NamedTuple):
    """A line of text around its middle."""

    x: float
    y: float
    pieces: tuple[Piece, ...]
    size: float
    colour: str

    @property
    def width(self) -> float:
        """Nearly how wide it is."""
        return sum(width(piece.text, self.size, piece.bold) for piece in self.pieces)


class Curve(NamedTuple):
    """A cubic curve."""

    start: XY
    first: XY
    second: XY
    end: XY


class Edge(NamedTuple):
    """Curves, one after the other, and the triangle at their end."""

    curves: tuple[Curve, ...]
    head: tuple[XY, XY, XY]


@dataclass(slots=True)
class Scene:
    """Everything to draw, in order, on a white page of that size."""

    width: float
    height: float
    rects: list[Rect] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)


def scene_of(frame: Frame, rankdir: str, splines: str) -> Scene:
    """The picture of a model.

    Args:
        frame: the model.
        rankdir: which way the data goes: `TB`, `BT`, `LR` or `RL`.
        splines: `line` and `polyline` draw edges straight, all others curved.

    Raises:
        ValueError: another `rankdir`.
    """
    if rankdir not in _DIRECTIONS:
        raise ValueError(
            f"plot_model: rankdir must be one of {', '.join(_DIRECTIONS)}, got {rankdir!r}"
        )
    return _Drawing(frame, rankdir, splines).scene()


class _Drawing:
    def __init__(self, frame: Frame, rankdir: str, splines: str) -> None:
        self.frame = frame
        self.rankdir = rankdir
        self.lying = rankdir in {"LR", "RL"}
        self.straight = splines in {"line", "polyline", "false"}

    def scene(self) -> Scene:
        title = Point(0.0, TITLE) if self.lying else Point(TITLE, 0.0)
        edges = list(self.frame.all_edges())
        placed = arranged(self.frame, edges, self._size, title)
        self.along = placed.size.along
        width, height = self._turned(placed.size)
        scene = Scene(width + 2 * _MARGIN, height + 2 * _MARGIN)
        boxes = {box.key: box for box in _boxes(self.frame)}
        for frame, corner, size in placed.frames:
            self._frame(scene, frame, corner, size)
        for key, corner in placed.corners.items():
            self._box(scene, boxes[key], corner)
        scene.edges += [self._edge(way) for way in placed.ways.values()]
        return scene

    def _turned(self, size: Point) -> XY:
        return (size.along, size.across) if self.lying else (size.across, size.along)

    def _at(self, point: Point) -> XY:
        """A place on the page."""
        along = self.along - point.along if self.rankdir in {"BT", "RL"} else point.along
        x, y = (along, point.across) if self.lying else (point.across, along)
        return round(x + _MARGIN, 2), round(y + _MARGIN, 2)

    def _corner(self, corner: Point, size: Point) -> XY:
        """Left and top on the page, wherever the data comes from."""
        far = corner.moved(size)
        ends = self._at(corner), self._at(far)
        return min(ends)[0], min(y for _, y in ends)

    def _size(self, box: Box) -> Point:
        width, height = sum(_widths(box)), sum(h for _, h in _rows(box))
        return Point(width, height) if self.lying else Point(height, width)

    def _frame(self, scene: Scene, frame: Frame, corner: Point, size: Point) -> None:
        x, y = self._corner(corner, size)
        scene.rects.append(Rect(x, y, *self._turned(size), fill="none", dashed=True))
        pieces = (Piece(frame.name, False),)
        wide = width(frame.name, FACT_SIZE)
        # A name below where the data comes from below.
        below = self.rankdir == "BT"
        middle = y + (self._turned(size)[1] - TITLE / 2 if below else TITLE / 2)
        scene.lines.append(Line(x + wide / 2 + 8, middle, pieces, FACT_SIZE, "black"))

    def _box(self, scene: Scene, box: Box, corner: Point) -> None:
        left, y = self._corner(corner, self._size(box))
        widths = _widths(box)
        total = sum(widths)
        for cells, height in _rows(box):
            x = left
            for cell, wide in zip(cells, widths if len(cells) > 1 else [total], strict=True):
                scene.rects.append(Rect(x, y, wide, height, cell.colour))
                size = HEAD_SIZE if cell.colour == _HEAD else FACT_SIZE
                colour = "black" if cell.colour == PLAIN else "white"
                middle = x + wide / 2, y + height / 2
                scene.lines.append(Line(*middle, _pieces(cell), size, colour))
                x += wide
            y += height

    def _edge(self, way: Way) -> Edge:
        points = [way[0]]
        points += [b for a, b in pairwise(way) if a != b]
        tip = points[-1]
        base = Point(tip.along - _ARROW, tip.across)
        points[-1] = base
        curves = []
        for a, b in pairwise(points):
            middle = (a.along + b.along) / 2
            first, second = Point(middle, a.across), Point(middle, b.across)
            if self.straight or a.across == b.across:
                first, second = a, b
            curves.append(Curve(self._at(a), self._at(first), self._at(second), self._at(b)))
        one, other = (Point(base.along, base.across + side * _ARROW / 2.5) for side in (-1, 1))
        return Edge(tuple(curves), (self._at(tip), self._at(one), self._at(other)))


def _boxes(frame: Frame) -> Iterable[Box]:
    for part in frame.parts:
        if isinstance(part, Box):
            yield part
        else:
            yield from _boxes(part)


def _rows(box: Box) -> list[tuple[tuple[Cell, ...], float]]:
    """The rows of a box and their heights; the first says what it is."""
    kind = f" ({box.kind})" if box.name else box.kind
    rows: list[tuple[tuple[Cell, ...], float]] = [
        ((Cell(box.name, kind, _HEAD),), HEAD_SIZE + 2 * _PAD_Y)
    ]
    if box.activation is not None:
        rows.append(((box.activation,), FACT_SIZE + 2 * _PAD_Y))
    if box.cells:
        rows.append((box.cells, FACT_SIZE + 2 * _PAD_Y))
    return rows


def _pieces(cell: Cell) -> tuple[Piece, ...]:
    """Bold is the value; of the first row the name, or the class where there is no name."""
    head = cell.colour == _HEAD
    pieces = Piece(cell.before, head), Piece(cell.value, not head or not cell.before)
    return tuple(piece for piece in pieces if piece.text)


def _widths(box: Box) -> list[float]:
    """The widths of the columns: wide enough for each cell, and for the rows above."""

    def needs(cell: Cell, size: float) -> float:
        return Line(0.0, 0.0, _pieces(cell), size, "").width + 2 * _PAD_X

    above = [needs(_rows(box)[0][0][0], HEAD_SIZE)]
    if box.activation is not None:
        above.append(needs(box.activation, FACT_SIZE))
    columns = [needs(cell, FACT_SIZE) for cell in box.cells] or [0.0]
    more = max(max(above) - sum(columns), 0.0) / len(columns)
    return [wide + more for wide in columns]
